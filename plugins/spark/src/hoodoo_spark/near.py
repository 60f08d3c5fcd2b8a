"""Near: what is small runs in the driver's process, by the local engine; all else in Spark's tasks.

Rows come out of Spark by the one job that evaluates them. If they are few, the steps after it cost
less than the jobs would that run them: looking up their keys, and writing their files. Streams are
noted down as they are asked for, and run where they end, once it is known how much they read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
from attrs import define, evolve, field, frozen
from hoodoo.errors import PluginError
from hoodoo.hookspecs.engine import (
    Engine,
    KnowsStorage,
    Meter,
    Side,
    Step,
    Stream,
    Workspace,
    task_memory,
)
from hoodoo.hookspecs.registration import PluginRef, Settings
from hoodoo.hookspecs.serializer import Serializer
from hoodoo.kernel.resolve import resolve
from hoodoo.storage.api import Storage

from hoodoo_spark.engine import SparkEngine
from hoodoo_spark.options import DRIVER_BYTES, SMALL_BYTES, SMALL_READS
from hoodoo_spark.runner import PAYLOAD
from hoodoo_spark.session import find
from hoodoo_spark.stage import ReadStaged
from hoodoo_spark.stream import foreign, one_schema

Made = Callable[[Engine], Stream]


def from_settings(settings: Settings) -> Engine:
    """The engine on the active SparkSession, or on a local one started here."""
    return on_session(find(), settings)


def on_session(spark: Any, settings: Settings) -> Engine:
    """The engine on ``spark``, with the local one beside it unless the options say that nothing is
    small."""
    small, held = settings.value(SMALL_BYTES), settings.value(DRIVER_BYTES)
    try:
        local: Engine = resolve("engine", "local", settings).instance
    except PluginError:  # not installed
        return SparkEngine(spark, held=held)
    tasks = SparkEngine(spark, memory=task_memory(local, {}), held=held)
    if not small:
        return tasks
    return NearEngine(tasks, local, small, settings.value(SMALL_READS))


@define(eq=False)
class NearStream:
    """How an engine makes the stream. ``reads``: bytes of stored files that its tasks read at most;
    None where that is not known, or where the rows are many: Spark runs it."""

    schema: pa.Schema
    make: Made
    reads: int | None = 0
    made: dict[str, Stream] = field(factory=dict)

    def on(self, engine: Engine) -> Stream:
        """The stream of ``engine``; the same one each time, as an exchange is run once."""
        if engine.name not in self.made:
            self.made[engine.name] = self.make(engine)
        return self.made[engine.name]


@define(eq=False)
class NearSide:
    """A table that is here; a broadcast is made of it when a task needs it."""

    tasks: SparkEngine
    rows: pa.Table
    far: Side | None = None

    def table(self) -> pa.Table:
        return self.rows

    def __reduce__(self) -> tuple[Any, ...]:
        if self.far is None:
            self.far = self.tasks.side(self.rows)
        return _same, (self.far,)


def _same(side: Side) -> Side:
    return side


@frozen
class NearEngine:
    """Implements :class:`~hoodoo.hookspecs.engine.Engine`. ``small``: bytes of rows, ``most``: of
    stored files to read for them, that this process takes."""

    tasks_: SparkEngine
    local: Engine
    small: int
    most: int
    name: str = "spark"

    @property
    def spark(self) -> Any:
        return self.tasks_.spark

    def on(self, storage: Storage) -> NearEngine:
        local = self.local.on(storage) if isinstance(self.local, KnowsStorage) else self.local
        return evolve(self, tasks_=self.tasks_.on(storage), local=local)

    @property
    def parallelism(self) -> int:
        return self.tasks_.parallelism

    @property
    def task_memory(self) -> int:
        return self.tasks_.task_memory

    @property
    def result_bytes(self) -> int:
        return self.tasks_.result_bytes

    def accepts(self, data: Any) -> bool:
        return self.tasks_.accepts(data)

    def source(self, data: Any) -> NearStream:
        if isinstance(data, pa.Table) and data.nbytes <= self.small:
            return NearStream(data.schema, lambda engine: engine.source(data))
        found = self.tasks_.source(data)
        return NearStream(found.schema, lambda engine: found, None)

    def tasks(self, payloads: Sequence[bytes]) -> NearStream:
        held = list(payloads)
        reads = _sum(*(getattr(payload, "reads", None) for payload in held))
        return NearStream(PAYLOAD, lambda engine: engine.tasks(held), reads)

    def map(self, stream: Stream, step: Step) -> NearStream:
        from_ = _own(stream)
        reads = _sum(from_.reads, getattr(step, "reads", 0))
        return NearStream(step.out_schema, lambda engine: engine.map(from_.on(engine), step), reads)

    def exchange(
        self, stream: Stream, parts: int, serializer: Serializer | None = None
    ) -> NearStream:
        from_ = _own(stream)
        return NearStream(
            from_.schema,
            lambda engine: engine.exchange(from_.on(engine), parts, serializer),
            from_.reads,
        )

    def union(self, streams: Sequence[Stream]) -> NearStream:
        members = [_own(stream) for stream in streams]
        if len(members) == 1:
            return members[0]
        schema = one_schema([member.schema for member in members])
        return NearStream(
            schema,
            lambda engine: engine.union([member.on(engine) for member in members]),
            _sum(*(member.reads for member in members)),
        )

    def stage(self, stream: Stream, workspace: Workspace) -> NearStream:
        from_ = _own(stream)
        if self._is_near(from_):
            staged = self.local.stage(from_.on(self.local), workspace)
            found = NearStream(from_.schema, self._sent(staged))
            found.made[self.local.name] = staged
            return found
        payloads, size = self.tasks_.staged(from_.on(self.tasks_), workspace, self.small)

        def make(engine: Engine) -> Stream:
            if engine.name == self.tasks_.name:
                return self.tasks_.read_staged(payloads, workspace.storage, from_.schema)
            # Here they are read again and again: once from the store.
            step = ReadStaged(workspace.storage, from_.schema)
            return engine.stage(engine.map(engine.tasks(payloads), step), workspace)

        return NearStream(from_.schema, make, 0 if size <= self.small else None)

    def _sent(self, staged: Stream) -> Made:
        return lambda engine: engine.source(self.local.collect(staged))

    def side(self, table: pa.Table) -> NearSide:
        return NearSide(self.tasks_, table)

    def spread(
        self, stream: Stream, workspace: Workspace, made: Callable[[pa.Table], pa.Table]
    ) -> Side:
        return self.tasks_.spread(_own(stream).on(self.tasks_), workspace, made)

    def collect(self, stream: Stream) -> pa.Table:
        wanted = _own(stream)
        engine = self.local if self._is_near(wanted) else self.tasks_
        return engine.collect(wanted.on(engine))

    def meter(self) -> Meter:
        return self.tasks_.meter()

    def check(self, plugins: Sequence[PluginRef]) -> None:
        self.tasks_.check(plugins)

    def _is_near(self, stream: NearStream) -> bool:
        return stream.reads is not None and stream.reads <= self.most


def _own(stream: Stream) -> NearStream:
    if not isinstance(stream, NearStream):
        raise foreign(stream)
    return stream


def _sum(*reads: int | None) -> int | None:
    known = [number for number in reads if number is not None]
    return sum(known) if len(known) == len(reads) else None
