"""Counting: what crossed each exchange, and the processor time it took to pack and unpack it.

Usage, with any engine and any serializer::

    # or MeteredEngine(SparkEngine(spark), AvroSerializer())
    engine = MeteredEngine(LocalEngine())
    hoodoo.open(path, engine=engine).upsert(data)
    for exchange in engine.exchanges:            # in the order in which they were planned
        print(exchange.schema, exchange.read())
    print(engine.total())
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
from attrs import Factory, define, evolve, frozen
from hoodoo.hookspecs.engine import (
    Counted,
    Engine,
    KnowsStorage,
    Meter,
    Side,
    Step,
    Stream,
    Workspace,
    result_bytes,
    spread,
)
from hoodoo.hookspecs.registration import PluginRef
from hoodoo.hookspecs.serializer import BoundSerializer, Serializer
from hoodoo.storage.api import Storage

from hoodoo_rows.engine.crossing import usual_serializer


@frozen
class MeteredExchange:
    """One exchange: the schema of its internal rows, and its counts so far."""

    schema: pa.Schema
    meter: Meter

    def read(self) -> Counted:
        return self.meter.read()


@define
class Count:
    """Counts in one thread of this process: the meter of who has no engine's."""

    total: Counted = Factory(Counted)

    def add(self, counted: Counted) -> None:
        self.total = self.total + counted

    def read(self) -> Counted:
        return self.total


@define
class Metered:
    """``inner``, with a meter of ``make`` (:meth:`Engine.meter`) for each exchange.

    Counts of tasks that ran twice are in it twice. A copy that travels counts for itself: engines
    bind on the driver."""

    inner: Serializer
    make: Callable[[], Meter] = Count
    exchanges: list[MeteredExchange] = Factory(list)

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def version(self) -> int:
        return int(getattr(self.inner, "version", 1))

    def bind(self, schema: pa.Schema, near: bool = False) -> BoundSerializer:
        meter = self.make()
        self.exchanges.append(MeteredExchange(schema, meter))
        return _Bound(self.inner.bind(schema, near), meter)

    def open(self, header: bytes) -> BoundSerializer:
        bound = self.inner.open(header)
        meter = self.make()
        self.exchanges.append(MeteredExchange(bound.schema, meter))
        return _Bound(bound, meter)

    def total(self) -> Counted:
        """All exchanges together."""
        return sum((exchange.read() for exchange in self.exchanges), Counted())

    def __reduce__(self) -> tuple[Any, ...]:  # `make` may hold a session
        return Metered, (self.inner,)


@frozen
class _Bound:
    inner: BoundSerializer
    meter: Meter

    @property
    def schema(self) -> pa.Schema:
        return self.inner.schema

    @property
    def length(self) -> int:
        return self.inner.length

    def header(self) -> bytes:
        return self.inner.header()

    def serialize(self, rows: pa.RecordBatch) -> pa.Buffer:
        start = time.thread_time()
        message = self.inner.serialize(rows)
        spent = time.thread_time() - start
        self.meter.add(Counted(rows.num_rows, 1, len(message), spent))
        return message

    def deserialize(self, message: pa.Buffer | bytes, reuse: Any = None) -> pa.RecordBatch:
        start = time.thread_time()
        rows = self.inner.deserialize(message, reuse)
        self.meter.add(Counted(deserialize_seconds=time.thread_time() - start))
        return rows

    def copy(self, rows: Any, reuse: Any = None) -> Any:
        return self.inner.copy(rows, reuse)

    def copy_stream(self, source: Any, target: Any) -> int:
        return self.inner.copy_stream(source, target)

    def create(self) -> pa.RecordBatch:
        return self.inner.create()


@define
class MeteredEngine:
    """``inner``, with each exchange counted. ``serializer``, if given, takes the place of the one
    that the write would use. Implements :class:`~hoodoo.hookspecs.engine.Engine`."""

    inner: Engine
    serializer: Serializer | None = None
    exchanges: list[MeteredExchange] = Factory(list)

    def total(self) -> Counted:
        """All exchanges together."""
        return sum((exchange.read() for exchange in self.exchanges), Counted())

    def exchange(self, stream: Stream, parts: int, serializer: Serializer | None = None) -> Stream:
        chosen = self.serializer or serializer or usual_serializer()
        metered = Metered(chosen, self.inner.meter, self.exchanges)
        return self.inner.exchange(stream, parts, metered)

    def on(self, storage: Storage) -> MeteredEngine:
        """Counts into the same exchanges."""
        inner = self.inner.on(storage) if isinstance(self.inner, KnowsStorage) else self.inner
        return evolve(self, inner=inner)

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def parallelism(self) -> int:
        return self.inner.parallelism

    @property
    def result_bytes(self) -> int:
        return result_bytes(self.inner)

    def spread(
        self, stream: Stream, workspace: Workspace, made: Callable[[pa.Table], pa.Table]
    ) -> Side:
        return spread(self.inner, stream, workspace, made)

    def accepts(self, data: Any) -> bool:
        return self.inner.accepts(data)

    def source(self, data: Any) -> Stream:
        return self.inner.source(data)

    def tasks(self, payloads: Sequence[bytes]) -> Stream:
        return self.inner.tasks(payloads)

    def map(self, stream: Stream, step: Step) -> Stream:
        return self.inner.map(stream, step)

    def stage(self, stream: Stream, workspace: Workspace) -> Stream:
        return self.inner.stage(stream, workspace)

    def union(self, streams: Sequence[Stream]) -> Stream:
        return self.inner.union(streams)

    def side(self, table: pa.Table) -> Side:
        return self.inner.side(table)

    def collect(self, stream: Stream) -> pa.Table:
        return self.inner.collect(stream)

    def meter(self) -> Meter:
        return self.inner.meter()

    def check(self, plugins: Sequence[PluginRef]) -> None:
        self.inner.check(plugins)
