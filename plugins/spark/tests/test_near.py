"""What is small runs in the driver's process: the rows are the same wherever a step runs, and what is large runs in tasks."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from attrs import define, evolve, field, frozen
from hoodoo.errors import EngineError
from hoodoo.hookspecs.engine import Task, Workspace
from hoodoo.hookspecs.registration import Settings
from hoodoo.model.payload import Payload
from hoodoo_rows.testing.tables import Maker
from hoodoo_spark import near
from hoodoo_spark.stage import ReadStaged, WriteStaged, path_in, size_in
from hoodoo_standard.engine.local import LocalEngine
from hoodoo_standard.storage.local import LocalStorage

pytestmark = pytest.mark.sampled

ROWS = pa.schema([("id", pa.int64()), ("city", pa.string()), ("fare", pa.float64())])
INDEXES = ("bucket", "simple", "bloom", "global_simple", "record_index", "partitioned_record_index")


@frozen
class FarStream:
    inner: Any

    @property
    def schema(self) -> pa.Schema:
        found: pa.Schema = self.inner.schema
        return found


@define
class Far:
    """Stands in for Spark's tasks: an engine whose streams no other one takes. ``jobs`` are its evaluations."""

    local: LocalEngine = field(factory=lambda: LocalEngine(2))
    name: str = "spark"
    parallelism: int = 2
    jobs: list[str] = field(factory=list)

    def on(self, storage: Any) -> Far:
        return evolve(self, local=self.local.on(storage), jobs=self.jobs)

    def accepts(self, data: Any) -> bool:
        return False

    def source(self, data: Any) -> FarStream:
        return FarStream(self.local.source(data))

    def tasks(self, payloads: Sequence[bytes]) -> FarStream:
        return FarStream(self.local.tasks(payloads))

    def map(self, stream: FarStream, step: Any) -> FarStream:
        return FarStream(self.local.map(stream.inner, step))

    def exchange(self, stream: FarStream, parts: int, serializer: Any = None) -> FarStream:
        return FarStream(self.local.exchange(stream.inner, parts, serializer))

    def union(self, streams: Sequence[FarStream]) -> FarStream:
        return FarStream(self.local.union([stream.inner for stream in streams]))

    def side(self, table: pa.Table) -> Any:
        return self.local.side(table)

    def collect(self, stream: FarStream) -> pa.Table:
        self.jobs.append("collect")
        return self.local.collect(stream.inner)

    def read_staged(self, payloads: Sequence[bytes], storage: Any, schema: pa.Schema) -> FarStream:
        return self.map(self.tasks(payloads), ReadStaged(storage, schema))

    def staged(
        self, stream: FarStream, workspace: Workspace, small: int
    ) -> tuple[list[bytes], int]:
        self.jobs.append("stage")
        end = WriteStaged(
            workspace.storage, workspace.prefix, f"t{len(self.jobs)}", stream.schema, small
        )
        payloads = [
            b"".join(
                row for out in end(part(), number) for row in out.column("payload").to_pylist()
            )
            for number, part in enumerate(self.local.source(self.local.collect(stream.inner)).parts)
        ]
        return payloads, sum(map(size_in, payloads))

    def meter(self) -> Any:
        return self.local.meter()

    def check(self, plugins: Sequence[Any]) -> None:
        """Nothing can differ."""


def engine_of(small: int = 4 << 20, most: int = 64 << 20) -> near.NearEngine:
    return near.NearEngine(Far(), LocalEngine(2), small, most)  # type: ignore[arg-type]


def reader(rows: pa.Table) -> pa.RecordBatchReader:
    """Rows of which nobody knows how many they are."""
    return rows.to_reader(max_chunksize=7)


rows = Maker(ROWS, "fare", city=("c0", "c1", "c2"), fare=1.0)


def made(path: Path, index: str, kind: str = "COPY_ON_WRITE") -> hoodoo.Table:
    options = {"hoodie.bucket.index.num.buckets": "2"} if index == "bucket" else {}
    return hoodoo.create(
        str(path), ROWS, record_key="id", partition_by="city", table_type=kind, index=index, options=options
    )  # fmt: skip


@frozen
class Reads:
    """A step that says how much it reads."""

    reads: int
    out_schema: pa.Schema = ROWS

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        return batches


