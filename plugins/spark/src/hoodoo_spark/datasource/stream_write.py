"""A table as the sink of a stream: each micro-batch is one commit, which stores the id of its query
and the number of its batch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa
from attrs import frozen
from hoodoo.errors import ConfigError
from hoodoo.timeline.batches import Batch

from hoodoo_spark.datasource.options import Wanted
from hoodoo_spark.datasource.stage import Staged
from hoodoo_spark.datasource.write import QUERY, Writing
from hoodoo_spark.options import IDENTIFIER


@frozen
class SinkWriting:
    """Writes and commits micro-batches."""

    writing: Writing

    @classmethod
    def of(cls, wanted: Wanted, struct: Any, overwrite: bool) -> SinkWriting:
        return cls(Writing.of(wanted, struct, overwrite))

    def write(self, batches: Iterable[pa.RecordBatch]) -> Staged:
        """Stage the rows of one task. Called in the task."""
        from pyspark import TaskContext

        context = TaskContext.get()
        query = context.getLocalProperty(QUERY) if context is not None else None
        return self.writing.staging.write(batches, query or "")

    def commit(self, staged: Sequence[Staged], number: int) -> None:
        """Commit the batch. Called on the driver side, in a process of Spark's own.

        A batch without rows makes no commit, unless the mode is overwrite. If this raises, Spark
        calls :meth:`abort`.

        Raises ConfigError if neither an option nor Spark names the query."""
        if any(one.rows for one in staged) or self.writing.overwrite:
            queries = {one.query for one in staged if one.query}
            # Tasks of one batch have one query; several mean that Spark did not set it for each.
            query = queries.pop() if len(queries) == 1 else ""
            identifier = IDENTIFIER.given(self.writing.wanted.hoodie) or query
            if not identifier:
                raise ConfigError(
                    f"batch {number} for {self.writing.wanted.path}",
                    "It has no query id, so a repeated batch could not be recognised.",
                    f"Give the stream a name of its own: option {IDENTIFIER.key}.",
                )
            self.writing.commit(staged, Batch(identifier, number, query))
        self.writing.discard(staged)

    def abort(self, staged: Sequence[Staged | None]) -> None:
        """Remove the staged rows of a batch that failed; None for a task without a message."""
        self.writing.discard([one for one in staged if one is not None])
