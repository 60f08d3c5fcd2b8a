"""What every task can read: broadcast values, decoded once in each worker process.

What is small travels within the functions that tasks run, and so does everything in a session of
Spark Connect, which has no broadcasts; payloads that are many are rows of a DataFrame there.
PySpark keeps a file of each broadcast in the driver's temporary folder, until the session ends:
here it goes when nobody can run a task any more that reads it."""

from __future__ import annotations

import os
import threading
import uuid
import weakref
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, ClassVar

import pyarrow as pa
from attrs import frozen
from hoodoo.hookspecs.engine import Task

from hoodoo_spark.session import is_connect
from hoodoo_spark.stage import ReadStaged

BLOCK_BYTES = 16 << 20  # payloads that travel in one broadcast
ENCLOSED_BYTES = 256 << 10  # what travels within functions
KEPT = 8  # decoded tables that a worker process keeps

_tables: OrderedDict[str, pa.Table] = OrderedDict()
_lock = threading.Lock()


@frozen
class SparkSide:
    """A table behind a broadcast variable. Pickles (into a task) as the handle."""

    key: str
    broadcast: Any

    def table(self) -> pa.Table:
        """The rows; decoded once in each process."""
        return _once(self.key, lambda: pa.ipc.open_stream(self.broadcast.value).read_all())


@frozen
class StagedSide:
    """A table made of staged rows, by each process that asks: the driver does not hold it.
    ``payloads``: of :class:`~hoodoo_spark.stage.ReadStaged`."""

    reads: ClassVar[int | None] = None  # many rows: no work for the driver

    key: str
    payloads: tuple[bytes, ...]
    read: ReadStaged
    made: Callable[[pa.Table], pa.Table]

    def table(self) -> pa.Table:
        """What is made of the rows; once in each process."""
        return _once(self.key, self._make)

    def _make(self) -> pa.Table:
        asked = pa.record_batch([pa.array(self.payloads, pa.binary())], names=["payload"])
        batches = self.read(iter([asked]), Task())
        return self.made(pa.Table.from_batches(batches, self.read.out_schema))


def _once(key: str, make: Callable[[], pa.Table]) -> pa.Table:
    with _lock:
        if key not in _tables:
            _tables[key] = make()
            while len(_tables) > KEPT:
                _tables.popitem(last=False)
        _tables.move_to_end(key)
        return _tables[key]


@frozen
class Enclosed:
    """A value that is pickled with whoever holds it; read as a broadcast variable is."""

    value: Any


def carried(spark: Any, value: Any, size: int, lasting: bool = False) -> Any:
    """``value``, of ``size`` bytes, for all tasks of the session, behind an attribute ``value``.

    ``lasting``: it is for tasks of a DataFrame that leaves this package, of which nobody knows how
    long it is used. Of others, the streams have to hold what is returned here: without it their
    tasks do not find the value any more."""
    if size <= ENCLOSED_BYTES or is_connect(spark):
        return Enclosed(value)
    found = spark.sparkContext.broadcast(value)
    path = getattr(found, "_path", None)
    if path is not None and not lasting:
        weakref.finalize(found, _remove, path).atexit = False
    return found


def _remove(path: str) -> None:
    with suppress(OSError):  # the session has ended, and taken its folder along
        os.unlink(path)


def side(spark: Any, table: pa.Table) -> SparkSide:
    """``table`` where all tasks of the session find it."""
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    # The name of a cache entry within one Spark application: nothing is stored under it.
    held = sink.getvalue().to_pybytes()
    return SparkSide(uuid.uuid4().hex, carried(spark, held, len(held)))


@frozen
class Payloads:
    """A list of bytes behind broadcast variables, a block of neighbours in each, so that a worker
    process loads the blocks of its own tasks only."""

    starts: tuple[int, ...]
    blocks: tuple[Any, ...]
    count: int

    def __getitem__(self, number: int) -> bytes:
        block = bisect_right(self.starts, number) - 1
        found: bytes = self.blocks[block].value[number - self.starts[block]]
        return found


def payloads(spark: Any, values: Iterable[bytes], lasting: bool = False) -> Payloads:
    """``values`` made readable by number in every task; takes them one block at a time.
    ``lasting``: see :func:`carried`."""
    starts: list[int] = []
    blocks: list[Any] = []
    held: list[bytes] = []
    held_bytes = count = 0

    def close() -> None:
        nonlocal held, held_bytes
        if held:
            starts.append(count - len(held))
            blocks.append(carried(spark, held, held_bytes, lasting))
            held, held_bytes = [], 0

    for value in values:
        held.append(bytes(value))
        held_bytes += len(value)
        count += 1
        if held_bytes >= BLOCK_BYTES:
            close()
    close()
    return Payloads(tuple(starts), tuple(blocks), count)
