"""Conflict strategies: the contract, and a table of cases for each of them."""

from __future__ import annotations

from typing import Any

import pytest
from hoodoo.hookspecs.conflict import Change, ConflictStrategy
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.resolve import resolve
from hoodoo.model.commit import Operation
from hoodoo.testing.contracts.conflict import ConflictContract, made_change
from hoodoo_standard.conflict.strategies import FileGroups, LogAppends, PreferWriter

JAVA = "org.apache.hudi.client.transaction."
STRATEGIES: dict[str, ConflictStrategy] = {
    "file_groups": FileGroups(),
    "log_appends": LogAppends(),
    "prefer_writer": PreferWriter(),
}
ALL = set(STRATEGIES)


class TestFileGroups(ConflictContract):
    @pytest.fixture
    def strategy(self) -> ConflictStrategy:
        return FileGroups()


class TestLogAppends(ConflictContract):
    @pytest.fixture
    def strategy(self) -> ConflictStrategy:
        return LogAppends()


class TestPreferWriter(ConflictContract):
    @pytest.fixture
    def strategy(self) -> ConflictStrategy:
        return PreferWriter()


@pytest.mark.parametrize(
    ("name", "alias"),
    [
        ("file_groups", f"{JAVA}SimpleConcurrentFileWritesConflictResolutionStrategy"),
        ("file_groups", f"{JAVA}BucketIndexConcurrentFileWritesConflictResolutionStrategy"),
        ("log_appends", "NON_BLOCKING_CONCURRENCY_CONTROL"),
        ("log_appends", "non_blocking_concurrency_control"),
        ("prefer_writer", f"{JAVA}PreferWriterConflictResolutionStrategy"),
    ],
)
def test_names(name: str, alias: str) -> None:
    for asked in (name, alias):
        assert resolve("conflict", asked, Settings()).instance == STRATEGIES[name]


A1, A2, B1 = ("a", "f1"), ("a", "f2"), ("b", "f1")
BUCKET = ("a", "bucket 3")
OVERWRITE, TABLE = Operation.INSERT_OVERWRITE, Operation.INSERT_OVERWRITE_TABLE
COMPACT, CLUSTER, INSERT = Operation.COMPACT, Operation.CLUSTER, Operation.INSERT


def change(operation: Operation = Operation.UPSERT, *args: Any, **more: Any) -> Change:
    return made_change(1, operation, *args, **more)


