"""The checkpoint among the commits of others; several ingestions; a process that ends anywhere."""

from __future__ import annotations

import json
import os
import random
import shutil
import threading
from pathlib import Path
from typing import Any

import hoodoo
import pytest
from attrs import define
from folders import config, fed, ids, put, writes
from hoodoo.errors import CommitConflictError, ConfigError, CorruptTableError
from hoodoo.kernel import events
from hoodoo.table.table import Table
from hoodoo.testing.crashes import When, crash, mutations, opened
from hoodoo.timeline.batches import Batch
from hoodoo_ingest.checkpoint import OWN_KEY, newest_checkpoint
from hoodoo_ingest.config import read_config
from hoodoo_ingest.run import Ingestion

WHEN: tuple[When, ...] = ("before", "after", "torn")
OFTEN = {"hoodie.keep.min.commits": "4", "hoodie.keep.max.commits": "5",
         "hoodie.clean.commits.retained": "3"}  # fmt: skip


def position(folder: Path, name: str = "ingest") -> int:
    return newest_checkpoint(hoodoo.open(str(folder / "t")), name, "files").round


def test_commits_of_others_in_between(tmp_path: Path) -> None:
    put(tmp_path, "1.jsonl", [{"id": 1}])
    known = config(tmp_path, run={"operation": "insert"}, table={"options": OFTEN})
    fed(known)
    table = hoodoo.open(str(tmp_path / "t"), options=OFTEN)
    for n in range(12):  # until the commit of the ingestion is archived
        table.upsert([{"id": 100 + n % 2}])
    table.archive()
    assert len(table.timeline().writes()) < 12
    assert position(tmp_path) == 1 and fed(known) == []
    put(tmp_path, "2.jsonl", [{"id": 2}])
    fed(known)
    assert ids(tmp_path) == [1, 2, 100, 101] and position(tmp_path) == 2


def test_archived_without_a_hint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hudi's writers do not hand the batches on."""
    put(tmp_path, "1.jsonl", [{"id": 1}])
    fed(config(tmp_path))
    table = hoodoo.open(str(tmp_path / "t"), options=OFTEN)
    from hoodoo_rows.write import batches

    monkeypatch.setattr(batches, "extra_metadata", lambda *arguments: {})
    for _ in range(12):
        table.upsert([{"id": 100}])
    table.archive()
    monkeypatch.undo()
    assert position(tmp_path) == 1 and fed(config(tmp_path)) == []


def test_a_restore_takes_the_checkpoint_back(tmp_path: Path) -> None:
    put(tmp_path, "1.jsonl", [{"id": 1}])
    fed(config(tmp_path))
    table = hoodoo.open(str(tmp_path / "t"))
    table.savepoint()
    put(tmp_path, "2.jsonl", [{"id": 2}])
    fed(config(tmp_path))
    table.restore(table.timeline().writes()[0].requested)
    assert ids(tmp_path) == [1] and position(tmp_path) == 1
    fed(config(tmp_path, run={"operation": "insert"}))
    assert ids(tmp_path) == [1, 2]


def test_hoodie_streamer_goes_on(tmp_path: Path) -> None:
    """A commit of HoodieStreamer has only its own key."""
    put(tmp_path, "1.jsonl", [{"id": 1}], at=1_000_000)
    fed(config(tmp_path))
    table = hoodoo.open(str(tmp_path / "t"))
    carried = {"streamer.checkpoint.key.v2": "999999999"}  # as its rolling metadata does
    table.insert([{"id": 2}], batch=Batch("other", 1, notes=carried))
    assert fed(config(tmp_path)) == []
    theirs = {"deltastreamer.checkpoint.key": "2000000000"}
    table.insert([{"id": 3}], batch=Batch("other", 2, notes=theirs))
    put(tmp_path, "4.jsonl", [{"id": 4}], at=1_500_000)  # it has read this one
    put(tmp_path, "5.jsonl", [{"id": 5}], at=2_500_000)
    fed(config(tmp_path))
    assert ids(tmp_path) == [1, 2, 3, 5] and position(tmp_path) == 2


