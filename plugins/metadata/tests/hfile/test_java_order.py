"""Keys in the order of Java's strings, as Hudi 1 writes them: each is found, and other orders are damages."""

from __future__ import annotations

import io
from typing import Any

import pyarrow as pa
import pytest
from hoodoo.errors import CorruptTableError
from hoodoo_metadata.hfile import ENTRIES, pack, write_hfile
from hoodoo_metadata.hfile.java_order import in_byte_order

WIDE, SMILE = "\uff21", "\U0001f600"
BEFORE = ["", "a", "Oslo", "é"]
TEXTS = [
    f"{start}{middle}{end}"
    for start in BEFORE
    for middle in ("b", SMILE, WIDE, "\ue000", "\uffff", SMILE + WIDE, WIDE + SMILE)
    for end in ("", "1", SMILE, WIDE)
]
KEYS = sorted({*TEXTS, *BEFORE[1:]}, key=lambda text: text.encode("utf-16-be"))


@pytest.fixture
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The writer takes keys as they come, as Hudi's does."""
    monkeypatch.setattr(pack, "_check_order", lambda keys, before: None)


def file_of(made: Any, keys: list[str], block_bytes: int) -> Any:
    batch = pa.record_batch(
        [
            pa.array([key.encode() for key in keys], pa.binary()),
            pa.array([f"of {key}".encode() for key in keys], pa.binary()),
        ],
        schema=ENTRIES,
    )
    sink = io.BytesIO()
    write_hfile(sink, [batch], schema_text='"bytes"', block_bytes=block_bytes)
    return made.open(sink.getvalue())


@pytest.mark.parametrize("block_bytes", [1, 100, 65536])
def test_each_key_is_found(made: Any, unchecked: None, block_bytes: int) -> None:
    assert sorted(KEYS) != KEYS
    file = file_of(made, KEYS, block_bytes)
    assert made.pairs(file.scan()) == [(k.encode(), f"of {k}".encode()) for k in KEYS]
    for how in ("seek", "scan", "auto"):
        for apart in (False, True):
            for some in ([key] for key in KEYS[::9]):
                found = file.get(pa.array(some), how, apart)
                assert found.column("key").to_pylist() == [key.encode() for key in some]
            for some in (KEYS, KEYS[::3], [k for k in KEYS if k.isascii()]):
                found = file.get(pa.array([*some, "nobody", f"{WIDE}nobody"]), how, apart)
                assert found.column("key").to_pylist() == sorted(key.encode() for key in some)
            plain = file.get(pa.array(["a", "ab", "Oslo1", "nobody"]), how, apart)
            assert plain.column("key").to_pylist() == [b"a", b"ab"]
    for begin in (SMILE, WIDE, "a", f"a{WIDE}", "Oslo"):
        found = file.get_prefixes(pa.array([begin]))
        wanted = [key.encode() for key in KEYS if key.startswith(begin)]
        assert sorted(found.column("key").to_pylist()) == sorted(wanted)


@pytest.mark.parametrize("block_bytes", [1, 65536])
def test_other_orders_are_damages(made: Any, unchecked: None, block_bytes: int) -> None:
    with pytest.raises(CorruptTableError, match="ascend"):
        file_of(made, ["a", "c", "b", WIDE, SMILE, "d"], block_bytes).get(pa.array(["b"]))


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
def test_what_java_sorted_comes_out_in_the_order_of_bytes(size: int) -> None:
    plain = [f"k{n}" for n in range(20)]
    every = [*KEYS, *plain, *(f"{p}{SMILE}{q}" for p in plain for q in ("", "x", WIDE, "\uffff")), *(f"{p}{WIDE}" for p in plain)]  # fmt: skip
    right = sorted({key.encode() for key in every})
    for order in (sorted({*every}, key=lambda text: text.encode("utf-16-be")), sorted({*every})):
        keys = pa.array([key.encode() for key in order], pa.binary())
        batch = pa.record_batch([keys, keys], schema=ENTRIES)
        pieces = [batch.slice(at, size) for at in range(0, len(batch), size)]
        found = pa.Table.from_batches(in_byte_order(pieces), ENTRIES)
        assert found.column("key").to_pylist() == right
        assert found.column("value").to_pylist() == right
