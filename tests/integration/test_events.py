"""What observers are told of each action: figures that metrics and catalogs can go by."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from hoodoo import Table, hookimpl
from hoodoo.errors import CommitConflictError, ConfigError, DataError, HoodooError
from hoodoo.hookspecs import Registration
from hoodoo.hookspecs.action import AfterWrite
from hoodoo.hookspecs.observer import Event
from hoodoo.testing.distributions import installed
from hoodoo.testing.steps import around
from hoodoo.timeline.batches import Batch
from hoodoo_rows.testing.tables import Maker

PAGE = Path(__file__).parents[2] / "docs/monitoring.md"


class Doubling:
    """An action of somebody else, who knows nothing of events."""

    def run(self, table: Any, fail: bool = False) -> str:
        if fail:
            raise ValueError("no")
        return "done"

    def schedule(self, table: Any) -> str | None:
        return "20300101000000000"

    def run_planned(self, table: Any, instant: str) -> str:
        return "done"

    def after_write(self, table: Any) -> AfterWrite | None:
        return AfterWrite("doubling", lambda timeline, engine: True)


class Quiet(Doubling):
    """An action that has nothing to do after writes."""

    def after_write(self, table: Any) -> AfterWrite | None:
        return AfterWrite("silence", lambda timeline, engine: False)


@hookimpl
def hoodoo_actions() -> list[Registration]:
    return [
        Registration("doubling", lambda settings: Doubling()),
        Registration("silence", lambda settings: Quiet()),
    ]


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Event]]:
    """What an observer and the actions above are told, as plugins like any other."""
    seen: list[Event] = []

    def hoodoo_event(event: Event) -> None:
        seen.append(event)

    with installed("mine", hoodoo_event=hoodoo_event, hoodoo_actions=hoodoo_actions):
        yield seen


SCHEMA = pa.schema([("k", pa.int64()), ("p", pa.string()), ("v", pa.int64())])
rows = Maker(SCHEMA, p="a", v=0).of


@pytest.fixture
def table(tmp_path: Path, told: list[Event]) -> Table:
    made = hoodoo.create(
        str(tmp_path / "t"), SCHEMA, name="t", record_key="k", partition_by="p",
        table_type="MERGE_ON_READ",
    )  # fmt: skip
    told.clear()
    return made


def of(told: list[Event], action: str) -> list[Event]:
    return [event for event in told if event.action == action]


def end(told: list[Event], action: str) -> Event:
    """The one end of the one run of ``action``, which has a start before it."""
    found = of(told, action)
    (last,) = (event for event in found if event.outcome)
    assert found[-1] is last and found[0].step == "started"
    assert len({event.run_id for event in found}) == 1
    assert last.duration is not None and last.duration > 0
    return last


def size(table: Table, files: tuple[str, ...]) -> int:
    root = Path(table.path.removeprefix("file://"))
    return sum((root / file).stat().st_size for file in files)


def test_a_write_tells_of_files_bytes_rows_and_partitions(table: Table, told: list[Event]) -> None:
    table.insert(rows(1, 2))
    told.clear()
    both = pa.concat_tables([rows(1, v=7), rows(3, p="b")])
    commit = table.upsert(both)
    done = end(told, "write")
    assert done.kind == "write.committed" and done.instant == commit.instant
    assert done.table == "t" and done.location == table.path
    assert (done.rows_inserted, done.rows_updated, done.rows_deleted) == (1, 1, 0)
    assert done.rows_unmerged == commit.unmerged == 1  # in a log file
    assert done.files_added == len(commit.files) and done.files_removed == 0
    assert done.bytes_written == size(table, commit.files) > 0
    assert done.partitions == ("a", "b")
    assert done.detail["operation"] == "UPSERT"
    told.clear()
    table.delete(rows(3, p="b"))
    assert end(told, "write").rows_deleted == 1


def test_a_refused_write_is_a_failed_one(table: Table, told: list[Event]) -> None:
    with pytest.raises(HoodooError) as caught:
        table.upsert(pa.table({"k": [1], "p": ["a"], "v": ["text"]}))
    failed = end(told, "write")
    assert (failed.kind, failed.error) == ("write.failed", type(caught.value).__name__)
    assert failed.rule == caught.value.rule
    told.clear()
    with pytest.raises(DataError):
        table.delete_partitions("nowhere")
    assert end(told, "write").error == "DataError"


def test_a_batch_that_is_in_the_table_is_skipped(table: Table, told: list[Event]) -> None:
    batch = Batch("s", 1)
    table.upsert(rows(1), batch=batch)
    told.clear()
    table.upsert(rows(1), batch=batch)
    assert end(told, "write").outcome == "skipped"


def test_services_tell_of_what_they_did(table: Table, told: list[Event]) -> None:
    table.insert(rows(1))
    for value in range(3):
        table.upsert(rows(1, v=value))
    told.clear()
    commit = table.compact()
    done = end(told, "compaction")
    assert done.kind == "compaction.committed" and done.instant == commit.instant
    assert (done.files_added, done.bytes_written) == (1, size(table, commit.files))
    assert (done.rows_inserted, done.rows_updated, done.rows_deleted) == (0, 0, 0)
    assert done.rows_unmerged == 0
    assert [e.step for e in of(told, "compaction")] == [
        "started", "scheduled", "planned", "committed",
    ]  # fmt: skip
    table.upsert(rows(1, v=9))
    table.compact()
    table.upsert(rows(1, v=10))
    told.clear()
    cleaned = table.clean(commits_retained=1)
    done = end(told, "clean")
    assert done.files_removed == len(cleaned.files) > 0 and done.files_added == 0
    assert done.partitions and done.instant == cleaned.instant
    told.clear()
    table.clean(commits_retained=1)
    assert end(told, "clean").outcome == "skipped"
    told.clear()
    table.archive()
    assert end(told, "archive").outcome == "skipped"


def test_clustering_and_what_goes_wrong_in_planning(table: Table, told: list[Event]) -> None:
    table.insert(rows(*range(10)))
    told.clear()
    commit = table.cluster(columns="v")
    done = end(told, "clustering")
    assert (done.kind, done.instant) == ("clustering.committed", commit.instant)
    assert done.files_added == len(commit.files) and done.bytes_written
    told.clear()
    with pytest.raises(ConfigError):
        table.run_clustering("20200101000000000")
    assert end(told, "clustering").error == "ConfigError"
    told.clear()
    with pytest.raises(HoodooError) as caught:  # options of a plan that is run reach the action
        table.run_planned("clustering", "20200101000000000", order=None, engine="local")
    assert "is not pending" in str(caught.value)
    told.clear()
    with pytest.raises(ConfigError):
        table.schedule_clustering(columns="nowhere")
    (failed,) = of(told, "clustering")
    assert failed.kind == "clustering.failed" and failed.duration is not None


def test_going_back(table: Table, told: list[Event]) -> None:
    first = table.insert(rows(1))
    table.savepoint(first.instant, "why", "who")
    saved = end(told, "savepoint")
    assert saved.instant == first.instant and saved.detail == {"user": "who", "comment": "why"}
    second = table.insert(rows(2, p="b"))
    told.clear()
    table.rollback(second.instant)
    undone = end(told, "rollback")
    assert undone.detail["undoes"] == second.instant and undone.files_removed == 1
    table.insert(rows(3))
    told.clear()
    restored = table.restore(first.instant)
    done = end(told, "restore")
    assert done.instant == restored.restore and done.files_removed == len(restored.files) > 0
    told.clear()
    table.restore(first.instant)
    assert end(told, "restore").outcome == "skipped"
    table.delete_savepoint(first.instant)
    assert end(told, "savepoint").kind == "savepoint.deleted"


def test_indexes_and_the_metadata_table(table: Table, told: list[Event]) -> None:
    table.insert(rows(1))
    told.clear()
    made = table.rebuild_index()
    done = end(told, "indexing")
    assert done.kind == "indexing.done" and set(made) <= set(done.detail["made"]) and done.instant
    told.clear()
    table.compact_metadata()
    assert end(told, "participant_service").outcome in ("done", "skipped")


def test_an_action_of_a_third_party_has_events_for_nothing(table: Table, told: list[Event]) -> None:
    table.run("doubling")
    assert end(told, "doubling").kind == "doubling.done"
    told.clear()
    with pytest.raises((HoodooError, ValueError)):
        table.run("doubling", fail=True)
    assert end(told, "doubling").outcome == "failed"
    told.clear()
    assert table.schedule("doubling")
    (planned,) = of(told, "doubling")
    assert (planned.kind, planned.instant) == ("doubling.scheduled", "20300101000000000")
    table.run_planned("doubling", planned.instant)
    told.clear()
    table.insert(rows(1))
    assert [e.kind for e in of(told, "doubling")] == ["doubling.done"]
    assert of(told, "silence") == []


def test_a_lost_attempt_is_repeated_in_one_run(
    table: Table, told: list[Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    conflicts = [CommitConflictError("instant", "was not published.")]

    def conflicting(complete: Callable[[], Any]) -> Any:
        if conflicts:
            raise conflicts.pop()
        return complete()

    with around("complete", conflicting):
        table.insert(rows(1))
    assert end(told, "write").kind == "write.committed"
    steps = [e.step for e in of(told, "write")]
    assert steps == [
        "started", "requested", "planned", "repeated", "requested", "planned", "committed",
    ]  # fmt: skip
    assert end(told, "rollback").outcome == "done"


def test_the_page_names_what_is_told(table: Table, told: list[Event]) -> None:
    """Every event of a table's life is in the page's table, and every action of it comes in here."""
    page = PAGE.read_text("utf-8").split("## Which events", 1)[1]
    rows_ = re.findall(r"^\| (`[\w`, ]+) \| ([^|]+) \|", page, re.M)
    listed = {name: steps for names, steps in rows_ for name in re.findall(r"\w+", names)}
    for value in range(3):
        table.upsert(rows(1, v=value))
    with pytest.raises(HoodooError):
        table.delete_partitions("nowhere")
    table.compact()
    table.cluster()
    table.upsert(rows(1, v=5))
    table.compact()
    table.clean(commits_retained=1)
    table.archive()
    newest = table.insert(rows(2))
    table.rollback(newest.instant)
    table.savepoint()
    table.rebuild_index()
    table.compact_metadata()
    seen = {(e.action, e.step) for e in told if e.action not in ("doubling", "silence")}
    for action, step in sorted(seen):
        steps = re.findall(r"`(\w+)`", listed[action])
        assert step in (*steps, "started", "skipped", "failed"), (action, step)
    only_told_elsewhere = {"restore", "rewrite_keys", "index", "switch_index"}
    assert set(listed) - {action for action, _ in seen} == only_told_elsewhere
