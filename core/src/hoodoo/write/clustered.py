"""Clustered: a write that would change rows of file groups which a pending clustering rewrites (RFC-19)."""

from __future__ import annotations

from collections.abc import Iterable

from hoodoo.errors import PendingClusteringError
from hoodoo.hookspecs.clustering_updates import PendingPlan
from hoodoo.hookspecs.index import PathIndex
from hoodoo.write.operation import Replaces, WriteKind
from hoodoo.write.target import WriteTarget


def refuse_clustered(
    target: WriteTarget, kind: WriteKind, touched: Iterable[tuple[str, str]]
) -> tuple[PendingPlan, ...]:
    """PendingClusteringError where the table's strategy doesn't let a write of ``kind`` change the groups
    ``touched`` (partition path, file id); else the plans that have to give way."""
    groups = frozenset(touched)
    met = tuple(plan for plan in target.policy.clusterings if not groups.isdisjoint(plan.groups))
    if met:
        updates = target.plugins.updates()
        if doubles_rows(target, kind):
            return ()
        for plan in met:
            reason = updates.refuse(plan, sorted(groups & plan.groups))
            if reason is not None:
                raise PendingClusteringError(
                    f"table {target.config.name}: {kind.operation.value.lower()}",
                    f"clustering {plan.instant} is pending for {_some(groups & plan.groups)} that this "
                    f"write changes, and {reason}.",
                    f'Run it (table.run_clustering("{plan.instant}"), or `hoodoo cluster TABLE --run '
                    f'{plan.instant}`), cancel it (table.cancel_clustering("{plan.instant}"), or `hoodoo '
                    f"cluster TABLE --cancel {plan.instant}`), or let writers go first: "
                    "hoodie.clustering.updates.strategy=allow.",
                )
    return met


def doubles_rows(target: WriteTarget, kind: WriteKind) -> bool:
    """Whether rows of a write of ``kind`` go into the file groups to come as well. Who keeps record keys would take these
    for the places of the keys."""
    told = target.joined is not None and target.joined.keys
    if told or not isinstance(target.index, PathIndex) or kind.replaces is not Replaces.NOTHING:
        return False
    return bool(getattr(target.plugins.updates(), "doubles", False))


def _some(groups: frozenset[tuple[str, str]]) -> str:
    path, file_id = min(groups)
    where = f" in partition {path}" if path else ""
    more = f" and {len(groups) - 1} more" if len(groups) > 1 else ""
    return f"file group {file_id}{where}{more}"
