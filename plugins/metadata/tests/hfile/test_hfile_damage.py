"""Damaged HFiles: the right answer, or an error that names the file; never anything else."""

from __future__ import annotations

import os
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hoodoo.errors import CorruptTableError, StorageError, UnsupportedTableError
from hoodoo_metadata.hfile import Checksum, FileWindow, HFile
from hoodoo_metadata.hfile.format import HEADER, HEADER_BYTES

pytestmark = pytest.mark.sampled(4)

ROOT = Path(__file__).resolve().parents[4]
HFILES = Path(os.environ.get("HOODOO_GOLDEN", ROOT / "tests/golden/data")) / "hfiles"
MODEL = {b"key-%04d" % i: bytes([i % 256]) * (i % 50) for i in range(200)}
SETTINGS = {
    "gzip": {"codec": "gzip"},
    "gzip, checksum": {"codec": "gzip", "checksum": Checksum.CRC32C},
    "checksum": {"codec": "none", "checksum": Checksum.CRC32},
    "neither": {"codec": "none"},
}
Answers = list[Any]


def answers(made: Any, file: HFile) -> Iterator[Callable[[], Any]]:
    some = made.keys([b"key-0007", b"key-0107", b"key-0199", b"none"])
    yield lambda: made.pairs(file.scan())
    yield lambda: made.pairs(file.scan(b"key-0050", b"key-0101"))
    yield lambda: made.pairs(file.get(some, "seek"))
    yield lambda: made.pairs(file.get(some, "seek", apart=True))
    yield lambda: made.pairs(file.get(some, "scan"))
    yield lambda: made.pairs(file.get_prefixes(made.keys([b"key-01", b"key-0002"])))
    yield lambda: file.meta_block("bloomFilter")


def told(made: Any, data: bytes) -> Answers:
    """Each answer, or None where an error named the file."""
    try:
        file = made.open(data)
    except (CorruptTableError, UnsupportedTableError) as error:
        assert "made.hfile" in error.obj and error.rule
        return []
    found: Answers = []
    for answer in answers(made, file):
        try:
            found.append(answer())
        except CorruptTableError as error:
            assert "made.hfile" in error.obj and "rebuild-index" in error.fix
            found.append(None)
    return found


def damaged(data: bytes, at: int, mask: int) -> bytes:
    return data[:at] + bytes([data[at] ^ mask]) + data[at + 1 :]


