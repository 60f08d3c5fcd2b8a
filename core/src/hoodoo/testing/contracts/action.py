"""What every action promises: the contract of :class:`hoodoo.hookspecs.action.Action` as tests.

Usage::

    class TestMine(ActionContract):
        table = {"partition_by": "region"}

        @pytest.fixture
        def action(self):
            return "mine"  # its name, if it is installed, or an object

        def prepare(self, table):
            super().prepare(table)  # or whatever gives it something to do

The suite makes small tables of the columns ``id``, ``v`` and ``region`` on the local engine, one of
each ``kind``, and ends the process before and in the middle of each storage operation of a run, and
after the last one.
"""

from __future__ import annotations

import inspect
import os
import shutil
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal

import pyarrow as pa
import pytest
from attrs import frozen

from hoodoo.errors import ConfigError, HoodooError
from hoodoo.hookspecs.action import Action, AfterWrite, FollowsWrites, Schedules
from hoodoo.kernel.answers import plain
from hoodoo.kernel.resolve import resolve
from hoodoo.storage.api import Storage
from hoodoo.storage.temporaries import TEMP_DIR
from hoodoo.table.table import Table, create
from hoodoo.testing.crashes import one_thread
from hoodoo.testing.directory import DirectoryStorage
from hoodoo.testing.stores import MUTATING, Crash, CrashingStorage, GatedStorage, RecordingStorage
from hoodoo.timeline import properties
from hoodoo.timeline.decision import FOLDER as LEDGER
from hoodoo.timeline.heartbeat import FOLDER as HEARTBEATS
from hoodoo.timeline.heartbeat import THREAD as HEARTBEAT

SCHEMA = pa.schema([("id", pa.int64()), ("v", pa.string()), ("region", pa.string())])
Row = tuple[int, str, str]
Rows = tuple[Row, ...]
Wrap = Callable[[Storage], Storage]
_NEXT: Row = (99, "next", "b")
_PAST = 2 * 86400


def rows(*values: Row) -> pa.Table:
    """Rows of the suite's tables: id, v, region."""
    return pa.table([pa.array(column) for column in zip(*values)], schema=SCHEMA)


@frozen
class Prepared:
    """A table to copy, and the options that its runs get."""

    path: Path
    options: Mapping[str, Any]


