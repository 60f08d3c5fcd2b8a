"""Ranges of columns: from footers and rows, through stored values, and merged."""

from __future__ import annotations

import io
import math
from datetime import date, datetime, time, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import hoodoo
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from attrs import evolve
from hoodoo.errors import ConfigError, CorruptTableError
from hoodoo.model.column_range import ColumnRange
from hoodoo.model.meta import META_FIELDS
from hoodoo.model.range_values import raw_of
from hoodoo.timeline.timeline import load
from hoodoo_formats.parquet.ranges import file_ranges
from hoodoo_metadata.options import RANGE_COLUMNS, RANGES_MOST
from hoodoo_metadata.partitions.column_stats.from_files import (
    META_INDEXED,
    indexed_columns,
    row_ranges,
)
from hoodoo_metadata.partitions.column_stats.ranges import decode_ranges, encode_range, gone
from hoodoo_metadata.partitions.column_stats.value_types import is_stored
from hoodoo_metadata.partitions.column_stats.values import read_ranges
from hoodoo_metadata.partitions.known import known
from hoodoo_metadata.table.keys import partition_key
from hoodoo_metadata.table.metadata_table import MetadataTable
from hoodoo_metadata.table.schema import decode_row, encode_row, record_schema
from hoodoo_rows.produce.base_ranges import merge_ranges, partition_range, range_table
from hypothesis import given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.sampled(4)

MOMENT = datetime(2024, 1, 2, 3, 4, 5, 678901, timezone.utc)
# Type, least and greatest value, as version 9 wraps it, its ordinal and what is beside it; as older versions do.
KINDS: list[tuple[pa.DataType, Any, Any, str, int, str | None, str]] = [
    (pa.bool_(), False, True, "Boolean", 2, None, "Boolean"),
    (pa.int32(), -5, 2**31 - 1, "Int", 3, None, "Int"),
    (pa.int64(), -(2**63), 2**63 - 1, "Long", 4, None, "Long"),
    (pa.float32(), -1.5, math.inf, "Float", 5, None, "Float"),
    (pa.float64(), -1e300, 0.1, "Double", 6, None, "Double"),
    (pa.string(), "", "zürich \U0001f600", "String", 7, None, "String"),
    (pa.binary(), b"", b"\xff\x00", "Bytes", 8, None, "Bytes"),
    (pa.decimal128(10, 2), Decimal("-1.28"), Decimal("1.27"), "Bytes", 10, "10,2", "Decimal"),
    (pa.decimal128(30, 15), Decimal(-1), Decimal(10) ** 14, "Bytes", 10, "30,15", "Decimal"),
    (pa.date32(), date(1969, 1, 1), date(2024, 1, 1), "Int", 12, None, "Date"),
    (pa.time32("ms"), time(1), time(2, 3, 4, 5000), "Int", 13, None, "Int"),
    (pa.time64("us"), time(1), time(2, 3, 4, 5), "Long", 14, None, "Long"),
    (pa.timestamp("us", "UTC"), MOMENT, MOMENT, "Long", 16, None, "Long"),
]
BY_TYPE = pytest.mark.parametrize("case", KINDS, ids=[str(case[0]) for case in KINDS])


def footer(table: pa.Table, **options: Any) -> pq.FileMetaData:
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return pq.read_metadata(sink)


def stats(value: bytes) -> dict[str, Any]:
    found: dict[str, Any] = decode_row(value)["ColumnStatsMetadata"]
    return found


@BY_TYPE
@pytest.mark.parametrize("version", [6, 8, 9])
def test_of_every_type(case: Any, version: int) -> None:
    kind, least, greatest, wrapper, ordinal, extra, old = case
    rows = pa.table({"c": pa.array([greatest, None, least], kind)})
    (found,) = file_ranges(footer(rows), ["absent", "c"], "f.parquet")
    assert (found.minimum, found.maximum) == (pa.scalar(least, kind), pa.scalar(greatest, kind))
    assert (found.values, found.nulls, found.kind, found.is_known) == (3, 1, kind, True)
    assert found.size > 0 and found.raw_size > 0
    assert row_ranges(rows, ["absent", "c"], "f.parquet") == [evolve(found, size=0, raw_size=0)]

    value = encode_range(found, version)
    stored = stats(value)
    names = {stored[end][0].rsplit(".", 1)[1] for end in ("minValue", "maxValue")}
    assert names == {f"{wrapper if version == 9 else old}Wrapper"}
    types = {"typeOrdinal": ordinal, "additionalInfo": extra} if version == 9 else None
    assert stored["valueType"] == types
    assert decode_row(value)["type"] == 3

    (told,) = decode_ranges(pa.array([value], pa.binary()))
    told_table = range_table([told, gone("c", "g")], kind)
    assert told_table["least"].to_pylist()[0] == pa.scalar(least, kind).as_py()
    assert told_table["greatest"].to_pylist() == [pa.scalar(greatest, kind).as_py(), None]
    assert told_table["nulls"].to_pylist() == [1, -1]
    if version == 9:
        assert told == found


