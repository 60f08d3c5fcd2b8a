"""Tables that are merged on read: upserts beside deltalake, Lance and our own rewriting ones; reads
beside plain Parquet; ten merges in a row; and RFC-84's experiment with the serializers."""

from __future__ import annotations

import shutil
import statistics
import time
from typing import Any

import hoodoo
import lance
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, write_deltalake

from tests.bench import data
from tests.bench.measure import Figure, Report
from tests.bench.merges import BUCKETS, SHARES, _delta_merge

TYPES = {"merged on read": "MERGE_ON_READ", "copied on write": "COPY_ON_WRITE"}


def _load(path: str, table: pa.Table, kind: str, engine: str | None = None) -> Any:
    shutil.rmtree(path, ignore_errors=True)
    made = hoodoo.create(
        path, table.schema, name="lineitem", record_key=data.KEY, index="bucket",
        table_type=TYPES[kind], options=BUCKETS,
    )  # fmt: skip
    made.bulk_insert(table, engine=engine)
    return made


def _changes(table: pa.Table, share: float, runs: int) -> dict[int, pa.Table]:
    """By seed."""
    seeds = [int(share * 100) * 1000 + run for run in range(runs)]
    return {seed: data.change(table, share, seed) for seed in seeds}


def _checked(table: pa.Table) -> tuple[int, int, int]:
    fields = [
        pa.field(f.name, pa.string() if "string" in str(f.type) else f.type) for f in table.schema
    ]
    return data.checksum(table.cast(pa.schema(fields)))


def _all_agree(*found: pa.Table) -> None:
    assert len({_checked(table) for table in found}) == 1, [_checked(table) for table in found]


def _rows(path: str) -> pa.Table:
    return hoodoo.open(path).read(columns=[*data.KEY, "l_comment"]).to_arrow()


def locally(report: Report, folder: str, scale: float, runs: int) -> None:
    """(a) on the local engine, beside Lance's merge_insert and our own copy-on-write."""
    table = data.plain(data.lineitem(scale))
    paths = {kind: f"{folder}/local-{kind.replace(' ', '-')}" for kind in TYPES}
    for kind, path in paths.items():
        _load(path, table, kind)
    theirs = f"{folder}/lance"
    lance.write_dataset(table, theirs)
    for share in SHARES:
        changes = list(_changes(table, share, runs).values())

        def merge(run: int) -> None:
            found = lance.dataset(theirs).merge_insert(data.KEY)
            done = (
                found.when_matched_update_all().when_not_matched_insert_all().execute(changes[run])  # noqa: B023
            )
            assert done["num_updated_rows"] == changes[run].num_rows, done  # noqa: B023

        beside = f"Lance merge_insert of {share:.0%}"
        report.time(beside, runs, merge)
        for kind, path in reversed(paths.items()):

            def upsert(run: int) -> None:
                done = hoodoo.open(path).upsert(changes[run])  # noqa: B023
                assert done.updated == changes[run].num_rows, done  # noqa: B023

            name = f"upsert of {share:.0%}, {kind}, local"
            ours = kind == "merged on read"
            goal = 0.7 if share == min(SHARES) else 0.9
            report.time(name, runs, upsert, beside if ours else "", goal if ours else None)
        _beside_own(report, f"upsert of {share:.0%}, {{}}, local")
        columns = [*data.KEY, "l_comment"]
        _all_agree(
            *(_rows(path) for path in paths.values()),
            lance.dataset(theirs).to_table(columns=columns),
        )


def _beside_own(report: Report, name: str) -> None:
    ours, other = (report.figures[name.format(kind)] for kind in TYPES)
    again = Figure(
        f"the same beside our own, {name.split(',')[0]}", ours.seconds, {}, other.name, 0.5
    )
    again.ratio = round(again.median / other.median, 2)
    report.figures[f"{ours.name}, beside our own"] = again
    print(report.line(again), flush=True)


def on_spark(report: Report, spark: Any, folder: str, scale: float, runs: int) -> None:
    """(a) on Spark, beside deltalake's merge; the changes come as a DataFrame."""
    table = data.plain(data.lineitem(scale))
    paths = {kind: f"{folder}/spark-{kind.replace(' ', '-')}" for kind in TYPES}
    for kind, path in paths.items():
        _load(path, table, kind)
    theirs = f"{folder}/delta-merged"
    shutil.rmtree(theirs, ignore_errors=True)
    write_deltalake(theirs, table)
    for share in SHARES:
        changes = _changes(table, share, runs)
        frames = []
        for seed, change in changes.items():
            pq.write_table(change, f"{folder}/merged-{seed}.parquet")
            frames.append(spark.read.parquet(f"{folder}/merged-{seed}.parquet"))
        rows = list(changes.values())
        beside = f"deltalake merge of {share:.0%}"
        report.time(beside, runs, lambda run: _delta_merge(theirs, rows[run]))  # noqa: B023
        for kind, path in reversed(paths.items()):

            def upsert(run: int) -> None:
                done = hoodoo.open(path).upsert(frames[run], engine="spark")  # noqa: B023
                assert done.updated == rows[run].num_rows, done  # noqa: B023

            name = f"upsert of {share:.0%}, {kind}, Spark"
            ours = kind == "merged on read"
            report.time(name, runs, upsert, beside if ours else "", 0.4 if ours else None)
        _beside_own(report, f"upsert of {share:.0%}, {{}}, Spark")
        columns = [*data.KEY, "l_comment"]
        delta = DeltaTable(theirs).to_pyarrow_table(columns=columns)
        _all_agree(*(_rows(path) for path in paths.values()), delta)