@frozen
class Empty:
    out_schema: pa.Schema = ROWS

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        list(batches)
        return iter(())


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize("index", INDEXES)
def test_a_small_upsert_is_one_job(tmp_path: Path, index: str, kind: str) -> None:
    table = made(tmp_path / "t", index, kind)
    table.insert(rows(range(100)))
    engine = engine_of()
    commit = table.upsert(reader(rows(range(50, 150), 2.0)), engine=engine)
    assert commit.updated + commit.inserted == 100
    assert engine.tasks_.jobs == ["stage"]
    assert not [*(tmp_path / "t").rglob("stage-*")]


def test_what_reads_much_or_does_not_say_runs_in_tasks() -> None:
    engine = engine_of(most=1000)
    jobs = engine.tasks_.jobs
    few = [Payload.of(b"a", 400), Payload.of(b"b", 600)]
    engine.collect(engine.map(engine.tasks(few), Empty()))
    assert not jobs
    engine.collect(engine.map(engine.tasks([*few, Payload.of(b"c", 1)]), Empty()))
    assert len(jobs) == 1
    engine.collect(engine.map(engine.tasks([few[0], b"plain"]), Empty()))
    assert len(jobs) == 2
    here = engine.source(rows([1, 2]))
    engine.collect(engine.map(here, Reads(1000)))
    assert len(jobs) == 2
    found = engine.collect(engine.map(engine.map(here, Reads(900)), Reads(101)))
    assert found == rows([1, 2]) and len(jobs) == 3
    both = engine.union([here, engine.map(engine.tasks([b"plain"]), Empty())])
    assert engine.collect(both).num_rows == 2 and len(jobs) == 4
    with pytest.raises(EngineError, match="not made by the spark engine"):
        engine.collect(LocalEngine().source(rows([1])))


@pytest.mark.parametrize(("most", "jobs"), [(64 << 20, ["stage"]), (1000, ["stage", "collect"])])
def test_few_rows_of_large_files_are_written_by_tasks(
    tmp_path: Path, most: int, jobs: list[str]
) -> None:
    table = made(tmp_path / "t", "bucket")
    table.insert(rows(range(1000)))
    engine = engine_of(most=most)
    assert table.upsert(reader(rows(range(3), 2.0)), engine=engine).updated == 3
    assert engine.tasks_.jobs == jobs


def test_many_rows_stay_in_tasks(tmp_path: Path) -> None:
    table = made(tmp_path / "t", "simple")
    engine = engine_of(small=1000)
    table.upsert(reader(rows(range(500))), engine=engine)
    assert len(engine.tasks_.jobs) > 1
    assert table.read().count() == 500


@pytest.mark.parametrize(
    ("index", "reads", "jobs"),
    [
        ("bucket", 0, ["stage", "collect", "collect"]),
        ("simple", 0, ["stage", "collect", "collect", "collect"]),
        ("global_simple", 0, ["stage", "collect", "collect", "collect"]),
        # The stats of the files, which lie with the keys that came, and the keys: of a small write both are here.
        ("record_index", 64 << 20, ["stage", "collect", "stage"]),
        ("record_index", 0, ["stage", "collect", "collect", "stage"]),
    ],
)
def test_jobs_of_an_upsert_of_many_rows(
    tmp_path: Path, index: str, reads: int, jobs: list[str]
) -> None:
    """Staged, summed up together with its keys, looked up, written."""
    table = made(tmp_path / "t", index)
    table.insert(rows(range(1000)))
    engine = engine_of(small=16_000, most=reads)
    assert table.upsert(reader(rows(range(1000), 2.0)), engine=engine).updated == 1000
    # What is written about files of a metadata table without rows is as small as the files.
    assert engine.tasks_.jobs[: len(jobs)] == jobs
    assert reads == 0 or engine.tasks_.jobs == jobs


def test_rows_or_a_file_of_a_partition(tmp_path: Path) -> None:
    """Partitions that are alike and small together hand over their rows; a large one has a file."""
    storage = LocalStorage(str(tmp_path), durable=False)
    batches = rows(range(64)).to_batches()
    size = sum(batch.nbytes for batch in batches)
    for small, number, wanted in (
        (0, 0, True), (size - 1, 0, True), (size, 0, False), (8 * size, 7, False), (16 << 10, 7, False),
        (1 << 30, 2000, True),
    ):  # fmt: skip
        end = WriteStaged(storage, "stage", f"{small}", ROWS, small)
        out = [
            row
            for batch in end(iter(batches), number)
            for row in batch.column("payload").to_pylist()
        ]
        payload = b"".join(out)
        assert (path_in(payload) is not None) == wanted, (small, number)
        assert size_in(payload) == size
        column = pa.record_batch([pa.array([payload], pa.binary())], ["payload"])
        found = pa.Table.from_batches(ReadStaged(storage, ROWS)(iter([column]), Task()))
        assert found == rows(range(64))


