"""What every conflict strategy promises: the contract of
:class:`hoodoo.hookspecs.conflict.ConflictStrategy` as tests.

Usage::

    class TestMine(ConflictContract):
        @pytest.fixture
        def strategy(self):
            return MyStrategy(...)

The suite asks for what no table can do without; what else is a conflict is the strategy's to say.
"""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Iterable

import pytest
from attrs import evolve

from hoodoo.hookspecs.conflict import Change, ConflictStrategy, Group
from hoodoo.model.commit import Operation

_ACTIONS = {
    Operation.COMPACT: "commit",
    Operation.CLUSTER: "replacecommit",
    Operation.INSERT_OVERWRITE: "replacecommit",
    Operation.INSERT_OVERWRITE_TABLE: "replacecommit",
    Operation.DELETE_PARTITION: "replacecommit",
}


def made_change(
    number: int,
    operation: Operation = Operation.UPSERT,
    rewritten: Iterable[Group] = (),
    appended: Iterable[Group] = (),
    *,
    replaced: Iterable[str] | None = (),
    created: Iterable[Group] = (),
    partitions: Iterable[str] = (),
    pending: bool = False,
) -> Change:
    """A change whose partitions are those of its groups, and ``partitions``."""
    rewritten, appended = frozenset(rewritten), frozenset(appended)
    return Change(
        instant=f"2024010100000{number:04d}",
        action=_ACTIONS.get(operation, "deltacommit"),
        operation=operation,
        rewritten=rewritten,
        appended=appended,
        replaced_partitions=None if replaced is None else frozenset(replaced),
        partitions=frozenset({path for path, _ in rewritten | appended} | set(partitions)),
        created=frozenset(created),
        pending=pending,
    )


class ConflictContract:
    """Subclass, and answer the fixture ``strategy``."""

    @pytest.fixture
    def strategy(self) -> ConflictStrategy:
        raise NotImplementedError("override the fixture `strategy`")

    @pytest.fixture
    def changes(self) -> list[Change]:
        """What instants do to a table of two partitions; none knew of another."""
        one, two, three = ("a", "f1"), ("a", "f2"), ("b", "f3")
        return [
            made_change(1, rewritten=[one]),
            made_change(2, appended=[one]),
            made_change(3, Operation.INSERT, [("a", "new")], created=[("a", "new")]),
            made_change(4, Operation.DELETE, [one], [two]),
            made_change(5, Operation.COMPACT, [one, three]),
            made_change(6, Operation.CLUSTER, [one, two, ("a", "made")], created=[("a", "made")]),
            made_change(7, Operation.INSERT_OVERWRITE, [one, two], replaced=["a"]),
            made_change(8, Operation.DELETE_PARTITION, [three], replaced=["b"]),
            made_change(9, Operation.INSERT_OVERWRITE_TABLE, [one, two, three], replaced=None),
            made_change(10, appended=[("a", "bucket 1")], created=[("a", "bucket 1")]),
            made_change(11, rewritten=[("", "f1")]),
            made_change(12, Operation.ALTER_SCHEMA),
        ]

    def test_obeys_the_protocol(self, strategy: ConflictStrategy) -> None:
        assert isinstance(strategy, ConflictStrategy)

    def test_answers_none_or_a_clause(
        self, strategy: ConflictStrategy, changes: list[Change]
    ) -> None:
        found = [strategy.conflict(mine, other) for mine in changes for other in changes]
        assert None in found
        clauses = [reason for reason in found if reason is not None]
        assert clauses, "a strategy that never sees a conflict loses rows"
        for clause in clauses:
            assert isinstance(clause, str) and clause == clause.strip() != ""
            assert not clause.endswith("."), "the clause ends within a sentence"
            assert "\n" not in clause

    def test_is_a_pure_function(self, strategy: ConflictStrategy, changes: list[Change]) -> None:
        pairs = list(itertools.product(changes, repeat=2))
        first = [strategy.conflict(mine, other) for mine, other in pairs]
        again = pickle.loads(pickle.dumps(strategy))
        answers = [again.conflict(mine, other) for mine, other in reversed(pairs)]
        assert answers[::-1] == first

    @pytest.mark.parametrize("operation", [Operation.UPSERT, Operation.DELETE, Operation.INSERT])
    def test_one_base_file_has_one_successor(
        self, strategy: ConflictStrategy, operation: Operation
    ) -> None:
        """Both wrote the file group whole, each without the other's rows."""
        mine = made_change(1, operation, [("a", "f1"), ("a", "f2")])
        other = made_change(2, Operation.UPSERT, [("a", "f2"), ("b", "f3")])
        assert strategy.conflict(mine, other)
        assert strategy.conflict(other, mine)

    @pytest.mark.parametrize("service", [Operation.COMPACT, Operation.CLUSTER])
    def test_a_service_may_not_undo_a_write(
        self, strategy: ConflictStrategy, service: Operation
    ) -> None:
        """It wrote a base file of what was there before the other rewrote it, and the reverse."""
        mine = made_change(1, service, [("a", "f1")])
        other = made_change(2, rewritten=[("a", "f1")])
        assert strategy.conflict(mine, other)
        assert strategy.conflict(other, mine)

    def test_what_is_replaced_takes_no_rows(self, strategy: ConflictStrategy) -> None:
        """Rows appended to a file group that is replaced by a clustering would be seen by
        nobody."""
        mine = made_change(1, appended=[("a", "f1")])
        other = made_change(2, Operation.CLUSTER, [("a", "f1"), ("a", "made")])
        assert strategy.conflict(mine, other)
        assert strategy.conflict(other, mine)

    def test_two_that_touch_nothing_in_common(self, strategy: ConflictStrategy) -> None:
        mine = made_change(1, rewritten=[("a", "f1")], appended=[("a", "f2")])
        for operation in (Operation.UPSERT, Operation.COMPACT, Operation.CLUSTER):
            other = made_change(2, operation, [("b", "f3")], [("b", "f4")])
            assert strategy.conflict(mine, other) is None
            assert strategy.conflict(other, mine) is None

    def test_appends_beside_a_compaction(self, strategy: ConflictStrategy) -> None:
        """They stand after its base file: this is what compaction beside writers is for."""
        mine = made_change(1, appended=[("a", "f1")])
        other = made_change(2, Operation.COMPACT, [("a", "f1")])
        assert strategy.conflict(mine, other) is None
        assert strategy.conflict(other, mine) is None

    def test_writers_do_not_wait_for_what_is_pending(
        self, strategy: ConflictStrategy, changes: list[Change]
    ) -> None:
        """Each would wait for the other."""
        for mine in changes:
            if not mine.is_service:
                for other in changes:
                    assert strategy.conflict(mine, evolve(other, pending=True)) is None

    def test_writers_are_equals(self, strategy: ConflictStrategy, changes: list[Change]) -> None:
        """Of two writers that get into each other's way, whoever is first wins."""
        writers = [change for change in changes if not change.is_service]
        for one, two in itertools.combinations(writers, 2):
            there, back = strategy.conflict(one, two), strategy.conflict(two, one)
            assert (there is None) == (back is None), (one, two)
