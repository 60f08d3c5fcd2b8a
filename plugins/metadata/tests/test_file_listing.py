"""Partition `files`: bytes as Hudi writes them, and rows of one key that become one."""

from __future__ import annotations

import json

import fastavro
import pytest
from hoodoo.errors import CorruptTableError, UnsupportedTableError
from hoodoo_metadata.partitions.files.rows import (
    FileChanges,
    decode_files,
    encode_files,
    encode_partitions,
    merge_files,
)
from hoodoo_metadata.table.schema import decode_row, encode_row, record_schema
from hypothesis import given, settings
from hypothesis import strategies as st

NAME = "e41aa911-d8b3-4d0a-b563-c155a3d18d04-0_0-21-67_20260503194246834.lance"
# Of a table that Spark Hudi wrote.
STORED = b"\0\0\0\0\0\0\4\2\2\x8c\1" + NAME.encode() + b"\xa4\x9c5\0\0\0\0\0\0"
STORED_NO_PARTITIONS = bytes.fromhex("00000000000002020000000000")


def test_as_hudi_writes_it() -> None:
    assert encode_files({NAME: 435986}) == STORED
    assert decode_files(STORED) == FileChanges({NAME: 435986})
    assert encode_partitions([]) == STORED_NO_PARTITIONS
    assert decode_row(STORED)["type"] == 2


def test_what_goes_in_comes_out() -> None:
    value = encode_files({"b": 2, "a": 1}, ["d", "c"])
    assert value == encode_files({"a": 1, "b": 2}, ["c", "d"])
    assert decode_files(value, record_schema(9)) == FileChanges(
        {"a": 1, "b": 2}, frozenset(("c", "d"))
    )
    partitions = decode_files(encode_partitions(["", "x"], ["y"]))
    assert partitions == FileChanges({".": 0, "x": 0}, frozenset("y"))


def test_a_file_of_no_bytes() -> None:
    with pytest.raises(CorruptTableError, match=r"file a: has 0 bytes"):
        encode_files({"a": 0})


@pytest.mark.parametrize("value", [b"", STORED[:-1], STORED + b"\0", b"\x7f" * 20])
def test_bytes_that_are_none(value: bytes) -> None:
    with pytest.raises(CorruptTableError, match="rebuild-index"):
        decode_files(value)


@pytest.mark.parametrize("schema", ["", "{}", '{"type": "record"}'])
def test_a_schema_that_is_none(schema: str) -> None:
    with pytest.raises(CorruptTableError, match="rebuild-index"):
        decode_row(STORED, schema or "x")


def test_schema_by_version() -> None:
    assert record_schema(6) == record_schema(8) == record_schema(9)
    assert "\n" not in record_schema(9)
    assert fastavro.parse_schema(json.loads(record_schema(9)))
    with pytest.raises(UnsupportedTableError):
        record_schema(7)
    assert encode_row({"type": 7}) == b"\0" * 6 + b"\x0e" + b"\0" * 5


NAMES = st.sampled_from("abcd")
CHANGES = st.builds(
    lambda added, removed: FileChanges(added, frozenset(removed - added.keys())),
    st.dictionaries(NAMES, st.integers(1, 9)),
    st.sets(NAMES),
)


def test_merge() -> None:
    older = FileChanges({"kept": 5, "gone": 1, "grown": 2}, frozenset({"back", "before"}))
    newer = FileChanges({"grown": 9, "back": 3, "new": 4, "kept": 1}, frozenset({"gone", "unseen"}))
    added = {"kept": 5, "grown": 9, "back": 3, "new": 4}
    assert merge_files(older, newer) == FileChanges(added, frozenset({"before", "gone", "unseen"}))
    assert merge_files(older, newer, base=True) == FileChanges(added)


@settings(deadline=None)
@given(st.dictionaries(NAMES, st.integers(1, 9)), st.lists(CHANGES, max_size=5), st.integers(0, 5))
def test_logs_first_or_one_by_one(
    base: dict[str, int], changes: list[FileChanges], cut: int
) -> None:
    """Where a file is not written again after its removal, as Hudi's never are, the order of merging
    does not matter."""
    removed: set[str] = set()
    once = []
    for change in changes:
        added = {n: s for n, s in change.added.items() if n not in removed}
        removed |= change.removed
        once.append(FileChanges(added, change.removed))
    whole = FileChanges(base)
    for change in once:
        whole = merge_files(whole, change, base=True)
    logs = FileChanges({})
    for change in once[:cut]:
        logs = merge_files(logs, change)
    later = FileChanges({})
    for change in once[cut:]:
        later = merge_files(later, change)
    twice = merge_files(merge_files(FileChanges(base), logs, base=True), later, base=True)
    assert twice.added == whole.added
