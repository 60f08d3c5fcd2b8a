"""The embedded engine: threads over partitions in this process, no JVM.

For tests, notebooks and tables of the size of one machine. Its exchange always spills to local
disk: memory stays bounded and the time is the same (design notes, docs/adr/0002)."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, ClassVar, cast

import pyarrow as pa
from attrs import define, evolve, field, frozen
from hoodoo.hookspecs.engine import Step, Stream, Task, Workspace
from hoodoo.hookspecs.registration import PluginRef, Settings
from hoodoo.hookspecs.serializer import Serializer
from hoodoo.options.write import MEMORY
from hoodoo.storage.api import Storage
from hoodoo_rows.api import ArrivingRows
from hoodoo_rows.engine.crossing import Crossing
from hoodoo_rows.engine.row_shape import returned
from hoodoo_rows.engine.runs import BUFFER_BYTES
from hoodoo_rows.engine.sources import Partition, partitions
from hoodoo_rows.engine.spill import Places, Spill

from hoodoo_standard.engine.memory import default_memory
from hoodoo_standard.engine.meter import LocalMeter
from hoodoo_standard.options import THREADS

# ``work(number, batches)`` on one partition.
Work = Callable[[int, Iterator[pa.RecordBatch]], Any]


@frozen
class LocalStream:
    """``parts`` are callables: each call evaluates that partition again, unless it is staged.
    ``exchanges``: on whose rows they depend, in the order in which they have to run."""

    schema: pa.Schema
    parts: tuple[Partition, ...]
    exchanges: tuple[_Exchange, ...] = ()


@frozen
class LocalSide:
    rows: pa.Table

    def table(self) -> pa.Table:
        return self.rows


@define(eq=False)
class _Exchange:
    """Runs the upstream once, before the first partition is read."""

    engine: LocalEngine
    upstream: LocalStream
    count: int
    crossing: Crossing
    spill: Spill
    lock: threading.Lock = field(factory=threading.Lock)
    index: list[Places] | None = None

    def read(self, part: int) -> Iterator[pa.RecordBatch]:
        if self.index is None:  # read by other code than this engine's
            self.engine.run_exchanges((*self.upstream.exchanges, self))
        index = self.index or []
        slots = sorted({slot for found in index for p, slot in found if p == part})
        for slot in slots:
            for number, found in enumerate(index):
                for message in self.spill.messages(number, found.get((part, slot), ())):
                    yield self.crossing.unpack(message, part, slot)


@frozen
class LocalEngine:
    """``threads`` partitions at a time. ``memory``: bytes that each of them takes at most, for rows
    that are sorted on their way and for what its step holds; None: a part of what the process may
    use. ``storage``: of the table, whose scratch directory takes the rows that wait between two
    steps; None: the system's directory for temporary files."""

    # Rows wait in this process, or in the scratch directory.
    uses_workspace: ClassVar[bool] = False
    # An exchange, and each partition behind it.
    runs_once: ClassVar[bool] = True

    threads: int = field(factory=lambda: os.cpu_count() or 1)
    name: str = "local"
    storage: Storage | None = field(default=None, eq=False, repr=False)
    memory: int | None = None

    @classmethod
    def from_settings(cls, settings: Settings) -> LocalEngine:
        threads = THREADS.given(settings.options)
        memory = MEMORY.given(settings.options)
        return cls(memory=memory) if threads is None else cls(threads, memory=memory)

    def on(self, storage: Storage) -> LocalEngine:
        return evolve(self, storage=storage)

    @property
    def parallelism(self) -> int:
        return self.threads

    @property
    def task_memory(self) -> int:
        return self.memory or default_memory(self.threads)

    def accepts(self, data: Any) -> bool:
        return False

    def source(self, data: Any) -> LocalStream:
        arrow = ArrivingRows.as_arrow(data)
        return LocalStream(arrow.schema, tuple(partitions(arrow, self.threads)))

    def tasks(self, payloads: Sequence[bytes]) -> LocalStream:
        schema = pa.schema([("payload", pa.binary())])
        batches = [pa.record_batch([pa.array([p], pa.binary())], schema=schema) for p in payloads]
        return LocalStream(schema, tuple(_constant([batch]) for batch in batches))

    def map(self, stream: Stream, step: Step) -> LocalStream:
        upstream = cast(LocalStream, stream)

        def part(number: int, read: Partition) -> Partition:
            return lambda: returned(step(read(), Task(number)), step)

        parts = tuple(part(n, read) for n, read in enumerate(upstream.parts))
        return LocalStream(step.out_schema, parts, upstream.exchanges)

    def exchange(
        self, stream: Stream, parts: int, serializer: Serializer | None = None
    ) -> LocalStream:
        upstream = cast(LocalStream, stream)
        crossing = Crossing.of(upstream.schema, parts, serializer, near=True)
        exchange = _Exchange(self, upstream, parts, crossing, Spill(self.storage))
        read = tuple(partial(exchange.read, number) for number in range(parts))
        return LocalStream(upstream.schema, read, (*upstream.exchanges, exchange))

    def stage(self, stream: Stream, workspace: Workspace) -> LocalStream:
        # The process is the unit of failure here, so local disk is as durable as the stage needs.
        upstream = cast(LocalStream, stream)
        spill = Spill(self.storage)

        self.run_exchanges(upstream.exchanges)
        if self._one_by_one(upstream.parts):
            for number, part in enumerate(upstream.parts):
                spill.write(upstream.schema, number, part())
        else:
            self._at_once(upstream.parts, partial(spill.write, upstream.schema))
        parts = range(len(upstream.parts))
        return LocalStream(upstream.schema, tuple(partial(spill.read, n) for n in parts))

    def union(self, streams: Sequence[Stream]) -> LocalStream:
        members = [cast(LocalStream, stream) for stream in streams]
        parts = tuple(part for member in members for part in member.parts)
        exchanges = dict.fromkeys(one for member in members for one in member.exchanges)
        return LocalStream(members[0].schema, parts, tuple(exchanges))

    def side(self, table: pa.Table) -> LocalSide:
        return LocalSide(table)

    def collect(self, stream: Stream) -> pa.Table:
        upstream = cast(LocalStream, stream)
        self.run_exchanges(upstream.exchanges)
        found: list[pa.RecordBatch] = []
        if self._one_by_one(upstream.parts):
            for part in upstream.parts:
                found.extend(part())
        else:
            for batches in self._at_once(upstream.parts, lambda number, batches: list(batches)):
                found.extend(batches)
        return pa.Table.from_batches(found, upstream.schema)

    def meter(self) -> LocalMeter:
        return LocalMeter()

    def check(self, plugins: Sequence[PluginRef]) -> None:
        """The worker is this process: nothing can differ."""

    def run_exchanges(self, exchanges: Sequence[_Exchange]) -> None:
        """Those of ``exchanges`` that have not run yet. They run before those who read them: what a
        task does lies on the stack alone, not inside the task that waits for it."""
        for one in exchanges:
            with one.lock:
                if one.index is not None:
                    continue
                parts, spill = one.upstream.parts, one.spill
                held = min(BUFFER_BYTES, self.task_memory // 4)
                work = partial(spill.write_routed, one.crossing, one.count, held=held)
                if self._one_by_one(parts):
                    index = []
                    for number, part in enumerate(parts):
                        index.append(work(number, part()))
                    one.index = index
                else:
                    one.index = self._at_once(parts, work)

    def _one_by_one(self, parts: Sequence[Partition]) -> bool:
        return len(parts) <= 1 or self.threads <= 1

    def _at_once(self, parts: Sequence[Partition], work: Work) -> list[Any]:
        """``work`` on every partition, ``threads`` at a time, answers in order."""
        with ThreadPoolExecutor(self.threads, thread_name_prefix="hoodoo") as pool:
            futures = [pool.submit(_task, work, number, part) for number, part in enumerate(parts)]
            try:
                return [future.result() for future in futures]
            except BaseException:
                for future in futures:
                    future.cancel()
                raise


def _task(work: Work, number: int, part: Partition) -> Any:
    return work(number, part())


def _constant(batches: list[pa.RecordBatch]) -> Partition:
    return lambda: iter(batches)
