"""The shape of streams: flat columns as internal rows, and back, by name and without a copy; and
what a step returns, in the schema that it declares."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
from attrs import field, frozen
from hoodoo.errors import PluginError
from hoodoo.hookspecs.engine import Step
from hoodoo.model.meta import COMMIT_TIME, PARTITION_PATH, RECORD_KEY

from hoodoo_rows.model.conform import conform
from hoodoo_rows.model.internal_row import (
    FIELDS,
    KINDS,
    columns_of,
    constant,
    is_constant,
    packed,
    rows_schema,
)

# Rows of a stream may say of themselves that they are index records.
IS_INDEX = "_hoodie__is_index_record"

# Field -> the column that holds it in a stream of rows, and in a stream of keys (which has no
# `_hoodie_record_key`: a column called `file_id` of the user's is a column like any other).
_OF_ROWS = {
    "record_key": RECORD_KEY,
    "partition_path": PARTITION_PATH,
    "file_id": "_hoodie__file_id",
    "instant_time": COMMIT_TIME,
    "operation_type": "_hoodie__op",
    "is_index_record": IS_INDEX,
}
_OF_KEYS = {name: name for name in FIELDS[:-1]}


@frozen
class RowShape:
    """The two forms of one stream: ``flat_schema`` and, as seven fields, ``schema``.

    ``outside`` are flat columns that are no part of a row (what an engine routes by). Columns found
    by name and type are fields; fields that no column holds are constants; all other columns are
    the row data. A stream without any is one of index records.
    """

    flat_schema: pa.Schema
    outside: tuple[str, ...] = ()
    places: Mapping[str, int] = field(init=False)  # field -> flat column
    data: tuple[int, ...] = field(init=False)  # flat columns of the row data
    schema: pa.Schema = field(init=False)

    @places.default
    def _places(self) -> Mapping[str, int]:
        names = _OF_ROWS if RECORD_KEY in self.flat_schema.names else _OF_KEYS
        found = {}
        for name, column in names.items():
            at = self.flat_schema.get_field_index(column)
            if at >= 0 and self.flat_schema.field(at).type == KINDS[name]:
                found[name] = at
        if "record_key" not in found:
            return {}  # not a stream of keyed rows at all
        return found

    @data.default
    def _data(self) -> tuple[int, ...]:
        taken = set(self.places.values())
        return tuple(
            i
            for i, name in enumerate(self.flat_schema.names)
            if i not in taken and name not in self.outside
        )

    @schema.default
    def _schema(self) -> pa.Schema:
        absent = {name: b"" for name in KINDS if name not in self.places}  # operation: null
        if "is_index_record" in absent:
            absent["is_index_record"] = b"false" if self.data else b"true"
        rest = pa.schema([self.flat_schema.field(i) for i in self.data]) if self.data else None
        return rows_schema(rest, **absent)

    def rows(self, flat: pa.RecordBatch) -> pa.RecordBatch:
        """A batch of ``flat_schema`` as internal rows, in the same memory."""
        count = flat.num_rows
        columns = []
        for of in list(self.schema)[:-1]:
            at = self.places.get(of.name)
            columns.append(constant(of, count) if at is None else flat.column(at))
        kind = self.schema.field("row_data").type
        if not self.data:
            data = pa.nulls(count, kind)
        else:
            mask = columns[-1] if "is_index_record" in self.places else None
            data = packed([flat.column(i) for i in self.data], kind, mask)
        return pa.RecordBatch.from_arrays([*columns, data], schema=self.schema)

    def flat(self, rows: pa.RecordBatch, outside: Mapping[str, pa.Array]) -> pa.RecordBatch:
        """The inverse of :meth:`rows`, with the columns of ``outside``."""
        columns: dict[int, pa.Array] = {
            at: rows.column(FIELDS.index(name)) for name, at in self.places.items()
        }
        if self.data:
            columns.update(zip(self.data, columns_of(rows.column(len(FIELDS) - 1)), strict=True))
        names = self.flat_schema.names
        columns.update({names.index(name): array for name, array in outside.items()})
        return pa.RecordBatch.from_arrays(
            [columns[i] for i in range(len(names))], schema=self.flat_schema
        )


def constants_of(schema: pa.Schema) -> tuple[int, ...]:
    """Numbers of the columns that are constants of their stream."""
    return tuple(i for i, of in enumerate(schema) if is_constant(of))


if TYPE_CHECKING:
    _Batches = map[pa.RecordBatch]
else:
    _Batches = map


class returned(_Batches):
    """What ``step`` returns, ``batches``, in exactly the schema that it declares. ``source`` are
    the batches as they came.

    Columns are put in order by name and cast. Raises PluginError where a column lacks or is one too
    many, SchemaError where a value does not fit. (No generator: what looks at each batch when it
    has come is not on the stack while it is made.)"""

    source: Iterator[pa.RecordBatch]

    def __new__(cls, batches: Iterator[pa.RecordBatch], step: Step) -> returned:
        schema = step.out_schema
        found = super().__new__(cls, partial(_declared, step, schema), batches)
        found.source = batches
        return found


def _declared(step: Step, schema: pa.Schema, batch: pa.RecordBatch) -> pa.RecordBatch:
    if batch.schema.equals(schema, check_metadata=True):
        return batch
    names = set(schema.names)
    wrong = names.symmetric_difference(batch.schema.names)
    if wrong:
        name = min(wrong)
        raise PluginError(
            f"step {type(step).__qualname__}",
            f"{'does not return' if name in names else 'returns an undeclared'} column "
            f"{name!r}; it declares {schema.names} and returned {batch.schema.names}.",
            "Return exactly the columns of out_schema.",
        )
    return conform(batch, schema)
