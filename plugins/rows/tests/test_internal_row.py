"""The internal row, as an object and in batches."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pytest
from hoodoo.errors import DataError
from hoodoo_rows.engine.row_shape import IS_INDEX, RowShape
from hoodoo_rows.model.internal_row import (
    FIELDS,
    KINDS,
    InternalRow,
    constant,
    operation_code,
    operation_name,
    rows_schema,
)
from hypothesis import given
from hypothesis import strategies as st

DATA = pa.schema([("id", pa.int64()), ("name", pa.string())])
ONE = pa.record_batch([[7], ["Ada"]], schema=DATA)
KEYED = pa.schema(
    [
        ("_hoodie__op", pa.int8()),
        ("_hoodie__seq", pa.int64()),
        ("_hoodie_record_key", pa.string()),
        ("_hoodie_partition_path", pa.string()),
        *DATA,
        ("_hoodie__part", pa.int32()),
        ("_hoodie__slot", pa.int32()),
    ]
)
OUTSIDE = ("_hoodie__part", "_hoodie__slot")


def keyed(count: int = 10) -> pa.RecordBatch:
    values = [
        [i % 3 for i in range(count)],
        list(range(count)),
        [f"k{i}" for i in range(count)],
        ["p"] * count,
        [None if i % 2 else i for i in range(count)],
        [f"n{i}" for i in range(count)],
        [1] * count,
        [2] * count,
    ]
    return pa.record_batch([pa.array(v, f.type) for v, f in zip(values, KEYED)], schema=KEYED)


# --- an object --------------------------------------------------------------------------------------
def index_record(file_id: str, instant: str) -> InternalRow:
    """Where a key lies."""
    return InternalRow(
        record_key="k",
        partition_path="p",
        file_id=file_id,
        instant_time=instant,
        is_index_record=True,
    )


def test_a_row() -> None:
    row = InternalRow.row("k", "p", ONE)
    assert (row.file_id, row.instant_time, row.operation_type) == ("", "", "")
    assert not row.is_index_record and row.row_data is ONE


def test_an_index_record_has_no_row_data() -> None:
    row = index_record("f", "2024")
    assert row.is_index_record and row.row_data is None and row.operation_type == ""
    with pytest.raises(DataError, match="index record"):
        InternalRow(record_key="k", partition_path="p", is_index_record=True, row_data=ONE)
    with pytest.raises(DataError, match="no row data"):
        InternalRow(record_key="k", partition_path="p")
    with pytest.raises(DataError, match="2 rows"):
        InternalRow.row("k", "p", pa.record_batch([[1, 2], ["", ""]], schema=DATA))


@pytest.mark.parametrize("name", ["record_key", "partition_path", "is_index_record", "row_data"])
def test_what_never_changes(name: str) -> None:
    row = InternalRow.row("k", "p", ONE)
    with pytest.raises(AttributeError):
        setattr(row, name, getattr(row, name))


@pytest.mark.parametrize("name", ["file_id", "instant_time", "operation_type"])
def test_what_is_found_out_later(name: str) -> None:
    row = InternalRow.row("k", "p", ONE)
    setattr(row, name, "x")
    assert getattr(row, name) == "x"


def test_there_are_seven_fields_with_types() -> None:
    schema = rows_schema(DATA)
    assert tuple(schema.names) == FIELDS and len(FIELDS) == 7
    assert [f.type for f in schema][:6] == list(KINDS.values())
    assert schema.field("row_data").type == pa.struct(list(DATA))
    assert tuple(InternalRow.__slots__)[:7] == FIELDS


def test_a_row_in_a_batch() -> None:
    schema = rows_schema(DATA)
    row = InternalRow.row("k", "p", ONE)
    row.operation_type = "DELETE"
    assert InternalRow.of(row.batch(schema)) == row
    record = index_record("f", "2024")
    assert InternalRow.of(record.batch(schema)) == record
    assert record.batch(schema).column("row_data").null_count == 1


def test_operations() -> None:
    for name in ("", "PUT", "DELETE", "DELETE_ROW", "17"):
        code = operation_code(name)
        assert (operation_name(code) if code is not None else "") == name
    assert operation_code("DELETE") == 1


# --- batches ----------------------------------------------------------------------------------------
def test_flat_rows_are_internal_rows_without_a_copy() -> None:
    flat = keyed()
    shape = RowShape(KEYED, OUTSIDE)
    rows = shape.rows(flat)
    assert tuple(rows.schema.names) == FIELDS
    assert rows.column("record_key") == flat.column("_hoodie_record_key")
    assert rows.column("operation_type") == flat.column("_hoodie__op")
    assert rows.schema.field("row_data").type == pa.struct([("_hoodie__seq", pa.int64()), *DATA])
    assert {b.address for b in flat.column("name").buffers() if b} <= {
        b.address for b in rows.column("row_data").buffers() if b
    }
    back = shape.flat(rows, {n: flat.column(n) for n in OUTSIDE})
    assert back == flat
    for name in KEYED.names:
        assert [b and b.address for b in back.column(name).buffers()] == [
            b and b.address for b in flat.column(name).buffers()
        ]


@given(st.integers(0, 10), st.integers(0, 10))
def test_slices_come_back(start: int, count: int) -> None:
    flat = keyed()
    shape = RowShape(KEYED, OUTSIDE)
    rows = shape.rows(flat).slice(start, count)
    part = flat.slice(start, count)
    assert shape.flat(rows, {n: part.column(n) for n in OUTSIDE}) == part


def test_absent_fields_are_constants() -> None:
    rows = RowShape(KEYED, OUTSIDE).rows(keyed(3))
    assert rows.column("file_id").to_pylist() == ["", "", ""]
    assert rows.column("instant_time").to_pylist() == ["", "", ""]
    assert rows.column("is_index_record").to_pylist() == [False, False, False]
    assert all(rows.schema.field(n).metadata for n in ("file_id", "instant_time"))
    assert not rows.schema.field("record_key").metadata
    assert InternalRow.of(rows, 2).operation_type == "DELETE_ROW"


def test_keys_are_index_records() -> None:
    schema = pa.schema(
        [
            ("_hoodie__part", pa.int32()),
            ("record_key", pa.string()),
            ("partition_path", pa.string()),
            ("file_id", pa.string()),
        ]
    )
    flat = pa.record_batch([pa.array([0], pa.int32()), ["k"], ["p"], ["3"]], schema=schema)
    shape = RowShape(schema, ("_hoodie__part",))
    rows = shape.rows(flat)
    assert rows.column("is_index_record").to_pylist() == [True]
    assert rows.schema.field("row_data").type == pa.null()
    assert InternalRow.of(rows) == index_record("3", "")
    assert shape.flat(rows, {"_hoodie__part": flat.column("_hoodie__part")}) == flat


def test_rows_and_index_records_in_one_stream() -> None:
    schema = pa.schema([(IS_INDEX, pa.bool_()), ("_hoodie_record_key", pa.string()), *DATA])
    flat = pa.record_batch([[True, False], ["a", "b"], [None, 1], [None, "x"]], schema=schema)
    shape = RowShape(schema)
    rows = shape.rows(flat)
    assert rows.column("row_data").is_null().to_pylist() == [True, False]
    assert shape.flat(rows, {}) == flat
    assert [InternalRow.of(rows, i).is_index_record for i in (0, 1)] == [True, False]


def test_columns_of_the_users_are_row_data() -> None:
    """A column that is called like a field and isn't one."""
    names = ("file_id", "record_key", "instant_time", "operation_type", "row_data")
    schema = pa.schema([("_hoodie_record_key", pa.string()), *((n, pa.string()) for n in names)])
    shape = RowShape(schema)
    assert [f.name for f in shape.schema.field("row_data").type] == list(names)
    flat = pa.record_batch([["k"], *([n] for n in names)], schema=schema)
    assert shape.flat(shape.rows(flat), {}) == flat


def test_columns_of_another_type_are_row_data() -> None:
    schema = pa.schema([("_hoodie_record_key", pa.string()), ("_hoodie__op", pa.string())])
    assert [f.name for f in RowShape(schema).schema.field("row_data").type] == ["_hoodie__op"]


def test_shapes_travel() -> None:
    shape = RowShape(KEYED, OUTSIDE)
    far = pickle.loads(pickle.dumps(shape))
    assert far.rows(keyed()) == shape.rows(keyed())


def test_long_constants() -> None:
    field = rows_schema(None).field("row_data")
    assert constant(field, 3).null_count == 3
    field = RowShape(KEYED, OUTSIDE).schema.field("file_id")
    assert len(constant(field, 300_000)) == 300_000
