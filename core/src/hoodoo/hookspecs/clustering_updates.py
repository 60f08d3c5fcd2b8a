"""Clustering updates: what becomes of writers that meet a pending clustering (RFC-19)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol, runtime_checkable

from attrs import Factory, frozen

from hoodoo.hookspecs.family import Family, Optional

# Role of a registration: what is chosen where nobody says another one, for an index whose rows have
# a second bucket.
DOUBLES = "doubles"


@frozen
class PendingPlan:
    """A clustering that is planned. ``groups``: partition path and file id of its slices;
    ``action``: as the timeline files it. ``is_foreign``: another tool's, which does not look at
    what came in meanwhile."""

    instant: str
    strategy: str
    groups: frozenset[tuple[str, str]] = frozenset()
    params: Mapping[str, str] = Factory(dict)
    action: str = "clustering"
    is_foreign: bool = False


@runtime_checkable
class ClusteringUpdates(Protocol):
    """What becomes of a write that changes rows of file groups that a pending clustering will
    rewrite. Contract suite: ``hoodoo.testing.contracts.clustering_updates``."""

    def refuse(self, plan: PendingPlan, touched: Iterable[tuple[str, str]]) -> str | None:
        """Why the write can't go on, a clause about the plan for the message; None: it can, and the
        clustering gives way. ``touched``: the groups of the plan that the write changes; never
        empty."""


@runtime_checkable
class DoublesRows(Protocol):
    """What clustering updates may have in addition."""

    @property
    def doubles(self) -> bool:
        """Whether rows are put into the file groups to come as well, where the index of the table
        knows them (:class:`~hoodoo.hookspecs.index.PathIndex`): neither gives way then."""


FAMILY = Family(
    "hoodoo_clustering_updates",
    """Offer what becomes of writers that meet a pending clustering. When: a write has been planned.
    Default: ``reject``.

    Names and aliases are looked up with ``hoodie.clustering.updates.strategy``. The factory returns
    a :class:`ClusteringUpdates`.""",
    (ClusteringUpdates,),
    optional=(DoublesRows,),
    lacking={"doubles": Optional(False)},
)
