"""Changes: a planned change read, evaluated as often and in as many ways as the user likes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
from attrs import field, frozen

from hoodoo.calls import checked_methods
from hoodoo.hookspecs.engine import Task
from hoodoo.read.changes.compare import Comparison
from hoodoo.read.changes.plan import ChangesPlan, plan_changes
from hoodoo.read.changes.unit import ChangeUnit, pack_units, unpack_units
from hoodoo.read.prefetch import in_order
from hoodoo.read.rows import Rows
from hoodoo.read.scan import dataframe
from hoodoo.read.source import ReadSource, keyed_format
from hoodoo.read.step import PAYLOAD, dealt


@frozen
class ReadChanges:
    """Step: rows of the binary column ``payload`` (see :func:`change_payloads`) -> changes."""

    comparison: Comparison

    @property
    def out_schema(self) -> pa.Schema:
        return self.comparison.spec.out_schema

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for payload in batch.column(PAYLOAD):  # one turn per task, not per row of data
                for unit in unpack_units(payload.as_py()):
                    yield from self.comparison.changes(unit)


@checked_methods
@frozen(repr=False)
class Changes(Rows):
    """What ``table.changes`` returns. Nothing is read until one of the methods is called.

    One row for each changed row and commit, commits in order: ``op`` is ``insert``, ``update`` or
    ``delete``, ``instant`` the request of the commit and ``completed`` its completion (in version 6
    its request), ``before`` and ``after`` are structs of the row's columns, null where there is none.
    """

    source: ReadSource
    plan: ChangesPlan
    read_ahead: int = field(default=2, kw_only=True)

    @classmethod
    def of(cls, source: ReadSource, **wanted: Any) -> Changes:
        """Plan and wrap; ``wanted`` as of :func:`~hoodoo.read.changes.plan.plan_changes`."""
        return cls(source, plan_changes(source, **wanted))

    @property
    def schema(self) -> pa.Schema:
        return self.plan.spec.out_schema

    def __repr__(self) -> str:
        return f"<hoodoo.Changes of {self.plan.brief()}>"

    @property
    def step(self) -> ReadChanges:
        """The same read as a step for an engine's tasks."""
        return ReadChanges(self._comparison)

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """The changes, lazily: by commit; of a commit that may have moved rows deletes come first.

        Memory: ``read_ahead`` times what a commit changed in one file group, and the group's keys.
        """
        sources: list[Callable[[], Iterator[pa.RecordBatch]]]
        sources = [partial(self._comparison.changes, unit) for unit in self.plan.units]
        return in_order(sources, self.read_ahead, 4)

    def to_spark(self, spark: Any = None) -> Any:
        """A lazy Spark DataFrame, in no particular order; ``spark`` defaults to the active session.

        Raises EngineError when hoodoo-spark is not installed or there is no session.
        """
        return dataframe(self, spark)

    def count(self) -> int:
        """The number of changes."""
        return sum(batch.num_rows for batch in self.to_batches())

    def explain(self) -> str:
        """The plan."""
        return str(self.plan)

    @property
    def _comparison(self) -> Comparison:
        return Comparison(
            self.source.storage, keyed_format(self.source), self.plan.spec, self.plan.rule
        )


def change_payloads(units: Sequence[ChangeUnit], tasks: int) -> list[bytes]:
    """``units`` packed, in their order, into at most ``tasks`` payloads of similar bytes."""
    return [pack_units(group) for group in dealt(units, tasks)]
