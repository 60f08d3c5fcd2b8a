"""Query type: what a read gives besides the rows of a moment, such as those that were written
since, or what was done to each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import pyarrow as pa

from hoodoo.hookspecs.family import Family

if TYPE_CHECKING:
    from hoodoo.hookspecs.read_source import ReadSource


class QueryUnit(Protocol):
    """A piece of a read, which one task does: a picklable value that says where the rows are, and
    has none."""

    @property
    def size(self) -> int:
        """Bytes of the files that are read for it: tasks are made of units with as many bytes."""


@runtime_checkable
class UnitReader(Protocol):
    """Reads units, in threads or in other processes. Picklable."""

    def rows(self, unit: Any) -> Iterator[pa.RecordBatch]:
        """The rows of ``unit`` in the schema of the plan, lazily; files are closed when the
        iterator ends or is closed. It may be called for one unit again, and gives the same rows
        then."""


@runtime_checkable
class QueryPlan(Protocol):
    """A read, decided: a value. ``str`` of it is what ``explain`` answers."""

    @property
    def schema(self) -> pa.Schema:
        """Of the rows that come out."""

    @property
    def units(self) -> Sequence[QueryUnit]:
        """In the order in which their rows come out where they are read one after the other."""

    def brief(self) -> str:
        """The plan in few words."""

    def reader(self, source: ReadSource) -> UnitReader:
        """What reads the units. Called on the driver; ``source`` is what the plan was made of."""


@runtime_checkable
class QueryType(Protocol):
    """Contract suite: ``testing.contracts.query_type`` of hoodoo-rows. Called on the driver."""

    def plan(self, source: ReadSource, **arguments: Any) -> QueryPlan:
        """Decide what is read of the table that ``source`` is of; changes nothing, and opens no
        data file. ``arguments`` are those of ``table.query``, by name: one that is not named here
        is a CallError before.

        Writers may go on meanwhile. CommitConflictError where one has deleted files since the table
        was looked at: then it is called again. Where only some of the rows of a snapshot are
        wanted, the answer may be a ``ScanPlan`` of hoodoo-rows, which engines read as they read a
        snapshot."""


FAMILY = Family(
    "hoodoo_query_types",
    """Offer query types. When: ``table.query(name, ...)`` is called, or a method that stands for
    one: ``table.incremental(...)``, ``table.changes(...)``. Default: ``incremental``, ``changes``
    (hoodoo-history); snapshots, those of older moments too, and read optimized ones are core's.

    The factory returns a :class:`QueryType`; its settings have the options that the table was
    opened with.""",
    (QueryType,),
    parts={"query_plan": (QueryPlan,), "unit_reader": (UnitReader,)},
)
