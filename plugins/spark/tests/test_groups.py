"""Staged rows that lie together by bucket, and tasks that read them there in the place of an exchange."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from attrs import evolve, frozen
from hoodoo.errors import EngineError
from hoodoo.hookspecs.engine import PART, SLOT, Task, Workspace
from hoodoo.model.meta import PARTITION_PATH
from hoodoo_rows.produce.columns import BUCKET
from hoodoo_rows.produce.slots import PLAN_SCHEMA
from hoodoo_rows.write.route import RouteToBuckets
from hoodoo_spark.groups import AT, FAR, NEAR, SIZE, Grouped, has_groups, read_index
from hoodoo_spark.read_groups import ReadGroups
from hoodoo_spark.stage import ReadStaged, WriteStaged, has_index, path_in
from hoodoo_standard.storage.local import LocalStorage

pytestmark = pytest.mark.sampled(4)

SCHEMA = pa.schema(
    [("n", pa.int64()), (PARTITION_PATH, pa.string()), (BUCKET, pa.int32()), ("text", pa.string())]
)


def batch(start: int, count: int, paths: str = "ab", buckets: int = 3) -> pa.RecordBatch:
    ids = range(start, start + count)
    return pa.record_batch(
        [
            pa.array(ids, pa.int64()),
            pa.array([paths[i * 7 % len(paths)] for i in ids]),
            pa.array([i * 5 % buckets for i in ids], pa.int32()),
            pa.array([f"row {i}" for i in ids]),
        ],
        schema=SCHEMA,
    )


@frozen
class Here:
    """A side table that is at hand."""

    rows: pa.Table

    def table(self) -> pa.Table:
        return self.rows


def route(*places: tuple[str, int, int, int]) -> RouteToBuckets:
    """``places``: partition path, bucket, slot, part."""
    names = ("partition_path", "bucket", "slot", "part")
    plan = [dict(zip(names, place, strict=True)) for place in places]
    side = Here(pa.Table.from_pylist(plan, PLAN_SCHEMA))
    return RouteToBuckets(SCHEMA, side, 3)


ALL = tuple(
    (path, bucket, 3 * (path == "b") + bucket, (bucket + (path == "b")) % 2)
    for path in "ab"
    for bucket in range(3)
)


@pytest.fixture
def storage(tmp_path: Path) -> LocalStorage:
    return LocalStorage(str(tmp_path), durable=False)


def written(folder: Path, batches: list[pa.RecordBatch], limit: int) -> tuple[Grouped, str]:
    made = Grouped(SCHEMA, limit)
    path = str(folder / "staged.arrow")
    with pa.OSFile(path, "wb") as sink:
        size = made.write(sink, batches, pa.ipc.IpcWriteOptions(compression="lz4"))
    assert size == sum(batch.nbytes for batch in batches)
    return made, path


@pytest.mark.parametrize("limit", [1, 4000, 1 << 20])
def test_each_batch_is_one_group_and_the_index_says_where(tmp_path: Path, limit: int) -> None:
    given = [batch(0, 500), batch(500, 1), batch(501, 300)]
    made, path = written(tmp_path, given, limit)
    assert made.whole
    with pa.OSFile(path) as file:
        index = read_index(file)
        assert index is not None
        seen: dict[tuple[str, int], list[int]] = {}
        for row in index.to_pylist():
            file.seek(row[AT])
            found = pa.ipc.read_record_batch(file.read_buffer(row[SIZE]), SCHEMA)
            group = row[PARTITION_PATH], row[BUCKET]
            assert {*zip(*(found.column(n).to_pylist() for n in (PARTITION_PATH, BUCKET)))} == {group}  # fmt: skip
            seen.setdefault(group, []).extend(found.column("n").to_pylist())
    whole = pa.Table.from_batches(given)
    wanted: dict[tuple[str, int], list[int]] = {}
    for row in whole.to_pylist():
        wanted.setdefault((row[PARTITION_PATH], row[BUCKET]), []).append(row["n"])
    assert seen == wanted  # and in their order
    with pa.OSFile(path) as file:
        assert pa.ipc.open_stream(file).read_all().sort_by("n") == whole


def test_rows_of_too_many_groups_stay_as_they_came(tmp_path: Path) -> None:
    given = [batch(0, 600, "a", 2), batch(600, 600, "abcdefghijklmn", 97)]
    made, path = written(tmp_path, given, given[0].nbytes)  # each batch by itself
    assert not made.whole
    with pa.OSFile(path) as file:
        assert read_index(file) is None
        file.seek(0)
        found = pa.ipc.open_stream(file).read_all()
    assert found.slice(600).column("n").to_pylist() == list(range(600, 1200))
    assert sorted(found.column("n").to_pylist()) == list(range(1200))


def test_a_file_without_an_index(tmp_path: Path) -> None:
    for content in (b"", b"short", b"x" * 1000):
        (tmp_path / "f").write_bytes(content)
        with pa.OSFile(str(tmp_path / "f")) as file:
            assert read_index(file) is None


def stage(storage: Any, number: int, *batches: pa.RecordBatch, small: int = 0) -> bytes:
    end = WriteStaged(storage, "stage", "t", SCHEMA, small)
    (packed,) = end(iter(batches), number)
    found: bytes = packed.column("payload")[0].as_py()
    return found


def gathered(storage: Any, payloads: list[bytes], by: Any, part: int, parts: int = 3) -> pa.Table:
    staged = Here(pa.table({"payload": pa.array(payloads, pa.binary())}))
    step = ReadGroups(storage, SCHEMA, staged, by, parts)
    found = list(step(iter(()), Task(part)))
    slots = [set(batch.column(SLOT).to_pylist()) for batch in found]
    assert all(len(of_one) == 1 for of_one in slots)
    assert [min(s) for s in slots] == sorted(min(s) for s in slots)
    return pa.Table.from_batches(found, step.out_schema)


def test_each_part_reads_its_groups(storage: LocalStorage) -> None:
    """From two files, and from a payload that has the rows itself."""
    payloads = [
        stage(storage, 0, batch(0, 100)),
        stage(storage, 1, batch(100, 100)),
        stage(storage, 2),
        stage(storage, 3, batch(200, 10), small=1 << 20),
    ]
    assert [path_in(payload) is None for payload in payloads] == [False, False, False, True]
    assert all(map(has_index, payloads))
    by = route(*ALL)
    parts = [gathered(storage, payloads, by, part) for part in range(3)]
    read = ReadStaged(storage, SCHEMA)
    column = pa.record_batch({"payload": pa.array(payloads, pa.binary())})
    whole = pa.Table.from_batches(by(read(iter([column]), Task()), Task()), by.out_schema)
    assert pa.concat_tables(parts).sort_by("n") == whole.sort_by("n")
    for part, found in enumerate(parts):
        assert set(found.column(PART).to_pylist()) == ({part} if part < 2 else set())
        for slot in set(found.column(SLOT).to_pylist()):
            ids = [row["n"] for row in found.to_pylist() if row[SLOT] == slot]
            assert ids == sorted(ids)


def test_groups_outside_the_plan_end_here(storage: LocalStorage) -> None:
    payloads = [stage(storage, 0, batch(0, 60)), stage(storage, 1, batch(60, 60), small=1 << 20)]
    found = gathered(storage, payloads, route(("a", 1, 0, 0)), 0)
    wanted = [n for n in range(120) if n % 2 == 0 and n * 5 % 3 == 1]
    assert sorted(found.column("n").to_pylist()) == wanted


@pytest.mark.parametrize("small", [0, 1 << 20])
def test_a_part_that_no_task_has_is_an_error(storage: LocalStorage, small: int) -> None:
    payloads = [stage(storage, 0, batch(0, 60), small=small)]
    with pytest.raises(EngineError, match="part 1: is not one of the 1 parts"):
        gathered(storage, payloads, route(*ALL), 0, parts=1)


def test_across_a_network_groups_are_not_small(tmp_path: Path) -> None:
    """A read of one is a request."""
    narrow = batch(0, 200_000, "abcdefghij", 37)
    for limit, groups in ((NEAR, True), (FAR, False)):
        assert written(tmp_path, [narrow], limit)[0].whole == groups
    assert written(tmp_path, [batch(0, 200_000, "ab", 20)], FAR)[0].whole


def test_rows_with_dictionaries_have_no_groups() -> None:
    assert has_groups(SCHEMA)
    assert not has_groups(SCHEMA.append(pa.field("d", pa.dictionary(pa.int32(), pa.string()))))


def test_of_two_attempts_the_first_ones_groups_count(storage: LocalStorage) -> None:
    first = stage(storage, 0, batch(0, 300))
    second = stage(storage, 0, batch(1000, 40, "b", 2))  # a source that says something else now
    assert (path_in(second), has_index(second)) == (path_in(first), True)
    found = [gathered(storage, [second], route(*ALL), part) for part in range(2)]
    assert sorted(pa.concat_tables(found).column("n").to_pylist()) == list(range(300))


def test_of_two_attempts_the_first_had_no_groups(
    storage: LocalStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("hoodoo_spark.stage.has_groups", lambda schema: False)
        assert not has_index(stage(storage, 0, batch(0, 30)))
    assert not has_index(stage(storage, 0, batch(1000, 30)))


def test_more_files_than_stay_open(storage: LocalStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hoodoo_spark.read_groups._OPEN", 2)
    payloads = [stage(storage, n, batch(20 * n, 20)) for n in range(5)]
    found = [gathered(storage, payloads, route(*ALL), part) for part in range(2)]
    assert sorted(pa.concat_tables(found).column("n").to_pylist()) == list(range(100))


# --- the engine ------------------------------------------------------------------------------------


@frozen
class Named:
    """A serializer that is not the usual one."""

    inner: Any

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


@pytest.fixture
def routed_rows(engine: Any, workspace: Workspace) -> Any:
    table = pa.Table.from_batches([batch(0, 400)])
    streams = [engine.source(table.slice(start, 100)) for start in range(0, 400, 100)]
    staged = engine.stage(engine.union(streams), workspace)
    plan = route(*ALL)
    step = evolve(plan, plan=engine.side(plan.plan.table()))
    return engine.map(staged, step)


@pytest.mark.spark
@pytest.mark.parametrize("way", ["groups", "serializer", "looks", "steps"])
def test_an_exchange_of_staged_groups(
    engine: Any, routed_rows: Any, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """The same rows by both ways; without a shuffle where nothing has been made of them since."""
    from hoodoo_rows.engine.crossing import usual_serializer
    from hoodoo_rows.testing import engine_steps as steps

    serializer = None
    if way == "serializer":
        from hoodoo_standard.serialize.pickled import PickleSerializer

        serializer = PickleSerializer()
    elif way == "looks":
        monkeypatch.setattr("hoodoo_spark.read_groups.MOST_LOOKS", 11)
    elif way == "steps":
        routed_rows = engine.map(routed_rows, steps.Same(routed_rows.schema, ""))
    else:
        serializer = usual_serializer()
    exchanged = engine.exchange(routed_rows, 3, serializer)
    shuffled = "Exchange" in exchanged.legs[0].df._jdf.queryExecution().executedPlan().toString()
    assert shuffled is (way != "groups")
    found = engine.collect(engine.map(exchanged, steps.Numbered(exchanged.schema)))
    assert found.column(PART) == found.column("task")
    assert sorted(found.column("n").to_pylist()) == list(range(400))
    assert found.select(["n", PART, SLOT]).sort_by("n") == engine.collect(routed_rows).select(
        ["n", PART, SLOT]
    ).sort_by("n")