class ActionContract:
    """Subclass, and answer the fixture ``action``; :meth:`prepare` where three upserts give it
    nothing to do."""

    # More arguments of hoodoo.create for the suite's tables.
    table: ClassVar[Mapping[str, Any]] = {}
    # What these are opened with.
    opened_with: ClassVar[Mapping[str, str]] = {}
    # Whether a run changes what readers see; where it does not, no row may change.
    changes_rows: ClassVar[bool] = False
    # How often it does something: where it finds something to do; each time, as it makes something
    # again for each caller; or never, as it only looks.
    effect: ClassVar[Literal["due", "each time", "never"]] = "due"
    # Of an action that follows writes: options with which it is due after the writes of prepare(),
    # and such as it has to refuse.
    inline: ClassVar[Mapping[str, str]] = {}
    wrong: ClassVar[Mapping[str, str]] = {}

    @pytest.fixture
    def action(self) -> Any:
        raise NotImplementedError("override the fixture `action`")

    @pytest.fixture(params=[(9, "COPY_ON_WRITE"), (6, "MERGE_ON_READ")], ids=str)
    def kind(self, request: Any) -> tuple[int, str]:
        """Version and type of the table."""
        found: tuple[int, str] = request.param
        return found

    def prepare(self, table: Table) -> None:
        """Give the action something to do."""
        table.upsert(rows((1, "old", "a"), (2, "old", "a"), (3, "old", "b")))
        table.upsert(rows((2, "mid", "a"), (4, "mid", "b")))
        table.upsert(rows((1, "new", "a"), (3, "new", "b")))

    def options(self, table: Table) -> Mapping[str, Any]:
        """The options of a run, and of a schedule, of the prepared table; it may have no commit."""
        return {}

    # --- tables -----------------------------------------------------------------------------------
    def open(
        self, path: Path, wrap: Wrap | None = None, options: Mapping[str, str] | None = None
    ) -> Table:
        """The table as a new process opens it."""
        store = DirectoryStorage(str(path))
        given = {**self.opened_with, **(options or {})}
        return Table(wrap(store) if wrap else store, properties.load(store), given, one_thread())

    @pytest.fixture
    def created(self, tmp_path: Path, kind: tuple[int, str]) -> Path:
        """A table without commits."""
        version, table_type = kind
        create(
            str(tmp_path / "new"), SCHEMA, name="t", record_key="id", table_version=version,
            table_type=table_type, **self.table,
        )  # fmt: skip
        return tmp_path / "new"

    @pytest.fixture
    def prepared(self, tmp_path: Path, created: Path) -> Prepared:
        path = shutil.copytree(created, tmp_path / "prepared")
        self.prepare(self.open(path))
        return Prepared(path, self.options(self.open(path)))

    # --- the rules --------------------------------------------------------------------------------
    def test_obeys_the_protocol(self, action: Any, prepared: Prepared) -> None:
        found = _made(action, self.open(prepared.path))
        assert isinstance(found, Action)
        pair = [callable(getattr(found, name, None)) for name in ("schedule", "run_planned")]
        assert pair[0] == pair[1], "schedule and run_planned come together"
        assert "table" in inspect.signature(found.run).parameters, "run gets the table first"
        if isinstance(found, FollowsWrites):
            assert self.inline and self.wrong, "say with which options it follows writes"

    def test_a_run_does_something_and_says_what(
        self, action: Any, prepared: Prepared, tmp_path: Path
    ) -> None:
        before, old = _files(prepared.path), self._rows(prepared.path)
        answer = self.open(prepared.path).run(action, **prepared.options)
        assert answer is not None, "the caller of table.run learns nothing"
        if self.effect == "never":
            assert _files(prepared.path) == before, "it only looks"
            return
        assert _files(prepared.path) != before, (
            "prepare() gives it nothing to do: this proves nothing"
        )
        assert (self._rows(prepared.path) != old) == self.changes_rows
        assert not self.open(prepared.path).timeline().pending()

    def test_a_second_run_changes_nothing(self, action: Any, prepared: Prepared) -> None:
        first = self.open(prepared.path).run(action, **prepared.options)
        before = _files(prepared.path)
        again = self.open(prepared.path).run(action, **prepared.options)
        assert type(again) is type(first), "run returns one type, whether or not it did something"
        if self.effect == "each time":
            return
        assert _files(prepared.path) == before
        if isinstance(_made(action, self.open(prepared.path)), Schedules):
            assert self.open(prepared.path).schedule(action, **prepared.options) is None
            assert _files(prepared.path) == before

    def test_a_table_without_commits_stays_so(self, action: Any, created: Path) -> None:
        options, before = self.options(self.open(created)), self.open(created).timeline()
        try:
            self.open(created).run(action, **options)
        except HoodooError:
            pass  # it may also say that there is nothing
        after = self.open(created).timeline()
        assert not after.writes()
        assert after.instants == before.instants or self.effect == "each time"

    def test_an_unknown_option_is_an_error(self, action: Any, prepared: Prepared) -> None:
        before = _files(prepared.path)
        wrong = {**prepared.options, "no_such_option": "1"}
        with pytest.raises(HoodooError):
            self.open(prepared.path).run(action, **wrong)
        if isinstance(_made(action, self.open(prepared.path)), Schedules):
            with pytest.raises(HoodooError):
                self.open(prepared.path).schedule(action, **wrong)
        assert _files(prepared.path) == before

    def test_a_plan_is_run_by_whom_it_meets(
        self, action: Any, prepared: Prepared, tmp_path: Path
    ) -> None:
        if not isinstance(_made(action, self.open(prepared.path)), Schedules):
            pytest.skip("it is never planned")
        whole = self._whole(action, prepared, tmp_path)
        old = self._rows(prepared.path)
        instant = self.open(prepared.path).schedule(action, **prepared.options)
        assert isinstance(instant, str), "prepare() gives it nothing to do: this proves nothing"
        assert instant in {i.requested for i in self.open(prepared.path).timeline().pending()}
        assert self._rows(prepared.path) == old, "a plan changes no row"
        other = shutil.copytree(prepared.path, tmp_path / "other")
        done = self.open(prepared.path).run_planned(action, instant)
        assert done is not None
        assert self._rows(prepared.path) == self._rows(whole)
        assert not self.open(prepared.path).timeline().pending()
        before = _files(prepared.path)
        try:
            assert self.open(prepared.path).run_planned(action, instant) == done
        except ConfigError:
            pass  # it may answer the same again, or say that there is no such plan
        with pytest.raises(ConfigError):
            self.open(prepared.path).run_planned(action, "20240101000000000")
        assert _files(prepared.path) == before
        self.open(other).run(action, **prepared.options)  # finishes what is pending
        assert self._rows(other) == self._rows(whole)
        assert not self.open(other).timeline().pending()

    def test_after_a_write_it_is_due_once(self, action: Any, prepared: Prepared) -> None:
        if not isinstance(_made(action, self.open(prepared.path)), FollowsWrites):
            pytest.skip("it follows no writes")
        before = _files(prepared.path)
        service = self._service(action, prepared.path, self.inline)
        assert _files(prepared.path) == before, "after_write is called before the write"
        assert isinstance(service, AfterWrite)
        table = self.open(prepared.path, options=self.inline)
        assert service.run(table.timeline(), one_thread) is True
        assert _files(prepared.path) != before
        before = _files(prepared.path)
        service = self._service(action, prepared.path, self.inline)
        assert isinstance(service, AfterWrite)
        assert service.run(table.timeline(), one_thread) is False
        assert _files(prepared.path) == before

    def test_wrong_options_are_refused_before_a_write(
        self, action: Any, prepared: Prepared
    ) -> None:
        if not isinstance(_made(action, self.open(prepared.path)), FollowsWrites):
            pytest.skip("it follows no writes")
        before = _files(prepared.path)
        with pytest.raises(ConfigError):
            self._service(action, prepared.path, {**self.inline, **self.wrong})
        assert _files(prepared.path) == before

    def test_a_crash_leaves_the_table_old_or_new(
        self, action: Any, prepared: Prepared, tmp_path: Path
    ) -> None:
        """And the next writer, and the same call again, go on without a manual step."""
        whole = self._whole(action, prepared, tmp_path)
        old, new = self._rows(prepared.path), self._rows(whole)
        steps = self._steps(action, prepared, tmp_path / "counted")
        assert bool(steps) == (self.effect != "never")
        for at in range(1, len(steps) + 1):
            for when in ("before", "torn") if at < len(steps) else ("before", "torn", "after"):
                where = f"{when} operation {at}: {steps[at - 1]}"
                crashed = _copied(prepared.path, tmp_path / "crashed")
                self._crash(action, crashed, prepared.options, at, when)
                found = self._rows(crashed)
                assert found in (old, new), f"{where}: {found}"
                written = _copied(crashed, tmp_path / "written")
                self.open(written).upsert(rows(_NEXT))
                after = self._rows(written)
                left = [tuple(sorted((*state, _NEXT))) for state in (old, new)]
                assert after in left, f"{where}, then a write: {after}"
                assert found == old or after == left[1], f"{where}: the next write undid it"
                self.open(crashed).run(action, **prepared.options)
                again = self._rows(crashed)
                assert again == new, f"{where}, then the same call: {again}"
                pending = self.open(crashed).timeline().pending()
                assert not pending, f"{where}: {pending} after the same call"

    def test_a_writer_in_between_comes_before_or_after(
        self, action: Any, prepared: Prepared, tmp_path: Path
    ) -> None:
        """Another writer commits before the first, a middle and the last operation of a run. The
        rows are those of the write and then the run, or of the run and then the write. A run that
        fails is repeated, and may fail again."""
        if self.effect == "never":
            pytest.skip("it only looks")
        regions = sorted({region for _, _, region in self._rows(prepared.path)})
        more = rows(*((100 + n, "between", region) for n, region in enumerate(regions)))
        old = self._written(_copied(prepared.path, tmp_path / "written"), more)
        before = _copied(tmp_path / "written", tmp_path / "before")
        self.open(before).run(action, **prepared.options)
        after = self._written(self._whole(action, prepared, tmp_path), more)
        steps = self._steps(action, prepared, tmp_path / "counted")
        for at in sorted({1, len(steps) // 2, len(steps)}):
            met = _copied(prepared.path, tmp_path / "met")
            came: list[str] = []

            def gate(
                op: str, path: str, at: int = at, met: Path = met, came: list[str] = came
            ) -> None:
                if op in MUTATING and threading.current_thread().name != HEARTBEAT:
                    came.append(op)
                    if len(came) == at:
                        self._written(met, more)

            allowed = {self._rows(before), after}
            try:
                self.open(met, partial(GatedStorage, gate=gate)).run(action, **prepared.options)
            except HoodooError:
                allowed.add(old)
                with suppress(HoodooError):  # it goes on with what is pending
                    self.open(met).run(action, **prepared.options)
            found = self._rows(met)
            assert found in allowed, f"a write before operation {at}, {steps[at - 1]}: {found}"

    # --- steps of the rules -----------------------------------------------------------------------
    def _written(self, path: Path, more: pa.Table) -> Rows:
        """The rows of the table after an upsert of ``more``."""
        self.open(path).upsert(more)
        return self._rows(path)

    def _rows(self, path: Path) -> Rows:
        found = self.open(path).read(columns=SCHEMA.names).to_arrow()
        return tuple(sorted(zip(*(found.column(name).to_pylist() for name in SCHEMA.names))))

    def _whole(self, action: Any, prepared: Prepared, tmp_path: Path) -> Path:
        """The prepared table after a run."""
        path = _copied(prepared.path, tmp_path / "whole")
        self.open(path).run(action, **prepared.options)
        return path

    def _steps(self, action: Any, prepared: Prepared, path: Path) -> list[tuple[str, str]]:
        stores: list[RecordingStorage] = []

        def recording(inner: Storage) -> Storage:
            stores.append(RecordingStorage(inner))
            return stores[0]

        table = self.open(_copied(prepared.path, path), recording)
        table.run(action, **prepared.options)
        return stores[0].mutations

    def _crash(
        self, action: Any, path: Path, options: Mapping[str, Any], at: int, when: Any
    ) -> None:
        stores: list[CrashingStorage] = []

        def crashing(inner: Storage) -> Storage:
            stores.append(CrashingStorage(inner, at, when))
            return stores[0]

        try:
            self.open(path, crashing).run(action, **options)
        except Crash:
            pass
        assert stores[0].crashed, f"there was no operation {at}"
        past = time.time() - _PAST  # nobody can be writing what the process has left
        for folder in (TEMP_DIR, HEARTBEATS):
            for directory, _, names in os.walk(path / folder):
                for name in names:
                    os.utime(os.path.join(directory, name), (past, past))

    def _service(self, action: Any, path: Path, options: Mapping[str, str]) -> AfterWrite | None:
        table = self.open(path, options=options)
        found = _made(action, table)
        assert isinstance(found, FollowsWrites)
        return found.after_write(table.handle)


def _made(action: Any, table: Table) -> Any:
    """The action itself."""
    return plain(resolve("action", action, table.handle.settings).instance)


def _copied(source: Path, target: Path) -> Path:
    shutil.rmtree(target, ignore_errors=True)
    return shutil.copytree(source, target)


def _files(path: Path) -> dict[str, bytes]:
    """The table's files; not what tells processes from each other, and is swept by time."""
    found = {}
    for file in path.rglob("*"):
        name = str(file.relative_to(path))
        if file.is_file() and not name.startswith((TEMP_DIR, HEARTBEATS, LEDGER)):
            found[name] = file.read_bytes()
    return found
