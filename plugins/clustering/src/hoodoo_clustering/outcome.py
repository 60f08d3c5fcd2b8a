"""Outcomes: what is said of clusterings that are planned."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import field, frozen
from hoodoo.model.brief import listed


@frozen
class PendingClustering:
    """A clustering that is planned. ``strategy``, ``params`` are what it is run by, ``planner`` what grouped its
    files (empty: another tool). ``running``: somebody is at it, or another tool may be."""

    instant: str
    state: str
    strategy: str
    params: Mapping[str, str] = field(repr=listed)
    planner: str
    groups: int
    files: int
    outputs: int
    running: bool
    partitions: tuple[str, ...] = field(repr=listed)
