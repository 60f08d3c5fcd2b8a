"""What runs in a Python worker: read partitions, run the chain of steps, end it.

A chain runs inside one ``mapInArrow``, so nothing crosses into the JVM between its steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

import pyarrow as pa
from attrs import frozen
from hoodoo.errors import HoodooError, StorageError
from hoodoo.hookspecs.engine import Step, Task
from hoodoo_rows.engine.crossing import Crossing
from hoodoo_rows.engine.row_shape import returned

from hoodoo_spark.allocator import of_the_system
from hoodoo_spark.packed import Arrived, by_part, error_json, error_row
from hoodoo_spark.shape import gathered, received
from hoodoo_spark.side import Payloads

Batches = Iterator[pa.RecordBatch]
PAYLOAD = pa.schema([("payload", pa.binary())])


@frozen
class Link:
    """A step of a chain. The step's task number is ``local * times + plus``: a union renumbers the
    partitions for the steps that come after it."""

    step: Step
    times: int = 1
    plus: int = 0


class Reader(Protocol):
    """Spark's batches -> (number, batches) of each partition of the stream that they hold."""

    def __call__(self, batches: Batches) -> Iterator[tuple[int, Batches]]: ...


class End(Protocol):
    """Declared batches of partition ``origin`` -> packed rows. ``route`` is where errors go."""

    @property
    def route(self) -> int: ...

    def __call__(self, batches: Batches, origin: int) -> Batches: ...


@frozen
class ReadFrame:
    """Rows of a user's DataFrame: Spark's partition is the partition."""

    schema: pa.Schema

    def __call__(self, batches: Batches) -> Iterator[tuple[int, Batches]]:
        from pyspark import TaskContext

        context = TaskContext.get()
        yield (context.partitionId() if context else 0), gathered(received(batches, self.schema))


@frozen
class ReadPacked:
    """Packed rows after an exchange: the partition is the part that the rows name, wherever Spark
    put them. Parts without rows are there too."""

    crossing: Crossing

    def __call__(self, batches: Batches) -> Iterator[tuple[int, Batches]]:
        return by_part(batches, self.crossing.unpack)


@frozen
class ReadPayloads:
    """Numbers of payloads: each is a partition of one row."""

    payloads: Payloads

    def __call__(self, batches: Batches) -> Iterator[tuple[int, Batches]]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                column = pa.array([self.payloads[number]], pa.binary())
                row = pa.RecordBatch.from_arrays([column], schema=PAYLOAD)
                yield number, iter([row])


@frozen
class ReadCarried:
    """Payloads that are rows themselves, with their numbers."""

    def __call__(self, batches: Batches) -> Iterator[tuple[int, Batches]]:
        for batch in batches:
            numbers, found = (batch.column(place) for place in range(2))
            for place, number in enumerate(numbers.to_pylist()):
                column = found.slice(place, 1).cast(pa.binary())
                yield number, iter([pa.RecordBatch.from_arrays([column], schema=PAYLOAD)])


@frozen
class Runner:
    """A whole worker-side pipeline. ``attempts`` is how often Spark tries a task."""

    read: Reader
    chain: tuple[Link, ...]
    end: End
    times: int
    plus: int
    attempts: int

    def __call__(self, batches: Batches) -> Batches:
        for number, part in self.read(batches):
            origin = number * self.times + self.plus
            try:
                yield from self.end(linked(self.chain, part, number), origin)
            except Arrived as error:
                yield error_row(self.end.route, origin, error.payload)
            except HoodooError as error:
                if isinstance(error, StorageError) and not _last_attempt(self.attempts):
                    raise  # may well pass: let Spark run the task again
                yield error_row(self.end.route, origin, error_json(error))


def linked(chain: tuple[Link, ...], batches: Batches, number: int) -> Batches:
    """``batches`` through the steps of ``chain``, each held to its schema."""
    for link in chain:
        task = Task(number * link.times + link.plus)
        batches = returned(_called(link.step, batches, task), link.step)
    return batches


def _called(step: Step, batches: Batches, task: Task) -> Batches:
    # Lazily, so that a step that raises before its first batch raises inside the chain.
    yield from step(batches, task)


def _last_attempt(attempts: int) -> bool:
    from pyspark import TaskContext

    context = TaskContext.get()
    return context is None or context.attemptNumber() + 1 >= attempts


def as_function(runner: Callable[[Batches], Batches]) -> Callable[[Batches], Batches]:
    """``runner`` as the plain function that mapInArrow takes."""

    def run(batches: Batches) -> Batches:
        with of_the_system():
            yield from runner(batches)

    return run
