"""Clustering a table, from the plan to what readers, writers and the next services see of it (RFC-19)."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hoodoo.errors import (
    CommitConflictError,
    ConfigError,
    HoodooWarning,
    PendingClusteringError,
    PluginError,
    UnsupportedTableError,
)
from hoodoo.model.commit import CommitMetadata, Operation
from hoodoo.model.instant import State
from hoodoo.table.table import Table
from hoodoo.timeline import codec, publish
from hoodoo.timeline.codec import avro as codec_avro
from hoodoo.timeline.layouts import LAYOUTS
from hoodoo.timeline.snapshot import Snapshot
from hoodoo_cli.commandline import main
from hoodoo_clustering.hookspecs.clustering import Clusterable, ClusteringGroup, GroupSizes
from hoodoo_clustering.plan import pending_clusterings
from hoodoo_rows.testing.tables import dicts
from hoodoo_standard.storage.local import LocalStorage

pytestmark = pytest.mark.sampled(4)

SCHEMA = pa.schema(
    [("id", pa.int64()), ("day", pa.string()), ("x", pa.int64()), ("y", pa.string())]
)
QUIET = {"hoodie.clean.automatic": "false", "hoodie.archive.automatic": "false"}
ALLOW = {"hoodie.clustering.updates.strategy": "allow"}
SORT = "hoodie.clustering.plan.strategy.sort.columns"
COW, MOR = "COPY_ON_WRITE", "MERGE_ON_READ"
KINDS = [(9, COW), (6, COW), (9, MOR), (6, MOR)]


def data(ids: Any, x: Callable[[int], int] = lambda n: n * 37 % 101, day: str = "a") -> pa.Table:
    ids = list(ids)
    rows = [ids, [day] * len(ids), [x(n) for n in ids], [f"t{x(n):03}" for n in ids]]
    return pa.table(rows, schema=SCHEMA)


def create(path: Path, options: dict[str, str] | None = None, **more: Any) -> Table:
    given = {**QUIET, **(options or {})}
    return hoodoo.create(
        str(path), SCHEMA, record_key="id", partition_by="day", options=given, **more
    )


def opened(path: Path, options: dict[str, str] | None = None) -> Table:
    return hoodoo.open(str(path), options={**QUIET, **(options or {})})


def filled(path: Path, files: int = 4, rows: int = 50, days: str = "a", **more: Any) -> Table:
    """``files`` files in each day, all over the values of ``x``."""
    table = create(path, **more)
    for number in range(files):
        for place, day in enumerate(days):
            start = (number * len(days) + place) * rows
            table.append(data(range(start, start + rows), day=day))
    return table


rows = partial(dicts, columns=["_hoodie_commit_time", "_hoodie_commit_seqno", *SCHEMA.names])


def files(table: Table) -> list[str]:
    return sorted(s.base_file.path for s in table.file_slices() if s.base_file)


def theirs(path: Path) -> list[tuple[int, int]]:
    """(id, x) as the independent reader sees them."""
    from hudi import HudiTableBuilder

    batches = HudiTableBuilder.from_base_uri(str(path)).build().read()
    found = pa.Table.from_batches(batches) if batches else SCHEMA.empty_table()
    pairs = zip(found.column("id").to_pylist(), found.column("x").to_pylist(), strict=True)
    return sorted(pairs)


# --- what comes of it ---------------------------------------------------------------------------------
@pytest.mark.parametrize("order", ["linear", "zorder", "hilbert", "combine"])
@pytest.mark.parametrize(("version", "kind"), KINDS)
def test_no_row_changes(tmp_path: Path, version: int, kind: str, order: str) -> None:
    table = filled(tmp_path, days="ab", table_version=version, table_type=kind)
    before, then = rows(table), table.timeline().writes()[-1].requested
    table.upsert(data([3], lambda n: 999))
    if kind == MOR:
        table.compact()
    after = rows(table)
    columns = None if order == "combine" else ["x", "y"]
    done = table.cluster(order=order, columns=columns)
    assert done.action == "replacecommit" and done.operation == "cluster"
    assert files(table) == sorted(done.files) and len(done.files) == 2
    assert rows(table) == after == rows(opened(tmp_path))
    assert theirs(tmp_path) == [(row["id"], row["x"]) for row in after]
    assert rows(table, as_of=then) == before
    assert table.verify().ok


def test_rows_come_sorted(tmp_path: Path) -> None:
    table = filled(tmp_path)
    table.cluster(columns=["x", "id"])
    found = table.read(columns=["x", "id"]).to_arrow().to_pylist()
    assert found == sorted(found, key=lambda row: (row["x"], row["id"]))


def test_file_names_are_those_of_the_new_files(tmp_path: Path) -> None:
    table = filled(tmp_path)
    done = table.cluster(columns="x")
    names = table.read(columns=["_hoodie_file_name"]).to_arrow().column(0).unique().to_pylist()
    assert names == [path.rpartition("/")[2] for path in done.files]


def test_the_commit_says_what_was_done(tmp_path: Path) -> None:
    import json

    table = filled(tmp_path, days="ab")
    done = table.cluster("random", "zorder", columns=["x", "id"])
    timeline = table.timeline()
    instant = timeline.find(done.instant)
    assert instant is not None
    metadata = timeline.metadata(table.handle.storage, instant)
    assert metadata.operation.value == "CLUSTER"
    assert {path: len(ids) for path, ids in metadata.replaced.items()} == {"a": 4, "b": 4}
    told = metadata.extra
    assert told["hoodoo.clustering.strategy"] == "zorder"
    assert json.loads(told["hoodoo.clustering.params"])[SORT] == "x,id"
    figures = json.loads(told["hoodoo.clustering.figures"])
    assert figures["rows"] == 400 and (figures["files_before"], figures["files_after"]) == (8, 2)
    assert figures["bytes_after"] == sum(stat.file_size for stat in metadata.stats)
    assert all(stat.num_updates == 0 and stat.prev_commit == "null" for stat in metadata.stats)


def test_log_files_are_left_alone_unless_asked_for(tmp_path: Path) -> None:
    table = filled(tmp_path, table_type=MOR)
    table.upsert(data([1], lambda n: 999))
    before = rows(table)
    touched = next(s for s in table.file_slices() if s.log_files).file_id
    table.cluster(columns="x")
    assert touched in {s.file_id for s in table.file_slices()}
    assert rows(table) == before
    table.cluster(columns="x", options={"hoodoo.clustering.with.log.files": "true"})
    assert touched not in {s.file_id for s in table.file_slices()}
    assert rows(table) == before and not any(s.log_files for s in table.file_slices())
    assert theirs(tmp_path) == [(row["id"], row["x"]) for row in before]


def test_only_the_partitions_that_are_wanted(tmp_path: Path) -> None:
    table = filled(tmp_path, days="abc")
    table.cluster(columns="x", partitions=["a", "c"])
    counts = {day: sum(f.startswith(f"{day}/") for f in files(table)) for day in "abc"}
    assert counts == {"a": 1, "b": 4, "c": 1}
    for wrong, said in ((["a,c"], "has a comma"), ([None], "no text")):
        with pytest.raises(ConfigError, match=said):
            table.cluster(columns="x", partitions=wrong)


@pytest.mark.parametrize("index", ["record_index", "simple"])
def test_the_metadata_table_is_kept(tmp_path: Path, index: str) -> None:
    table = filled(tmp_path, options={"hoodie.metadata.enable": "true"}, index=index)
    before = rows(table)
    table.cluster(columns="x")
    assert rows(table) == before
    report = table.verify()
    assert report.ok, [str(finding) for finding in report.findings]
    if index == "record_index":
        where = pc.field("_hoodie_record_key") == "7"
        assert [row["id"] for row in rows(table, where=where)] == [7]
    done = table.upsert(data([7, 1000], lambda n: 5))
    assert (done.updated, done.inserted) == (1, 1)
    assert theirs(tmp_path) == [(row["id"], row["x"]) for row in rows(table)]


def test_virtual_keys(tmp_path: Path) -> None:
    table = filled(tmp_path, options={"hoodie.recordkey.virtual.enabled": "true"})
    before = rows(table)
    table.cluster(columns="x")
    assert rows(table) == before and len(files(table)) == 1
    assert table.upsert(data([7], lambda n: 5)).updated == 1


def test_a_column_that_came_later(tmp_path: Path) -> None:
    """Files of several schemas become one of the newest."""
    table = filled(tmp_path)
    wider = data(range(500, 510)).append_column("z", pa.array(range(10)))
    table.upsert(wider, add_columns=True)
    columns = ["_hoodie_commit_seqno", *wider.schema.names]
    before = table.read(columns=columns).to_arrow().sort_by("id")
    table.cluster(columns=["z", "x"])
    assert table.read(columns=columns).to_arrow().sort_by("id").equals(before)
    assert len(files(table)) == 1


@pytest.mark.parametrize("target_size", [2.05, 2.1, 2.2, 2.4])
def test_the_worked_example_of_the_rfc(tmp_path: Path, target_size: float) -> None:
    """8 files of half the target size: 2 that overlap become one file, 4 become two of one size, others stay."""
    table = create(tmp_path)
    count, chance = 1000, random.Random(1)
    for number, start in enumerate([0, 500, 100_000, 100_900, 101_800, 102_700, 200_000, 300_000]):
        ids = range(number * count, (number + 1) * count)
        spread = data(ids, lambda n, s=start: s + (n * 7919) % 1000)
        texts = pa.array(
            [chance.randbytes(60).hex() for _ in ids]
        )  # what is not made smaller by order
        table.append(spread.set_column(3, "y", texts))
    sizes = [s.size for s in table.file_slices()]
    target = int(target_size * max(sizes))
    assert max(sizes) < 1.05 * min(sizes)
    before = rows(table)
    planned = table.schedule_clustering("overlap", columns="x", target_file_size=target)
    assert planned is not None
    ((_instant, plan),) = pending_clusterings(Snapshot(table.handle.storage, table.timeline()))
    assert sorted((len(g.slices), g.outputs) for g in plan.groups) == [(2, 1), (4, 2)]
    done = table.run_clustering(planned)
    assert len(done.files) == 3 and len(files(table)) == 5
    assert rows(table) == before
    made = sorted(s.size for s in table.file_slices() if s.base_file.path in done.files)
    assert made[0] > 0.9 * made[-1] and made[-1] <= 1.1 * target


# --- planned and run ----------------------------------------------------------------------------------
def test_all_that_a_run_goes_by_is_in_the_plan(tmp_path: Path) -> None:
    table = filled(tmp_path)
    instant = table.schedule_clustering(columns="x", target_file_size=1 << 20)
    assert instant is not None
    elsewhere = opened(tmp_path, {SORT: "y", "hoodie.layout.optimize.strategy": "HILBERT"})
    (waiting,) = elsewhere.clusterings()
    assert (waiting.instant, waiting.state, waiting.files) == (instant, "requested", 4)
    assert waiting.params[SORT] == "x"
    elsewhere.run_clustering(instant)
    found = elsewhere.read(columns=["x"]).to_arrow().column(0).to_pylist()
    assert found == sorted(found) and not elsewhere.clusterings()


def test_numbers_of_the_plan(tmp_path: Path) -> None:
    table = filled(tmp_path)
    table.schedule_clustering("overlap", columns=["x", "y"])
    ((_instant, plan),) = pending_clusterings(Snapshot(table.handle.storage, table.timeline()))
    (group,) = plan.groups
    assert group.metrics["hoodoo.min.x"] == 0 and group.metrics["hoodoo.max.x"] == 100
    assert group.metrics["TOTAL_LOG_FILES"] == 0
    assert group.extra["hoodoo.min.y"] == "t000" and group.extra["hoodoo.max.y"] == "t100"


def test_a_plan_is_made_of_statistics_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With column_stats no data file is opened, and the plan says the ends of all columns that they have."""
    table = filled(tmp_path, files=6, options={"hoodie.metadata.enable": "true"})
    table.rebuild_index("column_stats")
    opened: list[str] = []
    read = LocalStorage.open

    def counted(self: LocalStorage, path: str) -> Any:
        opened.append(path)
        return read(self, path)

    monkeypatch.setattr(LocalStorage, "open", counted)
    for plan in ("size", "overlap"):
        opened.clear()
        instant = table.schedule_clustering(plan, columns="x")
        assert instant is not None
        assert opened and not [path for path in opened if not path.startswith(".hoodie/")]
        ((_, made),) = pending_clusterings(Snapshot(table.handle.storage, table.timeline()))
        metrics, extra = made.groups[0].metrics, made.groups[0].extra
        assert (metrics["hoodoo.min.id"], metrics["hoodoo.max.id"]) == (0, 299)
        assert (metrics["hoodoo.min.x"], metrics["hoodoo.max.x"]) == (0, 100)
        assert (extra["hoodoo.min.y"], extra["hoodoo.max.y"]) == ("t000", "t100")
        assert metrics["hoodoo.rows"] == 300
        table.cancel_clustering(instant)


