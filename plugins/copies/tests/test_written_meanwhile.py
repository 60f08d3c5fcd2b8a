"""A backup of a table that is written meanwhile is a state that the table had, also where the
process ends at any storage operation, of the table or of the copy; so is what is made of it.

Each case tries one history, with ``HOODOO_TRIALS=more`` ten, with ``HOODOO_TRIALS=all`` a hundred.
"""

from __future__ import annotations

import os
import random
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import hoodoo
import pyarrow as pa
import pytest
from attrs import define, field, frozen
from hoodoo import Table
from hoodoo.errors import CommitConflictError, CorruptTableError, HoodooError
from hoodoo.storage.api import Storage
from hoodoo.table.settings import open_storage, typed_options
from hoodoo.testing.stores import Crash, CrashingStorage, GatedStorage
from hoodoo.timeline import properties
from hoodoo_copies import restore
from hoodoo_copies.backup import MANIFESTS, Copy
from hoodoo_standard.engine.local import LocalEngine
from hoodoo_standard.storage.local import LocalStorage

sys.path.append(str(Path(__file__).resolve().parents[2] / "cloud/tests"))

from servers import moto

SEED = int(os.environ.get("HOODOO_SEED", "0") or 0)
COUNT = {"more": 10, "all": 100}.get(os.environ.get("HOODOO_TRIALS") or "some", 1)
SCHEMA = pa.schema(
    [("id", pa.int64()), ("v", pa.string()), ("region", pa.string()), ("ts", pa.int64())]
)
FREQUENT = {"hoodie.clean.commits.retained": "1", "hoodie.keep.min.commits": "2",
            "hoodie.keep.max.commits": "3"}  # fmt: skip
KINDS = [
    (kind, index, version)
    for kind in ("COPY_ON_WRITE", "MERGE_ON_READ")
    for index, version in (("bloom", 9), ("record_index", 9), ("simple", 8), ("simple", 6))
]
ACTIONS = (
    *("upsert",) * 3, "delete", "compact", "cluster", "clean", "archive", "rollback", "tag",
    "overwrite", "pending",
)  # fmt: skip
State = frozenset[tuple[int, str]]


@define
class Lake:
    """A table at ``path``, all ``states`` that it has had, and somebody who writes to it."""

    path: str
    kind: str
    index: str
    version: int
    chance: random.Random
    store: Mapping[str, str] = field(factory=dict)
    states: list[State] = field(factory=list)
    number: int = 0
    done: list[str] = field(factory=list)

    def make(self) -> Lake:
        options = dict(FREQUENT) if self.chance.random() < 0.7 else {}
        hoodoo.create(
            self.path, SCHEMA, record_key="id", partition_by="region", ordering="ts",
            table_type=self.kind, table_version=self.version, index=self.index,
            options={**options, **self.store},
        )  # fmt: skip
        self.states.append(frozenset())
        for _ in range(self.chance.randrange(2, 6)):
            self.act("upsert")
        return self

    def opened(self) -> Table:
        return hoodoo.open(self.path, dict(self.store))

    def rows(self) -> list[dict[str, Any]]:
        self.number += 1
        return [
            {"id": i, "v": f"{self.number}", "region": "ab"[i % 2], "ts": self.number}
            for i in self.chance.sample(range(20), 6)
        ]

    def act(self, what: str | None = None) -> None:
        """Something is done to the table; the states in between are noted, too."""
        what = what or self.chance.choice(ACTIONS)
        table = self.opened()
        try:
            if what == "upsert":
                table.upsert(self.rows())
            elif what == "overwrite":
                table.insert_overwrite(self.rows())
            elif what == "delete":
                table.delete(self.chance.sample(range(20), 3))
            elif what == "cluster":
                table.cluster(columns=["v"])
            elif what == "pending":
                table.schedule("compaction")
            elif what == "tag":
                table.tag(f"t{self.number}-{len(self.done)}")
            elif what == "rollback":
                instant = table.upsert(self.rows()).instant
                self.states.append(state(self.opened()))
                table.rollback(instant)
            else:
                getattr(table, what)()
            self.done.append(what)
        except HoodooError as error:  # this table has no such service, or a savepoint forbids it
            self.done.append(f"({what}: {type(error).__name__})")
        self.states.append(state(self.opened()))

    def gate(self, often: float, most: int) -> Any:
        """Before an operation of the backup, now and then somebody writes."""
        left, at_work = [most], [False]

        def gate(op: str, name: str) -> None:
            if left[0] and not at_work[0] and self.chance.random() < often:
                left[0] -= 1
                at_work[0] = True
                try:
                    self.act()
                finally:
                    at_work[0] = False

        return gate


