"""Which batches the timeline says are in the table, and how far back one has to look."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hoodoo.errors import ConfigError, CorruptTableError
from hoodoo.model.commit import CommitMetadata, Operation
from hoodoo.model.config import TableConfig
from hoodoo.model.instant import Instant, State
from hoodoo.testing.directory import DirectoryStorage
from hoodoo.testing.stores import RecordingStorage
from hoodoo.timeline import create, timeline
from hoodoo.timeline.batches import Batch
from hoodoo.timeline.layouts import layout_of
from hoodoo.timeline.snapshot import Snapshot
from hoodoo_rows.write import batches
from hoodoo_rows.write.batches import HUDI_KEY, OWN_KEY, REMEMBERED


def t(n: int) -> str:
    return f"202401010000{n:05d}"


class Table:
    """A timeline of commits that say what they say."""

    def __init__(self, path: Path, version: int = 9) -> None:
        self.store = RecordingStorage(DirectoryStorage(str(path)))
        values = {"hoodie.table.name": "t", "hoodie.table.version": str(version)}
        self.config = create.init_table(self.store, TableConfig(values))
        self.layout = layout_of(self.config)

    @property
    def line(self) -> timeline.Timeline:
        return timeline.load(self.store, self.config)

    def done(
        self,
        n: int,
        extra: dict[str, str] | None = None,
        action: str = "commit",
        operation: Operation = Operation.UPSERT,
    ) -> None:
        completed = t(n) if self.layout.names_completion else None
        metadata = CommitMetadata(operation, extra={"schema": '"int"', **(extra or {})})
        content = self.layout.encode_commit(metadata, action)
        self._put(Instant(t(n), action, State.COMPLETED, completed), content)

    def pending(self, n: int, action: str = "commit") -> None:
        self._put(Instant(t(n), action, State.REQUESTED))

    def _put(self, instant: Instant, content: bytes = b"") -> None:
        name = self.layout.file_name(instant)
        self.store.put(f"{self.config.timeline_path}/{name}", content)

    def write(
        self, n: int, batch: Batch | None = None, seen: timeline.Timeline | None = None
    ) -> None:
        """As a write does it that has seen ``seen``, or all there is."""
        instant = Instant(t(n), "commit")
        self.done(
            n, batches.extra_metadata(Snapshot(self.store, seen or self.line), instant, batch)
        )

    def has(self, batch: Batch) -> bool:
        return batches.applied(Snapshot(self.store, self.line), batch).has(batch)

    def extra(self, n: int) -> dict[str, str]:
        line = self.line
        found = line.find(t(n))
        assert found is not None
        return dict(line.metadata(self.store, found).extra)

    def reads(self) -> int:
        """Commits that a fresh look reads."""
        before = len(self.store.calls)
        batches.applied(Snapshot(self.store, self.line))
        return sum(op == "get" for op, _ in self.store.calls[before:])


@pytest.fixture(params=[6, 9])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Table:
    return Table(tmp_path / "t", request.param)


def test_a_batch_is_known_by_stream_and_number(table: Table) -> None:
    table.write(1, Batch("a", 0, "q"))
    table.write(2, Batch("a", 1, "q"))
    assert table.has(Batch("a", 1, "q")) and table.has(Batch("a", 0, "q"))
    assert not table.has(Batch("a", 2, "q"))
    assert not table.has(Batch("b", 1, "q"))
    assert not table.has(Batch("a", 1, "new checkpoint"))
    assert not table.has(Batch("a", 0, "new checkpoint"))


def test_streams_do_not_hide_each_other(table: Table) -> None:
    for n in range(8):
        table.write(n + 1, Batch("ab"[n % 2], n // 2, "q"))
    assert table.has(Batch("a", 3, "q")) and table.has(Batch("b", 3, "q"))
    assert not table.has(Batch("a", 4, "q")) and not table.has(Batch("b", 4, "q"))


def test_two_queries_may_have_one_identifier(table: Table) -> None:
    table.write(1, Batch("a", 7, "one"))
    table.write(2, Batch("a", 0, "two"))
    assert table.has(Batch("a", 7, "one")) and not table.has(Batch("a", 8, "one"))
    assert table.has(Batch("a", 0, "two")) and not table.has(Batch("a", 1, "two"))


def test_it_is_written_as_hudi_writes_it(table: Table) -> None:
    table.write(1, Batch("a", 3, "q"))
    table.write(2, Batch("b", 4, "q"))
    assert table.extra(2)[HUDI_KEY] == '{"b":"4"}'


def test_what_hudi_wrote_is_understood(table: Table) -> None:
    """The last batch is known; smaller numbers are a new checkpoint's, which is not skipped."""
    table.done(1, {HUDI_KEY: '{"default_single_writer":"4"}'})
    table.done(2, {HUDI_KEY: '{"default_single_writer":"5"}'})
    table.done(3)
    assert table.has(Batch("default_single_writer", 5, "q"))
    assert not table.has(Batch("default_single_writer", 6, "q"))
    assert not table.has(Batch("default_single_writer", 4, "q"))
    assert not table.has(Batch("q", 5, "q"))
    table.write(4, Batch("default_single_writer", 0, "new"))
    assert not table.has(Batch("default_single_writer", 5, "new"))
    assert table.has(Batch("default_single_writer", 5, "q"))