def test_options(tmp_path: Path) -> None:
    assert near.SMALL_BYTES.key == "hoodoo.spark.small.bytes"
    with pytest.raises(hoodoo.errors.ConfigError, match="small.bytes"):
        hoodoo.create(str(tmp_path / "t"), ROWS, options={"hoodoo.spark.small.bytes": "few"})


@pytest.mark.parametrize(
    "seed", [*range(4), *(pytest.param(n, marks=pytest.mark.trial) for n in range(4, 40))]
)
def test_rows_are_the_same_wherever_steps_run(tmp_path: Path, seed: int) -> None:
    """Random histories against a dictionary, by engines that call other things small at each step."""
    chance = random.Random(seed)
    table = made(
        tmp_path / "t", chance.choice(INDEXES), chance.choice(["COPY_ON_WRITE", "MERGE_ON_READ"])
    )
    state: dict[int, float] = {}
    for step in range(6):
        small, most = chance.choice([1, 600, 4 << 20]), chance.choice([0, 3000, 64 << 20])
        ids = sorted(chance.sample(range(60), chance.randrange(1, 30)))
        data: Any = rows(ids, float(step))
        if chance.random() < 0.7:
            data = reader(data)
        operation = chance.choice(
            ["upsert", "upsert", "upsert", "delete", "insert_overwrite_table"]
        )
        getattr(table, operation)(data, engine=engine_of(small, most))
        if operation == "delete":
            state = {i: fare for i, fare in state.items() if i not in ids}
        else:
            kept = state if operation == "upsert" else {}
            state = {**kept, **dict.fromkeys(ids, float(step))}
        found = table.read(columns=["id", "fare"]).to_arrow()
        assert sorted(zip(*(found[n].to_pylist() for n in found.column_names))) == sorted(
            state.items()
        ), (step, operation, small, most)
    table.verify()


# --- in Spark -------------------------------------------------------------------------------------
def shape(table: hoodoo.Table) -> list[tuple[Any, ...]]:
    """Which keys lie together, in which order, in base files; and how many log files there are."""
    found: list[tuple[Any, ...]] = []
    for slice_ in table.file_slices():
        logs = len(slice_.log_files)
        keys: tuple[int, ...] = ()
        if slice_.base_file is not None:
            file = pq.read_table(Path(table.path.removeprefix("file://"), slice_.base_file.path))
            keys = tuple(file["id"].to_pylist())
        found.append((slice_.partition_path, logs, keys))
    return sorted(found)


@pytest.mark.spark
@pytest.mark.trial
@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize("index", INDEXES)
def test_same_files_on_spark(spark: Any, tmp_path: Path, index: str, kind: str) -> None:
    found = []
    for small in ("0", "4MB"):
        table = made(tmp_path / small, index, kind)
        table = hoodoo.open(str(tmp_path / small), {"hoodoo.spark.small.bytes": small})
        frame = spark.range(300).selectExpr("id", "CONCAT('c', id % 3) AS city", "1D AS fare")
        table.insert(frame)
        table.upsert(
            frame.selectExpr("id + 200 AS id", "CONCAT('c', (id + 200) % 3) AS city", "2D AS fare")
        )
        table.delete(frame.where("id < 20"))
        rows_ = table.read(columns=["id", "city", "fare"]).to_arrow().sort_by("id")
        found.append((rows_.to_pylist(), shape(table)))
    assert found[0] == found[1]


@pytest.mark.spark
def test_small_is_off_by_option(spark: Any) -> None:
    from hoodoo_spark.engine import SparkEngine

    assert isinstance(
        near.on_session(spark, Settings(options={"hoodoo.spark.small.bytes": "0"})), SparkEngine
    )
    found = near.on_session(spark, Settings(options={"hoodoo.spark.small.bytes": "1KB"}))
    assert isinstance(found, near.NearEngine) and found.small == 1024
