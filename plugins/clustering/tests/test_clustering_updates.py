"""What becomes of a write that meets a pending clustering."""

from __future__ import annotations

import pytest
from hoodoo.hookspecs.clustering_updates import ClusteringUpdates, PendingPlan
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.resolve import resolve
from hoodoo.testing.contracts.clustering_updates import ClusteringUpdatesContract
from hoodoo_clustering.strategies.updates import Allow, Reject

PLAN = PendingPlan("20240101000000000", "linear", frozenset({("", "f1-0")}))


class TestReject(ClusteringUpdatesContract):
    @pytest.fixture
    def updates(self) -> ClusteringUpdates:
        return Reject()

    def test_refuses(self, updates: ClusteringUpdates) -> None:
        assert updates.refuse(PLAN, [("", "f1-0")])


class TestAllow(ClusteringUpdatesContract):
    @pytest.fixture
    def updates(self) -> ClusteringUpdates:
        return Allow()

    def test_lets_writers_go_first(self, updates: ClusteringUpdates) -> None:
        assert updates.refuse(PLAN, [("", "f1-0")]) is None


@pytest.mark.parametrize(("name", "kind"), [("Reject", Reject), ("Allow", Allow)])
def test_by_the_names_of_hudis_classes(name: str, kind: type[ClusteringUpdates]) -> None:
    java = f"org.apache.hudi.client.clustering.update.strategy.Spark{name}UpdateStrategy"
    assert isinstance(resolve("clustering_updates", java, Settings()).instance, kind)