def test_sinks_that_change_to_and_fro(table: Table) -> None:
    """Hudi's batch is newer than what the query says of itself."""
    table.write(1, Batch("a", 1, "q"))
    table.done(2, {HUDI_KEY: '{"a":"2"}'})
    assert table.has(Batch("a", 2, "q")) and not table.has(Batch("a", 3, "q"))
    table.write(3, Batch("a", 3, "q"))
    assert table.has(Batch("a", 3, "q")) and not table.has(Batch("a", 4, "q"))


def test_other_commits_in_between(table: Table) -> None:
    """Writes hand it on; what others and services commit is passed over."""
    table.write(1, Batch("a", 0, "q"))
    table.write(2)
    assert OWN_KEY in table.extra(2) and HUDI_KEY not in table.extra(2)
    table.done(3, operation=Operation.COMPACT)
    table.write(4)
    assert OWN_KEY in table.extra(4)
    table.done(5)  # Spark Hudi
    table.done(6, action="deltacommit")
    assert table.has(Batch("a", 0, "q")) and not table.has(Batch("a", 1, "q"))
    table.write(7, Batch("b", 0, "q"))
    assert table.has(Batch("a", 0, "q")) and table.has(Batch("b", 0, "q"))


def test_one_does_not_look_further_back_than_needed(table: Table) -> None:
    for n in range(1, 9):
        table.done(n)
    table.write(9, Batch("a", 0, "q"))
    assert table.reads() == 1
    for n in range(10, 15):
        table.write(n, Batch("a", n, "q") if n % 2 else None)
    assert table.reads() == 1
    table.done(15)
    assert table.reads() == 2
    assert table.has(Batch("a", 13, "q"))


def test_a_table_without_streams_says_nothing(table: Table) -> None:
    table.done(1)
    table.write(2)
    assert set(table.extra(2)) == {"schema"}


def test_what_was_pending_is_looked_at_again(table: Table) -> None:
    """A write that was under way when another one looked is not lost behind it."""
    table.write(1, Batch("a", 0, "q"))
    before = table.line
    table.pending(2)
    during = table.line
    table.write(3, Batch("b", 0, "q"), during)
    table.write(4, Batch("b", 1, "q"), during)
    table.write(2, Batch("a", 1, "q"), before)
    assert table.has(Batch("a", 1, "q"))
    assert table.has(Batch("b", 1, "q"))
    table.write(5, None)
    assert table.has(Batch("a", 1, "q")) and not table.has(Batch("a", 2, "q"))


def test_an_old_copy_does_not_win(table: Table) -> None:
    table.write(1, Batch("a", 5, "q"))
    after = table.line
    table.write(2, Batch("a", 6, "q"), after)
    table.write(3, Batch("b", 0, "q"), after)  # saw 5
    assert table.has(Batch("a", 6, "q"))


@pytest.mark.sampled(1, among="long")
def test_the_list_does_not_grow_forever(table: Table) -> None:
    for n in range(REMEMBERED + 20):
        table.write(n + 1, Batch(f"s{n}", 0, "q"))
    assert table.extra(REMEMBERED + 20)[OWN_KEY].count('"q"') == REMEMBERED
    assert table.has(Batch("s20", 0, "q")) and table.has(Batch(f"s{REMEMBERED + 19}", 0, "q"))


@pytest.mark.sampled(1, among="long")
def test_a_stream_that_a_full_list_lacks_is_looked_up(table: Table) -> None:
    """Its own commits name it; a stream that is there, or a list that is not full, costs no more reads."""
    for n in range(REMEMBERED + 20):
        table.write(n + 1, Batch(f"s{n}", 7, "q"))
    assert table.has(Batch("s0", 7, "q")) and table.has(Batch("s19", 7, "q"))
    assert not table.has(Batch("s19", 8, "q")) and not table.has(Batch("another", 0, "q"))
    table.write(REMEMBERED + 21, Batch("s0", 8, "q"))
    assert table.has(Batch("s0", 8, "q")) and not table.has(Batch("s0", 9, "q"))
    assert table.reads() <= 2


@pytest.mark.parametrize(
    "extra",
    [
        {HUDI_KEY: "5"},
        {HUDI_KEY: '{"a": "x"}'},
        {OWN_KEY: "{}"},
        {OWN_KEY: '{"upto": "", "batches": [["a", "q", 1]]}'},
    ],
)
def test_damage_is_named(table: Table, extra: dict[str, str]) -> None:
    table.done(1, extra)
    with pytest.raises(CorruptTableError, match=next(iter(extra))) as caught:
        table.has(Batch("a", 0, "q"))
    assert t(1) in caught.value.obj


@pytest.mark.parametrize(
    ("identifier", "number"),
    [("", 0), ("a", -1), ("a", 1.5), ("a", 1.0), ("a", "1"), ("a", None), (None, 1), (7, 1), ("a", np.float64(1))],
)  # fmt: skip
def test_a_batch_has_a_name_and_a_whole_number(identifier: Any, number: Any) -> None:
    with pytest.raises(ConfigError, match="whole number"):
        Batch(identifier, number)


def test_a_number_of_numpy_is_a_number(table: Table) -> None:
    table.write(1, Batch("a", np.int64(3), "q"))
    assert table.has(Batch("a", np.uint8(3), "q")) and not table.has(Batch("a", 4, "q"))
    assert type(Batch("a", np.int64(3)).number) is int
