"""Engine: where steps run, and the verbs that join pure Arrow steps into a data path.

A *stream* is a lazy, partitioned sequence of record batches with one declared schema. A *step* is a
pure function from an iterator of batches to an iterator of batches; it may be pickled, it may run
twice, and what it returns depends on nothing but its input, its own frozen fields and the task's
number. Steps never generate names, times or random numbers (see docs/architecture.md, "Never")."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import pyarrow as pa
from attrs import astuple, frozen

from hoodoo.hookspecs.family import Family
from hoodoo.hookspecs.registration import PluginRef, hookspec
from hoodoo.hookspecs.serializer import Serializer
from hoodoo.options.write import MEMORY
from hoodoo.storage.api import Storage

# Columns an exchange routes by. `part` is the number of the receiving task; `slot` tells apart the
# file groups that one task handles; rows of a slot arrive together.
PART = "_hoodie__part"
SLOT = "_hoodie__slot"
RESULT_BYTES = 96 << 20  # see result_bytes


@frozen
class Task:
    """Where a step runs. ``number`` is the partition of the stream, stable under retries."""

    number: int = 0


class Step(Protocol):
    """A pure function over batches, with the schema that it promises to return. ``reads``, where it
    has such an attribute: how many bytes of stored files it reads at most, beside those of
    payloads."""

    @property
    def out_schema(self) -> pa.Schema:
        """The schema of all batches that the step yields, also if it yields none."""

    def __call__(
        self, batches: Iterator[pa.RecordBatch], task: Task
    ) -> Iterator[pa.RecordBatch]: ...


@runtime_checkable
class RoutesGroups(Protocol):
    """What the :class:`Step` before an exchange has where rows that are equal in some columns have
    one place: an engine that staged them together reads each such group where it lies."""

    @property
    def routes_by(self) -> tuple[str, ...]:
        """The columns, of text or integers without nulls."""

    def route(self, groups: pa.RecordBatch) -> tuple[Any, Any]:
        """Parts and slots as NumPy arrays of integers, -1 for rows that end here. ``groups`` has
        the columns ``routes_by``."""


class Stream(Protocol):
    """Engine-owned; other code looks at the schema and hands the stream back to its engine."""

    @property
    def schema(self) -> pa.Schema:
        """The schema of the batches. Reading it does not evaluate the stream."""


class Side(Protocol):
    """A table that every task can read. Pickles as a handle, not as the rows. ``reads``, if it has
    such an attribute, means the same as that of a :class:`Step`; None: many bytes. A step that
    reads the side has the same value."""

    def table(self) -> pa.Table:
        """Return the table, in a task or on the driver."""


@frozen
class Workspace:
    """Where an action may stage rows: a prefix of the table's own storage, swept afterwards."""

    storage: Storage
    prefix: str


@frozen
class Counted:
    """What crossed an exchange. Seconds are processor time of the tasks."""

    rows: int = 0
    messages: int = 0
    bytes: int = 0
    serialize_seconds: float = 0.0
    deserialize_seconds: float = 0.0

    def __add__(self, other: Counted) -> Counted:
        return Counted(*map(operator.add, astuple(self), astuple(other)))


class Meter(Protocol):
    """Tasks add, the driver reads. It travels to tasks. ``Metered`` of hoodoo-rows uses it."""

    def add(self, counted: Counted) -> None:
        """Add what a task has counted."""

    def read(self) -> Counted:
        """Return the sum of what tasks have added so far. Called on the driver."""


@runtime_checkable
class Engine(Protocol):
    """What an engine plugin answers. Contract suite: ``testing.contracts.engine`` of hoodoo-rows.

    Errors raised by a step as :class:`~hoodoo.errors.HoodooError` reach the caller of ``collect``
    or ``stage`` as the same class, raised once.
    """

    @property
    def name(self) -> str:
        """The name that the engine is registered under."""

    @property
    def parallelism(self) -> int:
        """How many tasks run at the same time."""

    def accepts(self, data: Any) -> bool:
        """Whether ``data`` is a source that only this engine reads (a Spark DataFrame)."""

    def source(self, data: Any) -> Stream:
        """A stream over ``data``. It may be evaluated only once: see :meth:`stage`."""

    def tasks(self, payloads: Sequence[bytes]) -> Stream:
        """One partition per payload (:class:`hoodoo.model.payload.Payload` says what its task
        reads), holding one row of the single binary column ``payload``."""

    def map(self, stream: Stream, step: Step) -> Stream:
        """``step`` over each partition of ``stream``. Lazy."""

    def exchange(self, stream: Stream, parts: int, serializer: Serializer | None = None) -> Stream:
        """Rows meet by the int32 column ``_hoodie__part`` (0 <= part < parts): partition i holds
        part i.

        What crosses are internal rows as ``serializer`` packs them (default: ``arrow``), by
        ``RowShape`` of hoodoo-rows; before and after, batches have the stream's schema.

        Within a partition rows are ordered by ``_hoodie__slot``; all rows of a slot come in
        consecutive batches, and no batch holds rows of two slots. The order of rows within a slot
        is not defined: steps sort by a column of their own. Lazy.
        """

    def stage(self, stream: Stream, workspace: Workspace) -> Stream:
        """Evaluate ``stream`` now, exactly once, durably; the result may be read any number of
        times."""

    def union(self, streams: Sequence[Stream]) -> Stream:
        """The partitions of all streams; their schemas are equal. Lazy."""

    def side(self, table: pa.Table) -> Side:
        """``table`` made readable from every task."""

    def collect(self, stream: Stream) -> pa.Table:
        """Evaluate and bring a small result to the caller."""

    def meter(self) -> Meter:
        """A counter that starts at nothing, for ``Metered`` of hoodoo-rows."""

    def check(self, plugins: Sequence[PluginRef]) -> None:
        """Raise unless every worker has the same Python, pyarrow, hoodoo and the given plugins."""


