"""Reads of fewer rows: the first ones, and those of some columns that a filter lets through."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve, frozen
from hoodoo.calls import checked_methods
from hoodoo.errors import CallError, EngineError
from hoodoo_rows.api import Batches, Reads, Rows, Scan


def limit(self: Rows, n: int) -> Limited:
    """A read of the first ``n`` rows. Reads only as much of the files as necessary. Rows have no
    order of their own: the order is that of ``to_batches``."""
    if not isinstance(n, int) or isinstance(n, bool) or n < 0:
        raise CallError(f"limit({n!r})", "takes a number of rows.", "Give one, such as limit(10).")
    return Limited(self, n)


@checked_methods
@frozen(repr=False)
class Limited(Rows):
    """The first ``most`` rows of ``rows``."""

    rows: Rows
    most: int

    @property
    def schema(self) -> pa.Schema:
        return self.rows.schema

    def __repr__(self) -> str:
        return f"<first {self.most} rows of {self.rows!r}>"

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """The rows, lazily; reading ends with the last of them."""
        return first(self.rows.to_batches(), self.most)

    def count(self) -> int:
        """The number of rows: ``most``, or those that there are."""
        rows = some(self.rows, (), None)
        return sum(batch.num_rows for batch in first(rows.to_batches(), self.most))

    def to_spark(self, spark: Any = None) -> Any:
        """A lazy Spark DataFrame of as many rows; which ones, is Spark's to choose."""
        make = getattr(self.rows, "to_spark", None)
        if make is None:
            raise EngineError(
                f"to_spark of {self!r}", "its rows are not read by tasks.", "Limit the read itself."
            )
        return make(spark).limit(self.most)

    def explain(self) -> str:
        """The plan of the rows, of which the first are taken."""
        return f"first {self.most} rows of\n{getattr(self.rows, 'explain', self.rows.__repr__)()}"


def first(batches: Iterator[pa.RecordBatch], most: int) -> Iterator[pa.RecordBatch]:
    """Batches of the first ``most`` rows; those behind them are not asked for, and their source is
    closed."""
    try:
        while most > 0 and (batch := next(batches, None)) is not None:
            batch = batch.slice(0, most)
            most -= batch.num_rows
            yield batch
    finally:
        close = getattr(batches, "close", None)
        if close is not None:
            close()


def some(rows: Rows, columns: Sequence[str] | None, where: pc.Expression | None) -> Rows:
    """``rows`` of these columns, of which ``where`` is true: pushed down to the files where it is a
    scan."""
    if columns is None and where is None:
        return rows
    if isinstance(rows, Scan):
        return evolve(rows, plan=Reads.narrowed(rows.source, rows.plan, columns, where))
    return Chosen(rows, None if columns is None else tuple(columns), where)


@frozen(repr=False)
class Chosen(Rows):
    """``rows``, projected and filtered after they have been read."""

    rows: Rows
    columns: tuple[str, ...] | None = None
    where: pc.Expression | None = None

    @property
    def schema(self) -> pa.Schema:
        whole = self.rows.schema
        return (
            whole
            if self.columns is None
            else pa.schema([whole.field(name) for name in self.columns])
        )

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        for batch in self.rows.to_batches():
            left = batch if self.where is None else Batches.let_through(batch, self.where)
            if left.num_rows:
                yield left if self.columns is None else left.select(list(self.columns))

    def count(self) -> int:
        if self.where is None:
            return self.rows.count()
        return sum(batch.num_rows for batch in self.to_batches())
