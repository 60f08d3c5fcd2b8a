"""What changed: the partitions that writes touched since the last plan of a clustering, and those
that it owes.

Source: ``BaseTableServicePlanActionExecutor.getIncrementalPartitions`` of Hudi 1.2.0, which looks
at completed clusterings only, and whatever they went by."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve
from hoodoo.errors import CorruptTableError
from hoodoo.model.commit import Operation
from hoodoo.model.instant import Instant, State
from hoodoo.timeline.instants import order_key
from hoodoo.timeline.plans import PLANNER
from hoodoo.timeline.snapshot import Snapshot

from hoodoo_clustering.plan import CLUSTERING, ClusteringPlan, pending_clusterings, read_clustering

Plan = tuple[Instant, ClusteringPlan]


def changed_partitions(
    snapshot: Snapshot, planner: str, strategy: str, params: Mapping[str, str]
) -> frozenset[str] | None:
    """The partition paths that the next plan has to look at; None: all of them, as there is no plan
    before it on the active timeline, or that one grouped or ordered otherwise. Reads what writes
    say since.

    On layout 1, whose timeline does not say when a write completed, one that began before the last
    plan and ended after it is not seen: the next change of its partitions brings them back."""
    last = last_plan(snapshot)
    if last is None:
        return None
    instant, plan = last
    told = plan.extra.get(PLANNER, planner)  # Hudi does not say
    if (told, plan.strategy, dict(plan.params)) != (planner, strategy, dict(params)):
        return None
    found = set(plan.missing)
    for write in snapshot.writes():
        later = order_key(write.completion_order) > order_key(instant.requested)
        if later and write.requested != instant.requested:
            found.update(stat.partition_path for stat in snapshot.metadata(write).stats)
    return frozenset(found)


def last_plan(snapshot: Snapshot) -> Plan | None:
    """The newest clustering that is planned or completed, and its plan; None if there is none on
    the active timeline, or its plan is gone."""
    pending = pending_clusterings(snapshot)
    found = pending[-1] if pending else None
    for instant in reversed(snapshot.writes()):
        if found is not None and order_key(instant.requested) < order_key(found[0].requested):
            break
        if not instant.traits.replaces:
            continue
        if snapshot.metadata(instant).operation is Operation.CLUSTER:
            return _completed(snapshot, instant)
    return found


def _completed(snapshot: Snapshot, instant: Instant) -> Plan | None:
    action = snapshot.layout.pending_action(CLUSTERING)
    planned = evolve(instant, action=action, state=State.REQUESTED, completed=None)
    try:
        return planned, read_clustering(snapshot, planned)
    except CorruptTableError:  # somebody else's, that holds no plan, or archived just now
        return None
