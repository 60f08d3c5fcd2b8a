"""The Spark engine: the verbs of :class:`hoodoo.hookspecs.engine.Engine` on DataFrames.

No setting of the session is read except the two that bound a batch, and none is ever set.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Any

import pyarrow as pa
from attrs import evolve, frozen
from hoodoo.errors import EngineError, HoodooError
from hoodoo.hookspecs.engine import Step, Stream, Workspace
from hoodoo.hookspecs.registration import PluginRef
from hoodoo.hookspecs.serializer import Serializer
from hoodoo.storage.api import Storage
from hoodoo_rows.engine.crossing import Crossing, usual_serializer

from hoodoo_spark import plain, probe, side, sources
from hoodoo_spark import stage as staging
from hoodoo_spark.failures import failure
from hoodoo_spark.memory import of_driver, of_executors
from hoodoo_spark.meter import SparkMeter
from hoodoo_spark.pack import PackResult, PackRouted
from hoodoo_spark.packed import ERROR, LAST, MORE, SORT
from hoodoo_spark.read_groups import Lying, ReadGroups, lying
from hoodoo_spark.route import empty_rows, has_ids, repartitioned, routes
from hoodoo_spark.runner import PAYLOAD, End, ReadFrame, ReadPacked
from hoodoo_spark.session import is_connect, parallelism, refuse_unshared
from hoodoo_spark.stream import (
    ENCLOSED_BYTES,
    Leg,
    SparkStream,
    mapped,
    of_payloads,
    own,
    piece_bytes,
    run,
    united,
)
from hoodoo_spark.types import arrow_schema, frame_schema


def is_dataframe(data: Any) -> bool:
    """Whether ``data`` is a PySpark DataFrame, without importing PySpark."""
    return any(
        kind.__name__ == "DataFrame" and kind.__module__.startswith("pyspark.sql.")
        for kind in type(data).__mro__
    )


@frozen
class SparkEngine:
    """Implements :class:`~hoodoo.hookspecs.engine.Engine` on the ``SparkSession`` given, a classic
    one or one of Spark Connect. All of it runs in tasks; what is small may run elsewhere:
    :mod:`hoodoo_spark.near`. ``memory``: what a task takes where it runs on this machine. ``held``:
    what the driver takes of all tasks, both in bytes."""

    spark: Any
    name: str = "spark"
    memory: int = 256 << 20
    held: int = 32 << 20

    def on(self, storage: Storage) -> SparkEngine:
        """Raises EngineError for a store that Spark's workers would find empty."""
        refuse_unshared(storage)
        return self

    @property
    def parallelism(self) -> int:
        return parallelism(self.spark)

    @property
    def task_memory(self) -> int:
        return of_executors(self.spark) or self.memory

    @property
    def result_bytes(self) -> int:
        return of_driver(self.spark, self.held)

    def accepts(self, data: Any) -> bool:
        return is_dataframe(data)

    def source(self, data: Any) -> SparkStream:
        """A stream over a DataFrame, anything Arrow, or a path (or list of paths) of Parquet files.

        Raises SchemaError for types that Arrow lacks, DataError for data that is none of these.
        """
        if is_dataframe(data):
            schema = arrow_schema(frame_schema(data))
            files = plain.dataset_of(data, schema)
            if files is None:
                return SparkStream(schema, (Leg(data, ReadFrame(schema), None),))
            data = files
        step, payloads = sources.planned(data, self.parallelism)
        return mapped(self._tasks(payloads), step)

    def tasks(self, payloads: Sequence[bytes]) -> SparkStream:
        return self._tasks(payloads)

    def _tasks(self, payloads: Iterable[bytes]) -> SparkStream:
        return SparkStream(PAYLOAD, (of_payloads(self.spark, payloads),))

    def map(self, stream: Stream, step: Step) -> SparkStream:
        return mapped(own(stream), step)

    def exchange(
        self, stream: Stream, parts: int, serializer: Serializer | None = None
    ) -> SparkStream:
        upstream = own(stream)
        found = lying(upstream, parts, serializer)
        if found is not None and (
            sum(map(len, found.payloads)) <= ENCLOSED_BYTES or not is_connect(self.spark)
        ):
            return self._gathered(found, parts)
        crossing = Crossing.of(upstream.schema, parts, serializer)
        df = upstream.legs[0].df
        end = PackRouted(crossing, piece_bytes(self.spark), routes(df, parts))
        packed = run(upstream, end).union(empty_rows(self.spark, parts, has_ids(df)))
        ordered = repartitioned(packed, parts).sortWithinPartitions(*SORT)
        leg = Leg(ordered, ReadPacked(crossing), parts, held=upstream)
        return SparkStream(upstream.schema, (leg,))

    def _gathered(self, found: Lying, parts: int) -> SparkStream:
        staged = self.side(pa.table({"payload": pa.array(found.payloads, pa.binary())}))
        read = ReadGroups(found.read.storage, found.read.out_schema, staged, found.route, parts)
        return mapped(self._tasks([b""] * parts), read)

    def stage(self, stream: Stream, workspace: Workspace) -> SparkStream:
        payloads, _size = self.staged(stream, workspace)
        return self.read_staged(payloads, workspace.storage, stream.schema)

    def read_staged(
        self, payloads: Sequence[bytes], storage: Storage, schema: pa.Schema
    ) -> SparkStream:
        """The rows of ``schema`` that :meth:`staged` returned payloads of."""
        leg = evolve(of_payloads(self.spark, payloads), staged=tuple(payloads))
        return mapped(SparkStream(PAYLOAD, (leg,)), staging.ReadStaged(storage, schema))

    def staged(
        self, stream: Stream, workspace: Workspace, small: int = 0
    ) -> tuple[list[bytes], int]:
        """The payloads for :class:`~hoodoo_spark.stage.ReadStaged`, one for each partition of the
        stream, and the bytes of its rows. ``small``: of about so many bytes of rows the payloads
        hold them themselves."""
        upstream = own(stream)
        storage, prefix = workspace.storage, workspace.prefix.rstrip("/")
        end = staging.WriteStaged(storage, prefix, uuid.uuid4().hex, upstream.schema, small)
        pieces = self._act(upstream, end)
        origins = list(dict.fromkeys(row["origin"] for row in pieces))
        payloads = [
            b"".join(bytes(row["payload"]) for row in of_one)
            for _origin, of_one in groupby(pieces, key=lambda row: row["origin"])
        ]
        if upstream.count is not None and origins != list(range(upstream.count)):
            raise EngineError(
                "stage",
                f"ran {len(origins)} partitions of {upstream.count}.",
                "Run the action again.",
            )
        paths = [path for payload in payloads if (path := staging.path_in(payload)) is not None]
        if paths:
            staging.check_complete(paths, storage, prefix)
        return payloads, sum(map(staging.size_in, payloads))

    def union(self, streams: Sequence[Stream]) -> SparkStream:
        return united(own(stream) for stream in streams)

    def spread(
        self, stream: Stream, workspace: Workspace, made: Callable[[pa.Table], pa.Table]
    ) -> side.StagedSide:
        payloads, _size = self.staged(stream, workspace)
        read = staging.ReadStaged(workspace.storage, stream.schema)
        return side.StagedSide(uuid.uuid4().hex, tuple(payloads), read, made)

    def side(self, table: pa.Table) -> side.SparkSide:
        return side.side(self.spark, table)

    def collect(self, stream: Stream) -> pa.Table:
        upstream = own(stream)
        bound = usual_serializer().bind(upstream.schema)
        batches = []
        held: list[bytes] = []
        for row in self._act(upstream, PackResult(bound, 1 << 20)):
            held.append(bytes(row["payload"]))
            if row["kind"] == LAST:
                batches.append(bound.deserialize(pa.py_buffer(b"".join(held))))
                held = []
        return pa.Table.from_batches(batches, upstream.schema)

    def meter(self) -> SparkMeter:
        if is_connect(self.spark):
            raise EngineError(
                "a meter",
                "needs accumulators, which Spark Connect does not have.",
                "Measure in a classic session.",
            )
        return SparkMeter.on(self.spark.sparkContext)

    def check(self, plugins: Sequence[PluginRef]) -> None:
        probe.check(self.spark, plugins)

    def _act(self, stream: SparkStream, end: End) -> list[Any]:
        """The packed rows that ``end`` makes of the stream, in order: the one action.

        Raises the first error row as the class that the step raised, and EngineError for jobs that
        failed otherwise.
        """
        frame = run(stream, end)
        try:
            rows = frame.collect()
        except Exception as error:
            raise failure(error) from error
        rows.sort(key=lambda row: (row["origin"], row["seq"]))
        for row in rows:
            if row["kind"] == ERROR:
                raise HoodooError.from_dict(json.loads(bytes(row["payload"])))
            assert row["kind"] in (LAST, MORE)
        return list(rows)