def test_hoodie_streamer_has_no_names(tmp_path: Path) -> None:
    """Its checkpoint is that of the default name alone, and errors lead out."""
    hoodoo.create(str(tmp_path / "t"), "id bigint", record_key="id")
    table = hoodoo.open(str(tmp_path / "t"))
    theirs = {"streamer.checkpoint.key.v2": "rides,0:7"}
    table.insert([{"id": 1}], batch=Batch("other", 1, notes=theirs))
    put(tmp_path, "2.jsonl", [{"id": 2}])
    with pytest.raises(ConfigError, match="is none of a folder") as caught:
        fed(config(tmp_path))
    assert "another name" in str(caught.value.fix)
    fed(config(tmp_path, run={"name": "a"}))
    assert ids(tmp_path) == [1, 2]


def test_positions_that_hudi_carries_on(tmp_path: Path) -> None:
    """What Hudi's writers repeat of the commit before them may be of another ingestion."""
    put(tmp_path, "1.jsonl", [{"id": 1}], at=1_000_000)
    fed(config(tmp_path))
    put(tmp_path, "2.jsonl", [{"id": 2}], at=3_000_000)
    fed(config(tmp_path, run={"name": "a"}))
    carried = {"streamer.checkpoint.key.v2": "2999999999"}
    hoodoo.open(str(tmp_path / "t")).insert([{"id": 3}], batch=Batch("other", 1, notes=carried))
    put(tmp_path, "4.jsonl", [{"id": 4}], at=2_000_000)
    fed(config(tmp_path))
    assert ids(tmp_path) == [1, 2, 3, 4]


def test_another_folder(tmp_path: Path) -> None:
    put(tmp_path, "1.jsonl", [{"id": 1}], at=2_000_000)
    fed(config(tmp_path))
    (tmp_path / "in").rename(tmp_path / "old")
    put(tmp_path, "2.jsonl", [{"id": 2}], at=1_000_000)
    (tmp_path / "in").rename(tmp_path / "more")
    more = {"path": str(tmp_path / "more") + "/"}
    with pytest.raises(ConfigError, match="not the folder of the checkpoint") as caught:
        fed(config(tmp_path, source=more))
    assert "another name" in str(caught.value.fix)
    fed(config(tmp_path, source=more, run={"name": "more"}))
    assert ids(tmp_path) == [1, 2]


def test_two_names(tmp_path: Path) -> None:
    put(tmp_path, "1.jsonl", [{"id": 1}])
    for name in ("a", "b", "a"):
        fed(config(tmp_path, run={"name": name, "operation": "insert"}))
    assert ids(tmp_path) == [1, 1] and position(tmp_path, "a") == position(tmp_path, "b") == 1


def test_a_damaged_checkpoint(tmp_path: Path) -> None:
    put(tmp_path, "1.jsonl", [{"id": 1}])
    fed(config(tmp_path))
    table = hoodoo.open(str(tmp_path / "t"))
    table.insert([{"id": 2}], batch=Batch("other", 1, notes={OWN_KEY: "{}"}))
    with pytest.raises(CorruptTableError, match="no checkpoint"):
        fed(config(tmp_path))


def test_another_process_is_faster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, "1.jsonl", [{"id": 1}])
    known = config(tmp_path, run={"operation": "insert"})
    fed(known)
    put(tmp_path, "2.jsonl", [{"id": 2}])
    slow = Ingestion(read_config(known))
    write, told = slow.__class__._write, []

    def late(self: Any, *arguments: Any) -> Any:
        if self is slow:
            told.append(fed(known))  # the other one, with more files
        return write(self, *arguments)

    put(tmp_path, "3.jsonl", [{"id": 3}])
    monkeypatch.setattr(Ingestion, "_write", late)
    assert list(slow.rounds()) == []
    assert ids(tmp_path) == [1, 2, 3] and writes(tmp_path) == 2 and len(told) == 1


def test_conflicts_are_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, "1.jsonl", [{"id": 1}])
    failing = iter([True, True, False])
    commit = Ingestion._commit

    def conflicting(self: Any, *arguments: Any) -> Any:
        if next(failing):
            raise CommitConflictError("write", "met another writer.", "Repeat it.")
        return commit(self, *arguments)

    monkeypatch.setattr(Ingestion, "_commit", conflicting)
    with pytest.raises(CommitConflictError):
        fed(config(tmp_path, run={"retries": 1}))
    assert len(fed(config(tmp_path))) == 1


