"""Clustering, in the shape of the RFC's evaluation: one partition, many small files, a selective predicate on a
column that is no key. And what it costs beside Spark's own sort-and-rewrite, which order serves a predicate on
the second of two columns, and what a writer beside it notices.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import hoodoo
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from hoodoo.table.table import Table
from hoodoo_formats.parquet.reader import ParquetReader
from hoodoo_standard.engine.local import LocalEngine

from tests.bench import key_rows
from tests.bench.measure import Figure, Report

FILES, ROWS = 1200, 5000  # of the table that comes in: small files, and rows of each
WELL = 100  # files that it is to become
LOADS = 12
FEWER_FILES, FEWER_ROWS, FASTER, REWRITE, SECOND = 1 / 10, 1 / 100, 1 / 2.3, 1.0, 1 / 2
SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("session", pa.string()),
        ("user", pa.int64()),
        ("amount", pa.int64()),
        ("at", pa.int64()),
        ("note", pa.string()),
    ]
)
OPTIONS = {
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
    "hoodie.metadata.enable": "false",
}
# Fewer row groups to a file than pruning would like, more than Spark alone makes.
GROUPS = {"hoodie.clustering.plan.strategy.max.bytes.per.group": str(2 << 30)}
ROW_BYTES = 62  # on disk, about
_NOTE = 24


def run(report: Report, spark: Any, folder: str, scale: float, runs: int) -> None:
    files = max(24, int(FILES * scale)) // LOADS * LOADS
    path = f"{folder}/sessions"
    build(path, files)
    _rewritten(report, spark, path, files, runs)
    _asked(report, spark, path, files, runs)
    shutil.rmtree(path)
    _second_column(report, f"{folder}/plane", max(LOADS, files // 4 // LOADS * LOADS))


# --- rows ---------------------------------------------------------------------------------------------
def rows(numbers: Any) -> pa.Table:
    """The rows of some numbers. A session has twenty rows, all over the table."""
    rng = np.random.default_rng(int(numbers[0]))
    letters = rng.integers(97, 123, len(numbers) * _NOTE, dtype=np.uint8)
    offsets = np.arange(0, len(letters) + 1, _NOTE, dtype=np.int32)
    notes = pa.StringArray.from_buffers(len(numbers), pa.py_buffer(offsets), pa.py_buffer(letters))
    columns = [
        key_rows.keys(numbers),
        key_rows.keys(numbers % session_count(), 20),
        pa.array(rng.integers(0, 1_000_000, len(numbers))),
        pa.array(rng.normal(10_000, 3_000, len(numbers)).astype(np.int64)),
        pa.array(1_767_225_600 + numbers // 50),
        notes,
    ]
    return pa.table(columns, schema=SCHEMA)


def session_count() -> int:
    return FILES * ROWS // 20


def build(path: str, files: int) -> Table:
    """About ``files`` files of ROWS rows each, as many small writes leave them."""
    table = hoodoo.create(
        path, SCHEMA, name="sessions", record_key="id", engine=LocalEngine(2),
        options={**OPTIONS, "hoodoo.layout": "new_files",
                 "hoodie.parquet.max.file.size": str(ROWS * ROW_BYTES)},
    )  # fmt: skip
    each = files * ROWS // LOADS
    for load in range(LOADS):
        table.insert(rows(np.arange(load * each, (load + 1) * each)))
    found = len(table.file_slices())
    assert files * 0.6 < found < files * 1.6, found
    assert table.read().count() == files * ROWS
    return table


def _sums(table: Table) -> tuple[int, int, float]:
    count = users = 0
    for batch in table.read(columns=["user"]).to_batches():
        count += batch.num_rows
        users += pc.sum(batch.column(0)).as_py()
    return count, users, 0.0


def _size(path: str) -> int:
    return sum(s.size for s in hoodoo.open(path).file_slices())


# --- throughput -----------------------------------------------------------------------------------------
def _rewritten(report: Report, spark: Any, path: str, files: int, runs: int) -> None:
    """All of the table sorted by ``session``: by clustering on Spark, and by Spark alone."""
    size, before = _size(path), _sums(hoodoo.open(path))
    well = max(4, files * WELL // FILES)
    target = int(size / well)
    theirs, ours = f"{path}-spark", f"{path}-clustered"
    small = [s.base_file.path for s in hoodoo.open(path).file_slices() if s.base_file]

    def by_spark(_run: int) -> None:
        frame = spark.read.parquet(*(f"{path}/{name}" for name in small))
        ranged = frame.repartitionByRange(well, "session").sortWithinPartitions("session")
        ranged.write.option("compression", "zstd").parquet(theirs)

    def by_hoodoo(engine: str) -> Callable[[int], None]:
        def call(_run: int) -> None:
            table = hoodoo.open(ours, OPTIONS, engine=engine)
            done = table.cluster(columns="session", target_file_size=target, options=GROUPS)
            assert done.instant

        return call

    def clear(_run: int) -> None:
        for folder in (theirs, ours):
            shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(path, ours)

    name = f"cluster: {files} files sorted into {well}"
    clear(0)
    by_spark(0)  # what was never run is slower once
    by_hoodoo("spark")(0)
    first = report.time(f"{name}, Spark alone", runs, by_spark, prepare=clear)
    assert spark.read.parquet(theirs).count() == before[0]
    for engine in ("spark", "local"):
        figure = report.time(
            f"{name}, {engine} engine", runs, by_hoodoo(engine), first.name, REWRITE, prepare=clear
        )
        found = [s.size for s in hoodoo.open(ours).file_slices()]
        figure.notes = {
            "mb_per_second": round(size / 1e6 / figure.median, 1), "files": len(found),
            "off_target": round(max(abs(n / target - 1) for n in sorted(found)[1:]), 3),
        }  # fmt: skip
        assert _sums(hoodoo.open(ours)) == before
    shutil.rmtree(theirs, ignore_errors=True)


# --- a selective predicate --------------------------------------------------------------------------------
def _asked(report: Report, spark: Any, path: str, files: int, runs: int) -> None:
    sessions = [key_rows.keys(np.array([n]), 20)[0].as_py() for n in (7, 70_000, 290_000)]
    before, after = path, f"{path}-clustered"
    sessions = [s for s in sessions if _count(before, s)] or sessions[:1]
    looked = {where: Counter[str]() for where in (before, after)}
    answers: dict[str, list[Any]] = {before: [], after: []}
    for where in (before, after):  # ranges of columns: what rules out whole files
        hoodoo.open(where).rebuild_index("column_stats")
    for where in (before, after):
        for session in sessions:
            with _Looking() as looking:
                answers[where].append(_count(where, session))
            looked[where] += looking.seen
    assert answers[before] == answers[after] and all(answers[before])
    for what, goal in (("files opened", FEWER_FILES), ("rows scanned", FEWER_ROWS)):
        figure = Figure(f"cluster: {what} for one session of {files * ROWS} rows", [], {})
        figure.ratio = round(looked[after][what] / looked[before][what], 5)
        figure.goal, figure.against = goal, "the same before clustering"
        figure.notes = {"before": looked[before][what], "after": looked[after][what]}
        report.add(figure)

    def query(where: str) -> Callable[[int], None]:
        def call(run: int) -> None:
            session = sessions[run % len(sessions)]
            scan = hoodoo.open(where).read(where=pc.field("session") == session)
            found = scan.to_spark(spark).agg({"amount": "sum", "*": "count"}).collect()[0]
            assert found["count(1)"] == answers[before][run % len(sessions)], found

        return call

    for where in (before, after):
        query(where)(0)  # what was never asked is slower once
    report.in_turn(
        {
            "cluster: one session asked for on Spark, as it came": query(before),
            "cluster: one session asked for on Spark, clustered": query(after),
        },
        max(runs, 5),
        FASTER,
    )
    shutil.rmtree(after)


def _count(path: str, session: str) -> int:
    return hoodoo.open(path).read(where=pc.field("session") == session).count()


class _Looking:
    """Counts, while it is entered, which base files are opened, and the rows that are read of them."""

    def __enter__(self) -> _Looking:
        self.seen: Counter[str] = Counter()
        self._real = ParquetReader.batches, ParquetReader.__init__
        batches, begin = self._real
        looking = self

        def counted(reader: Any, *args: Any, **how: Any) -> Iterator[pa.RecordBatch]:
            for batch in batches(reader, *args, **how):
                looking.seen["rows scanned"] += batch.num_rows
                yield batch

        def opened(reader: Any, *args: Any, **how: Any) -> None:
            looking.seen["files opened"] += 1
            begin(reader, *args, **how)

        ParquetReader.batches, ParquetReader.__init__ = counted, opened  # type: ignore[method-assign]
        return self

    def __exit__(self, *_exc: object) -> None:
        ParquetReader.batches, ParquetReader.__init__ = self._real  # type: ignore[method-assign]


# --- two columns --------------------------------------------------------------------------------------------
def _second_column(report: Report, path: str, files: int) -> None:
    """Files that a narrow range of the second of two columns opens, by the order they were laid out in."""
    small = f"{path}-small"
    build(small, files)
    size = _size(small)
    opened: dict[str, int] = {}
    for order in ("linear", "zorder", "hilbert"):
        shutil.copytree(small, path)
        table = hoodoo.open(path, OPTIONS, engine=LocalEngine(2))
        table.cluster(order=order, columns=["user", "amount"], target_file_size=int(size / 64))
        table = hoodoo.open(path, engine=LocalEngine(2))
        table.rebuild_index("column_stats")
        found = {"user": 0, "amount": 0}
        for column, lows, width in (
            ("user", (100_000, 300_000, 500_000, 700_000, 900_000), 2000),
            ("amount", (4_000, 8_000, 10_000, 12_000, 16_000), 20),
        ):
            for low in lows:
                where = (pc.field(column) >= low) & (pc.field(column) < low + width)
                with _Looking() as looking:
                    assert table.read(where=where).count()
                found[column] += looking.seen["files opened"]
        opened[order] = found["amount"]
        figure = Figure(f"cluster: files opened for the second of two columns, {order}", [], {})
        figure.notes = {
            "opened": found["amount"], "for_the_first": found["user"],
            "files": len(table.file_slices()),
        }  # fmt: skip
        if order != "linear":
            figure.ratio = round(found["amount"] / opened["linear"], 3)
            figure.goal, figure.against = SECOND, "linear"
        report.add(figure)
        shutil.rmtree(path)
    shutil.rmtree(small)
