"""The suites that every index that learns runs, ours or a stranger's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from attrs import evolve, frozen
from hoodoo.hookspecs.engine import Stream, Task
from hoodoo.hookspecs.index import KEYS_SCHEMA, IndexContext
from hoodoo.testing.contracts.crash import CrashTrials
from hoodoo.testing.contracts.index import LearningIndexContract
from hoodoo.testing.contracts.participant import ParticipantContract
from hoodoo_sqlite_index.index import SqliteIndex, _LookUp


def database(folder: Path) -> dict[str, str]:
    return {"hoodoo.index.sqlite.path": f"{folder}/keys.db"}


class TestIndex(LearningIndexContract):
    name = "sqlite"

    def options(self, folder: Path) -> Mapping[str, str]:
        return database(folder)


@frozen
class _InPaths(_LookUp):
    """The locations that lie in the partition path that is asked for."""

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            asked = pa.Table.from_batches([batch])
            for found in _LookUp.__call__(self, iter([batch]), task):
                rows = pa.Table.from_batches([found])
                yield from rows.join(asked, KEYS_SCHEMA.names, join_type="inner").to_batches()


class TestWithinPartitions(TestIndex):
    """An index of this kind whose keys are unique within a partition path alone."""

    @pytest.fixture(autouse=True)
    def within(self, monkeypatch: pytest.MonkeyPatch) -> None:
        made = SqliteIndex.from_settings

        def locate(self: SqliteIndex, keys: Stream, context: IndexContext) -> Stream:
            return context.engine.map(keys, _InPaths(self.path, self._ranks(context)))

        monkeypatch.setattr(
            SqliteIndex, "from_settings", lambda s: evolve(made(s), is_global=False)
        )
        monkeypatch.setattr(SqliteIndex, "locate", locate)

    def test_keys_are_looked_up_in_paths(self, table: Any) -> None:
        index, _ = self.context(table)
        assert not index.is_global
        table.upsert(self.rows({"k1": "p1"}))
        table.upsert(self.rows({"k1": "p2"}, 1))
        assert table.read().count() == 2


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
