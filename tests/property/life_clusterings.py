"""Clusterings in a table's life: points that change no row, and what undoing others makes of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cluster_draws import Cluster
from cluster_steps import Clustered, cluster
from life_points import Point
from table_checks import check_stats
from table_model_mor import LogModel

if TYPE_CHECKING:
    from life_trial import Life


def take(life: Life, step: Cluster, where: str) -> None:
    was = life.clustering
    done = cluster(life, step, where)
    if done is not None:
        add(life, done, where)
    elif was is None and life.clustering is not None and life.clustering.logs:
        life.points.newest().planned()


def add(life: Life, done: Clustered, where: str) -> None:
    """A clustering is done. Who reads as of what was written since it was planned sees its files."""
    planned = done.planned
    before = life.points.all[-1] if life.points.all else life.points.first
    point = life._add(done.commit, life.model.copy(), planned.schema, changes=False)
    if not life.setup.merge_on_read:
        life._check_files(done.commit, where)
    check_stats(life.path, life.setup, done.commit, where, tidy=False)
    if planned.logs:
        point.shifts = before.raw.rows != life.model.rows
    if not any(other.instant > point.instant for other in life.points.all):
        return
    point.seqnos = planned.seqnos
    point.seen = point.then = planned.model
    if planned.logs:
        assert isinstance(planned.model, LogModel)
        planned.model.compact()
        life.points.compacted(point.instant)


def go_back(life: Life, undone: set[str], point: Point, where: str) -> None:
    """A restore to ``point`` has undone those instants: plans behind it (in version 6 all), and what a
    savepoint does not know of: clusterings that were planned before it and have been run since."""
    for other in life.points.by_request():
        if other.instant in undone and other.instant < point.instant:
            assert not other.changes and other.replaces, where
            assert point.instant in life.saved and other.place > point.place, where
            life.points.not_compacted(other.instant)
            life.points.all.remove(other)
    if life.clustering is not None:
        gone = life.clustering.instant in undone
        assert gone or life.clustering.instant < point.instant, where
        life.clustering = None if gone else life.clustering


def came_since(life: Life, point: Point) -> bool:
    """Whether one completed later, although it was planned before: it may build on ``point``, from
    version 8 on."""
    if life.setup.version == 6:
        return False
    return any(p.replaces and p.place > point.place for p in life.points.all)
