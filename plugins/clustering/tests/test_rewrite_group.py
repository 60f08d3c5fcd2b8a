"""A group is rewritten: its rows in a new order, in files of the target size, as they were."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from attrs import evolve, frozen
from hoodoo.errors import CommitConflictError
from hoodoo.hookspecs.engine import Task
from hoodoo.hookspecs.merger import Merged
from hoodoo.kernel.log_files import log_files
from hoodoo.model.config import TableConfig
from hoodoo.model.filegroup import BaseFile, FileSlice, LogFile
from hoodoo.model.log_block import BlockKind
from hoodoo.model.meta import FILE_NAME, RECORD_KEY, with_meta
from hoodoo_clustering.file_bounds import FileBounds, unpack
from hoodoo_clustering.group_job import GroupJob
from hoodoo_clustering.group_rows import GroupRows
from hoodoo_clustering.hookspecs.clustering import ClusteredGroup
from hoodoo_clustering.rewrite_group import REWRITTEN, RewriteGroups
from hoodoo_clustering.run_groups import threads_of
from hoodoo_clustering.sample import sample
from hoodoo_formats.parquet.format import ParquetFormat
from hoodoo_rows.merge.rule import MergeRule
from hoodoo_rows.produce.pending import Pending
from hoodoo_standard.storage.local import LocalStorage

OLD, NEW = "20250101000000000", "20250202000000000"
SCHEMA = pa.schema([("n", pa.int64()), ("x", pa.float64()), ("word", pa.string())])
STORED = with_meta(SCHEMA)


@frozen
class Later:
    merge_mode: str = "COMMIT_TIME_ORDERING"
    strategy_id: str = "later"
    columns: tuple[str, ...] | None = ()

    def merge(self, older: pa.Table, newer: pa.Table) -> Merged:
        return Merged(newer_wins=pc.greater_equal(newer["_hoodie__op"], 0).combine_chunks())


@frozen
class By:
    """Ascending, or from the middle of the sample outwards."""

    columns: tuple[str, ...] = ()
    sample_rows: int = 0
    middle: float | None = None

    def fitted(self, sample: pa.Table) -> By:
        return evolve(self, middle=pc.mean(sample.column(self.columns[0])).as_py())

    def keys(self, rows: pa.Table) -> Sequence[pa.ChunkedArray]:
        if self.middle is None:
            return [rows.column(name) for name in self.columns]
        return [pc.abs(pc.subtract(rows.column(self.columns[0]), self.middle))]

    def told(self, groups: Sequence[ClusteredGroup]) -> Mapping[str, str]:
        return {}


def rows(count: int, start: int = 0) -> pa.Table:
    rng = np.random.default_rng(start)
    numbers = np.arange(start, start + count)
    values = {
        "_hoodie_commit_time": pa.array([OLD] * count),
        "_hoodie_commit_seqno": pc.binary_join_element_wise(OLD, pa.array(numbers).cast(pa.string()), "_"),
        RECORD_KEY: pa.array([f"key-{n:08d}" for n in numbers]),
        "_hoodie_partition_path": pa.array(["p"] * count),
        FILE_NAME: pa.array(["old"] * count),
        "n": numbers,
        "x": pa.array(rng.random(count), mask=numbers % 50 == 0),
        "word": pa.array(["one", "two", "three"]).take(pa.array(numbers % 3)),
    }  # fmt: skip
    return pa.table(values, schema=STORED)


class Group:
    """Slices in a store, and the step that rewrites them."""

    def __init__(self, folder: Path, threads: int = 1) -> None:
        self.home, self.threads = folder, threads
        self.storage = LocalStorage(str(folder), durable=False)
        self.slices: list[FileSlice] = []
        self.inflight = ".hoodie/inflight"
        self.storage.put(self.inflight, b"")
        self.rule = MergeRule.of(
            pa.schema([f for f in STORED if f.name != FILE_NAME]),
            TableConfig({"hoodie.table.name": "t", "hoodie.table.version": "9"}),
            Later(),
            MergeRule(Later(), STORED).visible,
            None,
            None,
        )

    def add(self, table: pa.Table, log: pa.Table | None = None, base: bool = True) -> FileSlice:
        file_id = f"f{len(self.slices)}-0"
        file = BaseFile("p", file_id, OLD, "0-0-0")
        local = self.storage.scratch() + f"/{file_id}"
        writer = ParquetFormat().writer(local, STORED)
        for start in range(0, table.num_rows, 5000):
            writer.write(table.slice(start, 5000))
        size = writer.close()
        if base:
            assert self.storage.put_file_if_absent(file.path, local)
        logs: tuple[LogFile, ...] = ()
        (self.home / "p").mkdir(exist_ok=True)
        if log is not None:
            logs = (LogFile("p", file_id, OLD, 1, "0-0-0"),)
            with log_files().writer(str(self.home / logs[0].path)) as out:
                out.data_block(BlockKind.PARQUET, log, instant=OLD, table_name="t")
                out.close()
        made = FileSlice("p", file_id, OLD, evolve(file, size=size) if base else None, logs)
        self.slices.append(made)
        return made

    def step(self, order: By, target: int = 1 << 30, **more: Any) -> RewriteGroups:
        pending = Pending(NEW, self.inflight)
        return RewriteGroups(
            self.storage, ParquetFormat().with_threads(self.threads), self.rule, pending, order, target,
            more.pop("memory", 64 << 20), attempt="a", threads=self.threads, **more,
        )  # fmt: skip

    def run(self, step: RewriteGroups, number: int = 0) -> list[dict[str, Any]]:
        payload = GroupJob(number, tuple(self.slices)).pack()
        batch = pa.record_batch([pa.array([payload])], names=["payload"])
        found = pa.Table.from_batches(list(step(iter([batch]), Task(3))), REWRITTEN)
        return list(found.to_pylist())

    def files(self) -> dict[str, pa.Table]:
        """The new ones, in the order of their numbers."""
        names = [
            e.path for e in self.storage.list("p/") if NEW in e.path and not e.path.startswith(".")
        ]
        made = {}
        for name in sorted(names, key=lambda n: int(n.split("_")[1].split("-")[1])):
            with ParquetFormat().reader(self.storage, name) as reader:
                made[name] = pa.Table.from_batches(list(reader.batches()), reader.schema)
        return made


@pytest.fixture(params=[1, 3], ids=["one thread", "three threads"])
def group(tmp_path: Path, request: pytest.FixtureRequest) -> Group:
    return Group(tmp_path / "table", request.param)


def without_name(table: pa.Table) -> pa.Table:
    return table.drop_columns([FILE_NAME]).combine_chunks()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("memory", [64 << 20, 1 << 20])
def test_rows_are_sorted_and_otherwise_as_they_were(group: Group, memory: int) -> None:
    table = rows(20_000)
    for start in range(0, 20_000, 5000):
        group.add(table.slice(start, 5000))
    # One thread leaves equal rows as they came; several read files by turns.
    columns = ("word", "x") if group.threads == 1 else ("word", "x", "n")
    told = group.run(group.step(By(columns), memory=memory))
    ((path, made),) = group.files().items()
    assert made.schema.equals(STORED)
    keys = [("word", "ascending"), ("valid", "ascending"), ("x", "ascending"), ("n", "ascending")]
    expected = (
        table.append_column("valid", table["x"].is_valid()).sort_by(keys).drop_columns(["valid"])
    )
    assert without_name(made).equals(without_name(expected))
    assert set(made[FILE_NAME].to_pylist()) == {path.partition("/")[2]}
    assert len(told) == 1


def test_without_keys_rows_stay_in_their_order(group: Group) -> None:
    first, second = rows(3000, 5000), rows(3000)
    group.add(first)
    group.add(second)
    group.run(group.step(By()))
    (made,) = group.files().values()
    assert without_name(made).equals(without_name(pa.concat_tables([first, second])))


def test_log_files_are_merged(group: Group) -> None:
    table = rows(1000)
    newer = rows(1100).slice(900).set_column(6, "x", pa.array([7.5] * 200))
    group.add(table, newer)
    group.add(table.slice(0, 0), rows(50, 3000), base=False)
    (told,) = group.run(group.step(By(("n",))))
    (made,) = group.files().values()
    assert made["n"].to_pylist() == [*range(1100), *range(3000, 3050)]
    assert made["x"].to_pylist()[900:1100] == [7.5] * 200
    low, high = unpack(told["bounds"], ("n",))["n"] or (None, None)
    assert (low, high) == (0, 3049)


@pytest.mark.sampled(1, among="long")
def test_files_have_the_target_size_and_bounds_that_follow_each_other(group: Group) -> None:
    group.add(rows(60_000))
    target = 300 << 10
    told = group.run(group.step(By(("x",)), target))
    sizes = [group.storage.head(path).size for path in group.files()]  # type: ignore[union-attr]
    assert len(sizes) >= 4
    assert all(0.9 * target <= size <= 1.1 * target for size in sizes[:-1]), sizes
    bounds = [unpack(row["bounds"], ("x",))["x"] or (None, None) for row in told]
    for made, ends in zip(group.files().values(), bounds, strict=True):
        assert ends == tuple(pc.min_max(made["x"]).as_py().values())
    assert sorted(bounds) == bounds
    assert [row["group"] for row in told] == [0] * len(told)


@pytest.mark.sampled(1, among="long")
def test_each_attempt_makes_the_same_files(group: Group) -> None:
    group.add(rows(30_000))
    step = group.step(By(("x",), 500), 200 << 10)
    first = group.run(step)
    before = {e.path: (e.size, group.storage.get(e.path)) for e in group.storage.list("p/")}
    assert group.run(step) == first
    assert {e.path: (e.size, group.storage.get(e.path)) for e in group.storage.list("p/")} == before
    names = set(group.files())
    group.run(evolve(step, attempt="b"))
    assert len(set(group.files()) - names) == len(names)
    again = set(group.files())
    group.run(step, number=1)
    assert len(set(group.files()) - again) == len(names)


def test_an_attempt_that_finds_another_file_of_its_name_says_so(group: Group) -> None:
    group.add(rows(3000))
    step = group.step(By(("x",)))
    group.run(step)
    (path,) = group.files()
    group.storage.delete(path)
    group.storage.put(path, b"something else")
    with pytest.raises(CommitConflictError, match="two attempts"):
        group.run(step)


def test_a_run_that_was_undone_leaves_nothing(group: Group) -> None:
    group.add(rows(3000))
    group.storage.delete(group.inflight)
    with pytest.raises(CommitConflictError):
        group.run(group.step(By()))
    assert group.files() == {}
    assert not list(Path(group.storage.scratch()).glob("base-*"))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("order", [By(), By(("x",))])
def test_keys_are_told_where_they_are_asked_for(group: Group, order: By) -> None:
    group.add(rows(9000))
    told = group.run(group.step(order, 60 << 10, tells=True))
    made = group.files()
    stats = [row for row in told if row["stat"] is not None]
    assert len(stats) == len(made) > 1
    for row, table in zip(stats, made.values(), strict=True):
        keys = [r["record_key"] for r in told if r["file"] == row["file"] and r["stat"] is None]
        assert keys == table[RECORD_KEY].to_pylist()
    assert not any(row["deleted"] for row in told)


def test_what_was_deleted_leaves_no_file(group: Group) -> None:
    group.add(rows(0))
    assert group.run(group.step(By(("x",)))) == []
    assert group.files() == {}


def test_the_order_is_fitted_to_a_sample(group: Group) -> None:
    group.add(rows(3000))
    group.run(group.step(By(("n",), 100)))
    (made,) = group.files().values()
    assert sorted(made["n"].to_pylist()[:3]) in ([1484, 1485, 1486], [1483, 1484, 1485], [1485, 1486, 1487])  # fmt: skip


def group_rows(group: Group) -> GroupRows:
    return GroupRows(group.storage, ParquetFormat(), group.rule, tuple(group.slices))


@pytest.mark.parametrize(("wanted", "step"), [(100, 50), (4999, 2), (5000, 1), (1, 5000), (99, 51)])
def test_a_sample_is_taken_evenly_from_all_files(group: Group, wanted: int, step: int) -> None:
    for start, count in ((0, 100), (100, 3900), (4000, 0), (4000, 1000)):
        group.add(rows(count, start))
    found = sample(group_rows(group), ("n",), wanted)
    assert found.schema.names == ["n"]
    assert found["n"].to_pylist() == list(range(0, 5000, step))


def test_of_a_sample_only_its_columns_are_read(
    group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    group.add(rows(100))
    asked: list[Sequence[str]] = []
    reader = ParquetFormat.reader

    def watched(self: ParquetFormat, storage: LocalStorage, path: str) -> Any:
        made = reader(self, storage, path)
        batches = made.batches

        def watching(columns: Sequence[str], **more: Any) -> Iterator[pa.RecordBatch]:
            asked.append(tuple(columns))
            return batches(columns, **more)

        monkeypatch.setattr(made, "batches", watching)
        return made

    monkeypatch.setattr(ParquetFormat, "reader", watched)
    sample(group_rows(group), ("x", "word"), 10)
    assert asked == [("x", "word")]


def test_a_sample_of_log_files_alone(group: Group) -> None:
    group.add(rows(0), rows(300), base=False)
    found = sample(group_rows(group), ("word", "n"), 100)
    assert found["n"].to_pylist() == list(range(0, 300, 3))
    assert found.schema.names == ["word", "n"]


def test_bounds_keep_their_types_and_leave_out_what_has_none() -> None:
    nan = float("nan")
    table = pa.table(
        {
            "f": [nan, 2.0, None, 1.0],
            "only_nan": [nan, None, nan, nan],
            "null": pa.array([None] * 4, pa.int64()),
            "text": pa.array(["b", None, "a", "b"])
            .dictionary_encode()
            .take(pa.array([0, 1, 3, 3])),
            "list": [[1], [2], None, []],
            "raw": [b"\xff", b"", None, b"a"],
            "flag": [True, None, False, True],
        }
    )
    bounds = FileBounds(tuple(table.schema.names))
    for start in range(4):
        bounds.add(table.slice(start, 1))
    found = dict(unpack(bounds.pack(), table.schema.names))
    assert str(found.pop("only_nan")) == "(nan, nan)"
    assert found == {
        "f": (1.0, 2.0), "null": None, "text": ("b", "b"), "list": None, "raw": (b"", b"\xff"),
        "flag": (False, True),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("cores", "tasks", "threads"),
    [(1, 1, 1), (2, 1, 2), (8, 1, 4), (8, 3, 2), (2, 5, 1), (4, 0, 4)],
)
def test_cores_without_a_task_give_threads_to_those_there_are(
    cores: int, tasks: int, threads: int
) -> None:
    assert threads_of(cores, tasks) == threads
