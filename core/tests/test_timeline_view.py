"""The timeline from names, and the file groups it makes of a listing."""

from __future__ import annotations

from pathlib import Path

import pytest
from hoodoo.errors import CorruptTableError
from hoodoo.model.commit import CommitMetadata, WriteStat
from hoodoo.model.config import TableConfig
from hoodoo.model.instant import Instant, State
from hoodoo.testing.directory import DirectoryStorage
from hoodoo.testing.stores import RecordingStorage
from hoodoo.timeline import create, timeline, view
from hoodoo.timeline.layouts import layout_of
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import Timeline


def t(n: int) -> str:
    return f"202401010000{n:05d}"


class Table:
    """A table of names: completes actions, drops empty data files."""

    def __init__(self, path: Path, version: int) -> None:
        self.store = DirectoryStorage(str(path))
        values = {"hoodie.table.name": "t", "hoodie.table.version": str(version)}
        self.config = create.init_table(self.store, TableConfig(values))
        self.layout = layout_of(self.config)

    def done(
        self, n: int, action: str = "commit", at: int | None = None, **metadata: object
    ) -> None:
        completed = t(at or n) if self.layout.names_completion else None
        instant = Instant(t(n), action, State.COMPLETED, completed)
        content = self.layout.encode_commit(CommitMetadata(**metadata), action)  # type: ignore[arg-type]
        self.file(instant, content)

    def pending(self, n: int, action: str = "commit") -> None:
        self.file(Instant(t(n), action, State.REQUESTED))
        self.file(Instant(t(n), action, State.INFLIGHT))

    def file(self, instant: Instant, content: bytes = b"") -> None:
        name = self.layout.file_name(instant)
        self.store.put(f"{self.config.timeline_path}/{name}", content)

    def base(self, group: str, n: int, partition: str = "p", token: str = "0-0-0") -> None:
        self.store.put(f"{partition}/{group}_{token}_{t(n)}.parquet".lstrip("/"), b"1")

    def log(self, group: str, n: int, version: int = 1, partition: str = "p") -> None:
        self.store.put(f"{partition}/.{group}_{t(n)}.log.{version}_{99 - version}-0-0", b"1")

    @property
    def line(self) -> Timeline:
        return timeline.load(self.store, self.config)

    def view(self, as_of: int | None = None) -> view.FileSystemView:
        return view.build(Snapshot(self.store, self.line), None if as_of is None else t(as_of))

    def seen(self, as_of: int | None = None) -> dict[str, list[int]]:
        """Group -> [number of its base instant, or 0, then of each log: instant, version]."""
        found = {}
        for s in self.view(as_of).slices:
            base = [int(s.base_file.instant[-5:])] if s.base_file else [0]
            found[s.file_id] = base + [int(f.instant[-5:]) * 10 + f.version for f in s.log_files]
        return found


@pytest.fixture(params=[6, 9])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Table:
    return Table(tmp_path, request.param)


@pytest.fixture
def v6(tmp_path: Path) -> Table:
    return Table(tmp_path, 6)


@pytest.fixture
def v9(tmp_path: Path) -> Table:
    return Table(tmp_path, 9)


# --- timeline ---------------------------------------------------------------------------------
def test_states_collapse_to_the_furthest(table: Table) -> None:
    table.pending(1)
    table.done(1)
    table.pending(2, "compaction")
    table.done(2, "commit")
    table.pending(3, "clustering")
    table.pending(4)
    table.done(1, "savepoint")
    line = table.line
    found = [(i.requested, i.action, i.state) for i in line.instants]
    clustering = "clustering" if table.layout.names_completion else "replacecommit"
    assert found == [
        (t(1), "commit", State.COMPLETED),
        (t(1), "savepoint", State.COMPLETED),
        (t(2), "commit", State.COMPLETED),
        (t(3), clustering, State.INFLIGHT),
        (t(4), "commit", State.INFLIGHT),
    ]
    assert [i.requested for i in line.pending()] == [t(3), t(4)]
    assert [i.requested for i in line.writes()] == [t(1), t(2)]
    assert line.last_instant_time() == t(4)