@pytest.mark.parametrize("number", [0, 1, -1, 127, 128, -128, -129, 32767, 32768, -32768, 10**29])
def test_decimals_as_java_stores_them(number: int) -> None:
    kind = pa.decimal128(38, 0)
    value = encode_range(ColumnRange("c", "f", number, number, kind, 1))
    octets = stats(value)["minValue"][1]["value"]
    assert int.from_bytes(octets, "big", signed=True) == number
    # The fewest bytes: one less would lose the sign.
    assert octets[1:] == b"" or octets[0] not in (0, 255) or (octets[0] ^ octets[1]) & 128
    assert decode_ranges([value])[0].minimum.as_py() == number


def test_row_groups() -> None:
    table = pa.table({"c": pa.array([5, 1, None, None, 9, 3], pa.int64()), "s": list("fedcba")})
    whole = footer(table, row_group_size=2)
    number, text = file_ranges(whole, ["c", "s"], "f")
    assert (number.least, number.greatest, number.values, number.nulls) == (1, 9, 6, 2)
    assert (text.least, text.greatest, text.is_known) == ("a", "f", True)
    sizes = [whole.row_group(n).column(0).total_compressed_size for n in range(3)]
    assert number.size == sum(sizes)


def test_bounds_that_a_footer_lacks() -> None:
    """Arrow leaves out long ones: what the other row groups say is then not the whole truth."""
    table = pa.table({"s": ["a", "b" * 5000, None, None]})
    (found,) = file_ranges(footer(table, row_group_size=1), ["s"], "f")
    assert (found.least, found.greatest, found.is_known) == (None, None, False)
    (nulls,) = file_ranges(footer(table.slice(2)), ["s"], "f")
    assert (nulls.least, nulls.nulls, nulls.is_known) == (None, 2, True)
    assert stats(encode_range(nulls))["valueType"]["typeOrdinal"] == 7
    (bare,) = file_ranges(footer(table, write_statistics=False), ["s"], "f")
    assert not bare.is_known
    known = evolve(found, least="a", greatest="z")
    assert partition_range([known, known], "p").is_known
    assert not partition_range([known, found], "p").is_known
    assert not partition_range([found, known], "p").is_known
    assert not merge_ranges(found, known).is_known


def test_files_of_no_rows_and_columns_that_are_not_kept() -> None:
    empty = pa.table({"c": pa.array([], pa.int64())})
    assert file_ranges(footer(empty), ["c"], "f") == []
    (nothing,) = row_ranges(empty, ["c"], "f")
    assert nothing == ColumnRange("c", "f")
    assert stats(encode_range(nothing))["valueType"]["typeOrdinal"] == 1
    nested = pa.table({"l": [[1]], "s": [{"x": 1}], "m": pa.array([1], pa.timestamp("us"))})
    found = file_ranges(footer(nested), ["l", "s", "s.x"], "f")
    assert [(r.column, r.greatest) for r in found] == [("s.x", 1)]
    legacy = footer(nested.select(["m"]), use_deprecated_int96_timestamps=True)
    assert file_ranges(legacy, ["m"], "f") == []
    assert row_ranges(nested, ["s.x"], "f")[0].least == 1


def test_dictionaries_and_no_value_at_all() -> None:
    rows = pa.table(
        {"d": pa.array(["b", "a"]).dictionary_encode(), "n": pa.array([None, None], pa.date32())}
    )
    text, nothing = row_ranges(rows, ["d", "n"], "f")
    assert (text.least, text.greatest, text.kind) == ("a", "b", pa.string())
    assert (nothing.least, nothing.nulls, nothing.is_known) == (None, 2, True)
    assert file_ranges(footer(rows), ["d"], "f")[0].kind == pa.string()


def test_gone() -> None:
    for version in (6, 9):
        value = encode_range(gone("c", "f"), version)
        stored = stats(value)
        assert (stored["isDeleted"], stored["valueCount"], stored["minValue"]) == (True, -1, None)
        ordinal = {"typeOrdinal": 1, "additionalInfo": None} if version == 9 else None
        assert stored["valueType"] == ordinal
        assert decode_ranges([value]) == [gone("c", "f")]
    assert decode_row(encode_range(gone("c", "p", of_partition=True)))["type"] == 6


