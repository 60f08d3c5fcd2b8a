"""Result: what a statement of a session returns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
from attrs import field, frozen
from hoodoo.calls import checked_methods
from hoodoo_rows.api import Commit, Rows


@checked_methods
@frozen(repr=False, eq=False)
class Result(Rows):
    """The rows that a statement returns. ``commit`` is that of a statement which changes a table,
    whose only row has the commit's counts; else None."""

    rows: Any  # a pyarrow Table, or a DataFrame of Spark, which has not run yet
    commit: Commit | None = None
    _known: list[pa.Table] = field(factory=list, init=False)

    @classmethod
    def of(cls, answer: Any) -> Result:
        """The result for what ``hoodoo.sql`` returns."""
        if not isinstance(answer, Commit):
            return cls(answer)
        names = ("instant", "action", "operation", "inserted", "updated", "deleted")
        columns = {name: [getattr(answer, name)] for name in names}
        return cls(pa.table(columns), answer)

    @property
    def schema(self) -> pa.Schema:
        return self._table().schema

    def __repr__(self) -> str:
        return f"<result of a statement: {self.rows if self.commit is None else self.commit!r}>"

    def _facts(self) -> Mapping[str, object]:
        return {"commit": self.commit} if self.commit is not None else super()._facts()

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """The rows as record batches."""
        return iter(self._table().to_batches())

    def count(self) -> int:
        """The number of rows."""
        return int(self._table().num_rows)

    def to_spark(self, spark: Any = None) -> Any:
        """The rows as a Spark DataFrame: of a query that Spark runs, the DataFrame itself, lazily.
        Else ``spark`` makes one, or the active session."""
        if not isinstance(self.rows, pa.Table):
            return self.rows
        if spark is None:
            from pyspark.sql import SparkSession

            spark = SparkSession.active()
        from hoodoo_statements.query import frame_of

        return frame_of(spark, self.rows)

    def _table(self) -> pa.Table:
        from hoodoo_statements.query import arrow_of

        if not self._known:
            self._known.append(arrow_of(self.rows))
        return self._known[0]