def reads(report: Report, folder: str, scale: float, runs: int) -> None:
    """(b) snapshot reads after ten upserts of 3 %, before and after compaction; (d) their slope."""
    table = data.plain(data.lineitem(scale))
    path = f"{folder}/reads"
    made = _load(path, table, "merged on read")
    changes = list(_changes(table, 0.03, 10).values())
    seconds = []
    for change in changes:
        begun = time.perf_counter()
        assert hoodoo.open(path).upsert(change).updated == change.num_rows
        seconds.append(round(time.perf_counter() - begun, 3))
    slope = float(np.polyfit(range(len(seconds)), seconds, 1)[0]) / statistics.mean(seconds)
    figure = Figure("ten upserts of 3 %, each", seconds, {}, "slope of their mean", 0.03)
    figure.ratio = round(slope, 3)
    report.figures[figure.name] = figure
    print(report.line(figure), flush=True)
    names = table.schema.names
    expected = hoodoo.open(path).read(columns=names).to_arrow()
    plain = f"{folder}/plain.parquet"
    pq.write_table(expected, plain, compression="zstd")

    def parquet(run: int) -> None:
        assert sum(b.num_rows for b in pq.ParquetFile(plain).iter_batches()) == table.num_rows

    def snapshot(run: int) -> None:
        scan = hoodoo.open(path).read(columns=names)
        assert sum(batch.num_rows for batch in scan.to_batches()) == table.num_rows

    beside = "plain Parquet of the same rows"
    report.time(beside, runs, parquet)
    report.time("snapshot read after ten upserts of 3 %", runs, snapshot, beside, 2.0)
    for name, read in (("plain Parquet", parquet), ("snapshot read", snapshot)):
        begun = time.process_time()  # of all threads
        read(0)
        print(f"{name}: {time.process_time() - begun:.2f} s of processor time", flush=True)
    assert made.compact().instant
    report.time("snapshot read after compaction", runs, snapshot, beside, 1.1)
    _all_agree(_rows(path), expected)


def serializers(report: Report, spark: Any, folder: str, scale: float, runs: int) -> None:
    """(c) the same upsert of 1 % with each serializer: bytes, processor seconds, whole time."""
    from hoodoo_rows.testing.metered import MeteredEngine
    from hoodoo_spark.engine import SparkEngine

    table = data.plain(data.lineitem(scale))
    path = f"{folder}/serializers"
    _load(path, table, "merged on read")
    changes = _changes(table, 0.01, runs + 1)
    frames = []
    for seed, change in changes.items():
        pq.write_table(change, f"{folder}/serial-{seed}.parquet")
        frames.append(spark.read.parquet(f"{folder}/serial-{seed}.parquet"))
    rows = next(iter(changes.values())).num_rows
    hoodoo.open(path).upsert(frames[-1], engine="spark")  # workers are warm
    costs: dict[str, Any] = {}
    for name in ("avro", "pickle", "arrow"):
        totals = []

        def upsert(run: int) -> None:
            engine = MeteredEngine(SparkEngine(spark))
            found = hoodoo.open(path, {"hoodoo.serializer": name})  # noqa: B023
            assert found.upsert(frames[run], engine=engine).updated == rows
            totals.append(engine.total())  # noqa: B023

        against = "" if name == "avro" else "upsert with the serializer avro"
        goal = 0.75 if name == "arrow" else None
        report.time(f"upsert with the serializer {name}", runs, upsert, against, goal)
        costs[name] = totals[len(totals) // 2]
        print(f"   {costs[name]}")
    for what, goal in (("serialize_seconds", 0.20), ("deserialize_seconds", 0.05)):
        ours, theirs = getattr(costs["arrow"], what), getattr(costs["avro"], what)
        figure = Figure(f"{what} of arrow", [round(ours, 4)], {}, "avro", goal)
        figure.ratio = round(ours / theirs, 3)
        report.figures[figure.name] = figure
        print(report.line(figure), flush=True)