def test_rows_of_another_kind() -> None:
    with pytest.raises(CorruptTableError, match="type 5"):
        decode_ranges([encode_row({"type": 5})])


# --- merging ----------------------------------------------------------------------------------
def of(least: Any, greatest: Any, kind: pa.DataType, **more: Any) -> ColumnRange:
    return ColumnRange("c", "p", least, greatest, kind, 10, 1, 100, 200, True, **more)


def test_merge() -> None:
    older, newer = of(1, 5, pa.int64()), of(3, 9, pa.int64())
    both = merge_ranges(older, newer)
    assert both == evolve(newer, least=1, values=20, nulls=2, size=200, raw_size=400)
    tight = evolve(newer, is_tight=True)
    assert merge_ranges(older, tight) == tight
    assert not merge_ranges(tight, older).is_tight
    removed = gone("c", "p", of_partition=True)
    assert merge_ranges(older, removed) == removed
    assert merge_ranges(removed, newer) == newer
    nulls = evolve(newer, least=None, greatest=None, kind=None, nulls=10)
    assert (merge_ranges(older, nulls).least, merge_ranges(older, nulls).kind) == (1, pa.int64())
    assert merge_ranges(nulls, older).greatest == 5


def test_merge_of_a_column_that_was_widened() -> None:
    def merged(kind: pa.DataType, raw: Any, to: pa.DataType, other: Any) -> tuple[Any, Any]:
        both = merge_ranges(of(raw, raw, kind), of(other, other, to))
        assert both.kind == to
        return both.least, both.greatest

    assert merged(pa.int32(), 1, pa.int64(), 2**40) == (1, 2**40)
    assert merged(pa.int64(), 1, pa.float64(), 0.5) == (0.5, 1.0)
    assert merged(pa.decimal128(4, 1), 15, pa.decimal128(8, 3), 1501) == (1500, 1501)
    assert merged(pa.int32(), 2, pa.decimal128(8, 3), 1501) == (1501, 2000)
    # As text 9 comes after 10: nothing is known.
    assert merged(pa.int32(), 9, pa.string(), "10") == (None, None)


INTS = st.lists(st.one_of(st.none(), st.integers(-9, 9)), min_size=1, max_size=6)


@pytest.mark.parametrize(
    ("wide", "narrow", "kind"),
    [
        (of(2**40, 2**40, pa.int64()), of(1, 3, pa.int32()), pa.int64()),
        (of(0.5, 2.5, pa.float64()), of(1.5, 1.5, pa.float32()), pa.float64()),
        (of(250, 1500, pa.decimal128(10, 3)), of(1, 3, pa.decimal128(12, 0)), pa.decimal128(15, 3)),
        (of(250, 1500, pa.decimal128(10, 3)), of(1, 3, pa.int32()), pa.decimal128(10, 3)),
    ],
)  # fmt: skip
def test_merge_where_the_older_file_is_the_wider_one(
    wide: ColumnRange, narrow: ColumnRange, kind: pa.DataType
) -> None:
    """Files are merged in any order: one from before a column was widened may come last."""
    one, other = merge_ranges(wide, narrow), merge_ranges(narrow, wide)
    assert one.kind == other.kind == kind
    assert (one.least, one.greatest) == (other.least, other.greatest)
    for version in (6, 9):
        (read,) = decode_ranges([encode_range(one, version)])
        assert (read.minimum.as_py(), read.maximum.as_py()) == (
            one.minimum.as_py(),
            one.maximum.as_py(),
        )


@settings(deadline=None)
@given(st.lists(INTS, min_size=1, max_size=5))
def test_a_partition_holds_what_its_files_hold(files: list[list[int | None]]) -> None:
    tables = [pa.table({"c": pa.array(rows, pa.int32())}) for rows in files]
    parts = [row_ranges(table, ["c"], "f")[0] for table in tables]
    whole = row_ranges(pa.concat_tables(tables).combine_chunks(), ["c"], "x/y")[0]
    made = partition_range(parts, "x/y")
    assert made == evolve(whole, of_partition=True, is_tight=True)
    assert decode_ranges([encode_range(made)]) == [made]
    assert len(partition_key("c", made.name)) == 24


# --- which columns ----------------------------------------------------------------------------
SCHEMA = pa.schema(
    [
        *META_FIELDS,
        ("_hoodie_operation", pa.string()),
        ("a", pa.int32()),
        ("l", pa.list_(pa.int32())),
        ("d", pa.decimal128(20, 2)),
        ("s", pa.struct([("x", pa.int32()), ("y", pa.struct([("z", pa.string())]))])),
        ("b", pa.binary()),
    ]
)


