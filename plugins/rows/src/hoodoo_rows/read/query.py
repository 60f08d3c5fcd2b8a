"""Query: a read that a plugin has planned, evaluated as often and in as many ways as the user
likes."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from attrs import field, frozen
from hoodoo.calls import checked_methods
from hoodoo.hookspecs.engine import Step, Task
from hoodoo.hookspecs.query_type import QueryPlan, UnitReader
from hoodoo.hookspecs.read_source import ReadSource
from hoodoo.kernel.answers import plain

from hoodoo_rows.read.plan import ScanPlan
from hoodoo_rows.read.prefetch import in_order
from hoodoo_rows.read.rows import Rows
from hoodoo_rows.read.scan import Scan, dataframe
from hoodoo_rows.read.shown import shown, shown_schema
from hoodoo_rows.read.step import PAYLOAD, dealt

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# Batches of a unit that wait to be taken.
_WAITING = 4


@frozen
class ReadUnits:
    """Step: rows of the binary column ``payload``, which are units, pickled -> their rows."""

    out_schema: pa.Schema
    reader: UnitReader

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for payload in batch.column(PAYLOAD):  # one turn per task, not per row of data
                for unit in pickle.loads(payload.as_py()):
                    yield from self.reader.rows(unit)


@checked_methods
@frozen(repr=False)
class Query(Rows):
    """What ``table.query`` returns, and ``table.changes``. Nothing is read until one of the methods
    is called. ``read_ahead`` is the number of units that are read at the same time."""

    source: ReadSource
    plan: QueryPlan
    read_ahead: int = field(default=2, kw_only=True)

    @property
    def schema(self) -> pa.Schema:
        """The columns of the answer."""
        return shown_schema(self.plan.schema)

    def __repr__(self) -> str:
        return f"<hoodoo.Query of {self.plan.brief()}>"

    @property
    def size(self) -> int:
        """Bytes of the files that are read, a file as often as it is."""
        return sum(unit.size for unit in self.plan.units)

    @property
    def step(self) -> Step:
        """The same read as a step for an engine's tasks."""
        return ReadUnits(self.plan.schema, self.plan.reader(self.source))

    def payloads(self, tasks: int) -> list[bytes]:
        """What :attr:`step` reads: units in their order, in at most ``tasks`` groups of similar
        bytes."""
        return [pickle.dumps(group, protocol=5) for group in dealt(self.plan.units, tasks)]

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """The rows, lazily, unit after unit. Memory: ``read_ahead`` times what the reading of a
        unit takes."""
        reader = self.plan.reader(self.source)
        sources: list[Callable[[], Iterator[pa.RecordBatch]]]
        sources = [partial(reader.rows, unit) for unit in self.plan.units]
        return shown(in_order(sources, self.read_ahead, _WAITING), self.plan.schema)

    def to_spark(self, spark: Any = None) -> DataFrame:
        """A lazy Spark DataFrame, in no particular order; ``spark`` defaults to the active session.

        Raises EngineError when hoodoo-spark is not installed or there is no session.
        """
        return dataframe(self, spark)

    def count(self) -> int:
        """The number of rows."""
        return sum(batch.num_rows for batch in self.to_batches())

    def explain(self) -> str:
        """The plan."""
        return str(plain(self.plan))


def planned(source: ReadSource, plan: QueryPlan) -> Scan | Query:
    """``plan``, ready to be evaluated: a plan of file slices as a snapshot is."""
    slices = plain(plan)
    return Scan(source, slices) if isinstance(slices, ScanPlan) else Query(source, plan)