def test_last_instant_time_counts_completions(v9: Table) -> None:
    v9.done(1, at=9)
    v9.done(2, at=3)
    assert v9.line.last_instant_time() == t(9)
    assert v9.line.completion_time(t(1)) == t(9)


def test_two_completions_of_one_instant_count_once(v9: Table) -> None:
    v9.done(1, at=3)
    v9.done(1, at=2)
    (only,) = v9.line.instants
    assert only.completed == t(2)


def test_empty_timeline(table: Table) -> None:
    line = table.line
    assert line.last_instant_time() is None and line.start is None
    assert not line.contains_or_before_start(t(1))
    assert line.latest_schema_text(table.store) is None
    assert table.view().slices == ()


def test_older_than_the_active_timeline_is_committed(table: Table) -> None:
    table.done(2, "clean")
    table.done(3, "rollback")
    table.pending(5)
    table.done(6)
    line = table.line
    assert line.start == t(5)
    committed = [n for n in range(1, 9) if line.contains_or_before_start(t(n))]
    assert committed == [1, 2, 3, 4, 6]
    early = line.as_of(t(4))
    assert [i.requested for i in early.writes()] == []
    assert early.contains_or_before_start(t(1)) and not early.contains_or_before_start(t(6))


def test_a_savepointed_commit_is_not_the_start(table: Table) -> None:
    table.done(1)
    table.done(1, "savepoint")
    table.done(8)  # 2 to 7 archived around the savepoint
    line = table.line
    assert line.start == t(8)
    assert all(line.contains_or_before_start(t(n)) for n in (1, 5, 8))


def test_legacy_instants_order_by_the_end_of_their_second(v6: Table) -> None:
    v6.file(Instant("20240101000000", "commit"))
    v6.file(Instant("20240101000000500", "commit"))
    assert [len(i.requested) for i in v6.line.instants] == [17, 14]
    assert [len(i.requested) for i in v6.line.as_of("20240101000000999").instants] == [17, 14]
    assert [len(i.requested) for i in v6.line.as_of("20240101000000998").instants] == [17]


def test_empty_completed_file(v6: Table, tmp_path: Path) -> None:
    v6.file(Instant(t(1), "commit"))
    assert v6.line.metadata(v6.store, v6.line.instants[0]) == CommitMetadata()
    v9 = Table(tmp_path / "v9", 9)
    v9.file(Instant(t(1), "commit", State.COMPLETED, t(2)))
    with pytest.raises(CorruptTableError, match=t(1)):
        v9.line.metadata(v9.store, v9.line.instants[0])


def test_a_long_timeline_stays_cheap(table: Table) -> None:
    for n in range(300):
        table.done(n + 1, extra={"schema": "old"})
    table.done(400, "replacecommit", replaced={"p": ("a-0",)})
    table.done(500, extra={"schema": "new"})
    table.done(501)
    watched = RecordingStorage(table.store)
    line = timeline.load(watched, table.config)
    assert [op for op, _ in watched.calls] == ["list"]
    assert line.latest_schema_text(watched) == "new"
    assert line.latest_schema_text(watched, t(450)) == "old"
    assert line.replaced_file_groups(watched) == {("p", "a-0"): t(400)}
    assert line.replaced_file_groups(watched, t(399)) == {}
    gets = [path for op, path in watched.calls if op == "get"]
    assert len(gets) == len(set(gets)) == 4
    again = timeline.reload(watched, line)
    assert again == line and again.latest_schema_text(watched) == "new"
    assert len([op for op, _ in watched.calls if op == "get"]) == 4


# --- copy on write ----------------------------------------------------------------------------
def test_newest_committed_base_file_wins(table: Table) -> None:
    table.done(2)
    table.done(3)
    table.pending(4)
    for n in (1, 2, 3, 4, 5):
        table.base("a-0", n)
    table.base("b-0", 4)
    table.base("c-0", 1)
    assert table.seen() == {"a-0": [3], "c-0": [1]}
    assert table.seen(2) == {"a-0": [2], "c-0": [1]}
    assert table.seen(0) == {}
    (group,) = (g for g in table.view().groups() if g.file_id == "a-0")
    assert [s.instant for s in group.slices] == [t(3), t(2), t(1)]


