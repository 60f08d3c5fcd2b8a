"""Archive, through the public API: what leaves the active timeline, what stays, and what it costs."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from attrs import frozen
from hoodoo.errors import ConfigError, CorruptTableError
from hoodoo.kernel.archived import load_archived
from hoodoo.table.table import Table
from hoodoo.testing.stores import (
    MUTATING,
    Crash,
    CrashingStorage,
    FailingStorage,
    RecordingStorage,
)
from hoodoo.timeline import properties
from hoodoo.timeline.archived import ArchivedInstant
from hoodoo.timeline.batches import Batch
from hoodoo.timeline.instants import next_instant, to_datetime
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import from_names
from hoodoo_rows.testing.tables import values
from hoodoo_rows.write import batches
from hoodoo_services.archive.action import ArchiveAction
from hoodoo_services.archive.plan import make_plan
from hoodoo_services.archive.settings import ArchiveSettings
from hoodoo_services.archived import manifest as history
from hoodoo_standard.engine.local import LocalEngine
from hoodoo_standard.storage.local import LocalStorage

pytestmark = pytest.mark.sampled(4)

SCHEMA = pa.schema([("id", pa.int64()), ("day", pa.string()), ("v", pa.string())])
DAYS = ("d0", "d1")
COW, MOR = "COPY_ON_WRITE", "MERGE_ON_READ"
SOON = {
    "hoodie.keep.min.commits": "3",
    "hoodie.keep.max.commits": "5",
    "hoodie.clean.commits.retained": "1",
}
OFF = {"hoodie.archive.automatic": "false", "hoodie.clean.automatic": "false"}
SOONER = {"hoodie.keep.min.commits": "1", "hoodie.keep.max.commits": "2"}
kinds = pytest.mark.parametrize(("version", "kind"), [(9, COW), (6, COW), (9, MOR), (6, MOR)])
versions = pytest.mark.parametrize("version", [9, 6])


def create(
    path: Path, version: int = 9, kind: str = COW, options: Mapping[str, Any] = SOON
) -> hoodoo.Table:
    return hoodoo.create(
        str(path), SCHEMA, record_key="id", partition_by="day",
        table_version=version, table_type=kind, options=options,
    )  # fmt: skip


def data(ids: Sequence[int], v: str) -> pa.Table:
    return pa.table([ids, [DAYS[n % 2] for n in ids], [v] * len(ids)], schema=SCHEMA)


rows = partial(values, key="id", value="v")


def written(table: hoodoo.Table, times: int, first: int = 0) -> list[str]:
    return [table.upsert(data([0, 1, n + 2], f"v{n}")).instant for n in range(first, first + times)]


def archived(table: hoodoo.Table) -> tuple[ArchivedInstant, ...]:
    return load_archived(LocalStorage(table.path), table.config)


def writes(table: hoodoo.Table) -> list[str]:
    return [i.requested for i in table.timeline().writes()]


def files(path: Path, *parts: str) -> list[str]:
    return sorted(p.name for p in path.joinpath(".hoodie", *parts).iterdir() if p.name != ".keep")


def told(table: hoodoo.Table) -> list[tuple[str, str]]:
    """What either timeline tells, each instant once."""
    active = {(i.requested, i.action) for i in table.timeline().completed()}
    return sorted(active | {(i.requested, i.action) for i in archived(table)})


# --- what leaves, and what is kept of it --------------------------------------------------------------
@kinds
def test_the_oldest_writes_leave_and_nothing_is_forgotten(
    tmp_path: Path, version: int, kind: str
) -> None:
    table = create(tmp_path, version, kind, {**SOON, "hoodie.compact.inline": "true"})
    watch: list[tuple[str, str]] = []
    contents: dict[tuple[str, str], dict[str, Any]] = {}
    for n in range(16):
        written(table, 1, n)
        timeline = table.timeline()
        for i in timeline.completed():
            contents[i.requested, i.action] = timeline.contents(table.handle.storage, i)
        assert rows(table) == {0: f"v{n}", 1: f"v{n}", **{k + 2: f"v{k}" for k in range(n + 1)}}
        watch += [(i.requested, i.action) for i in timeline.completed()]
        if kind == COW:
            assert 1 <= len(timeline.writes()) <= 5
    assert told(table) == sorted(set(watch))
    found = archived(table)
    assert len({(i.requested, i.action) for i in found}) == len(found) > 10
    assert {i.action for i in found} >= ({"commit", "clean"} if kind == COW else {"deltacommit"})
    assert [i.requested for i in found] == sorted(i.requested for i in found)
    for old in found:
        assert (old.completed is None) == (version == 6)
        seen = old.contents()
        if version == 9:
            assert seen == contents[old.requested, old.action]
        if old.action != "clean":
            assert old.metadata().stats and old.metadata().schema_text
    left = {name.split(".")[0].split("_")[0] for name in files(tmp_path, *_folder(version))}
    assert not left & {i.requested for i in found}, "all files of an instant leave"
    assert table.archive().instants == ()


def _folder(version: int) -> tuple[str, ...]:
    return ("timeline",) if version == 9 else ()


@versions
def test_since_reads_only_what_may_be_younger(tmp_path: Path, version: int) -> None:
    table = create(tmp_path, version)
    written(table, 16)
    everything = archived(table)
    store = RecordingStorage(LocalStorage(table.path))
    some = load_archived(store, table.config, everything[-1].requested)
    assert everything[-1] in some and len(some) < len(everything)
    if version == 9:
        opened = [path for op, path in store.calls if op == "open"]
        assert (
            len(opened)
            == 1
            < len([n for n in files(tmp_path, "timeline", "history") if "parq" in n])
        )


def test_plans_are_kept(tmp_path: Path) -> None:
    table = create(tmp_path, 9, MOR, {**SOON, "hoodie.compact.inline": "true"})
    written(table, 14)
    plans = {i.action: i.plan_bytes() for i in archived(table)}
    assert plans["commit"].startswith(b"Obj"), "a compaction's"
    assert plans["clean"].startswith(b"Obj") and not plans["deltacommit"]


# --- what stays -----------------------------------------------------------------------------------------
@versions
def test_nothing_leaves_before_there_is_more_than_max(tmp_path: Path, version: int) -> None:
    table = create(tmp_path, version)
    for n in range(5):
        written(table, 1, n)
        assert len(writes(table)) == n + 1 and not archived(table)
    written(table, 1, 5)
    assert len(writes(table)) == 3


def test_cleaning_raises_both_numbers(tmp_path: Path) -> None:
    table = create(tmp_path, options={**SOON, "hoodie.clean.commits.retained": "6"})
    for n in range(9):
        written(table, 1, n)
        assert len(writes(table)) == n + 1
    written(table, 1, 9)  # 7 are kept, and with more than 9 it begins
    assert len(writes(table)) == 7


def test_the_reader_window_keeps_the_timeline_too(tmp_path: Path) -> None:
    table = create(tmp_path, options={**SOON, "hoodoo.clean.reader.window": "1"})
    written(table, 9)
    assert len(writes(table)) == 9 and not archived(table)


@kinds
def test_a_savepoint_stops_it(tmp_path: Path, version: int, kind: str) -> None:
    table = create(tmp_path, version, kind, {**SOON, "hoodie.compact.inline": "true"})
    kept = written(table, 2)[1]
    table.savepoint(kept)
    then = rows(table, as_of=kept)
    written(table, 12, 2)
    assert kept in writes(table) and len(writes(table)) > 8
    assert "savepoint" in table.archive().held
    assert rows(table, as_of=kept) == then
    table.delete_savepoint(kept)
    assert table.archive().instants
    assert kept not in writes(table)


@versions
def test_pending_services_stop_it(tmp_path: Path, version: int) -> None:
    table = create(tmp_path, version, MOR)
    before = written(table, 2)
    planned = table.schedule_compaction()
    written(table, 10, 2)
    assert writes(table)[0] in before and "pending" in table.archive().held
    assert planned is not None
    table.run_compaction(planned)
    written(table, 6, 12)
    assert table.archive().held == "" and before[0] not in writes(table)


@versions
def test_what_a_write_under_way_could_not_see_stays(tmp_path: Path, version: int) -> None:
    """Two writes completed after a third had begun, though they were requested before it: when it
    commits it has to find both of them."""
    table = create(tmp_path, version, options={**SOON, **OFF})
    seen = written(table, 4)
    storage, timeline = LocalStorage(table.path), table.timeline()
    # The first three began before the pending one, and completed when the fourth had.
    begun = seen[2][:-3] + f"{int(seen[2][-3:]) + 1:03d}"
    assert seen[2] < begun < seen[3]
    folder = timeline.config.timeline_path
    storage.put(f"{folder}/{begun}.commit.requested", b"")
    for n in (1, 2):
        done = timeline.writes()[n]
        if version == 9:
            content = storage.get(timeline.path(done))
            storage.delete(timeline.path(done))
            assert done.completed is not None
            storage.put(f"{folder}/{done.requested}_{seen[3]}.commit", content)
    if version == 6:  # their files' own times say when they completed
        os.utime(tmp_path / timeline.path(timeline.writes()[1]))
    plan = make_plan(
        Snapshot(storage, table.timeline()), ArchiveSettings(least=1, most=2), lambda timeline: None
    )
    assert plan.instants == () and "pending" in plan.held


@kinds
def test_a_replacecommit_stays_while_its_files_do(tmp_path: Path, version: int, kind: str) -> None:
    table = create(tmp_path, version, kind, {**SOON, **OFF, "hoodie.archive.automatic": "true"})
    table.upsert(data([0, 1], "old"))
    replaced = table.insert_overwrite(data([2], "new")).instant
    for n in range(10):
        table.upsert(data([1], f"v{n}"))
    assert rows(table) == {1: "v9", 2: "new"}
    assert replaced in writes(table)
    assert "replaced" in table.archive().held
    table.clean(commits_retained=1)
    table.archive()
    assert replaced not in writes(table)
    assert rows(table) == {1: "v9", 2: "new"}
    again = hoodoo.open(table.path)
    assert rows(again) == {1: "v9", 2: "new"}


def test_a_log_file_that_a_compaction_overtook_keeps_its_slice(tmp_path: Path) -> None:
    """Its deltacommit was requested before the compaction and completed after it: the log file belongs
    behind the new base file, which only the completion time says."""
    table = create(tmp_path, 9, MOR, {**SOON, **OFF})
    written(table, 3)
    timeline = table.timeline()
    late = timeline.writes()[-1]
    # As if the compaction of the two before had been planned while the third was being written.
    time = next_instant(to_datetime(late.requested), late.requested)
    _compacted_between(table, late.requested, time)
    expected = rows(table)
    for n in range(10):
        table.upsert(data([50], f"w{n}"))
    expected[50] = "w9"
    assert rows(table) == expected
    found = table.archive()
    assert "compaction" in found.held
    assert late.requested in writes(table) and rows(table) == expected


def _compacted_between(table: hoodoo.Table, before: str, time: str) -> None:
    """Rename a compaction of the first slices so that it was requested at ``time``."""
    root = Path(LocalStorage(table.path).base)
    timeline = root / ".hoodie" / "timeline"
    late = [p for p in timeline.iterdir() if p.name.startswith(before)]
    hidden = root / "hidden"
    hidden.mkdir()
    logs = [p for p in root.rglob(f".*_{before}.log.*") if "hidden" not in p.parts]
    homes = {p.name: p.parent for p in (*late, *logs)}
    for p in (*late, *logs):
        shutil.move(str(p), hidden / p.name)
    done = table.compact().instant
    completed = max(n.split("_")[1][:17] for n in (p.name for p in late) if "_" in n)
    assert before < time < completed
    for p in [*root.rglob(f"*_{done}.parquet"), *timeline.glob(f"{done}*")]:
        text = p.read_bytes().replace(done.encode(), time.encode())
        target = p.with_name(p.name.replace(done, time))
        target.write_bytes(text if p.suffix != ".parquet" else p.read_bytes())
        p.unlink()
    for name, home in homes.items():
        shutil.move(str(hidden / name), home / name)
    hidden.rmdir()


@pytest.mark.parametrize(
    "options",
    [
        {"hoodie.keep.min.commits": "5", "hoodie.keep.max.commits": "5"},
        {"hoodie.keep.max.commits": "many"},
        {"hoodie.keep.min.commits": "0"},
    ],
)
def test_bad_options_are_told_before_anything_is_written(
    tmp_path: Path, options: dict[str, str]
) -> None:
    table = create(tmp_path)
    with pytest.raises(ConfigError, match=r"hoodie\.keep"):
        hoodoo.open(str(tmp_path), options=options).upsert(data([1], "v"))
    assert not writes(table)


# --- who asks for what is not there any more ------------------------------------------------------------
@versions
def test_time_travel_before_the_start_is_refused(tmp_path: Path, version: int) -> None:
    table = create(tmp_path, version, options={**SOON, "hoodie.clean.automatic": "false"})
    done = written(table, 6)
    assert done[0] not in writes(table)
    with pytest.raises(ConfigError, match="archived") as error:
        table.read(as_of=done[1]).to_arrow()
    assert writes(table)[0] in error.value.fix
    assert rows(table, as_of=done[3]) and rows(table, as_of=done[5]) == rows(table)
    assert table.read(as_of="20200101000000000").to_arrow().num_rows == 0, "before the first write"


@kinds
def test_batches_are_remembered(tmp_path: Path, version: int, kind: str) -> None:
    table = create(tmp_path, version, kind)
    assert table.upsert(data([1], "batch"), batch=Batch("stream", 7)).instant
    written(table, 9)
    assert not table.upsert(data([1], "again"), batch=Batch("stream", 7)).instant
    # As another tool's writes leave it, which hand nothing on.
    names = [n for n in files(tmp_path, *_folder(version))]
    timeline = from_names(names, table.config)
    for i in timeline.writes():
        metadata = timeline.metadata(LocalStorage(table.path), i)
        metadata.extra.pop(batches.OWN_KEY, None)  # type: ignore[attr-defined]
    applied = batches.applied(Snapshot(LocalStorage(table.path), timeline))
    assert applied.has(Batch("stream", 7)) and not applied.has(Batch("stream", 8))


# --- the tree of version 9 ------------------------------------------------------------------------------
def test_levels_are_merged_and_old_files_go(tmp_path: Path) -> None:
    table = create(
        tmp_path,
        options={
            **SOON,
            "hoodie.clean.automatic": "false",
            "hoodie.keep.min.commits": "2",
            "hoodie.keep.max.commits": "3",
            "hoodie.timeline.compaction.batch.size": "3",
        },
    )
    done = written(table, 30)
    folder = tmp_path / ".hoodie" / "timeline" / "history"
    version = int((folder / "_version_").read_text())
    manifests = sorted(int(p.name.split("_")[1]) for p in folder.glob("manifest_*"))
    assert manifests[-1] == version and len(manifests) <= 5
    named = [
        f["fileName"] for f in json.loads((folder / f"manifest_{version}").read_text())["files"]
    ]
    assert max(int(n[-9]) for n in named) >= 2 and len(named) < 8
    assert len(list(folder.glob("*.parquet"))) <= len(named) + 12
    found = archived(table)
    assert [i.requested for i in found] == done[: len(found)] and len(found) >= 26
    for i in found:
        assert i.metadata().stats
    meta = pq.read_schema(folder / named[0]).metadata
    assert (
        meta[b"writer.model.name"] == b"avro"
        and b"HoodieLSMTimelineInstant" in meta[b"parquet.avro.schema"]
    )
    sizes = {
        f["fileName"]: f["fileLen"]
        for f in json.loads((folder / f"manifest_{version}").read_text())["files"]
    }
    assert all((folder / n).stat().st_size == size for n, size in sizes.items())


def test_a_merged_file_is_found_again(tmp_path: Path) -> None:
    """Who holds an archived instant reads it even when its file has become part of another."""
    options = {**SOON, "hoodie.timeline.compaction.batch.size": "2"}
    table = create(tmp_path, options=options)
    written(table, 6)
    held = archived(table)
    written(table, 24, 6)
    folder = tmp_path / ".hoodie" / "timeline" / "history"
    assert not list(folder.glob(f"{held[0].requested}_{held[-1].requested}_0.parquet"))
    assert held[0].metadata().stats
    (folder / "_version_").write_text("999")  # says nothing to Hoodoo, which lists
    assert len(archived(table)) > len(held)


def test_a_torn_manifest_of_others_is_passed_over(tmp_path: Path) -> None:
    table = create(tmp_path)
    written(table, 9)
    folder = tmp_path / ".hoodie" / "timeline" / "history"
    before = archived(table)
    last = int((folder / "_version_").read_text())
    (folder / f"manifest_{last + 1}").write_text('{"files" : [ {')
    assert archived(table) == before
    written(table, 6, 9)
    assert len(archived(table)) > len(before)
    assert int((folder / "_version_").read_text()) > last + 1
    for path in folder.glob("manifest_*"):
        path.write_text("{")
    with pytest.raises(CorruptTableError, match="manifest"):
        archived(table)


def test_two_archivers_lose_nothing(tmp_path: Path) -> None:
    """The second one archives the same instants while the first has put its manifest and no more."""
    table = create(tmp_path, options={**SOON, **OFF})
    done = written(table, 8)
    options = {**SOON, **OFF}

    class Meeting(RecordingStorage):
        met = False

        def delete(self, path: str) -> bool:
            if not self.met and path.endswith(".requested"):
                self.met = True
                hoodoo.open(str(tmp_path), options=options).archive()
            return super().delete(path)

    store = Meeting(LocalStorage(str(tmp_path)))
    first = Table(store, properties.load(store), options, LocalEngine(1))
    first.archive()
    assert store.met and [i.requested for i in archived(table)] == done[:5]
    assert writes(table) == done[5:]


# --- crashes --------------------------------------------------------------------------------------------
@frozen
class Prepared:
    path: Path
    options: dict[str, str]
    rows: dict[int, str]
    told: list[tuple[str, str]]


def prepared(tmp_path: Path, version: int, kind: str) -> Prepared:
    options = {**SOON, **OFF, "hoodie.timeline.compaction.batch.size": "2"}
    table = create(tmp_path / "made", version, kind, options)
    written(table, 6)
    if kind == MOR:
        table.compact()
    table.clean(commits_retained=1)
    table.archive()  # so that the next one merges
    written(table, 3, 6)
    if kind == MOR:
        table.compact()
        written(table, 5, 9)
    table.clean(commits_retained=1)
    return Prepared(tmp_path / "made", options, rows(table), told(table))


@kinds
def test_a_crash_anywhere_leaves_all_told_once(tmp_path: Path, version: int, kind: str) -> None:
    ready = prepared(tmp_path, version, kind)
    trial = tmp_path / "trial"

    def run(at: int, when: str) -> CrashingStorage:
        shutil.copytree(ready.path, trial)
        store = CrashingStorage(LocalStorage(str(trial)), at, when)  # type: ignore[arg-type]
        table = Table(store, properties.load(store), ready.options, LocalEngine(1))
        table.archive()
        return store

    count = run(0, "before").count
    shutil.rmtree(trial)
    assert count >= 10
    # One in three, where the steps are the same and only the table differs.
    for at in range(1, count + 1, 1 if kind == COW else 3):
        for when in ("before", "after"):
            with pytest.raises(Crash):
                run(at, when)
            table = hoodoo.open(str(trial), options=ready.options)
            assert rows(table) == ready.rows, (at, when)
            assert told(table) == ready.told, (at, when)
            assert not [i for i in table.timeline().pending()], (at, when)
            table.upsert(data([0], "more"))
            finished = hoodoo.open(str(trial), options={**ready.options, **SOONER})
            assert finished.archive().instants
            assert rows(table) == {**ready.rows, 0: "more"}, (at, when)
            assert set(told(table)) >= set(ready.told), (at, when)
            if version == 9:
                _nothing_astray(table)
            shutil.rmtree(trial)


def _nothing_astray(table: hoodoo.Table) -> None:
    storage = LocalStorage(table.path)
    seen = history.snapshot(storage, table.config)
    numbers = history.manifest_numbers(seen.entries)
    named = {f.name for n in numbers for f in history.read_manifest(storage, table.config, n) or ()}
    there = {e.name for e in seen.entries if e.name.endswith("_0.parquet")}
    assert there <= named
    version = storage.get(f"{history.folder(table.config)}/_version_")
    assert int(version) == seen.number == max(numbers)


@versions
def test_a_store_that_fails_or_does_not_answer(tmp_path: Path, version: int) -> None:
    ready = prepared(tmp_path, version, COW)
    trial = tmp_path / "trial"
    for after in (False, True):
        at = 0
        while True:
            at += 1
            shutil.copytree(ready.path, trial)
            inner = LocalStorage(str(trial))
            store = FailingStorage(inner, at, after=after, ops=MUTATING)
            table = Table(store, properties.load(inner), ready.options, LocalEngine(1))
            try:
                table.archive()
            except hoodoo.errors.HoodooError:
                pass
            whole = hoodoo.open(str(trial), options=ready.options)
            assert rows(whole) == ready.rows and told(whole) == ready.told, (at, after)
            shutil.rmtree(trial)
            if store.count < at:
                break


# --- cost -------------------------------------------------------------------------------------------------
@versions
def test_a_run_reads_only_what_it_archives(tmp_path: Path, version: int) -> None:
    """However much has been archived before."""
    counts = []
    table = create(tmp_path, version, options={**SOON, **OFF})
    for round_ in range(5):
        written(table, 7 if round_ == 0 else 4, 12 * round_)
        store = RecordingStorage(LocalStorage(table.path))
        watched = Table(store, properties.load(store), {**SOON, **OFF}, LocalEngine(1))
        assert len(watched.archive().instants) == 4
        counts.append([sum(op == o for op, _ in store.calls) for o in ("list", "get", "open")])
    assert counts[-1] == counts[-2], counts


def test_nothing_to_do_costs_nothing(tmp_path: Path) -> None:
    """After each write it is asked whether there is something to archive; the timeline says so."""
    table = create(tmp_path)
    written(table, 4)
    store = RecordingStorage(LocalStorage(table.path))
    watched = Table(store, properties.load(store), SOON, LocalEngine(1))
    timeline = watched.timeline()
    store.calls.clear()
    service = ArchiveAction().after_write(watched.handle)
    assert service is not None and not service.run(timeline, lambda: LocalEngine(1))
    assert store.calls == []
