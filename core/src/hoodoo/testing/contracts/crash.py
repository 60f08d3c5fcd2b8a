"""What a table promises whenever a process ends, with your plugin in it: as tests.

Usage::

    class TestCrashes(CrashTrials):
        table = {"index": "mine"}  # more arguments of hoodoo.create

        # Options of create and open; what your plugin stores by itself lies in ``folder``.
        def options(self, folder):
            return {"mine.index.path": f"{folder}/mine.db"}

        # What your plugin promises, after each crash and after the next write.
        def check(self, table):
            assert table.compare_indexes("mine", "simple").same

The suite makes small tables of the columns ``id``, ``v`` and ``region``, one of each ``kind``, and
does each of ``operations`` again and again: the process ends before the first operation on the
store, in the middle of the second, before the third, and so on, and after the last one. Then
readers see the table as it was before or as it is after, and the next writer goes on without a
manual step.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pytest

from hoodoo.hookspecs.engine import Engine
from hoodoo.model.action import ACTIONS
from hoodoo.table.table import Table, create
from hoodoo.testing.crashes import Operation, When, crash, mutations, one_thread, opened, outlive

SCHEMA = pa.schema([("id", pa.int64()), ("v", pa.string()), ("region", pa.string())])
Row = tuple[int, str, str]
Rows = tuple[Row, ...]
NEXT: Row = (99, "next", "b")


def rows(*values: Row) -> pa.Table:
    """Rows of the suite's tables: id, v, region."""
    return pa.table([pa.array(column) for column in zip(*values)], schema=SCHEMA)


def _undo(table: Table) -> object:
    return table.rollback(table.timeline().writes()[-1].requested)


def _restore(table: Table) -> object:
    return table.restore(table.timeline().writes()[-2].requested)


class CrashTrials:
    """Subclass, and say what is in the table; override what you want otherwise."""

    # More arguments of hoodoo.create.
    table: ClassVar[Mapping[str, Any]] = {}
    # What is done to the prepared table, in which the process ends. A name that is in no table of
    # the kind, as ``compact`` of a table that is copied on write, is passed over.
    operations: ClassVar[Mapping[str, Operation]] = {
        "upsert": lambda t: t.upsert(rows((1, "new", "a"), (5, "new", "b"), (6, "new", "c"))),
        "delete": lambda t: t.delete(rows((1, "", "a"), (3, "", "b")).select(["id", "region"])),
        "delete_partitions": lambda t: t.delete_partitions("b"),
        "rollback": _undo,
        "restore": _restore,
        "compact": lambda t: t.compact(),
        "cluster": lambda t: t.cluster(columns=["v"], order="linear"),
    }
    # Of all storage operations, one in so many is tried: the first of them, and from there.
    every: ClassVar[int] = 1

    def pytest_generate_tests(self, metafunc: Any) -> None:
        if "operation" in metafunc.fixturenames:
            metafunc.parametrize("operation", list(metafunc.cls.operations))

    @pytest.fixture(params=[(9, "COPY_ON_WRITE"), (9, "MERGE_ON_READ")], ids=str)
    def kind(self, request: Any) -> tuple[int, str]:
        """Version and type of the table."""
        found: tuple[int, str] = request.param
        return found

    @pytest.fixture
    def engine(self) -> Engine:
        return one_thread()

    def options(self, folder: Path) -> Mapping[str, str]:
        """Of create, and of each time that the table is opened. ``folder`` is put back before each
        trial, with all that is in it; the table is one of its directories."""
        return {}

    def prepare(self, table: Table) -> None:
        """Give the operations something to work on."""
        table.upsert(rows((1, "old", "a"), (2, "old", "a"), (3, "old", "b")))
        table.upsert(rows((2, "mid", "a"), (4, "mid", "b")))

    def check(self, table: Table) -> None:
        """What your plugin promises of the table, as a process finds it that opens it now: assert
        it."""

    def test_a_crash_leaves_the_table_old_or_new(
        self, tmp_path: Path, kind: tuple[int, str], operation: str, engine: Engine
    ) -> None:
        version, table_type = kind
        if operation == "compact" and table_type == "COPY_ON_WRITE":
            pytest.skip("such a table has no log files")
        does, folder, saved = self.operations[operation], tmp_path / "now", tmp_path / "saved"
        path, options = folder / "t", self.options(folder)
        folder.mkdir()
        made = {"record_key": "id", "partition_by": "region", **self.table}
        made["options"] = {**made.get("options", {}), **options}
        create(str(path), SCHEMA, name="t", table_version=version, table_type=table_type, **made)

        def again() -> Table:
            return opened(path, options, engine)

        def look(states: list[Rows], where: str) -> Rows:
            found = self._rows(again())
            assert found in states, f"{where}: {found}"
            self.check(again())
            return found

        self.prepare(again())
        self.check(again())
        shutil.copytree(folder, saved)
        old = self._rows(again())
        steps = mutations(path, does, options, engine)
        assert steps, "it changes nothing: this proves nothing"
        new = self._rows(again())
        self.check(again())
        whens: tuple[When, When] = ("before", "torn")
        after = [tuple(sorted((*state, NEXT))) for state in (old, new)]
        trials = [
            (at, whens[number % 2])
            for number, at in enumerate(range(1, len(steps) + 1, self.every))
        ]
        for at, when in [*trials, (len(steps), "after")]:
            shutil.rmtree(folder)
            shutil.copytree(saved, folder)
            outlive(path)
            where = f"{when} operation {at} of {len(steps)}, {' '.join(steps[at - 1])}"
            ended = crash(path, does, at, when, options, engine)
            # What takes fewer operations this time, as waiting and other workers have it, is done.
            found = look([old, new] if ended else [new], where)
            again().upsert(rows(NEXT))
            then = look(after, f"{where}, then a write")
            assert found == old or then == after[1], f"{where}: the next write undid it"
            pending = again().timeline().pending()
            left = [i for i in pending if not ACTIONS[i.action].is_service]
            assert not left, f"{where}, then a write: {left}"
            findings = again().verify().findings
            assert not findings, f"{where}, then a write: {findings}"

    # --- steps of the rules -----------------------------------------------------------------------
    def _rows(self, table: Table) -> Rows:
        found = table.read(columns=SCHEMA.names).to_arrow()
        return tuple(sorted(zip(*(found.column(name).to_pylist() for name in SCHEMA.names))))