def test_a_group_is_in_one_plan_only(tmp_path: Path) -> None:
    table = filled(tmp_path)
    assert table.schedule_clustering(columns="x") is not None
    assert table.schedule_clustering(columns="y") is None
    table.append(data(range(1000, 1050)))
    table.append(data(range(1050, 1100)))
    assert table.schedule_clustering(columns="x") is not None
    assert len(table.clusterings()) == 2
    table.cluster(columns="y")
    assert not table.clusterings() and len(rows(table)) == 300


def test_nothing_to_do_is_nothing_on_the_timeline(tmp_path: Path) -> None:
    table = create(tmp_path)
    assert table.schedule_clustering(columns="x") is None
    assert table.cluster(columns="x").instant == ""
    table.append(data(range(10)))
    assert table.cluster().instant == ""
    assert len(table.timeline().instants) == 1


def test_what_it_is_not_for(tmp_path: Path) -> None:
    table = create(tmp_path / "b", {"hoodie.bucket.index.num.buckets": "2"}, index="bucket")
    with pytest.raises(UnsupportedTableError, match="computes the file group"):
        table.cluster(columns="x")
    table = filled(tmp_path / "t")
    with pytest.raises(ConfigError, match="no columns to sort by"):
        table.cluster(order="zorder")
    with pytest.raises(PluginError, match="nonsense"):
        table.cluster("nonsense")
    with pytest.raises(ConfigError, match="is not pending"):
        table.run_clustering("20240101000000000")
    with pytest.raises(ConfigError, match="is not pending"):
        table.cancel_clustering("20240101000000000")
    with pytest.raises(ConfigError, match="w"):
        table.cluster(columns="w")
    assert not table.clusterings() and len(table.timeline().instants) == 4