def test_columns_by_default() -> None:
    assert indexed_columns(SCHEMA, {}) == [*META_INDEXED, "a", "d", "b"]
    assert indexed_columns(SCHEMA, {}, meta=False) == ["a", "d", "b"]
    # In older tables decimals have room for 15 digits before the point.
    assert indexed_columns(SCHEMA, {}, 8) == [*META_INDEXED, "a", "b"]
    assert is_stored(pa.decimal128(17, 2), 8) and not is_stored(pa.decimal128(18, 2), 8)
    assert indexed_columns(SCHEMA, {RANGES_MOST.key: "1"}) == [*META_INDEXED, "a"]
    many = pa.schema([(f"c{n}", pa.int32()) for n in range(40)])
    assert indexed_columns(many, {})[3:] == [f"c{n}" for n in range(32)]


def test_columns_by_name() -> None:
    asked = {RANGE_COLUMNS.key: "b, s.y.z ,_hoodie_record_key,l"}
    assert indexed_columns(SCHEMA, asked) == [*META_INDEXED, "b", "s.y.z"]
    for name in ("nope", "s.nope", "a.x"):
        with pytest.raises(ConfigError, match=name):
            indexed_columns(SCHEMA, {RANGE_COLUMNS.key: name})


def test_nested_columns_of_log_files_are_told(tmp_path: Path) -> None:
    """What is told of the partition path holds the value that only a log file has."""
    schema = pa.schema(
        [("id", pa.string()), ("p", pa.string()), ("s", pa.struct([("n", pa.int64())]))]
    )
    options = {"hoodie.metadata.enable": "true", RANGE_COLUMNS.key: "s.n"}
    table = hoodoo.create(
        str(tmp_path / "t"), schema, record_key="id", partition_by="p", table_type="MERGE_ON_READ",
        options=options,
    )  # fmt: skip
    for number in (1, 100):
        table.upsert(pa.table([["a"], ["x"], [{"n": number}]], schema=schema))
    storage = table.handle.storage
    metadata = MetadataTable.open(storage, load(storage, table.config))
    for partition, least in (("column_stats", {1, 100}), ("partition_stats", {1})):
        found = [
            one
            for slice_ in metadata.slices(partition)
            for batch in known()[partition].merged(metadata.storage, slice_, record_schema(9))
            for one in decode_ranges(batch.column("value"))
            if one.column == "s.n"
        ]
        assert {one.least for one in found} == least
        assert max(one.greatest for one in found) == 100


# --- many at a time -------------------------------------------------------------------------------
def _drawn(kind: pa.DataType | None, least: Any, greatest: Any) -> st.SearchStrategy[ColumnRange]:
    ends = pa.array([least, greatest], kind or pa.null())
    raws = [None, None] if kind is None else [raw_of(one) for one in ends]
    bounds = st.sampled_from([tuple(raws), (None, None), (raws[0], raws[0]), (raws[0], None)])
    counts = st.integers(0, 2**40)
    return st.builds(
        lambda ends, *rest: ColumnRange("c", "f", *ends, kind, *rest),
        bounds, counts, counts, counts, counts, st.booleans(), st.booleans(), st.booleans(),
    )  # fmt: skip


@pytest.mark.parametrize("version", [6, 9])
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_many_values_say_what_each_of_them_says(version: int, data: st.DataObject) -> None:
    kinds = [(case[0], case[1], case[2]) for case in KINDS if is_stored(case[0], version)]
    some = st.one_of([_drawn(*one) for one in (*kinds, (None, None, None))])
    ranges = data.draw(
        st.lists(some | st.builds(gone, st.text(), st.text()), min_size=1, max_size=20)
    )
    values = pa.array([encode_range(one, version) for one in ranges], pa.binary())
    found = read_ranges(values.take(pa.array(np.arange(200) % len(values))), None)
    assert found is not None
    one_by_one = decode_ranges(values.to_pylist())
    assert [repr(one) for one in found] == [repr(one) for one in one_by_one * 200][:200]


def test_many_values_that_are_damaged() -> None:
    value = encode_range(ColumnRange("c", "f", 1, 2, pa.int64(), 3), 9)
    for damaged in (value[:-1], value + b"\0", b"", value[:9]):
        with pytest.raises(CorruptTableError):
            decode_ranges(pa.array([*[value] * 200, damaged], pa.binary()))
    of_files = encode_row({"type": 2, "filesystemMetadata": {}})
    with pytest.raises(CorruptTableError, match="type 2"):
        decode_ranges(pa.array([of_files] * 200, pa.binary()))
