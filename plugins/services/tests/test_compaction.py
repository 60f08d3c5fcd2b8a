"""Compaction, through the public API: when it happens, what it takes, and what stays the same."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import hoodoo
import hudi
import pyarrow as pa
import pytest
from attrs import frozen
from hoodoo.errors import (
    ConfigError,
    CorruptTableError,
    HoodooWarning,
    PluginError,
    UnsupportedTableError,
)
from hoodoo.model.commit import CommitMetadata, Operation
from hoodoo.model.instant import Instant, State
from hoodoo.timeline import publish
from hoodoo.timeline.archived import ArchivedInstant
from hoodoo.timeline.plans import pending_compactions, read_plan
from hoodoo.timeline.snapshot import Snapshot
from hoodoo_formats.parquet import reader as parquet_reader
from hoodoo_rows.merge.meet import KeyJoin
from hoodoo_services.compaction import run as compaction
from hoodoo_services.compaction import slices
from hoodoo_services.hookspecs.compaction import Candidate
from hoodoo_standard.storage.local import LocalStorage

pytestmark = pytest.mark.sampled(4)

SCHEMA = pa.schema(
    [("id", pa.int64()), ("day", pa.string()), ("v", pa.string()), ("ts", pa.int64())]
)
DAYS = ("2024-01-01", "2024-01-02", "2024-01-03")
VERSIONS = (6, 9)
META = ["_hoodie_commit_time", "_hoodie_commit_seqno", "_hoodie_record_key"]
JAVA = "org.apache.hudi.table.action.compact.strategy."
Options = Mapping[str, str]


def create(
    path: Path, version: int = 9, options: Options | None = None, **more: Any
) -> hoodoo.Table:
    given = {"record_key": "id", "partition_by": "day", "ordering": "ts", **more}
    return hoodoo.create(
        str(path),
        SCHEMA,
        table_type="MERGE_ON_READ",
        table_version=version,
        options=options,
        **given,
    )


def data(ids: Sequence[int], v: str, ts: int) -> pa.Table:
    """Three days, by the rest of the id."""
    return pa.table(
        [ids, [DAYS[n % 3] for n in ids], [v] * len(ids), [ts] * len(ids)], schema=SCHEMA
    )


def filled(
    path: Path, version: int = 9, options: Options | None = None, **more: Any
) -> hoodoo.Table:
    """Nine rows; day 1 has one log file, day 2 two, day 3 three."""
    table = create(path, version, options, **more)
    table.bulk_insert(data(range(9), "old", 1))
    table.upsert(data([0, 1, 2], "mid", 2))
    table.upsert(data([1, 5], "new" * 500, 3))
    table.upsert(data([2], "new", 4))
    return table


def seen(found: Any) -> dict[int, tuple[str, int]]:
    rows = pa.table(found).select(["id", "v", "ts"]).to_pylist()
    assert len({row["id"] for row in rows}) == len(rows)
    return {row["id"]: (row["v"], row["ts"]) for row in rows}


def theirs(path: Path) -> dict[int, tuple[str, int]]:
    batches = hudi.HudiTableBuilder.from_base_uri(str(path)).build().read(hudi.HudiReadOptions())
    return seen(pa.Table.from_batches(batches))


def days_with_logs(table: hoodoo.Table) -> list[str]:
    return sorted(s.partition_path for s in table.file_slices() if s.log_files)


def storage(path: Path) -> LocalStorage:
    return LocalStorage(str(path))


def metadata(path: Path, instant: str) -> CommitMetadata:
    line = hoodoo.open(str(path)).timeline()
    found = line.find(instant)
    assert found is not None and found.action == "commit"
    return line.metadata(storage(path), found)


def waiting(table: hoodoo.Table) -> list[str]:
    return [i.requested for i in pending_compactions(table.timeline())]


# --- what it does ---------------------------------------------------------------------------------
@pytest.mark.parametrize("virtual", [False, True])
def test_the_keys_of_many_batches_are_looked_up_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, virtual: bool
) -> None:
    """A look-up hashes all log rows; batches of a base file are short here, and still meet their own rows."""
    options = {
        "hoodie.write.record.positions": "false",
        "hoodie.populate.meta.fields": str(not virtual).lower(),
    }
    table = create(tmp_path, options=options, partition_by=None)
    base = pa.concat_tables([data(range(n, n + 40), f"old {n}", 1) for n in range(0, 2000, 40)])
    table.bulk_insert(base)
    table.upsert(data(range(0, 2000, 7), "new", 2))
    table.delete([5, 6])
    expected = {n: ("new", 2) if n % 7 == 0 else (f"old {n - n % 40}", 1) for n in range(2000)}
    del expected[5], expected[6]
    monkeypatch.setattr(parquet_reader, "_MAX_BATCH", 300)
    asked, places = [], KeyJoin.places
    monkeypatch.setattr(
        KeyJoin, "places", lambda self, keys: asked.append(len(keys)) or places(self, keys)
    )
    table.compact()
    monkeypatch.undo()
    assert asked == [2000]
    assert seen(table.read()) == expected and not days_with_logs(table)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("index", ["simple", "bucket"])
def test_no_row_changes(tmp_path: Path, version: int, index: str) -> None:
    table = filled(tmp_path, version, {"hoodie.bucket.index.num.buckets": "1"} if index == "bucket" else None,
                   index=index)  # fmt: skip
    table.delete([3])
    before = table.read(columns=[*META, *SCHEMA.names]).to_arrow().sort_by("id")
    expected = seen(before)
    commit = table.compact()
    assert (commit.action, commit.operation) == ("commit", "compact")
    assert (commit.inserted, commit.updated, commit.deleted) == (0, 0, 0)
    assert (commit.completed is None) == (version == 6)
    assert len(commit.files) == 3 and not days_with_logs(table)
    after = table.read(columns=[*META, *SCHEMA.names]).to_arrow().sort_by("id")
    assert after.equals(before), "commit times, sequence numbers and values stay"
    named = table.read(columns=["_hoodie_file_name", "day"]).to_arrow().to_pylist()
    assert {f"{r['day']}/{r['_hoodie_file_name']}" for r in named} == set(commit.files)
    assert seen(table.read(mode="read_optimized")) == theirs(tmp_path) == expected
    assert table.read(as_of=commit.instant).count() == 8


@pytest.mark.parametrize("version", VERSIONS)
def test_what_the_commit_says(tmp_path: Path, version: int) -> None:
    table = filled(tmp_path, version)
    table.delete([3])
    slices = {s.partition_path: s for s in table.file_slices()}
    commit = table.compact()
    found = metadata(tmp_path, commit.instant)
    assert found.compacted and found.operation is Operation.COMPACT
    assert json.loads(found.schema_text or "")["fields"][-1]["name"] == "ts"
    by_day = {stat.partition_path: stat for stat in found.stats}
    assert set(by_day) == set(DAYS)
    for day, (logs, rows, writes, deletes) in zip(
        DAYS, [(2, 2, 2, 1), (2, 2, 3, 0), (3, 3, 3, 0)], strict=True
    ):
        stat, old = by_day[day], slices[day]
        assert (stat.num_writes, stat.num_deletes, stat.num_inserts) == (writes, deletes, 0)
        assert stat.file_id == old.file_id and stat.prev_commit == old.instant
        assert old.base_file is not None and stat.prev_base_file == old.base_file.name
        assert stat.file_size == (tmp_path / stat.path).stat().st_size
        told = {k: int(v) for k, v in stat.extra.items() if str(v).isdigit()}
        assert told["totalLogFilesCompacted"] == logs == len(old.log_files)
        assert told["totalLogRecords"] == rows
        assert told["totalLogBlocks"] == logs and told.get("totalCorruptLogBlock", 0) == 0
        assert told["totalLogSizeCompacted"] == sum(f.size for f in old.log_files)
    assert sum(stat.num_updates for stat in found.stats) == 4


@pytest.mark.parametrize("version", VERSIONS)
def test_nothing_to_compact(tmp_path: Path, version: int) -> None:
    table = create(tmp_path, version)
    for _ in range(2):
        commit = table.compact()
        assert commit.instant == "" and commit.files == () and commit.operation == "compact"
        assert table.schedule_compaction() is None
    table.bulk_insert(data(range(3), "old", 1))
    assert table.compact().instant == "" and len(table.timeline().instants) == 1
    table.upsert(data([1], "new", 2))
    assert table.compact().instant
    before = table.timeline().instants
    assert table.compact().instant == "" and table.timeline().instants == before


def test_a_group_whose_rows_are_all_deleted_stays_empty(tmp_path: Path) -> None:
    table = filled(tmp_path)
    table.delete([0, 3, 6])
    table.compact()
    assert table.read().count() == 6
    table.upsert(data([0, 3], "again", 1))
    assert seen(table.read())[3] == ("again", 1) and table.read().count() == 8
    assert seen(table.read()) == theirs(tmp_path)


# --- schedule and run -----------------------------------------------------------------------------
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("index", ["simple", "bucket"])
def test_a_plan_waits_across_reopening(tmp_path: Path, version: int, index: str) -> None:
    buckets = {"hoodie.bucket.index.num.buckets": "1"} if index == "bucket" else None
    table = filled(tmp_path, version, buckets, index=index)
    expected = seen(table.read())
    instant = table.schedule_compaction("log_count")
    assert instant is not None
    table = hoodoo.open(str(tmp_path))
    assert waiting(table) == [instant]
    assert [i.state.value for i in table.timeline().pending()] == ["REQUESTED"]
    (plan,) = [
        read_plan(Snapshot(storage(tmp_path), table.timeline()), i)
        for i in table.timeline().pending()
    ]
    assert plan.strategy == "log_count" and [len(s.log_files) for s in plan.slices] == [3, 2, 1]
    assert table.schedule_compaction() is None, "all file groups are planned already"
    assert seen(table.read()) == expected
    # Writers go on; their rows are not in the plan, and stay in logs when it has run.
    table.upsert(data([2, 3], "later", 9))
    expected |= {2: ("later", 9), 3: ("later", 9)}
    assert waiting(table) == [instant] and seen(hoodoo.open(str(tmp_path)).read()) == expected
    assert table.rollback() == () and waiting(table) == [instant], "it is no failed write"
    commit = hoodoo.open(str(tmp_path)).run_compaction(instant)
    assert commit.instant == instant and not waiting(table)
    assert days_with_logs(table) == [DAYS[0], DAYS[2]]
    assert seen(table.read()) == theirs(tmp_path) == expected
    assert seen(table.read(mode="read_optimized"))[2][0] != "later"
    table.compact()
    assert seen(table.read(mode="read_optimized")) == expected


@pytest.mark.parametrize("version", VERSIONS)
def test_compact_finishes_what_is_pending_first(tmp_path: Path, version: int) -> None:
    table = filled(tmp_path, version)
    instant = table.schedule_compaction()
    table.upsert(data([0], "later", 9))
    commit = hoodoo.open(str(tmp_path)).compact()
    assert instant is not None and commit.instant > instant
    assert not waiting(table) and not days_with_logs(table)
    done = [i.requested for i in table.timeline().writes() if i.action == "commit"]
    assert done == [instant, commit.instant]
    assert len(metadata(tmp_path, instant).stats) == 3
    assert len(metadata(tmp_path, commit.instant).stats) == 1


def test_what_is_not_pending_is_not_run(tmp_path: Path) -> None:
    table = filled(tmp_path)
    done = table.compact().instant
    before = table.timeline().instants
    write = next(i.requested for i in table.timeline().instants if i.action == "deltacommit")
    for instant in ("20240101000000000", done, write, ""):
        with pytest.raises(ConfigError, match="is not pending"):
            table.run_compaction(instant)
    assert table.timeline().instants == before


def test_other_names_of_the_same(tmp_path: Path) -> None:
    table = filled(tmp_path)
    instant = table.schedule_compact()
    assert instant is not None and table.run_compact(instant).instant == instant


@pytest.mark.parametrize("call", ["compact", "schedule_compaction", "run_compaction"])
def test_tables_that_are_copied_on_write_are_refused(tmp_path: Path, call: str) -> None:
    table = hoodoo.create(str(tmp_path), SCHEMA, record_key="id")
    table.upsert(data([1], "old", 1))
    given = ("20240101000000000",) if call == "run_compaction" else ()
    with pytest.raises(UnsupportedTableError, match="COPY_ON_WRITE"):
        getattr(table, call)(*given)
    assert len(table.timeline().instants) == 1


def test_inline_says_nothing_about_tables_that_are_copied_on_write(tmp_path: Path) -> None:
    options = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "1"}
    table = hoodoo.create(str(tmp_path), SCHEMA, record_key="id", options=options)
    table.upsert(data([1], "old", 1))
    table.upsert(data([1], "new", 2))
    assert [i.action for i in table.timeline().instants] == ["commit", "commit"]


# --- inline ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("every", [1, 3])
def test_inline_every_so_many_deltacommits(tmp_path: Path, version: int, every: int) -> None:
    options = {
        "hoodie.compact.inline": "true",
        "hoodie.compact.inline.max.delta.commits": str(every),
    }
    create(tmp_path, version)
    table = hoodoo.open(str(tmp_path), options)
    table.bulk_insert(data(range(9), "old", 1))
    actions = []
    for n in range(6):
        commit = table.upsert(data([0, 1, 2], f"v{n}", 2 + n))
        assert commit.operation == "upsert" and commit.updated == 3
        actions.append(bool(days_with_logs(table)))
        assert seen(table.read())[1] == (f"v{n}", 2 + n)
    # The bulk insert is a deltacommit, too, but leaves nothing to compact.
    assert actions == [(n + 2) % every != 0 for n in range(6)]
    done = [i.action for i in table.timeline().writes()]
    assert done.count("deltacommit") == 7 and done.count("commit") == sum(not a for a in actions)
    assert seen(table.read()) == theirs(tmp_path)


def test_inline_is_off_by_default_and_every_five_if_on(tmp_path: Path) -> None:
    table = create(tmp_path)
    table.bulk_insert(data(range(3), "old", 1))
    for n in range(5):
        table.upsert(data([0], "new", 2 + n))
    assert days_with_logs(table) == [DAYS[0]]
    (tmp_path / "on").mkdir()
    table = create(tmp_path / "on" / "t", options={"hoodie.compact.inline": "true"})
    table.bulk_insert(data(range(3), "old", 1))
    for n in range(4):
        assert "commit" not in [i.action for i in table.timeline().instants]
        table.upsert(data([0], "new", 2 + n))
    assert [i.action for i in table.timeline().instants].count("commit") == 1


def test_inline_uses_the_strategy_of_the_options(tmp_path: Path) -> None:
    options = {
        "hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "1",
        "hoodie.compaction.strategy": "day_based",
        "hoodie.compaction.daybased.target.partitions": "1",
    }  # fmt: skip
    create(tmp_path)
    table = hoodoo.open(str(tmp_path), options)
    table.bulk_insert(data(range(3), "old", 1))
    table.upsert(data([0, 1, 2], "new", 2))
    assert days_with_logs(table) == [DAYS[0], DAYS[1]]


def test_an_inline_compaction_that_fails_is_told_and_the_rows_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {
        "hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "1",
    }  # fmt: skip
    create(tmp_path).bulk_insert(data(range(3), "old", 1))

    def fails(*_arguments: Any) -> None:
        raise PluginError("compaction", "can not be planned.", "Nothing: this is a test.")

    monkeypatch.setattr(compaction, "schedule", fails)
    with pytest.warns(HoodooWarning, match=r"the write is done.*can not be planned"):
        commit = hoodoo.open(str(tmp_path), options).upsert(data([1], "new", 2))
    monkeypatch.undo()
    assert commit.updated == 1
    table = hoodoo.open(str(tmp_path))
    assert seen(table.read())[1] == ("new", 2) and not table.timeline().pending()
    assert len(table.compact().files) == 1


# --- strategies -----------------------------------------------------------------------------------
@frozen
class OnlyDay:
    """A strategy that no distribution offers."""

    day: str

    def choose(self, candidates: Sequence[Candidate]) -> Sequence[Candidate]:
        return [c for c in candidates if c.slice.partition_path == self.day]


@pytest.mark.parametrize(
    ("strategy", "options", "left"),
    [
        ("unbounded", {}, []),
        ("log_size", {"hoodie.compaction.target.io": "1"}, []),
        ("log_count", {"hoodie.compaction.logfile.num.threshold": "2"}, [0]),
        ("log_count", {"hoodie.compaction.logfile.num.threshold": "3"}, [0, 1]),
        ("log_count", {"hoodie.compaction.logfile.num.threshold": "4"}, [0, 1, 2]),
        ("day_based", {"hoodie.compaction.daybased.target.partitions": "2"}, [0]),
        (JAVA + "DayBasedCompactionStrategy", {"hoodie.compaction.daybased.target.partitions": "1"}, [0, 1]),
        (JAVA + "LogFileNumBasedCompactionStrategy", {"hoodie.compaction.logfile.num.threshold": "3"}, [0, 1]),
        (OnlyDay(DAYS[1]), {}, [0, 2]),
        (OnlyDay("2030-01-01"), {}, [0, 1, 2]),
    ],
)  # fmt: skip
def test_strategies_by_name_by_java_class_and_as_objects(
    tmp_path: Path, strategy: Any, options: Options, left: list[int]
) -> None:
    filled(tmp_path)
    by_argument = hoodoo.open(str(tmp_path), options)
    expected = seen(by_argument.read())
    if isinstance(strategy, str):
        by_argument = hoodoo.open(
            str(tmp_path), {**options, "hoodie.compaction.strategy": strategy}
        )
        commit = by_argument.compact()
    else:
        commit = by_argument.compact(strategy)
    assert days_with_logs(by_argument) == [DAYS[n] for n in left]
    assert len(commit.files) == 3 - len(left) and bool(commit.instant) == (len(left) < 3)
    assert seen(by_argument.read()) == theirs(tmp_path) == expected


def test_the_argument_wins_over_the_option(tmp_path: Path) -> None:
    filled(tmp_path)
    table = hoodoo.open(str(tmp_path), {"hoodie.compaction.strategy": "unbounded"})
    assert len(table.compact(OnlyDay(DAYS[0])).files) == 1
    assert len(table.compact().files) == 2


def test_sizes_count_in_bytes_of_the_log_files(tmp_path: Path) -> None:
    table = filled(tmp_path)
    sizes = {s.partition_path: sum(f.size for f in s.log_files) for s in table.file_slices()}
    limit = sorted(sizes.values())[1]
    table = hoodoo.open(str(tmp_path), {"hoodie.compaction.logfile.size.threshold": str(limit)})
    assert len(table.compact("log_size").files) == 2
    assert days_with_logs(table) == [min(sizes, key=lambda day: sizes[day])]


@pytest.mark.parametrize("bad", ["log_sise", OnlyDay, object()])
def test_no_strategy(tmp_path: Path, bad: Any) -> None:
    table = filled(tmp_path)
    before = table.timeline().instants
    with pytest.raises(PluginError):
        table.compact(bad)
    assert table.timeline().instants == before


def planned(table: hoodoo.Table, instant: Instant) -> list[str]:
    plan = read_plan(
        Snapshot(storage(Path(table.path.removeprefix("file://"))), table.timeline()), instant
    )
    return [s.partition_path for s in plan.slices]


def test_two_plans_do_not_share_file_groups(tmp_path: Path) -> None:
    table = filled(tmp_path)
    expected = seen(table.read())
    first, second = (table.schedule_compaction(OnlyDay(day)) for day in DAYS[:2])
    assert first and second and waiting(table) == [first, second]
    assert [planned(table, i) for i in table.timeline().pending()] == [[DAYS[0]], [DAYS[1]]]
    assert table.schedule_compaction(OnlyDay(DAYS[0])) is None
    table.run_compaction(second)
    assert waiting(table) == [first] and seen(table.read()) == theirs(tmp_path) == expected
    table.compact()
    assert not waiting(table) and not days_with_logs(table)
    assert seen(table.read()) == theirs(tmp_path) == expected


# --- Spark ----------------------------------------------------------------------------------------
@pytest.mark.sampled(3, among="on Spark")
@pytest.mark.spark
@pytest.mark.parametrize("version", VERSIONS)
def test_on_spark(spark: Any, tmp_path: Path, version: int) -> None:
    table = filled(tmp_path, version)
    before = table.read(columns=[*META, *SCHEMA.names]).to_arrow().sort_by("id")
    instant = table.schedule_compaction()
    assert instant is not None
    commit = table.run_compaction(instant, engine="spark")
    assert len(commit.files) == 3 and not days_with_logs(table)
    assert table.read(columns=[*META, *SCHEMA.names]).to_arrow().sort_by("id").equals(before)
    table = hoodoo.open(str(tmp_path), {"hoodie.compact.inline": "true",
                                        "hoodie.compact.inline.max.delta.commits": "1"})  # fmt: skip
    table.upsert(data([4], "spark", 9), engine="spark")
    assert not days_with_logs(table)
    assert seen(table.read(mode="read_optimized")) == theirs(tmp_path)
    assert seen(table.read())[4] == ("spark", 9)


def stale_plan(path: Path, version: int, **more: Any) -> tuple[hoodoo.Table, Instant, list[Path]]:
    """A pending plan that names log files which a rollback has deleted since, as older releases
    left it where it was made beside the rollback; and the log files of it that are there."""
    table = filled(path, version, **more)
    planned = table.schedule("compaction")
    assert planned is not None
    (pending,) = pending_compactions(table.timeline())
    plan = (path / table.timeline().path(pending)).read_bytes()
    logs = {log.path for slice_ in table.file_slices() for log in slice_.log_files}
    table.rollback(planned)
    for write in [*table.timeline().writes()[:-3:-1]]:
        table.rollback(write.requested)
    pending = publish.request(Snapshot(storage(path), table.timeline()), "compaction", plan)
    there = {log.path for slice_ in table.file_slices() for log in slice_.log_files}
    assert there and there < logs
    return table, pending, sorted(path / log for log in there)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_planned_log_file_that_was_undone_is_not_missed(tmp_path: Path, version: int) -> None:
    table, pending, _ = stale_plan(tmp_path, version)
    before = seen(table.read())
    assert table.compact().instant == pending.requested
    assert seen(table.read()) == before == theirs(tmp_path)
    assert table.verify().ok
    table.upsert(data([1, 2], "next", 9))
    table.compact()
    assert seen(table.read()) == {**before, 1: ("next", 9), 2: ("next", 9)} == theirs(tmp_path)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_planned_log_file_that_was_undone_in_the_archive_is_not_missed(
    tmp_path: Path, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark Hudi archives rollbacks also while a compaction is pending that is younger."""
    table, pending, _ = stale_plan(tmp_path, version)
    archived = []
    for undoing in [i for i in table.timeline().instants if i.traits.undoes]:
        for instant in (undoing.at(State.REQUESTED), undoing.at(State.INFLIGHT), undoing):
            file = tmp_path / table.timeline().path(instant)
            source = Mock(metadata=Mock(return_value=file.read_bytes()), where=str(file))
            file.unlink()
        archived.append(ArchivedInstant(undoing.requested, None, undoing.action, source))
    monkeypatch.setattr(slices, "load_archived", lambda storage, config: tuple(archived))
    before = seen(table.read())
    assert table.compact().instant == pending.requested
    assert seen(table.read()) == before == theirs(tmp_path)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_planned_log_file_that_is_lost_is_missed(tmp_path: Path, version: int) -> None:
    table, pending, there = stale_plan(tmp_path, version)
    there[0].unlink()
    with pytest.raises(CorruptTableError, match=there[0].name.lstrip(".")):
        table.compact()
    assert [i.requested for i in pending_compactions(table.timeline())] == [pending.requested]