class Everything:
    """A planner of the user's own."""

    bounds_of = ("x",)

    def group(self, candidates: Any, sizes: GroupSizes) -> Any:
        assert all(isinstance(item, Clusterable) and item.bounds["x"] for item in candidates)
        return [ClusteringGroup(tuple(candidates))]

    def choose(self, groups: Any) -> Any:
        return groups


class Backwards:
    """An order of the user's own."""

    columns = ("x",)
    sample_rows = 0

    def fitted(self, sample: pa.Table) -> Backwards:
        return self

    def keys(self, rows: pa.Table) -> Any:
        return [pc.negate(rows.column("x"))]

    def told(self, groups: Any) -> dict[str, str]:
        return {"mine": str(sum(len(group.files) for group in groups))}


def test_objects_of_the_users_own(tmp_path: Path) -> None:
    table = filled(tmp_path)
    done = table.cluster(Everything(), Backwards())
    found = table.read(columns=["x"]).to_arrow().column(0).to_pylist()
    assert found == sorted(found, reverse=True)
    instant = table.timeline().find(done.instant)
    assert instant is not None
    assert table.timeline().metadata(table.handle.storage, instant).extra["mine"] == "1"


# --- inline -------------------------------------------------------------------------------------------
def test_after_every_nth_write(tmp_path: Path) -> None:
    inline = {"hoodie.clustering.inline": "true", "hoodie.clustering.inline.max.commits": "3",
              SORT: "x"}  # fmt: skip
    table = create(tmp_path, inline)
    actions = []
    for number in range(7):
        table.append(data(range(number * 10, number * 10 + 10)))
        actions.append(len(files(table)))
    assert actions == [1, 2, 1, 2, 3, 1, 2]
    assert len(rows(table)) == 70


