"""What every archived timeline promises: the contract of
:class:`hoodoo.hookspecs.archived_timeline.ArchivedTimeline` as tests.

Usage::

    class TestMine(ArchivedTimelineContract):
        version = 9                      # a table version of the layout that it is for

        @pytest.fixture
        def archived(self):
            return MyArchive(...)
"""

from __future__ import annotations

from pathlib import Path

import pytest

from hoodoo.hookspecs.archived_timeline import Archivable, ArchivedTimeline
from hoodoo.model.commit import CommitMetadata, Operation, WriteStat
from hoodoo.model.config import TableConfig
from hoodoo.model.instant import Instant, State
from hoodoo.storage.api import Storage
from hoodoo.testing.directory import DirectoryStorage
from hoodoo.testing.stores import Crash, CrashingStorage
from hoodoo.timeline import create
from hoodoo.timeline.timeline import Timeline, load


class ArchivedTimelineContract:
    """Subclass, and answer the fixture ``archived``."""

    version: int

    @pytest.fixture
    def archived(self) -> ArchivedTimeline:
        raise NotImplementedError("override the fixture `archived`")

    @pytest.fixture
    def storage(self, tmp_path: Path) -> DirectoryStorage:
        return DirectoryStorage(str(tmp_path))

    @pytest.fixture
    def config(self, storage: DirectoryStorage) -> TableConfig:
        values = {"hoodie.table.name": "t", "hoodie.table.version": str(self.version)}
        return create.init_table(storage, TableConfig(values))

    def commit(self, number: int) -> CommitMetadata:
        return CommitMetadata(Operation.UPSERT, (WriteStat("p", "f", f"p/f_{number}.parquet"),))

    def archivable(self, storage: Storage, config: TableConfig, number: int) -> Archivable:
        """A commit that is on the active timeline with all its files."""
        timeline = load(storage, config)
        requested = f"20240101{number:09d}"
        completed = f"20240101{number + 1:09d}" if timeline.layout.names_completion else None
        content = timeline.layout.encode_commit(self.commit(number), "commit")
        files = (
            (Instant(requested, "commit", State.REQUESTED), b""),
            (Instant(requested, "commit", State.INFLIGHT), b""),
            (Instant(requested, "commit", State.COMPLETED, completed), content),
        )
        for step, data in files:
            storage.put_if_absent(timeline.path(step), data)
        return Archivable(files[-1][0], files)

    def archive(
        self, archived: ArchivedTimeline, storage: Storage, config: TableConfig, *numbers: int
    ) -> Timeline:
        found = [self.archivable(storage, config, number) for number in numbers]
        timeline = load(storage, config)
        archived.add(storage, timeline, found)
        archived.tidy(storage, config)
        return timeline

    def numbers(
        self, archived: ArchivedTimeline, storage: Storage, config: TableConfig, since: int = 0
    ) -> list[int]:
        point = f"20240101{since:09d}" if since else None
        return sorted({int(i.requested[8:]) for i in archived.instants(storage, config, point)})

    def test_nothing_is_archived_at_first(
        self, archived: ArchivedTimeline, storage: DirectoryStorage, config: TableConfig
    ) -> None:
        assert self.numbers(archived, storage, config) == []
        assert archived.oldest(storage, config) is None

    def test_what_is_added_is_there_and_says_what_it_said(
        self, archived: ArchivedTimeline, storage: DirectoryStorage, config: TableConfig
    ) -> None:
        timeline = self.archive(archived, storage, config, 1, 3)
        self.archive(archived, storage, config, 5)
        assert self.numbers(archived, storage, config) == [1, 3, 5]
        assert archived.oldest(storage, config) == "20240101000000001"
        assert self.numbers(archived, storage, config, since=5)[-1:] == [5]
        for found in archived.instants(storage, config):
            said, put = found.metadata(), self.commit(int(found.requested[8:]))
            assert (said.operation, said.stats[0].path) == (put.operation, put.stats[0].path)
            assert found.instant in load(storage, config).instants
            assert (found.completed is None) is not timeline.layout.names_completion

    def test_nothing_is_added_twice(
        self, archived: ArchivedTimeline, storage: DirectoryStorage, config: TableConfig
    ) -> None:
        self.archive(archived, storage, config, 1, 3)
        self.archive(archived, storage, config, 1, 3)
        found = [i.requested for i in archived.instants(storage, config)]
        assert len(found) == len(set(found)) == 2

    def test_all_lies_in_the_folder_of_the_layout(
        self, archived: ArchivedTimeline, storage: DirectoryStorage, config: TableConfig
    ) -> None:
        self.archivable(storage, config, 1)
        before = {e.path for e in storage.list(recursive=True) if not e.is_dir}
        timeline = self.archive(archived, storage, config, 1)
        folder = timeline.layout.archive_folder(config)
        new = {e.path for e in storage.list(recursive=True) if not e.is_dir} - before
        assert new and all(path.startswith(f"{folder}/") for path in new)

    def test_a_crash_at_any_step_loses_nothing(
        self, archived: ArchivedTimeline, tmp_path: Path
    ) -> None:
        for step in range(1, 100):
            inner = DirectoryStorage(str(tmp_path / str(step)))
            values = {"hoodie.table.name": "t", "hoodie.table.version": str(self.version)}
            config = create.init_table(inner, TableConfig(values))
            self.archive(archived, inner, config, 1)
            found = [self.archivable(inner, config, 3)]
            crashing = CrashingStorage(inner, step)
            try:
                archived.add(crashing, load(inner, config), found)
            except Crash:
                assert 1 in self.numbers(archived, inner, config)
                self.archive(archived, inner, config, 3)
                assert self.numbers(archived, inner, config) == [1, 3]
                continue
            assert self.numbers(archived, inner, config) == [1, 3]
            return
        raise AssertionError("it takes more than a hundred steps")