def state(table: Table) -> State:
    return frozenset(
        (row["id"], row["v"]) for row in table.read(["id", "v"]).to_arrow().to_pylist()
    )


def handle(storage: Storage, store: Mapping[str, str]) -> Any:
    plain = storage.inner if hasattr(storage, "inner") else storage
    return Table(storage, properties.load(plain), dict(store), LocalEngine(1)).handle


def storage_at(path: str, store: Mapping[str, str]) -> Storage:
    return open_storage(path, typed_options(store)) if store else LocalStorage(path, durable=False)


def copied(lake: Lake, target: str, often: float = 0.1) -> None:
    """One backup, beside which somebody writes. Cleans that come too often are an error."""
    gate = lake.gate(often, 6)
    source = GatedStorage(storage_at(lake.path, lake.store), gate)
    copy = GatedStorage(storage_at(target, lake.store), gate)
    with suppress(CommitConflictError):
        Copy(handle(source, lake.store), copy).run(True)
        return
    Copy(lake.opened().handle, storage_at(target, lake.store)).run(True)


def check(lake: Lake, target: str, since: int) -> State:
    """The copy is a state that the table had at the begin (the ``since``-th) or later."""
    found = hoodoo.open(target, dict(lake.store))
    now = state(found)
    assert now in lake.states[since:], (lake, sorted(now))
    report = found.verify()
    assert report.ok, (lake, report.findings)
    return now


def history(root: str, number: int, kind: str, index: str, version: int, store: Any) -> None:
    chance = random.Random(f"{SEED + number} {kind} {index} {version}")
    lake = Lake(f"{root}/t{number}", kind, index, version, chance, store).make()
    target = f"{root}/b{number}"
    now: State = frozenset()
    for _ in range(3):
        since = len(lake.states) - 1
        copied(lake, target)
        now = check(lake, target, since)
        lake.act()
    made = hoodoo.restore_backup(target, f"{root}/r{number}", options=store)
    assert state(made) == now and made.verify().ok, lake
    made.upsert([{"id": 77, "v": "x", "region": "a", "ts": 9999}])
    assert state(hoodoo.open(f"{root}/r{number}", store)) == now | {(77, "x")}, lake
    # What was held for the backup is given back.
    backups = [
        one for one in lake.opened().savepoints() if (one.comment or "").startswith("backup ")
    ]
    assert not backups, lake


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("kind", "index", "version"), KINDS)
def test_written_meanwhile(tmp_path: Path, kind: str, index: str, version: int) -> None:
    for number in range(COUNT):
        history(str(tmp_path), number, kind, index, version, {})


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with moto(tmp_path_factory.mktemp("moto")) as found:
        yield found


@pytest.mark.trial
@pytest.mark.parametrize(("kind", "index", "version"), KINDS)
def test_written_meanwhile_on_an_object_store(
    server: Any, kind: str, index: str, version: int
) -> None:
    for number in range(COUNT):
        place = server.bucket(f"b-{uuid4().hex}")
        history(place, number, kind, index, version, server.options)


