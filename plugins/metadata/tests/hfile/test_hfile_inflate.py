"""Whatever inflates blocks answers the same bytes, and says no to the same ones."""

from __future__ import annotations

import importlib
import random
import subprocess
import sys
import zlib
from collections.abc import Iterator
from typing import Any

import pytest
from hoodoo_metadata.hfile import inflate as hfile_inflate
from hoodoo_metadata.hfile.inflate import InflateError, inflate

PLAIN = b"".join(b"key-%06d and a value" % n for n in range(3000))


def _member(plain: bytes = PLAIN) -> bytes:
    packer = zlib.compressobj(4, zlib.DEFLATED, 31, 9, zlib.Z_FILTERED)
    return packer.compress(plain) + packer.flush()


def _damaged() -> Iterator[bytes]:
    member, rng = _member(), random.Random(1)
    yield from (member[:cut] for cut in range(0, len(member), 97))
    for _ in range(500):
        changed = bytearray(member)
        changed[rng.randrange(len(member))] ^= 1 << rng.randrange(8)
        yield bytes(changed)


def _answer(library: Any, data: bytes) -> bytes | None:
    try:
        found: bytes = library.decompress(data, wbits=31, bufsize=len(PLAIN) + 1)
    except library.error:
        return None
    return found


@pytest.mark.parametrize("size", [0, 1, len(PLAIN), 2 * len(PLAIN)])
def test_the_bytes_come_back_whatever_size_was_expected(size: int) -> None:
    assert inflate(memoryview(_member()), size) == PLAIN


def test_damaged_bytes_are_an_error_or_what_zlib_makes_of_them() -> None:
    refused = 0
    for data in _damaged():
        expected = _answer(zlib, data)
        if expected is None:
            refused += 1
            with pytest.raises(InflateError):
                inflate(data, len(PLAIN))
        else:
            assert inflate(data, len(PLAIN)) == expected
    assert refused > 100


def test_without_the_library_zlib_is_used() -> None:
    code = (
        "import sys; sys.modules['isal'] = None; "
        "from hoodoo_metadata.hfile import inflate as i; import zlib; "
        "assert (i.NAME, i.InflateError) == ('zlib', zlib.error), i.NAME"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_isal_is_used_where_it_is_installed() -> None:
    pytest.importorskip("isal")
    assert hfile_inflate.NAME == "isal"
    library = importlib.import_module("isal.isal_zlib")
    assert hfile_inflate.InflateError is library.error


def test_a_large_block_is_not_inflated_past_what_its_header_says() -> None:
    noise = random.Random(2).randbytes(200_000)
    bomb = _member(noise + bytes(50_000_000))
    assert len(bomb) < 300_000
    assert len(inflate(bomb, 300_000)) == 300_001
    whole = _member(noise)
    assert inflate(whole, len(noise)) == noise
    with pytest.raises(InflateError):
        inflate(whole[:-1000], len(noise))
