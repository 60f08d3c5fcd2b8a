"""Clauses: what a statement does to which rows, as tasks get it. All values; nothing is computed
here."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
from attrs import Factory, field, frozen


@frozen
class Constant:
    """One value for all rows, of the column's type."""

    value: pa.Scalar


@frozen
class Taken:
    """The source's column ``name``, as it is."""

    name: str


@frozen
class Computed:
    """``sql`` over flat columns."""

    sql: str


@frozen
class Arrow:
    """A pyarrow expression over the table's columns."""

    expression: pc.Expression = field(eq=str)


Value = Constant | Taken | Computed | Arrow


@frozen
class Clause:
    """``condition``: of which rows, as SQL over flat columns; None: all that no clause before has
    taken. ``values``: column -> what it becomes; None: the row is deleted. ``reads``: flat columns
    that condition and values read. ``what``: what to call it in errors."""

    condition: str | None
    values: dict[str, Value] | None
    reads: tuple[str, ...] = ()
    what: str = "the condition"

    @property
    def deletes(self) -> bool:
        return self.values is None


@frozen
class Join:
    """Which rows of table and source belong together: ``condition`` over flat columns, or where
    ``equal`` is given, those whose columns of these names (of the table, of the source) are equal,
    by pairs; no two rows of the source have the same values."""

    condition: str
    reads: tuple[str, ...]
    equal: tuple[tuple[str, str], ...] = ()


@frozen
class Clauses:
    """``matched``: of rows of the table that a row of the source belongs to. ``unmatched``: of
    those that none belongs to; without a source, all. The first clause of a list whose condition is
    true of a row takes it."""

    matched: tuple[Clause, ...] = ()
    unmatched: tuple[Clause, ...] = ()
    join: Join | None = None
    # Whether somebody wants to know which rows of the source belong to one of the table.
    marks: bool = False

    @property
    def all(self) -> tuple[Clause, ...]:
        return (*self.matched, *self.unmatched)

    @property
    def assigned(self) -> frozenset[str]:
        """The columns that one of the clauses assigns."""
        return frozenset(name for clause in self.all for name in clause.values or ())


@frozen
class Insert:
    """What becomes of rows of the source that belong to none of the table."""

    condition: str | None
    values: dict[str, Value] = Factory(dict)
    reads: tuple[str, ...] = ()
    what: str = "the condition"
