"""What every answer to writers that meet a clustering promises: the contract of
:class:`hoodoo.hookspecs.clustering_updates.ClusteringUpdates` as tests.

Usage::

    class TestMine(ClusteringUpdatesContract):
        @pytest.fixture
        def updates(self):
            return MyAnswer(...)
"""

from __future__ import annotations

import pytest

from hoodoo.hookspecs.clustering_updates import ClusteringUpdates, PendingPlan

_GROUPS = [("", "f1-0"), ("day=1", "f2-0"), ("day=2", "f3-0")]


class ClusteringUpdatesContract:
    """Subclass, and answer the fixture ``updates``."""

    @pytest.fixture
    def updates(self) -> ClusteringUpdates:
        raise NotImplementedError("override the fixture `updates`")

    @pytest.fixture
    def plan(self) -> PendingPlan:
        return PendingPlan("20240101000000000", "linear", frozenset(_GROUPS), {"a": "b"})

    def test_obeys_the_protocol(self, updates: ClusteringUpdates) -> None:
        assert isinstance(updates, ClusteringUpdates)

    @pytest.mark.parametrize("many", [1, 2, 3])
    def test_answers_with_a_clause_or_nothing(
        self, updates: ClusteringUpdates, plan: PendingPlan, many: int
    ) -> None:
        reason = updates.refuse(plan, _GROUPS[:many])
        assert reason is None or (isinstance(reason, str) and reason)
        if reason is not None:
            assert not reason.endswith("."), "a clause, which the message goes on after"

    def test_takes_any_iterable(self, updates: ClusteringUpdates, plan: PendingPlan) -> None:
        assert updates.refuse(plan, iter(_GROUPS)) == updates.refuse(plan, tuple(_GROUPS))

    def test_is_a_pure_function(self, updates: ClusteringUpdates, plan: PendingPlan) -> None:
        first = updates.refuse(plan, _GROUPS)
        assert updates.refuse(plan, _GROUPS) == first