# --- killed at every operation ------------------------------------------------------------------
@define
class Killed:
    """A lake with a backup, a few states old, of which each trial has copies of its own."""

    lake: Lake
    files: Mapping[str, Mapping[str, bytes]]  # of the table and of the backup, by their place

    @classmethod
    def prepared(
        cls, root: str, kind: str, index: str, version: int, store: Mapping[str, str] | None = None
    ) -> Killed:
        chance = random.Random(f"{SEED} killed {kind} {index}")
        place = f"{root}/work"
        lake = Lake(f"{place}/t", kind, index, version, chance, store or {}).make()
        lake.opened().backup(f"{place}/b")
        for what in ("upsert", "delete", "tag", "upsert", None, "clean", "archive", None):
            lake.act(what)
        return cls(lake, {at: contents(storage_at(at, lake.store)) for at in both(lake)})

    def trial(self, name: str) -> Lake:
        """At the same place as before: a backup knows of which table it is."""
        past = self.lake
        for at, files in self.files.items():
            put_back(storage_at(at, past.store), files)
        chance = random.Random(f"{SEED} {name}")
        return Lake(
            past.path, past.kind, past.index, past.version, chance, past.store, [*past.states]
        )

    def backup(self, lake: Lake, of_source: bool, at: int, when: Any) -> CrashingStorage:
        """One backup whose process ends at the ``at``-th operation, beside somebody who writes."""
        source, copy = (storage_at(path, lake.store) for path in both(lake))
        storage = CrashingStorage(source if of_source else copy, at, when)
        gate = lake.gate(0.03, 3) if at else lambda op, name: None
        gated = GatedStorage(storage, gate)
        pair: list[Storage] = [gated, copy] if of_source else [source, gated]
        table = Table(pair[0], properties.load(source), dict(lake.store), LocalEngine(1))
        with suppress(Crash, CommitConflictError):
            Copy(table.handle, pair[1]).run(False)
        return storage


def killed(found: Killed, of_source: bool, at: int, when: str) -> None:
    where = f"{when} operation {at} of the {'table' if of_source else 'copy'}"
    lake = found.trial(where)
    target = both(lake)[1]
    found.backup(lake, of_source, at, when)
    with suppress(CorruptTableError):  # the files of a state in between have been cleaned
        assert state(hoodoo.open(target, dict(lake.store))) in lake.states, (where, lake)
    lake.act("upsert")
    since = len(lake.states) - 1
    lake.opened().backup(target, verify=True)
    assert check(lake, target, since) == lake.states[-1], (where, lake)
    held = [one for one in lake.opened().savepoints() if (one.comment or "").startswith("backup ")]
    assert not held, (where, lake)


WHEN = ("before", "after", "torn")


def both(lake: Lake) -> tuple[str, str]:
    """Where the table is, and its backup."""
    return lake.path, f"{lake.path.removesuffix('/t')}/b"


def contents(storage: Storage) -> dict[str, bytes]:
    return {one.path: storage.get(one.path) for one in storage.list("", recursive=True)}


def put_back(storage: Storage, files: Mapping[str, bytes]) -> None:
    """``files`` and no others are in ``storage``."""
    there = contents(storage)
    for path in there.keys() - files.keys():
        storage.delete(path)
    for path, data in files.items():
        if there.get(path) != data:
            storage.put(path, data)


def killed_at_every_operation(found: Killed, whens: Sequence[str]) -> int:
    """How many trials there were: at each operation of the table and of the copy."""
    trials = 0
    for of_source in (False, True):
        count = found.backup(found.trial("whole"), of_source, 0, "before").count
        assert count, "nothing was done"
        for at in range(1, count + 1):
            for when in whens:
                killed(found, of_source, at, when)
                trials += 1
    return trials


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("kind", "index", "version"), KINDS)
def test_killed_somewhere(tmp_path: Path, kind: str, index: str, version: int) -> None:
    found = Killed.prepared(str(tmp_path), kind, index, version)
    chance = random.Random(f"{SEED} {kind} {index}")
    for of_source in (False, True):
        count = found.backup(found.trial("whole"), of_source, 0, "before").count
        for at in chance.sample(range(1, count + 1), min(count, 2)):
            killed(found, of_source, at, chance.choice(WHEN))


@pytest.mark.trial
@pytest.mark.parametrize("when", WHEN)
@pytest.mark.parametrize(("kind", "index", "version"), KINDS)
def test_killed_at_every_operation(
    tmp_path: Path, kind: str, index: str, version: int, when: str
) -> None:
    killed_at_every_operation(Killed.prepared(str(tmp_path), kind, index, version), [when])


@pytest.mark.trial
@pytest.mark.parametrize(("kind", "index", "version"), KINDS)
def test_killed_at_every_operation_of_an_object_store(
    server: Any, kind: str, index: str, version: int
) -> None:
    place = server.bucket(f"b-{uuid4().hex}")
    found = Killed.prepared(place, kind, index, version, server.options)
    when = random.Random(f"{SEED} {kind} {index}").choice(WHEN)
    killed_at_every_operation(found, [when])


