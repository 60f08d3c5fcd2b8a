"""Prepare: incoming columns become the table's columns, or a clear error."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from attrs import frozen
from hoodoo.errors import MissingColumnError, SchemaError
from hoodoo.hookspecs.engine import Task
from hoodoo.model.meta import without_meta
from hoodoo.model.schema import logical
from hoodoo.options.table import (
    ADD_COLUMNS,
    FILL_COLUMNS,
    NAIVE_TIMESTAMPS,
    NANOSECONDS,
    WIDEN_INTEGERS,
)

from hoodoo_rows.model.conform import conform
from hoodoo_rows.model.normalize import known_type, normalise_schema, without_index
from hoodoo_rows.write.evolve import evolve
from hoodoo_rows.write.truncate import truncated


def target_schema(
    table: pa.Schema,
    incoming: pa.Schema,
    fixed: Sequence[str],
    needed: Sequence[str],
    options: Mapping[str, str],
    ordering: Sequence[str] = (),
    some: bool = False,
) -> pa.Schema:
    """The table's schema after this write.

    ``fixed`` columns (keys, partitions) never change; ``needed`` ones must be there; ``ordering``
    ones never get a type that orders otherwise; of the others ``some`` are enough, whatever the
    options say. Raises MissingColumnError or SchemaError; nothing has been written by then."""
    arriving = arriving_schema(incoming, table, options)
    missing = [c for c in needed if not has_column(arriving, c)]
    if missing:
        raise MissingColumnError(
            f"column {', '.join(missing)}",
            "is needed to make keys, partition paths or the order of rows, and the data lacks it "
            f"(it has: {', '.join(arriving.names)})",
            "add the column to the data.",
        )
    adds, fills = _column_rules(options)
    before = table if len(table) else arriving  # nothing says a schema before the first rows
    return evolve(
        before,
        arriving,
        tuple(fixed),
        ordering=ordering,
        widen_integers=WIDEN_INTEGERS.read(options),
        add=adds,
        fill=fills or some,
    )


def arriving_schema(incoming: pa.Schema, table: pa.Schema, options: Mapping[str, str]) -> pa.Schema:
    """The columns of ``incoming`` rows as the door leaves them, without meta columns and pandas'
    index. What has no type there, as it holds nulls alone, has that of the ``table``'s, and so have
    numbers of types that no table has."""
    known = {field.name: field.type for field in table}
    typed = [
        f.with_type(known_type(f, known[f.name])) if f.name in known else f
        for f in without_index(incoming, known)
    ]
    found = without_meta(normalise_schema(pa.schema(typed), options))
    if NAIVE_TIMESTAMPS.given(options):  # that they are UTC is no word on columns without a zone
        plain = without_meta(normalise_schema(pa.schema(typed), {}))
        found = pa.schema([f if _zoneless(f, known) else found.field(f.name) for f in plain])
    return found


def _zoneless(field: pa.Field, known: Mapping[str, pa.DataType]) -> bool:
    """Whether the table's column has the type that comes, or neither of the two a time zone."""
    kind = known.get(field.name)
    both = [k is not None and pa.types.is_timestamp(k) and k.tz is None for k in (kind, field.type)]
    return field.type == kind or all(both)


def only_arriving(schema: pa.Schema, incoming: pa.Schema, options: Mapping[str, str]) -> pa.Schema:
    """The columns of ``schema`` that the ``incoming`` rows have: what travels of a partial
    update."""
    arriving = set(arriving_schema(incoming, schema, options).names)
    return pa.schema([field for field in schema if field.name in arriving])


def has_column(schema: pa.Schema, name: str) -> bool:
    """Whether ``schema`` has the column or, dotted, the nested field ``name``."""
    fields: Any = schema
    for part in name.split("."):
        at = fields.get_field_index(part) if isinstance(fields, (pa.Schema, pa.StructType)) else -1
        if at < 0:
            return False
        fields = fields.field(at).type
    return True


@frozen
class Conform:
    """Step: batches exactly in ``out_schema``, by name; columns that the data lacks become null."""

    out_schema: pa.Schema
    options: Mapping[str, str]

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        seen, arriving, known = None, pa.schema([]), frozenset[str]()
        names = frozenset(self.out_schema.names)
        for batch in batches:
            if seen is None or not batch.schema.equals(seen, check_metadata=True):
                seen = batch.schema
                arriving = arriving_schema(seen, self.out_schema, self.options)
                known = frozenset(arriving.names)
            # Batches may lack what pandas says in the schema of all.
            own = batch.select(
                [
                    n
                    for n in batch.schema.names
                    if n in known and (n in names or n[:14] != "__index_level_")
                ]
            )
            if NANOSECONDS.given(self.options):
                own = truncated(own, self.out_schema)
            found = conform(conform(own, arriving), self.out_schema)
            for at, field in enumerate(found.schema):
                if (own := logical.of(field.type)) is not None:
                    written = own.written(found.column(at), field.type, field.name)
                    found = found.set_column(at, field, written)
                else:
                    _check_values(found.column(at), field.name)
            yield found


def _check_values(array: pa.Array, column: str) -> None:
    """SchemaError for texts that are no UTF-8, and for decimals of more digits than their type:
    Arrow takes them from other libraries unseen, and readers fail on what is stored of them. 1 GB
    of text takes about 0.4 s."""
    if pa.types.is_string(array.type) or pa.types.is_decimal(array.type):
        try:
            array.validate(full=True)
        except pa.ArrowInvalid as error:
            is_text = pa.types.is_string(array.type)
            raise SchemaError(
                f"column {column}",
                f"holds a {'text that is no UTF-8' if is_text else f'number beyond {array.type}'} "
                f"({error}).",
                "Decode its bytes before writing." if is_text else "Cast the column to string.",
            ) from error
    elif pa.types.is_struct(array.type):
        for field, child in zip(array.type, array.flatten(), strict=True):
            _check_values(child, f"{column}.{field.name}")
    elif pa.types.is_nested(array.type) and len(array):
        begin, end = array.offsets[0].as_py(), array.offsets[-1].as_py()
        is_map = pa.types.is_map(array.type)
        for child in (array.keys, array.items) if is_map else (array.values,):
            # Batches may share one child array: check the part of this batch.
            _check_values(child.slice(begin, end - begin), column)


@frozen
class Only:
    """Step: the columns of ``out_schema`` and no others."""

    out_schema: pa.Schema

    @classmethod
    def of(cls, schema: pa.Schema, names: Sequence[str]) -> Only:
        """Those of ``names`` (of nested ones the top column) that ``schema`` has."""
        tops = {name.split(".")[0] for name in names}
        return cls(pa.schema([field for field in schema if field.name in tops]))

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch.select(self.out_schema.names)


def _column_rules(options: Mapping[str, str]) -> tuple[bool, bool]:
    """Whether columns that the table lacks are added to it, and whether those that rows lack are
    null in them.

    All jobs of Spark Hudi name the table in their options, and no call of Hoodoo needs to: there it
    is as in Spark Hudi (``HoodieSchemaUtils.deduceWriterSchema``)."""
    of_spark_hudi = bool({"hoodie.table.name", "hoodie.datasource.write.table.name"} & {*options})
    adds, fills = ADD_COLUMNS.read(options), FILL_COLUMNS.given(options)
    return adds or of_spark_hudi, (adds or not of_spark_hudi) if fills is None else fills
