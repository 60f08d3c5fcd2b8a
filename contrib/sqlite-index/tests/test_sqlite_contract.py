"""The suites that every index that learns runs, ours or a stranger's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import hoodoo
import pytest
from hoodoo.hookspecs.index import IndexContext
from hoodoo.testing.contracts.crash import CrashTrials
from hoodoo.testing.contracts.index import LearningIndexContract
from hoodoo.testing.contracts.participant import ParticipantContract
from hoodoo_sqlite_index.index import SqliteIndex


def database(folder: Path) -> dict[str, str]:
    return {"hoodoo.index.sqlite.path": f"{folder}/keys.db"}


class TestIndex(LearningIndexContract):
    name = "sqlite"

    def options(self, folder: Path) -> Mapping[str, str]:
        return database(folder)


def test_an_index_that_ignores_archived_instants_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The suite looks at a timeline whose first instants have left it."""
    whole = SqliteIndex._ranks

    def active(self: SqliteIndex, context: IndexContext) -> tuple[tuple[str, int], ...]:
        assert context.timeline is not None
        there = {instant.requested for instant in context.timeline.writes()}
        return tuple((n, at) for n, at in whole(self, context) if n in there or not n.isdigit())

    monkeypatch.setattr(SqliteIndex, "_ranks", active)
    suite = TestIndex()
    table = hoodoo.create(
        str(tmp_path / "t"), suite.SCHEMA, record_key="id", partition_by="p", index="sqlite",
        options=database(tmp_path),
    )  # fmt: skip
    with pytest.raises(AssertionError):
        suite.test_what_was_archived_is_known(table)


class TestParticipant(ParticipantContract):
    @pytest.fixture
    def table(self, tmp_path: Path) -> Any:
        return hoodoo.create(
            str(tmp_path / "t"), self.SCHEMA, record_key="id", index="sqlite",
            options=database(tmp_path),
        )  # fmt: skip

    @pytest.fixture
    def said(self) -> Callable[[Any], object]:
        def entries(table: Any) -> object:
            suite = TestIndex()
            return suite.located(table, [str(key) for key in range(50)])

        return entries


class TestCrashes(CrashTrials):
    """A process that ends at any step of anything leaves an index that says what record_index says."""

    table = {"index": "sqlite"}
    operations = {**CrashTrials.operations, "rebuild": lambda t: t.rebuild_index("sqlite")}
    every = 5

    def options(self, folder: Path) -> Mapping[str, str]:
        return database(folder)

    def prepare(self, table: Any) -> None:
        super().prepare(table)
        table.rebuild_index("record_index")

    def check(self, table: Any) -> None:
        found = table.compare_indexes("sqlite", "record_index")
        assert found.same and not found.stale.num_rows, found