def test_replaced_groups_leave_by_requested_time(table: Table) -> None:
    table.done(1, at=2)
    table.done(3, "replacecommit", at=9, replaced={"p": ("a-0",)})
    table.base("a-0", 1)
    table.base("b-0", 3)
    assert table.seen() == {"b-0": [3]}
    assert table.seen(3) == {"b-0": [3]}
    assert table.seen(2) == {"a-0": [1]}
    found = table.view()
    assert found.replaced_by("p", "a-0") == t(3)
    assert len(found.groups()) == 1 and len(found.groups(replaced=True)) == 2


def test_partitions(table: Table) -> None:
    table.done(1)
    for partition in ("a", "a/b", "ab", "", "c=1/d=2"):
        table.base("x-0", 1, partition)
    table.store.put(".hoodie/metadata/files/x-0_0-0-0_20240101000000001.parquet", b"")
    table.store.put("a/foreign.parquet", b"")
    found = table.view()
    assert found.partitions() == ("", "a", "a/b", "ab", "c=1/d=2")
    for partition in found.partitions():
        (only,) = (s for s in found.slices if s.partition_path == partition)
        assert only.size == 1
    some = view.build(Snapshot(table.store, table.line), partitions=["a", "c=1/d=2", "nowhere"])
    assert some.partitions() == ("a", "c=1/d=2")


def test_two_base_files_of_one_instant(table: Table) -> None:
    table.base("a-0", 1, token="0-0-0")
    table.base("a-0", 1, token="0-0-1")
    table.done(1)
    with pytest.raises(CorruptTableError, match="two base files"):
        table.view()
    path = f"p/a-0_0-0-1_{t(1)}.parquet"
    table.done(1, stats=(WriteStat("p", "a-0", path),))
    (only,) = table.view().slices
    assert only.base_file is not None and only.base_file.path == path


# --- merge on read ----------------------------------------------------------------------------
def test_v6_logs_follow_their_base_instant(v6: Table) -> None:
    v6.done(1, "deltacommit")
    v6.done(3, "commit")
    v6.pending(7, "compaction")
    v6.base("a-0", 1)
    v6.log("a-0", 1, 2)
    v6.log("a-0", 1, 1)
    v6.base("a-0", 3)
    v6.log("a-0", 3, 1)
    v6.log("a-0", 7, 1)  # written while a compaction is pending: continues the slice before
    v6.log("b-0", 1, 1)  # log-only
    assert v6.seen() == {"a-0": [3, 31, 71], "b-0": [0, 11]}
    assert v6.seen(6) == {"a-0": [3, 31], "b-0": [0, 11]}
    assert v6.seen(1) == {"a-0": [1, 11, 12], "b-0": [0, 11]}


def test_v9_logs_follow_completion_time(v9: Table) -> None:
    v9.done(1, "deltacommit", at=2)
    v9.done(3, "deltacommit", at=4)
    v9.done(5, "deltacommit", at=9)  # requested before the compaction, completed after
    v9.done(6, "commit", at=8)  # compaction
    v9.done(10, "deltacommit", at=11)
    v9.pending(12, "deltacommit")
    v9.base("a-0", 1)
    for n in (3, 5, 10, 12):
        v9.log("a-0", n)
    v9.base("a-0", 6)
    v9.log("b-0", 3)
    v9.log("b-0", 10)
    assert v9.seen() == {"a-0": [6, 51, 101], "b-0": [0, 31, 101]}
    assert v9.seen(5) == {"a-0": [1, 31, 51], "b-0": [0, 31]}
    group = v9.view().group("p", "a-0")
    assert group is not None
    assert [len(s.log_files) for s in group.slices] == [2, 1]
