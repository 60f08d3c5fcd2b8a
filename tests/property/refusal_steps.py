"""Rows that are almost right: integers that arrive as floating numbers, and writes that have to be refused, after
which the table is what it was."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from attrs import evolve
from hoodoo.errors import DataError, SchemaError
from table_draws import (
    AMBIGUOUS_KEY,
    APPEND,
    BULK_INSERT,
    FRACTION,
    INSERT,
    OVERWRITE,
    OVERWRITE_TABLE,
    UPSERT,
    Op,
)
from table_model import Row
from table_values import AMBIGUOUS, NAN
from tally import TALLY

if TYPE_CHECKING:
    from table_trial import Trial

Rows = tuple[list[Row], pa.Schema]
Spoil = Callable[[list[Row], pa.Schema], Rows] | None
_WRITES = (UPSERT, INSERT, BULK_INSERT, APPEND, OVERWRITE, OVERWRITE_TABLE)
_INTEGERS = ("w", "big", "later_long")
_MOST = 2**53  # a double holds each whole number below


def as_floats(rows: list[Row], schema: pa.Schema, before: pa.Schema, op: Op) -> Rows:
    """The rows with columns of integers as doubles, nulls now as nulls, now as not-a-number. Numbers that a
    double may not hold become others in ``rows``, too. ``before``: the table's schema."""
    names = [
        field.name
        for field in schema
        if field.name in _INTEGERS and field.name in before.names
        and op.evolve != f"widen {field.name}"  # it says the wider type itself
    ]  # fmt: skip
    handed = []
    for number, row in enumerate(rows):
        values = dict(row.values)
        for name in names:
            found = row.values[name]
            if found is not None and abs(found) >= _MOST:
                found = row.values[name] = found % 1000 - 500
            empty = NAN if (number + len(name)) % 2 else None
            values[name] = empty if found is None else -0.0 if found == 0 else float(found)
        handed.append(evolve(row, values=values))
    for name in names:
        field = schema.field(name)
        schema = schema.set(schema.get_field_index(name), field.with_type(pa.float64()))
    TALLY.add("integers that arrive as floats")
    return handed, schema


def refuse(trial: Trial, op: Op, where: str) -> None:
    """Try the write with one wrong row, where ``op`` says so and it can be one."""
    if not op.wrong or op.kind not in _WRITES or not op.rows:
        return
    if op.wrong == AMBIGUOUS_KEY and trial.setup.key != ("k", "k3"):
        return
    if op.wrong == FRACTION and not set(_INTEGERS) & set(trial.schema.names):
        return
    model, schema, fresh = trial.model, trial.schema, trial.fresh
    trial.model = model.copy()
    op = evolve(op, evolve="", floats=op.wrong == FRACTION)
    number = len(trial.done) + trial.files
    spoil = _fraction if op.wrong == FRACTION else _ambiguous
    data, _rows = trial._given(op, lambda rows, schema: spoil(number, rows, schema))
    trial.model, trial.schema, trial.fresh = model, schema, fresh
    before = _writes(trial)
    error, says = (
        (SchemaError, "not a whole number") if op.wrong == FRACTION else (DataError, "key column")
    )
    with pytest.raises(error, match=says):
        getattr(trial.table, op.kind)(data)
    assert _writes(trial) == before, where
    trial._check_newest(f"{where}: refused, {op.wrong}")
    TALLY.add(f"refused: {op.wrong}")


def _writes(trial: Trial) -> list[str]:
    return [write.requested for write in trial.table.timeline().writes()]


def _fraction(number: int, rows: list[Row], schema: pa.Schema) -> Rows:
    names = [name for name in _INTEGERS if name in schema.names]
    return _with(number, rows, {names[number % len(names)]: 0.5}), schema


def _ambiguous(number: int, rows: list[Row], schema: pa.Schema) -> Rows:
    pair = AMBIGUOUS[number % len(AMBIGUOUS)]
    return _with(number, rows, dict(zip(("k", "k3"), pair, strict=True))), schema


def _with(number: int, rows: list[Row], values: dict[str, Any]) -> list[Row]:
    at = number % len(rows)
    wrong = evolve(rows[at], values={**rows[at].values, **values})
    return [*rows[:at], wrong, *rows[at + 1 :]]
