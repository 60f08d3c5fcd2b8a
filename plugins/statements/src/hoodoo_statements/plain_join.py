"""Plain join: rows of the table found by columns that are equal to columns of the source, by Arrow
alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import define, frozen
from hoodoo_rows.api import Batches

from hoodoo_statements.evaluate import Places

# Kinds of columns whose values are equal for Arrow where they are for SQL, and whose text is the
# same then, too.
_PLAIN = (pa.types.is_integer, pa.types.is_string, pa.types.is_date32)


def plain(mine: pa.DataType, theirs: pa.DataType) -> bool:
    """Whether columns of these types, of the table and of a source, can be compared here."""
    return any(kind(mine) and kind(theirs) for kind in _PLAIN)


@frozen
class _Step:
    """``values``: the distinct ones of a column of the source. ``pairs``: which of them comes with
    which of the columns before it, as number of those times number of values plus number of this;
    sorted. None: it is the first."""

    column: str
    values: pa.Array
    pairs: Places | None


@define
class PlainJoin:
    """Made once of a source. A column after the other leaves fewer rows to be looked at."""

    steps: list[_Step]
    # For each combination of values, which row of the source has it.
    rows: Places
    # Whether no two rows of the source have the same values.
    distinct: bool

    @classmethod
    def of(
        cls, source: pa.Table, columns: Sequence[tuple[str, str]], types: Sequence[pa.DataType]
    ) -> PlainJoin:
        """``columns``: of the table, of the source. ``types``: those that the table's have. Raises
        pa.ArrowInvalid where a value of the source does not fit them. A row with a null belongs to
        nothing."""
        there = np.ones(source.num_rows, bool)
        for _, theirs in columns:
            there &= np.asarray(pc.is_valid(Batches.one_array(source.column(theirs))))
        left = source.select(list({t: t for _, t in columns})).filter(pa.array(there))
        steps: list[_Step] = []
        code = np.zeros(left.num_rows, np.int64)
        for (mine, theirs), kind in zip(columns, types, strict=True):
            column = Batches.one_array(left.column(theirs).cast(kind))
            values = pc.unique(column)
            at, pairs = _numbers(pc.index_in(column, value_set=values)), None
            if steps:
                pairs, code = np.unique(code * len(values) + at, return_inverse=True)
            else:
                code = at
            steps.append(_Step(mine, values, pairs))
        known = len(steps[-1].values if steps[-1].pairs is None else steps[-1].pairs)
        rows = np.zeros(known, np.int64)
        rows[code] = np.flatnonzero(there)
        return cls(steps, rows, known == len(code))

    def places(self, rows: pa.Table) -> tuple[Places, Places]:
        """The numbers of ``rows`` that have a row of the source, in order, and of those."""
        at = code = np.zeros(0, np.int64)
        for number, step in enumerate(self.steps):
            column = rows.column(step.column)
            if number:
                column = column.take(pa.array(at))
            found = pc.index_in(column, value_set=step.values)
            hit = np.flatnonzero(np.asarray(pc.is_valid(found)))
            value = _numbers(found.drop_null())
            if step.pairs is None:
                at, code = hit, value
                continue
            at, wanted = at[hit], code[hit] * len(step.values) + value
            code = np.searchsorted(step.pairs, wanted)
            known = step.pairs[np.minimum(code, max(len(step.pairs) - 1, 0))] == wanted
            at, code = at[known], code[known]
        return at, self.rows[code]


def _numbers(found: pa.Array | pa.ChunkedArray) -> Places:
    return np.asarray(Batches.one_array(found)).astype(np.int64)
