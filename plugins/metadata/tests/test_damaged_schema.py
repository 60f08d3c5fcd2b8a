"""The schema that rows were written with stands in the header of their log block, and has no checksum.

One flipped bit of it: an answer, or CorruptTableError. No error of a plugin that got half a schema.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hoodoo.errors import CorruptTableError
from hoodoo.model.column_range import ColumnRange
from hoodoo_metadata.partitions.bloom.rows import FilterRow, decode_filter, encode_filter
from hoodoo_metadata.partitions.column_stats.ranges import decode_ranges, encode_range
from hoodoo_metadata.partitions.files.rows import decode_files, encode_files
from hoodoo_metadata.partitions.record_index.locations import decode_locations, encode_locations
from hoodoo_metadata.table.schema import decode_row, record_schema

ID = "b7654f47-a5e9-45f5-b501-5346ab1e4d84-0"
FLIPS = 400


def places(text: str) -> Any:
    rows = encode_locations(pa.array(["p", None]), pa.array([ID, ID]), 5)
    return [column.to_pylist() for column in decode_locations(rows, text)]


def ranges(text: str) -> Any:
    whole = ColumnRange("a", "f.parquet", 1, 9, pa.int64(), 5, 0, 10, 12)
    words = ColumnRange("b", "f.parquet", "x", "y", pa.string(), 5, 1, 10, 12)
    rows = [encode_range(whole), encode_range(words)]
    many = pa.array(rows * 100)  # read a column at a time
    return decode_ranges(rows, text), decode_ranges(many, text)


def files(text: str) -> Any:
    return decode_files(encode_files({"a.parquet": 5, "b.parquet": 6}, ["c.parquet"]), text)


def filters(text: str) -> Any:
    return decode_filter(encode_filter(FilterRow("SIMPLE", b"12", "5")), text)


READERS: dict[str, Callable[[str], Any]] = {
    "places of keys": places,
    "ranges": ranges,
    "files": files,
    "filters": filters,
}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("reads", READERS)
def test_one_bit_is_flipped(reads: str) -> None:
    text = record_schema(9)
    right = READERS[reads](text)
    chance = random.Random(reads)
    found = {
        "right": 0,
        "other": 0,
        "refused": 0,
    }  # "other": a field's name is another, and it is optional
    for _ in range(FLIPS):
        at = chance.randrange(len(text))
        bad = f"{text[:at]}{chr(ord(text[at]) ^ 1 << chance.randrange(7))}{text[at + 1 :]}"
        try:
            found["right" if READERS[reads](bad) == right else "other"] += 1
        except CorruptTableError:
            found["refused"] += 1
    assert found["right"] and found["refused"], found


def test_a_schema_without_bound_is_refused() -> None:
    """A record within itself, and values that take no bytes: a few bytes would be values without end."""
    for kind in (["null", "R"], {"type": "array", "items": "null"}):
        text = json.dumps({"type": "record", "name": "R", "fields": [{"name": "f", "type": kind}]})
        with pytest.raises(CorruptTableError, match="its schema"):
            decode_row(b"\x02" * 1000 + b"\0", text)
