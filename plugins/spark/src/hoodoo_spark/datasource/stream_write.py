"""A table as the sink of a stream: each micro-batch is one commit, which says which batch of which
query it is."""

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
    """What a micro-batch does."""

    writing: Writing

    @classmethod
    def of(cls, wanted: Wanted, struct: Any, overwrite: bool) -> SinkWriting:
        return cls(Writing.of(wanted, struct, overwrite))

    def write(self, batches: Iterable[pa.RecordBatch]) -> Staged:
        """In a task."""
        from pyspark import TaskContext

        context = TaskContext.get()
        query = context.getLocalProperty(QUERY) if context is not None else None
        return self.writing.staging.write(batches, query or "")

    def commit(self, staged: Sequence[Staged], number: int) -> None:
        """On the driver, in a process of its own. A batch without rows leaves no commit, unless it
        replaces all."""
        if any(one.rows for one in staged) or self.writing.overwrite:
            queries = {one.query for one in staged if one.query}
            query = queries.pop() if len(queries) == 1 else ""
            identifier = IDENTIFIER.given(self.writing.wanted.hoodie) or query
            if not identifier:
                raise ConfigError(
                    f"batch {number} for {self.writing.wanted.path}",
                    "does not say of which query it is",
                    f"give the stream a name of its own: option {IDENTIFIER.key}.",
                )
            self.writing.commit(staged, Batch(identifier, number, query))
        self.writing.discard(staged)

    def abort(self, staged: Sequence[Staged | None]) -> None:
        self.writing.discard([one for one in staged if one is not None])