@runtime_checkable
class KnowsStorage(Protocol):
    """Optional for an :class:`Engine`: it gets the storage of the table that it works for."""

    def on(self, storage: Storage) -> Engine:
        """This engine, for one action on the table in ``storage``: rows that it puts on the local
        disk of a process go into ``storage.scratch()``. EngineError where it can't work on that
        store."""


@runtime_checkable
class Spreads(Protocol):
    """Optional for an :class:`Engine`: its tasks can read a table that its driver does not hold."""

    def spread(
        self, stream: Stream, workspace: Workspace, made: Callable[[pa.Table], pa.Table]
    ) -> Side:
        """A side table: what ``made``, which is pickled, makes of all rows of ``stream`` in each
        process that asks."""


def spread(
    engine: Engine,
    stream: Stream,
    workspace: Workspace | None,
    made: Callable[[pa.Table], pa.Table],
) -> Side:
    """What ``made`` makes of the rows of ``stream``, for every task; past the driver where the
    engine can do that, and rows may wait in a ``workspace``."""
    if workspace is not None and isinstance(engine, Spreads):
        return engine.spread(stream, workspace, made)
    return engine.side(made(engine.collect(stream)))


def uses_workspace(engine: Engine) -> bool:
    """Whether the engine stages rows in the workspace that it is given: yes, unless it has an
    attribute ``uses_workspace`` that is False, as one has whose rows stay in its process or its
    scratch."""
    return getattr(engine, "uses_workspace", True) is not False


def runs_once(engine: Engine) -> bool:
    """Whether each task of the engine runs once, and has ended when the engine answers: no, unless
    it has an attribute ``runs_once`` that is True, as one has whose tasks are threads of the
    process that asks."""
    return getattr(engine, "runs_once", False) is True


def task_memory(engine: Engine, options: Mapping[str, str]) -> int:
    """Bytes that one task of the engine may take for rows, open files and sorts: what ``options``
    say, else its attribute ``task_memory``, where it has one; else 256 MiB. Beyond it rows wait on
    local disk."""
    return MEMORY.given(options) or int(getattr(engine, "task_memory", 256 << 20))


def result_bytes(engine: Engine) -> int:
    """How many bytes of rows (in memory, from all tasks together) the driver of the engine can
    take: at most 96 MiB; fewer if the engine has an attribute ``result_bytes`` that says so. What
    may be more stays with tasks."""
    return min(RESULT_BYTES, int(getattr(engine, "result_bytes", RESULT_BYTES)))


def memory_share(available: int, tasks: int) -> int:
    """Of ``available`` bytes, what each of ``tasks`` gets by default: the rest is for libraries and
    the caller."""
    return min(max(int(available * 0.4) // max(1, tasks), 64 << 20), 1 << 30)


class EngineHooks:
    """Hooks for data that is not Arrow itself, such as frames and lists of rows."""

    @hookspec
    def hoodoo_arrow_data(
        self, data: Any, schema: pa.Schema | None, keys: Sequence[str] | None
    ) -> pa.Table | pa.RecordBatchReader | None:
        """The rows of what is not Arrow itself; None if it is none of yours. When: such data is
        written or read. Default: what speaks ``__arrow_c_stream__``; frames of pandas and polars,
        Python's own values (hoodoo-frames). ``schema`` is that of the table, ``keys`` its record
        key where plain values mean keys; else None. The first answer that is not None counts.
        Raises DataError or SchemaError for columns that Arrow does not hold.
        """

    @hookspec
    def hoodoo_arrow_schema(self, schema: Any) -> pa.Schema | None:
        """Turn an engine's own kind of schema (a Spark StructType) into Arrow's; None if it is none
        of yours. When: a table is created with such a schema. Default: what speaks
        ``__arrow_c_schema__``. The first plugin that answers something wins.
        """

    @hookspec
    def hoodoo_dataframe(self, kind: str, scan: Any, session: Any) -> Any | None:
        """Hand a scan's rows over as a lazy frame of ``kind``, the Python package whose frames they
        are (``pyspark``); None if it is none of yours. ``session`` is what the user gave, or None.
        When: ``scan.to_spark()``. Default: nobody can. The first plugin that answers something
        wins.
        """


FAMILY = Family(
    "hoodoo_engines",
    """Offer engines. When: first use of a table. Default: ``local`` (hoodoo-core).

    The factory returns an :class:`Engine`. An alias
    ``source:<package>`` says that data whose class comes from that Python package is for this
    engine unless the user names another one.""",
    (Engine,),
    optional=(KnowsStorage, Spreads),
    more=EngineHooks,
)
