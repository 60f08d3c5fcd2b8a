"""Cutting a row of file slices into groups."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

from hoodoo_clustering.hookspecs.clustering import Clusterable, ClusteringGroup, GroupSizes


def cut(ordered: Iterable[Clusterable], sizes: GroupSizes) -> list[ClusteringGroup]:
    """Neighbours together, as many bytes as there may be: the greatest multiple of the target that
    a group may read (the most that it may read, where that is less than the target)."""
    return filled(ordered, sizes.group // sizes.target * sizes.target or sizes.group)


def filled(ordered: Iterable[Clusterable], most: int) -> list[ClusteringGroup]:
    """Neighbours together, up to ``most`` bytes; a larger slice is a group of its own."""
    groups: list[ClusteringGroup] = []
    current: list[Clusterable] = []
    total = 0
    for item in ordered:
        if current and total + item.size > most:
            groups.append(ClusteringGroup(tuple(current)))
            current, total = [], 0
        current.append(item)
        total += item.size
    if current:
        groups.append(ClusteringGroup(tuple(current)))
    return groups


def scattered(item: Clusterable, seed: str) -> bytes:
    """A pseudo-random order of slices that is always the same."""
    text = f"{seed}\0{item.slice.partition_path}\0{item.slice.file_id}"
    return blake2b(text.encode(), digest_size=16).digest()
