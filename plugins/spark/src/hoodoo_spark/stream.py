"""SparkStream: DataFrames with chains of steps that have not run yet."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Any

import pyarrow as pa
from attrs import evolve, frozen
from hoodoo.errors import EngineError
from hoodoo.hookspecs.engine import Step, Stream

from hoodoo_spark import side
from hoodoo_spark.packed import DDL
from hoodoo_spark.route import repartitioned
from hoodoo_spark.runner import (
    End,
    Link,
    ReadCarried,
    Reader,
    ReadPayloads,
    Runner,
    as_function,
)
from hoodoo_spark.session import is_connect, past_views

ENCLOSED_BYTES = 4 << 20


@frozen
class Leg:
    """One DataFrame of a stream, how to read it, and the steps to run over it.

    ``count`` is the number of partitions, None for a user's DataFrame (asking would run a part of
    its query). Partition i of the leg is partition ``i * times + plus`` of the stream. ``held``:
    what the tasks behind ``df`` read, of :mod:`hoodoo_spark.side`. ``staged``: the payloads, where
    they are of a stage."""

    df: Any
    read: Reader
    count: int | None
    chain: tuple[Link, ...] = ()
    times: int = 1
    plus: int = 0
    held: Any = None
    staged: tuple[bytes, ...] = ()


@frozen
class SparkStream:
    """Lazy; ``legs`` are the members of a union. Nothing runs before an exchange, stage or
    collect."""

    schema: pa.Schema
    legs: tuple[Leg, ...]

    @property
    def count(self) -> int | None:
        counts = [leg.count for leg in self.legs]
        return None if None in counts else sum(c for c in counts if c is not None)


def own(stream: Stream) -> SparkStream:
    """``stream``, which must be one of this engine's."""
    if not isinstance(stream, SparkStream):
        raise foreign(stream)
    return stream


def foreign(stream: Stream) -> EngineError:
    """What is said of a stream of another engine."""
    return EngineError(
        f"stream of type {type(stream).__qualname__}",
        "was not made by the spark engine.",
        "Use one engine for all steps of an action.",
    )


def mapped(stream: SparkStream, step: Step) -> SparkStream:
    """``step`` at the end of every leg's chain."""
    legs = [evolve(leg, chain=(*leg.chain, Link(step, leg.times, leg.plus))) for leg in stream.legs]
    return SparkStream(step.out_schema, tuple(legs))


def united(streams: Iterable[SparkStream]) -> SparkStream:
    """All legs, renumbered: first the legs whose partitions are counted, in order; numbers of the
    uncounted ones are above those, and interleave if there are several."""
    members = list(streams)
    schema = one_schema([member.schema for member in members])
    legs = [leg for member in members for leg in member.legs]
    if len(legs) == 1:
        return SparkStream(schema, tuple(legs))
    known = sum(leg.count for leg in legs if leg.count is not None)
    unknown = sum(leg.count is None for leg in legs)
    numbered: list[Leg] = []
    before = extra = 0
    for leg in legs:
        if leg.count is None:
            numbered.append(evolve(leg, times=unknown, plus=known + extra))
            extra += 1
        else:
            numbered.append(evolve(leg, times=1, plus=before))
            before += leg.count
    return SparkStream(schema, tuple(numbered))


def one_schema(schemas: Sequence[pa.Schema]) -> pa.Schema:
    """The schema of a union of streams, which all have it."""
    if not schemas:
        raise EngineError("union", "has no streams.", "Give at least one.")
    for schema in schemas[1:]:
        if not schema.equals(schemas[0]):
            raise EngineError(
                "union", f"has streams of different schemas: {schemas[0]} and {schema}."
            )
    return schemas[0]


def run(stream: SparkStream, end: End) -> Any:
    """The DataFrame of packed rows that ``end`` makes of the stream."""
    frames = []
    for leg in stream.legs:
        runner = Runner(
            leg.read, leg.chain, end, leg.times, leg.plus, attempts(leg.df.sparkSession)
        )
        frames.append(leg.df.mapInArrow(as_function(runner), DDL))
    return reduce(lambda a, b: a.union(b), frames)


def numbers(spark: Any, count: int) -> Any:
    """A DataFrame of the numbers below ``count``, one in each partition (one partition if none).

    Not ``range`` for a single one: Spark knows that range to be a single partition, and 4.1 and
    later run a union of single partitions in one task."""
    if count == 1:
        return past_views(spark, "SELECT id FROM VALUES (0L) AS one(id)")
    return spark.range(0, count, 1, max(1, count))


def of_payloads(spark: Any, values: Iterable[bytes], lasting: bool = False) -> Leg:
    """One partition, of one row, for each of ``values``. ``lasting``: see
    :func:`hoodoo_spark.side.carried`."""
    if not is_connect(spark):
        found = side.payloads(spark, values, lasting)
        return Leg(numbers(spark, found.count), ReadPayloads(found), found.count)
    held = list(values)
    if sum(map(len, held)) <= ENCLOSED_BYTES:
        return Leg(numbers(spark, len(held)), ReadPayloads(side.payloads(spark, held)), len(held))
    # The functions of a plan go to every task, and a message to the server has a limit: rows go in
    # pieces.
    rows = pa.table(
        {"route": pa.array(range(len(held)), pa.int32()), "payload": pa.array(held, pa.binary())}
    )
    return Leg(repartitioned(spark.createDataFrame(rows), len(held)), ReadCarried(), len(held))


def attempts(spark: Any) -> int:
    """How often Spark tries a task before it gives up."""
    if is_connect(spark):
        master = spark.conf.get("spark.master", "")
        failures = spark.conf.get("spark.task.maxFailures", "4")
    else:
        master = spark.sparkContext.master
        failures = spark.sparkContext.getConf().get("spark.task.maxFailures", "4")
    if master.startswith("local") and not master.startswith("local-cluster"):
        found = re.fullmatch(r"local\[[^,]+,\s*(\d+)\s*\]", master)
        return int(found[1]) if found else 1
    return int(failures)


def piece_bytes(spark: Any) -> int:
    """The largest payload of one packed row, a multiple of 64.

    PySpark cuts batches towards Python by number of rows, and before 4.0 by nothing else: there, as
    many pieces as the session puts into one batch stay near 512 MiB together.
    """
    rows = int(spark.conf.get("spark.sql.execution.arrow.maxRecordsPerBatch"))
    if rows <= 0 or _limits_bytes(spark):
        return 128 << 10
    return max(16 << 10, min(128 << 10, (512 << 20) // rows // 64 * 64))


def _limits_bytes(spark: Any) -> bool:
    try:
        limit = spark.conf.get("spark.sql.execution.arrow.maxBytesPerBatch")
    except Exception:  # unknown to this version
        return False
    return re.fullmatch(r"[1-9][0-9]*[a-zA-Z]*", limit) is not None