UPSERT = Operation.UPSERT
# What the two did, and whose conflict it is, the same in both directions.
CASES: dict[str, tuple[Change, Change, set[str]]] = {
    "one file group": (change(UPSERT, [A1]), change(UPSERT, [A1, B1]), ALL),
    "one name in two partitions": (change(UPSERT, [A1]), change(UPSERT, [B1]), set()),
    "two groups of a partition": (change(UPSERT, [A1]), change(UPSERT, [A2]), set()),
    "two appends to a group": (
        change(UPSERT, [], [A1]), change(UPSERT, [], [A1]), ALL - {"log_appends"},
    ),
    "two appends to a bucket": (
        change(UPSERT, [], [BUCKET]), change(UPSERT, [], [BUCKET]), ALL - {"log_appends"},
    ),
    "both made the bucket": (
        change(UPSERT, [], [BUCKET], created=[BUCKET]),
        change(UPSERT, [], [BUCKET], created=[BUCKET]), ALL,
    ),
    "an append to what the other rewrote": (
        change(UPSERT, [], [A1]), change(UPSERT, [A1]), ALL,
    ),
    "an append to what the other rewrote and appended to": (
        change(UPSERT, [], [A1]), change(UPSERT, [A1], [A1]), ALL,
    ),
    "appends to one group, and another rewritten by both": (
        change(UPSERT, [A2], [A1]), change(UPSERT, [A2], [A1]), ALL,
    ),
    "an append and a compaction": (change(UPSERT, [], [A1]), change(COMPACT, [A1]), set()),
    "a rewrite and a compaction": (change(UPSERT, [A1]), change(COMPACT, [A1]), ALL),
    "a rewrite beside an append, and a compaction": (
        change(UPSERT, [A2], [A1]), change(COMPACT, [A1, A2]), ALL,
    ),
    "two compactions": (change(COMPACT, [A1]), change(COMPACT, [A1]), ALL),
    "a compaction and a clustering": (change(COMPACT, [A1]), change(CLUSTER, [A1]), ALL),
    "an append and a clustering": (change(UPSERT, [], [A1]), change(CLUSTER, [A1]), ALL),
    "an insert and a clustering of the partition": (
        change(INSERT, [A1], created=[A1]), change(CLUSTER, [A2]), set(),
    ),
    "a partition replaced, a row inserted": (
        change(OVERWRITE, [A1], replaced=["a"]), change(INSERT, [A2], created=[A2]), ALL,
    ),
    "a partition replaced, another written": (
        change(OVERWRITE, [A1], replaced=["a"]), change(UPSERT, [B1]), set(),
    ),
    "a partition replaced twice": (
        change(OVERWRITE, [A1], replaced=["a"]), change(OVERWRITE, [A2], replaced=["a"]), ALL,
    ),
    "an empty partition replaced twice": (
        change(OVERWRITE, [A1], replaced=["a"], created=[A1]),
        change(OVERWRITE, [A2], replaced=["a"], created=[A2]), ALL,
    ),
    "a partition deleted that the other writes": (
        change(Operation.DELETE_PARTITION, [], replaced=["a"], partitions=["a"]),
        change(INSERT, [A2]), ALL,
    ),
    "the table replaced, a row inserted": (
        change(TABLE, [A1], replaced=None), change(INSERT, [B1]), ALL,
    ),
    "the table replaced, nothing written": (
        change(TABLE, [A1], replaced=None), change(Operation.ALTER_SCHEMA), set(),
    ),
    "a partition replaced, its group compacted": (
        change(OVERWRITE, [A1], replaced=["a"]), change(COMPACT, [A1]), set(),
    ),
    "the table replaced, a group compacted": (
        change(TABLE, [A1], replaced=None), change(COMPACT, [A1, B1]), set(),
    ),
    "a partition replaced, its group clustered": (
        change(OVERWRITE, [A1], replaced=["a"]), change(CLUSTER, [A1, A2], created=[A2]), ALL,
    ),
    "no partitions": (change(UPSERT, [("", "f")]), change(UPSERT, [("", "f")]), ALL),
}  # fmt: skip


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("case", CASES)
def test_cases(case: str, strategy: str) -> None:
    one, two, conflicts = CASES[case]
    for mine, other in ((one, two), (two, one)):
        found = STRATEGIES[strategy].conflict(mine, other)
        assert (found is not None) is (strategy in conflicts), found


@pytest.mark.parametrize(
    ("mine", "other", "clause"),
    [
        (change(UPSERT, [A1]), change(UPSERT, [A1]), "it changed file group f1 in partition a, too"),
        (change(UPSERT, [BUCKET]), change(UPSERT, [BUCKET]), "it changed bucket 3 in partition a, too"),
        (
            change(UPSERT, [B1, A2, A1]), change(UPSERT, [A1, A2, B1]),
            "it changed file group f1 in partition a and 2 more, too",
        ),
        (change(UPSERT, [("", "f")]), change(UPSERT, [("", "f")]), "it changed file group f, too"),
        (
            change(OVERWRITE, [A1], replaced=["a"]), change(INSERT, [A2]),
            "it wrote into partition a, which this write replaces",
        ),
        (
            change(INSERT, [A2]), change(OVERWRITE, [A1], replaced=["a"]),
            "it replaced partition a, which this write has changed",
        ),
        (
            change(INSERT, [("", "f")]), change(TABLE, [], replaced=None),
            "it replaced the table, which this write has changed",
        ),
    ],
)  # fmt: skip
def test_clauses(mine: Change, other: Change, clause: str) -> None:
    assert FileGroups().conflict(mine, other) == clause


@pytest.mark.parametrize("service", [COMPACT, CLUSTER])
def test_a_service_gives_way_to_a_write_under_way(service: Operation) -> None:
    mine = change(service, [A1])
    pending = change(UPSERT, [A1], pending=True)
    assert PreferWriter().conflict(mine, pending)
    for strategy in (FileGroups(), LogAppends()):
        assert strategy.conflict(mine, pending) is None
    assert PreferWriter().conflict(pending, mine) is not None, "it was published: no way back"
    assert PreferWriter().conflict(mine, change(CLUSTER, [A1], pending=True)) is None
    assert PreferWriter().conflict(mine, change(UPSERT, [A2], pending=True)) is None


def test_a_compaction_waits_for_no_append() -> None:
    mine = change(COMPACT, [A1])
    assert PreferWriter().conflict(mine, change(UPSERT, [], [A1], pending=True)) is None
