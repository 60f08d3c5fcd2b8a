"""Inserts: the rows of a source that belong to none of the table become rows of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from hoodoo.hookspecs.engine import Task
from hoodoo.hookspecs.merger import delete_mark
from hoodoo_rows.api import ArrivingRows, Writes, WriteTarget

from hoodoo_statements.clauses import Insert
from hoodoo_statements.evaluate import Evaluator
from hoodoo_statements.find_changes import new_columns, together


def inserted_rows(
    source: pa.Table,
    matched: pa.ChunkedArray,
    inserts: Sequence[Insert],
    target: WriteTarget,
    instant: str,
) -> pa.Table:
    """Tagged rows of what ``inserts`` make of the rows of ``source`` whose numbers are not in
    ``matched``. ``instant``: generated keys begin with it."""
    lone = np.ones(source.num_rows, bool)
    lone[matched.to_numpy()] = False
    rest = source.filter(pa.array(lone))
    evaluator, made = Evaluator(), []
    for clause in inserts:
        if clause.condition is None:
            taken, rest = rest, rest.slice(0, 0)
        else:
            seen = together(None, rest, clause.reads)
            (answer,) = evaluator.columns(seen, [clause.condition], clause.what)
            true = pc.fill_null(answer.cast(pa.bool_()), False)
            taken, rest = rest.filter(true), rest.filter(pc.invert(true))
        if taken.num_rows:
            made.append(_rows(evaluator, clause, taken, target.schema))
    schema = ArrivingRows.tagged(ArrivingRows.keyed(target.schema))
    if not made:
        return schema.empty_table()
    rows = pa.concat_tables(made)
    step = ArrivingRows.AddKeys.of(
        target.schema,
        target.generator,
        Writes.INSERT,
        instant,
        target.config.keys_are_strict,
        delete_mark(target.merger),
    )
    # A task number that no task of the statement has: their rows come first.
    named = list(step(iter(rows.combine_chunks().to_batches()), Task(1 << 20)))
    keyed_rows = pa.Table.from_batches(named, step.out_schema)
    nowhere = pa.nulls(keyed_rows.num_rows, pa.string())
    return keyed_rows.append_column(ArrivingRows.FILE_ID, nowhere).cast(schema)


def _rows(evaluator: Evaluator, clause: Insert, taken: pa.Table, schema: pa.Schema) -> pa.Table:
    new = new_columns(evaluator, clause.values, schema, None, taken, clause)
    columns = [new[f.name] if f.name in new else _nothing(f, taken.num_rows) for f in schema]
    return pa.Table.from_arrays(columns, schema=schema)


def _nothing(column: pa.Field, rows: int) -> pa.Array:
    if not column.nullable:
        from hoodoo.errors import SchemaError

        raise SchemaError(
            f"column {column.name}",
            "has no nulls, and an insert leaves it out.",
            "Give it a value.",
        )
    return pa.nulls(rows, column.type)
