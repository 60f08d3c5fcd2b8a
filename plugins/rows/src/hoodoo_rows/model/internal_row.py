"""The internal row (RFC-84): what travels between steps is metadata and a packed row.

Seven fields, in this order: record_key, partition_path, file_id, instant_time, operation_type,
is_index_record, row_data. In Arrow a batch of internal rows has these seven columns; `row_data` is
a struct of everything else that a stream carries. An index record says where a key lies and carries
no row data. How the flat columns of a stream become these seven: ``engine/row_shape.py`` of
hoodoo-rows.
"""

from __future__ import annotations

from typing import Any, Protocol

import pyarrow as pa
from attrs import asdict, define, field, setters
from hoodoo.errors import DataError

# Columns of Hoodoo beside those of a table start with `_hoodie_`, which no column of a table may.
# (Debezium names a column `__op`.)
OP = "_hoodie__op"

# Values of `_hoodie__op`.
PUT = 0
DELETE = 1  # asked for by key: wins over anything that came before
DELETE_ROW = 2  # a row marked as deleted: takes part in the ordering like any other row


FIELDS = (
    "record_key",
    "partition_path",
    "file_id",
    "instant_time",
    "operation_type",
    "is_index_record",
    "row_data",
)
# The types of the first six. The operation travels as the number that the column `_hoodie__op` has.
KINDS: dict[str, pa.DataType] = {
    "record_key": pa.string(),
    "partition_path": pa.string(),
    "file_id": pa.string(),
    "instant_time": pa.string(),
    "operation_type": pa.int8(),
    "is_index_record": pa.bool_(),
}
# Number -> text, as :class:`InternalRow` has it. Null is the empty text: nobody said.
OPERATIONS = ("PUT", "DELETE", "DELETE_ROW")

# A field that is the same in all rows of a stream says so in its metadata, under this key:
# serializers may leave the column out of their messages and take it from the schema.
CONSTANT = b"hoodoo.constant"
_KEPT_ROWS = 1 << 17
_kept: dict[tuple[pa.DataType, bytes], pa.Array] = {}