# --- a table is made of a backup ----------------------------------------------------------------
@frozen
class Restored:
    """Where tables are made of the backup of a lake, each by a process that is killed."""

    lake: Lake
    place: str

    @property
    def backup(self) -> str:
        return both(self.lake)[1]

    @property
    def storage(self) -> Storage:
        return storage_at(self.place, self.lake.store)

    @classmethod
    def prepared(cls, found: Killed, place: str) -> Restored:
        here = cls(found.trial("restored"), place)  # trials have left other states
        here.lake.opened().backup(here.backup)
        assert state(hoodoo.open(here.backup, dict(here.lake.store))) == here.lake.states[-1]
        return here

    def run(self, at: int, when: Any) -> int:
        """A restore whose process ends at the ``at``-th operation; how many there were."""
        storage = CrashingStorage(self.storage, at, when)

        def opened(where: str, options: Any = None, **how: Any) -> Table:
            if where != self.place:
                return hoodoo.open(where, options)
            found = properties.load(storage.inner)
            return Table(storage, found, dict(self.lake.store), LocalEngine(1))

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(restore, "open_storage", lambda where, options: storage)
            patch.setattr(restore, "open_table", opened)
            with suppress(Crash):
                hoodoo.restore_backup(self.backup, self.place, options=self.lake.store)
        assert storage.crashed == bool(at)
        return storage.count

    def empty(self) -> None:
        if self.lake.store:
            put_back(self.storage, {})
        else:
            shutil.rmtree(self.place, ignore_errors=True)

    def open(self) -> Table:
        return hoodoo.open(self.place, dict(self.lake.store))

    def killed(self, at: int, when: str) -> None:
        """What a killed restore leaves is no other state, and the next restore ends it."""
        rows, store = self.lake.states[-1], dict(self.lake.store)
        self.empty()
        self.run(at, when)
        with suppress(HoodooError):  # it is no table yet, or says that files are missing
            assert state(self.open()) in self.lake.states, (at, when)
        if self.storage.head(properties.PATH) and not self.storage.list(MANIFESTS):
            table = self.open()  # it had ended
        else:
            table = hoodoo.restore_backup(self.backup, self.place, options=store)
        assert state(table) == rows and table.verify().ok, (at, when)
        assert table.config.index_name == hoodoo.open(self.backup, store).config.index_name
        table.upsert([{"id": 77, "v": "x", "region": "a", "ts": 9999}])
        assert state(self.open()) == rows | {(77, "x")}, (at, when)

    def killed_at_every_operation(self, whens: Sequence[str]) -> int:
        """How many trials there were."""
        self.empty()
        count = self.run(0, "before")
        for at in range(1, count + 1):
            for when in whens:
                self.killed(at, when)
        return count * len(whens)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("kind", "index", "version"), KINDS)
def test_a_restore_is_killed(tmp_path: Path, kind: str, index: str, version: int) -> None:
    found = Restored.prepared(
        Killed.prepared(str(tmp_path), kind, index, version), str(tmp_path / "r")
    )
    count = found.run(0, "before")
    chance = random.Random(f"{SEED} {kind} {index}")
    for at in chance.sample(range(1, count + 1), 2):
        found.killed(at, chance.choice(WHEN))


@pytest.mark.trial
@pytest.mark.parametrize(("kind", "index", "version"), KINDS)
def test_a_restore_is_killed_at_every_operation(
    tmp_path: Path, kind: str, index: str, version: int
) -> None:
    found = Killed.prepared(str(tmp_path), kind, index, version)
    Restored.prepared(found, str(tmp_path / "r")).killed_at_every_operation(WHEN)


@pytest.mark.trial
@pytest.mark.parametrize(("kind", "index", "version"), KINDS)
def test_a_restore_is_killed_at_every_operation_of_an_object_store(
    server: Any, kind: str, index: str, version: int
) -> None:
    place = server.bucket(f"b-{uuid4().hex}")
    found = Killed.prepared(place, kind, index, version, server.options)
    when = random.Random(f"{SEED} {kind} {index}").choice(WHEN)
    Restored.prepared(found, f"{place}/r").killed_at_every_operation([when])