def test_planned_after_every_nth_write(tmp_path: Path) -> None:
    inline = {"hoodie.clustering.schedule.inline": "true", SORT: "x",
              "hoodie.clustering.inline.max.commits": "2"}  # fmt: skip
    table = create(tmp_path, inline)
    for number in range(3):
        table.append(data(range(number * 10, number * 10 + 10)))
    (waiting,) = table.clusterings()
    assert waiting.files == 2 and len(files(table)) == 3
    with pytest.raises(ConfigError, match="exclude each other"):
        opened(tmp_path, {**inline, "hoodie.clustering.inline": "true"}).append(data([99]))


# --- with writers -------------------------------------------------------------------------------------
@pytest.mark.parametrize(("version", "kind"), KINDS)
def test_a_writer_is_refused(tmp_path: Path, version: int, kind: str) -> None:
    table = filled(tmp_path, table_version=version, table_type=kind)
    before = rows(table)
    instant = table.schedule_clustering(columns="x")
    writes: list[Callable[[Table], object]] = [
        lambda t: t.upsert(data([1], lambda n: 7)),
        lambda t: t.delete([1]),
        lambda t: t.insert_overwrite(data([1])),
        lambda t: t.delete_partitions("a"),
    ]
    for write in writes:
        with pytest.raises(PendingClusteringError, match=str(instant)) as caught:
            write(opened(tmp_path))
        assert "cancel" in caught.value.fix
    assert rows(table) == before and len(table.timeline().instants) == 5
    table.upsert(data([1000]))  # an insert goes elsewhere
    table.upsert(data([1], day="b"))
    assert len(table.run_clustering(str(instant)).files) == 1
    table.upsert(data([1], lambda n: 7))
    assert [row["x"] for row in rows(table) if (row["id"], row["day"]) == (1, "a")] == [7]