@pytest.mark.parametrize("kind", SETTINGS)
def test_a_flipped_byte(made: Any, kind: str) -> None:
    data = made.data(MODEL, block_bytes=2048, meta={"bloomFilter": b"x" * 50}, **SETTINGS[kind])
    right = told(made, data)
    assert right[0] == sorted(MODEL.items()) and None not in right
    wrong, errors = 0, 0
    used = len(data) - 4096 + 150  # the rest of the trailer is zeros
    step = max(3, used // 1000)
    for at in [*range(0, used, step), *range(len(data) - 8, len(data))]:
        found = told(made, damaged(data, at, 1 << at % 8 if at % 2 else 0xFF))
        errors += not found or None in found
        wrong += any(f is not None and f != r for f, r in zip(found, right))
    assert errors > 0.2 * used / step
    # Without compression and checksums nothing protects keys and values.
    assert not wrong or kind == "neither"


@pytest.mark.parametrize("kind", SETTINGS)
def test_truncated(made: Any, kind: str) -> None:
    data = made.data(MODEL, block_bytes=2048, **SETTINGS[kind])
    for size in [*range(0, len(data), 37), len(data) - 1]:
        assert told(made, data[:size]) == []


def test_a_real_file(made: Any) -> None:
    """Of HBase, with CRC32C and an index of two levels."""
    name = "hudi_1_0_hbase_2_4_13_1KB_GZ_20000_large_keys.hfile"
    if not (HFILES / name).is_file():
        pytest.skip("no golden HFiles")
    data = (HFILES / name).read_bytes()
    right = list(made.open(data).scan())
    for at in [*range(0, len(data), 16001), 132_141, 132_180, 454_120]:
        try:
            found = list(made.open(damaged(data, at, 0x10)).scan())
        except (CorruptTableError, UnsupportedTableError):
            continue
        assert pa.Table.from_batches(found).equals(pa.Table.from_batches(right))


@pytest.mark.parametrize("kind", [Checksum.CRC32, Checksum.CRC32C])
def test_a_wrong_checksum_is_named(made: Any, kind: Checksum) -> None:
    data = made.data(MODEL, codec="none", checksum=kind)
    with pytest.raises(
        CorruptTableError, match=rf"block at offset 0: its checksum \({kind.name}\)"
    ):
        list(made.open(damaged(data, 100, 1)).scan())
    # So is one of what is read on opening.
    at = data.index(b"IDXROOT2")
    with pytest.raises(CorruptTableError, match=f"block at offset {at}"):
        made.open(damaged(data, at + HEADER_BYTES + 3, 1))


def test_a_claimed_size_is_not_allocated(made: Any) -> None:
    data = made.data(MODEL)
    fields = list(HEADER.unpack_from(data))
    fields[2] = 2**31 - 1
    data = HEADER.pack(*fields) + data[HEADER_BYTES:]
    tracemalloc.start()
    try:
        with pytest.raises(CorruptTableError, match="can't hold 2147483647 bytes"):
            list(made.open(data).scan())
        assert tracemalloc.get_traced_memory()[1] < 10 << 20
    finally:
        tracemalloc.stop()


def test_lengths_that_contradict_each_other(made: Any) -> None:
    """An entry that is longer than its block, and lengths whose sum overflows, though all checks of
    bytes say yes."""
    good = made.data({b"a": b"1", b"b": b"2"}, codec="none")
    for at, value in ((33, b"\0\0\0\x40"), (33, b"\xff\xff\xff\xff"), (37, b"\x7f\xff\xff\xff")):
        data = good[:at] + value + good[at + 4 :]
        with pytest.raises(CorruptTableError, match="entry"):
            list(made.open(data).scan())
    # The sum is what it was, modulo 2 ** 32.
    data = good[:33] + b"\xff\xff\xff\xff\0\0\0\x0f" + good[41:]
    with pytest.raises(CorruptTableError, match="entry"):
        list(made.open(data).scan())


def test_no_hfile_at_all(made: Any) -> None:
    for data in (b"", b"PAR1", bytes(5000), zlib.compress(b"x" * 10_000)):
        with pytest.raises(CorruptTableError, match="no trailer"):
            made.open(data)


def test_what_hudi_does_not_write(made: Any) -> None:
    data = made.data(MODEL)
    with pytest.raises(UnsupportedTableError, match="version 2"):
        made.open(data[:-1] + b"\x02")
    at = data.rindex(b"KVComparator") + len(b"KVComparator") + 1
    with pytest.raises(UnsupportedTableError, match="codec number 4"):
        made.open(data[:at] + b"\x04" + data[at + 1 :])


def test_the_number_of_entries_is_compared(made: Any) -> None:
    data = made.data(MODEL)
    at = data.rindex(b"\x38\xc8\x01", 0, len(data))
    with pytest.raises(CorruptTableError, match="says 201 entries; there are 200"):
        list(made.open(data[: at + 1] + b"\xc9\x01" + data[at + 3 :]).scan())


def test_a_store_that_fails(made: Any) -> None:
    class File:
        def size(self) -> int:
            return 9000

        def read_at(self, count: int, offset: int) -> bytes:
            raise OSError("gone")

    class Store:
        def open(self, path: str) -> Any:
            return File()

    with pytest.raises(StorageError, match=r"file x.hfile.*gone"):
        HFile.open(FileWindow.of(Store(), "x.hfile"))  # type: ignore[arg-type]
    data = made.data({b"%05d" % i: os.urandom(100) for i in range(2000)}, codec="none")
    shorter = FileWindow(
        lambda a, b: data[a : min(b, 70_000)] if a < 70_000 else data[a:b], len(data), "s"
    )
    with pytest.raises(CorruptTableError, match="has become shorter"):
        list(HFile.open(shorter).scan())
