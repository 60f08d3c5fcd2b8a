"""Spark's part of a data source, without Spark: what its workers call, in their order, with the pickles between."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark import cloudpickle


def source(options: Mapping[str, str]) -> Any:
    from pyspark.sql.datasource import CaseInsensitiveDict
    from pyspark_hoodoo import DefaultSource

    return DefaultSource(CaseInsensitiveDict(dict(options)))


def travelled(value: Any) -> Any:
    return cloudpickle.loads(cloudpickle.dumps(value))


def read(options: Mapping[str, str], struct: Any = None, pushed: Sequence[Any] = ()) -> pa.Table:
    """The rows of a batch read."""
    from hoodoo_spark.types import task_schema

    made = travelled(source(options))
    struct = made.schema() if struct is None else struct
    reader = made.reader(struct)
    if pushed:
        assert list(reader.pushFilters(list(pushed))) == list(pushed)
    worker = travelled(reader)
    wanted = task_schema(struct)
    batches = [b for part in reader.partitions() for b in worker.read(travelled(part))]
    assert all(batch.schema.equals(wanted) for batch in batches)
    return pa.Table.from_batches(batches, wanted)


def write(
    options: Mapping[str, str],
    tasks: Iterable[pa.Table],
    overwrite: bool = False,
    *,
    fails: bool = False,
) -> None:
    """A batch write of a table in each task; ``fails``: the job does, after its tasks."""
    from hoodoo_spark.types import spark_schema

    tables = list(tasks)
    writer = source(options).writer(spark_schema(tables[0].schema), overwrite)
    worker = travelled(writer)
    messages = [travelled(worker.write(iter(table.to_batches()))) for table in tables]
    driver = travelled(writer)
    if fails:
        driver.abort([*messages, None])
        return
    try:
        driver.commit(messages)
    except Exception:
        driver.abort(messages)
        raise


class Query:
    """A streaming query that reads; ``offset`` is its checkpoint."""

    def __init__(self, options: Mapping[str, str], offset: Any = None) -> None:
        made = source(options)
        self.reader = made.streamReader(made.schema())
        self.offset = offset if offset is not None else self._noted(self.reader.initialOffset())

    @staticmethod
    def _noted(offset: Any) -> Any:
        return json.loads(json.dumps(offset))

    def batch(self) -> pa.Table | None:
        """The next micro-batch; None where there is nothing new."""
        limit = self.reader.getDefaultReadLimit()
        end = self._noted(self.reader.latestOffset(self.offset, limit))
        if end == self.offset:
            return None
        found = self.between(self.offset, end)
        self.offset = end
        return found

    def between(self, start: Any, end: Any) -> pa.Table:
        worker = travelled(self.reader)
        parts = self.reader.partitions(start, end)
        batches = [batch for part in parts for batch in worker.read(travelled(part))]
        return pa.Table.from_batches(batches) if batches else pa.table({})