@pytest.mark.parametrize(("version", "kind"), KINDS)
def test_a_clustering_gives_way(tmp_path: Path, version: int, kind: str) -> None:
    table = filled(tmp_path, table_version=version, table_type=kind)
    instant = table.schedule_clustering(columns="x")
    opened(tmp_path, ALLOW).upsert(data([1], lambda n: 7))
    before, there = rows(table), files(table)
    with pytest.raises(CommitConflictError, match="has been changed since"):
        table.run_clustering(str(instant))
    assert not table.clusterings() and rows(table) == before and files(table) == there
    assert table.cluster(columns="x", options={"hoodoo.clustering.with.log.files": "true"}).instant
    assert rows(table) == before


@contextmanager
def before(step: str, others: Callable[[], object], action: str) -> Iterator[list[str]]:
    """``others`` come right before the first publish.``step`` of an instant of ``action``."""
    real = getattr(publish, step)
    came: list[str] = []

    def gated(snapshot: Any, instant: Any, *args: Any, **kwargs: Any) -> Any:
        if not came and instant.action == action:
            came.append(step)
            others()
        return real(snapshot, instant, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(publish, step, gated)
        yield came
    assert came


def pending_action(version: int) -> str:
    return "clustering" if version > 6 else "replacecommit"


@pytest.mark.parametrize(("version", "kind"), KINDS)
def test_it_gives_way_at_the_last_moment(tmp_path: Path, version: int, kind: str) -> None:
    table = filled(tmp_path, table_version=version, table_type=kind)
    others = lambda: opened(tmp_path, ALLOW).upsert(data([1], lambda n: 7))  # noqa: E731
    with before("complete", others, pending_action(version)):
        with pytest.raises(CommitConflictError, match="gives way"):
            table.cluster(columns="x")
    found = rows(table)
    assert [row["x"] for row in found if row["id"] == 1] == [7] and len(found) == 200
    assert not table.clusterings() and table.verify().ok
    assert theirs(tmp_path) == [(row["id"], row["x"]) for row in found]


@pytest.mark.parametrize(("version", "kind"), KINDS)
def test_a_write_comes_after_it(tmp_path: Path, version: int, kind: str) -> None:
    """The clustering completes while a write is at work: the write finds its rows in the new files."""
    table = filled(tmp_path, table_version=version, table_type=kind)
    action = "commit" if kind == COW else "deltacommit"
    with before("complete", lambda: opened(tmp_path).cluster(columns="x"), action):
        done = opened(tmp_path).upsert(data([1, 1000], lambda n: 7))
    assert (done.updated, done.inserted) == (1, 1)
    found = rows(table)
    assert len(found) == 201 and [row["x"] for row in found if row["id"] == 1] == [7]
    assert theirs(tmp_path) == [(row["id"], row["x"]) for row in found]


def test_a_plan_of_another_tool_is_undone_by_a_write_that_may_go_first(tmp_path: Path) -> None:
    table = filled(tmp_path)
    instant = table.schedule_clustering(columns="x")
    path = next((tmp_path / ".hoodie/timeline").glob(f"{instant}.clustering.requested"))
    plan = codec.decode(path.read_bytes(), "plan")
    plan["clusteringPlan"]["extraMetadata"] = {}
    path.write_bytes(codec_avro.encode("HoodieRequestedReplaceMetadata", plan))
    opened(tmp_path, ALLOW).upsert(data([1], lambda n: 7))
    assert not table.clusterings()
    with pytest.raises(ConfigError, match="is not pending"):
        table.run_clustering(str(instant))


def test_a_write_under_way_is_preferred(tmp_path: Path) -> None:
    """With the conflict strategy that says so; else who publishes first wins."""
    table = filled(tmp_path)
    prefer = {"hoodie.write.lock.conflict.resolution.strategy": "prefer_writer"}
    for options, wins in ((prefer, False), ({}, True)):

        def others(options: dict[str, str] = options, wins: bool = wins) -> None:
            if wins:
                assert opened(tmp_path, options).cluster(columns="x").instant
            else:
                with pytest.raises(CommitConflictError, match="is in progress"):
                    opened(tmp_path, options).cluster(columns="x")

        with before("complete", others, "commit"):
            opened(tmp_path, options).upsert(data([1], lambda n: 7))
    assert [row["x"] for row in rows(table) if row["id"] == 1] == [7]


def test_writers_go_on_while_it_runs(tmp_path: Path) -> None:
    """Every row that was written is there, once; some clusterings gave way, some did not. Who reads meanwhile sees all
    rows of a moment, each once."""
    table = filled(tmp_path, files=6, rows=20, days="ab")
    stop, failed, written = threading.Event(), [], dict[int, int]()

    def write() -> None:
        writer = opened(tmp_path, ALLOW)
        try:
            for turn in range(15):
                ids = [turn * 7 % 120, 1000 + turn]
                writer.upsert(
                    data(ids, lambda n, t=turn: t, day="a" if ids[0] // 20 % 2 == 0 else "b")
                )
                written.update(dict.fromkeys(ids, turn))
        except BaseException as error:
            failed.append(error)
        finally:
            stop.set()

    def read() -> None:
        try:
            while not stop.is_set():
                ids = [(row["id"], row["day"]) for row in rows(opened(tmp_path))]
                assert len(set(ids)) == len(ids) and {n for n, _ in ids}.issuperset(range(240))
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=write)
    reader = threading.Thread(target=read)
    thread.start()
    reader.start()
    done = 0
    while not stop.is_set():
        try:
            done += bool(opened(tmp_path).cluster(columns="x").instant)
        except CommitConflictError:
            pass
    thread.join()
    reader.join()
    done += bool(opened(tmp_path).cluster(columns="x").instant)  # on a busy machine, the only one
    assert not failed and done
    found = rows(table)
    assert len({(row["id"], row["day"]) for row in found}) == len(found)
    for key, turn in written.items():
        assert turn in [row["x"] for row in found if row["id"] == key], key
    assert table.verify().ok


# --- what ends before its end -------------------------------------------------------------------------
class Broken(Backwards):
    def keys(self, rows: pa.Table) -> Any:
        raise RuntimeError("it broke")


def test_one_that_fails_is_undone_at_once(tmp_path: Path) -> None:
    table = filled(tmp_path)
    before, there = rows(table), files(table)
    with pytest.raises(Exception, match="it broke"):
        table.cluster(order=Broken())
    assert not table.clusterings() and files(table) == there and rows(table) == before
    on_disk = sorted(str(p.relative_to(tmp_path)) for p in tmp_path.glob("a/*.parquet"))
    assert on_disk == there
    assert table.cluster(columns="x").instant


def abandoned(path: Path) -> str:
    """A clustering whose process died at its publish."""
    table = opened(path)
    instant = str(table.schedule_clustering(columns="x"))

    class Died(BaseException):
        pass

    def die(*_args: Any, **_kwargs: Any) -> Any:
        raise Died

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(publish, "complete", die)
        with pytest.raises(Died):
            table.run_clustering(instant)
    return instant


@pytest.mark.parametrize(("version", "kind"), KINDS)
def test_an_abandoned_one_is_undone_by_the_next_writer(
    tmp_path: Path, version: int, kind: str
) -> None:
    table = filled(tmp_path, table_version=version, table_type=kind)
    abandoned(tmp_path)
    (waiting,) = table.clusterings()
    assert waiting.state == "inflight" and not waiting.running
    table.upsert(data([1], lambda n: 7))
    assert not table.clusterings() and len(rows(table)) == 200
    assert len(list(tmp_path.glob("a/*.parquet"))) == (5 if kind == COW else 4)


@pytest.mark.parametrize(("version", "kind"), KINDS)
def test_or_run_again(tmp_path: Path, version: int, kind: str) -> None:
    table = filled(tmp_path, table_version=version, table_type=kind)
    before = rows(table)
    instant = abandoned(tmp_path)
    assert table.run_clustering(instant).instant == instant
    assert rows(table) == before and len(files(table)) == 1
    on_disk = {str(p.relative_to(tmp_path)) for p in tmp_path.glob("a/*.parquet")}
    assert len(on_disk) == 5, "files of the first run are left"


def test_it_is_given_up(tmp_path: Path) -> None:
    table = filled(tmp_path)
    instant = str(table.schedule_clustering(columns="x"))
    assert table.cancel_clustering(instant).instant == instant
    assert not table.clusterings()
    assert table.upsert(data([1], lambda n: 7)).updated == 1


def test_it_is_given_up_while_it_runs(tmp_path: Path) -> None:
    table = filled(tmp_path)
    before_ = rows(table)
    instant = str(table.schedule_clustering(columns="x"))
    with before("complete", lambda: opened(tmp_path).cancel_clustering(instant), "clustering"):
        with pytest.raises(CommitConflictError, match="was not published"):
            table.run_clustering(instant)
    assert not table.clusterings() and rows(table) == before_


def test_two_processes_run_one_plan(tmp_path: Path) -> None:
    table = filled(tmp_path)
    instant = str(table.schedule_clustering(columns="x"))

    def others() -> None:
        with pytest.raises(CommitConflictError, match="is being run by another process"):
            opened(tmp_path).run_clustering(instant)

    with before("complete", others, "clustering"):
        table.run_clustering(instant)
    assert len(rows(table)) == 200 and len(files(table)) == 1


@pytest.mark.parametrize("version", [9, 6])
def test_a_completed_one_is_rolled_back(tmp_path: Path, version: int) -> None:
    table = filled(tmp_path, table_version=version)
    before_, there = rows(table), files(table)
    done = table.cluster(columns="x")
    table.rollback(done.instant)
    assert rows(table) == before_ and files(table) == there


def hoodoo_says(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """Exit code and what the command ``hoodoo`` prints."""
    with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit) as caught:
        patch.setenv("COLUMNS", "160")
        main(arguments)
    said = capsys.readouterr()
    return int(caught.value.code or 0), said.out + said.err


def test_the_command_shows_retries_and_cancels(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table, path = filled(tmp_path), str(tmp_path)
    assert "Nothing" not in hoodoo_says(capsys, "cluster", path, "--columns", "x", "--schedule")[1]
    (waiting,) = table.clusterings()
    code, said = hoodoo_says(capsys, "cluster", path, "--list")
    assert code == 0 and waiting.instant in said and "requested" in said and "by x" in said
    code, said = hoodoo_says(capsys, "cluster", path, "--cancel", waiting.instant, "--yes")
    assert code == 0 and "cancelled" in said and not table.clusterings()
    assert "No clustering is pending" in hoodoo_says(capsys, "cluster", path, "--list")[1]
    instant = abandoned(tmp_path)
    code, said = hoodoo_says(capsys, "cluster", path, "--list", "--json")
    assert '"state": "inflight"' in said and '"running": false' in said
    code, said = hoodoo_says(capsys, "cluster", path, "--run", instant)
    assert code == 0 and "1 file written" in said and len(files(table)) == 1
    code, said = hoodoo_says(capsys, "cluster", path, "--run", instant)
    assert code == 2 and "is not pending" in said
    code, said = hoodoo_says(capsys, "cluster", path, "--run", instant, "--list")
    assert code == 2 and "exclude each other" in said
    assert "Nothing to cluster" in hoodoo_says(capsys, "cluster", path)[1]


# --- with other services ------------------------------------------------------------------------------
@pytest.mark.parametrize("version", [9, 6])
def test_cleaning_waits_for_the_plan_and_takes_what_was_replaced(
    tmp_path: Path, version: int
) -> None:
    table = filled(tmp_path, table_version=version)
    instant = str(table.schedule_clustering(columns="x"))
    for turn in range(3):
        table.upsert(data([1000 + turn], day="z"))
    table.clean(commits_retained=1)
    table.run_clustering(instant)
    before_ = rows(table)
    for turn in range(3):
        table.upsert(data([2000 + turn], day="z"))
    cleaned = table.clean(commits_retained=1)
    assert sum(path.startswith("a/") for path in cleaned.files) == 4
    assert [row for row in rows(table) if row["id"] < 2000] == before_


@pytest.mark.parametrize("version", [9, 6])
def test_compactions_and_clusterings_leave_each_others_groups(tmp_path: Path, version: int) -> None:
    table = filled(tmp_path, table_type=MOR, table_version=version)
    table.upsert(data([1], lambda n: 7))
    before_ = rows(table)
    compaction = table.schedule_compaction()
    logs = {"hoodoo.clustering.with.log.files": "true"}
    clustering = table.schedule_clustering(columns="x", options=logs)
    assert compaction is not None and clustering is not None
    (waiting,) = table.clusterings()
    assert waiting.files == 3
    table.run_compaction(compaction)
    table.run_clustering(clustering)
    assert rows(table) == before_ and len(files(table)) == 2
    table.upsert(data([1], lambda n: 8))
    clustering = table.schedule_clustering(columns="x", options=logs)
    assert clustering is not None and table.schedule_compaction() is None
    table.run_clustering(clustering)
    assert len(files(table)) == 1


def test_incremental_reads_and_changes_see_nothing(tmp_path: Path) -> None:
    table = filled(tmp_path)
    since = table.timeline().writes()[-1]
    table.cluster(columns="x")
    assert table.incremental(since.completion_order).to_arrow().num_rows == 0
    assert table.changes(since.completion_order).to_arrow().num_rows == 0
    assert table.incremental("earliest").to_arrow().num_rows == 200


def test_archived(tmp_path: Path) -> None:
    table = filled(tmp_path)
    table.cluster(columns="x")
    before_ = rows(table)
    often = opened(tmp_path, {
        "hoodie.clean.automatic": "true", "hoodie.clean.commits.retained": "1",
        "hoodie.archive.automatic": "true", "hoodie.keep.min.commits": "2",
        "hoodie.keep.max.commits": "3",
    })  # fmt: skip
    often.handle.options.pop("hoodie.clean.automatic")
    for turn in range(6):
        often.upsert(data([1000 + turn], day="z"))
    active = [i.action for i in table.timeline().writes()]
    assert "replacecommit" not in active, active
    assert [row for row in rows(table) if row["day"] == "a"] == before_


def test_an_unfinished_one_keeps_its_commits_from_being_archived(tmp_path: Path) -> None:
    table = filled(tmp_path)
    instant = str(table.schedule_clustering(columns="x"))
    assert table.timeline().pending()[0].state is State.REQUESTED
    often = opened(tmp_path, {"hoodie.keep.min.commits": "2", "hoodie.keep.max.commits": "3",
                              "hoodie.clean.commits.retained": "1"})  # fmt: skip
    for turn in range(5):
        often.upsert(data([1000 + turn], day="z"))
    often.archive()
    assert len(table.run_clustering(instant).files) == 1


def test_a_failing_inline_one_is_a_warning(tmp_path: Path) -> None:
    table = filled(tmp_path)
    inline = {"hoodie.clustering.inline": "true", "hoodie.clustering.inline.max.commits": "1",
              SORT: "nowhere"}  # fmt: skip
    with pytest.warns(HoodooWarning, match=r"table\.cluster\(\)"):
        opened(tmp_path, inline).append(data([5000]))
    assert len(rows(table)) == 201


def test_one_that_another_tool_has_begun_is_left_to_it(tmp_path: Path) -> None:
    """It has no heartbeat, so it may be running; whoever knows that it isn't runs it by its name."""
    table = filled(tmp_path, days="ab")
    instant = str(table.schedule_clustering(columns="x", partitions="a"))
    path = next((tmp_path / ".hoodie/timeline").glob(f"{instant}.clustering.requested"))
    plan = codec.decode(path.read_bytes(), "plan")
    plan["clusteringPlan"]["extraMetadata"] = {}
    path.write_bytes(codec_avro.encode("HoodieRequestedReplaceMetadata", plan))
    path.with_suffix(".inflight").write_bytes(b"")
    done = table.cluster(columns="x")
    assert [file.partition("/")[0] for file in done.files] == ["b"]
    assert [waiting.instant for waiting in table.clusterings()] == [instant]
    table.upsert(data([1000], day="b"))  # nor is it undone by a writer
    assert len(table.run_clustering(instant).files) == 1


def test_a_write_is_rolled_back_under_a_clustering_that_was_planned_before_it(
    tmp_path: Path,
) -> None:
    table = filled(tmp_path)
    instant = str(table.schedule_clustering(columns="x"))
    before_ = rows(table)
    written = table.upsert(data([1000], day="b"))
    table.run_clustering(instant)
    table.rollback(written.instant)
    assert rows(table) == before_ and len(files(table)) == 1
    table.rollback(instant)
    assert rows(table) == before_ and len(files(table)) == 4


def test_another_tool_completes_the_plan_that_is_being_run(tmp_path: Path) -> None:
    """In version 9 that is another completed file of one instant; none of ours may be left beside its files."""
    table = filled(tmp_path)
    instant = str(table.schedule_clustering(columns="x"))
    before_ = rows(table)

    def others() -> None:
        other = opened(tmp_path)
        kept = other.timeline()
        metadata = CommitMetadata(Operation.CLUSTER, (), {}, {"schema": ""})
        completed = kept.path(kept.pending()[0].at(State.COMPLETED, f"{int(instant) + 999}"))
        path = tmp_path / completed.replace("clustering", "replacecommit")
        path.write_bytes(LAYOUTS[2].encode_commit(metadata, "replacecommit"))

    with before("complete", others, "clustering"):
        with pytest.raises(CommitConflictError, match="was not published"):
            table.run_clustering(instant)
    assert rows(opened(tmp_path)) == before_
    assert not list(tmp_path.glob(f"a/*_{instant}.parquet"))
