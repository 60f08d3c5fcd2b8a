"""Outcomes: what is said of clusterings that are planned."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import field, frozen
from hoodoo.model.brief import listed


@frozen
class PendingClustering:
    """A clustering that is planned and not completed. ``strategy`` and ``params`` say how the rows
    are rewritten. ``planner`` is the name of the plan strategy; it is empty if another tool made
    the plan. ``groups``, ``files`` and ``outputs`` count the groups, the files to rewrite and the
    new files. ``running``: a process runs it, or may run it."""

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


@frozen
class BucketsResized:
    """The outcome of ``resize_buckets``. ``partitions`` are the partition paths that get another
    number of buckets; ``files`` and ``bytes`` are what is rewritten. ``before`` and ``after`` are
    the properties of the table that say the numbers. An empty ``instant`` means that nothing was
    done: for a dry run, or because the numbers are the same."""

    instant: str
    partitions: tuple[str, ...] = field(default=(), repr=listed)
    files: int = 0
    bytes: int = 0
    before: Mapping[str, str] = field(factory=dict, repr=listed)
    after: Mapping[str, str] = field(factory=dict, repr=listed)