class Copies(Protocol):
    """What :meth:`InternalRow.copy` needs of a serializer."""

    def copy(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Return a copy of ``rows`` that shares no memory with them."""


@define(kw_only=True)
class InternalRow:
    """One internal row as an object: for the edges and for tests; data moves in batches.

    ``row_data`` is a batch of one row. Key, path, row data and whether the row is an index record
    can't be set again (AttributeError). Raises DataError for an index record with row data, and for
    any other row without.
    """

    record_key: str = field(on_setattr=setters.frozen)
    partition_path: str = field(on_setattr=setters.frozen)
    file_id: str = ""
    instant_time: str = ""
    operation_type: str = ""
    is_index_record: bool = field(default=False, on_setattr=setters.frozen)
    row_data: pa.RecordBatch | None = field(default=None, on_setattr=setters.frozen)

    def __attrs_post_init__(self) -> None:
        rows = None if self.row_data is None else self.row_data.num_rows
        if rows != (None if self.is_index_record else 1):
            raise DataError(
                f"internal row of key {self.record_key!r}",
                f"has {'no row data' if rows is None else f'row data of {rows} rows'} and is "
                f"{'an' if self.is_index_record else 'no'} index record.",
                "An index record has no row data; any other has a batch of one row.",
            )

    @classmethod
    def row(cls, record_key: str, partition_path: str, row_data: pa.RecordBatch) -> InternalRow:
        """A row of which no place is known yet."""
        return cls(record_key=record_key, partition_path=partition_path, row_data=row_data)

    def copy(self, serializer: Copies) -> InternalRow:
        """An independent row; ``serializer`` is bound to the schema of the row data."""
        data = None if self.row_data is None else serializer.copy(self.row_data)
        return InternalRow(
            record_key=self.record_key,
            partition_path=self.partition_path,
            file_id=self.file_id,
            instant_time=self.instant_time,
            operation_type=self.operation_type,
            is_index_record=self.is_index_record,
            row_data=data,
        )

    @classmethod
    def of(cls, rows: pa.RecordBatch, number: int = 0) -> InternalRow:
        """Row ``number`` of a batch of internal rows. A null text becomes the empty one."""
        at: dict[str, Any] = {name: rows.column(name)[number].as_py() for name in FIELDS[:-1]}
        code = at["operation_type"]
        at["operation_type"] = "" if code is None else operation_name(code)
        data = None
        if not at["is_index_record"]:
            data = _unpacked(rows.column("row_data").slice(number, 1))
        at = {k: "" if v is None else v for k, v in at.items()}
        return cls(**at, row_data=data)

    def batch(self, schema: pa.Schema) -> pa.RecordBatch:
        """The row as a batch of internal rows in ``schema`` (of :func:`rows_schema`)."""
        values: dict[str, Any] = asdict(self, recurse=False)
        values["operation_type"] = operation_code(self.operation_type)
        columns = [pa.array([values[f.name]], f.type) for f in list(schema)[:-1]]
        kind = schema.field("row_data").type
        data = pa.nulls(1, kind) if self.row_data is None else packed(self.row_data.columns, kind)
        return pa.RecordBatch.from_arrays([*columns, data], schema=schema)


def operation_name(code: int) -> str:
    """The text of an operation; a number without a name is its own text."""
    return OPERATIONS[code] if 0 <= code < len(OPERATIONS) else str(code)


def operation_code(name: str) -> int | None:
    """The inverse of :func:`operation_name`; None for the empty text."""
    if name in OPERATIONS:
        return OPERATIONS.index(name)
    return int(name) if name else None


def rows_schema(row_data: pa.Schema | None, **constants: bytes) -> pa.Schema:
    """The schema of internal rows whose packed row is ``row_data`` (None: index records only).

    ``constants``: field name -> its value in all rows, as text (b"" is null for a number).
    """
    fields = [pa.field(name, kind) for name, kind in KINDS.items()]
    fields[-1] = fields[-1].with_nullable(False)
    if row_data is None:
        constants = {**constants, "row_data": b""}
    kind = pa.null() if row_data is None else pa.struct(list(row_data))
    always = constants.get("is_index_record") == b"false"
    fields.append(pa.field("row_data", kind, nullable=not always))
    return pa.schema(
        [
            f.with_metadata({CONSTANT: constants[f.name]}) if f.name in constants else f
            for f in fields
        ]
    )


def is_constant(of: pa.Field) -> bool:
    """Whether the column is the same in all rows of its stream."""
    return of.metadata is not None and CONSTANT in of.metadata


def constant(of: pa.Field, rows: int) -> pa.Array:
    """The column of a constant field: a view of one array that is kept."""
    text: bytes = of.metadata[CONSTANT]
    if rows > _KEPT_ROWS:
        return _repeated(of.type, text, rows)
    found = _kept.get((of.type, text))
    if found is None:
        found = _kept[of.type, text] = _repeated(of.type, text, _KEPT_ROWS)
        while len(_kept) > 32:
            _kept.pop(next(iter(_kept)), None)
    return found.slice(0, rows)


def _repeated(kind: pa.DataType, text: bytes, rows: int) -> pa.Array:
    if pa.types.is_null(kind) or (text == b"" and kind != pa.string()):
        return pa.nulls(rows, kind)
    value = text.decode()
    return pa.repeat(pa.scalar(value == "true" if kind == pa.bool_() else value, kind), rows)


def packed(
    columns: list[pa.Array], kind: pa.DataType, mask: pa.Array | None = None
) -> pa.StructArray:
    """Columns as one struct, which shares their memory; null where ``mask`` is true."""
    fields = [kind.field(i) for i in range(kind.num_fields)]
    return pa.StructArray.from_arrays(columns, fields=fields, mask=mask)


def columns_of(data: pa.StructArray) -> list[pa.Array]:
    """The columns of a struct; not copied. Where the struct is null they are."""
    if data.null_count:
        return list(data.flatten())
    return [data.field(i) for i in range(data.type.num_fields)]


def _unpacked(data: pa.Array) -> pa.RecordBatch:
    schema = pa.schema([data.type.field(i) for i in range(data.type.num_fields)])
    return pa.RecordBatch.from_arrays(columns_of(data), schema=schema)