def test_continuous_until_it_is_stopped(tmp_path: Path) -> None:
    put(tmp_path, "1.jsonl", [{"id": 1}])
    ingestion = Ingestion(read_config(config(tmp_path, run={"continuous": True, "every": 0.05})))
    rounds = ingestion.rounds()
    assert next(rounds).number == 1
    timer = threading.Timer(0.2, lambda: put(tmp_path, "2.jsonl", [{"id": 2}]))
    timer.start()
    assert next(rounds).number == 2
    timer.join()
    ingestion.stop()
    assert list(rounds) == []


def test_events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(events, "notify", lambda event, using=None: seen.append(event))
    put(tmp_path, "1.jsonl", [{"id": 1}, {"id": 2}])
    fed(config(tmp_path))
    mine = [event for event in seen if event.action == "ingest"]
    assert [event.step for event in mine] == ["started", "done"]
    last = mine[-1]
    assert (last.rows_inserted, last.detail["read"], last.detail["round"]) == (2, 1, 1)
    assert last.duration is not None and last.instant
    assert [event.step for event in seen if event.action == "write"][-1] == "committed"


# --- a process that ends --------------------------------------------------------------------------
@define
class OfTable(Ingestion):
    """Feeds a table whose store the test has in its hands."""

    table: Table | None = None

    def _table(self) -> Table | None:
        return self.table


class Trial:
    """A table with a round, and a folder with two more, and a bad row."""

    def __init__(self, folder: Path, kind: str) -> None:
        self.folder, self.path = folder, folder / "t"
        options = {"hoodie.metadata.enable": "true"} if kind == "with metadata" else {}
        self.known = config(
            folder,
            source={"max_files": 1},
            table={"type": "mor" if kind == "mor" else "cow", "options": options},
            run={"operation": "insert" if kind == "insert" else "upsert"},
            errors={"bad_rows": "aside", "folder": str(folder / "bad")},
        )
        self.options = options
        put(folder, "1.jsonl", [{"id": 1, "v": "a"}], at=1000)
        fed(self.known)
        put(folder, "2.jsonl", [{"id": 2, "v": "a"}], at=2000)
        with put(folder, "3.jsonl", [{"id": 3, "v": "a"}], at=3000).open("a") as file:
            file.write("bad\n")
        os.utime(folder / "in/3.jsonl", (3000, 3000))
        shutil.copytree(self.path, folder / "begun")

    def fresh(self) -> None:
        shutil.rmtree(self.path)
        shutil.copytree(self.folder / "begun", self.path)

    def run(self, table: Table) -> None:
        list(OfTable(read_config(self.known), table=table).rounds())

    def check(self, at: int, when: When) -> None:
        self.fresh()
        crash(self.path, self.run, at, when, self.options)
        seen = ids(self.folder)
        assert seen in ([1], [1, 2], [1, 2, 3])
        assert position(self.folder) == len(seen)  # the checkpoint is that of the rows
        fed(self.known)
        assert ids(self.folder) == [1, 2, 3] and position(self.folder) == 3
        bad = {p.name: p.read_text() for p in (self.folder / "bad").iterdir()}
        assert len(bad) == 1 and json.loads(*bad.values())["row"] == "bad"
        assert opened(self.path, self.options).verify().findings == ()

    def steps(self) -> int:
        found = len(mutations(self.path, self.run, self.options))
        assert ids(self.folder) == [1, 2, 3]
        return found


KINDS = ("cow", "mor", "insert", "with metadata")


@pytest.mark.sampled
@pytest.mark.parametrize("kind", KINDS)
def test_some_kills(tmp_path: Path, kind: str) -> None:
    trial = Trial(tmp_path, kind)
    chance = random.Random(kind)
    for at in chance.sample(range(1, trial.steps() + 1), 2):
        trial.check(at, chance.choice(WHEN))


@pytest.mark.trial
@pytest.mark.parametrize("kind", KINDS)
def test_kills_at_every_operation(tmp_path: Path, kind: str) -> None:
    trial = Trial(tmp_path, kind)
    for at in range(1, trial.steps() + 1):
        for when in WHEN:
            trial.check(at, when)
