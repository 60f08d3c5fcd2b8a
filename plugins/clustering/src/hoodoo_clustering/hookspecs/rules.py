"""What clustering plans and orders answer, as far as no type says it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from hoodoo.kernel.answers import Ask, Wrong, part, rule, says, shapes

from hoodoo_clustering.hookspecs.clustering import Clusterable, ClusteringGroup, GroupSizes

Key = tuple[str, str]


@rule("ClusteringPlanner.group")
def _group(
    answer: Any, ask: Ask, candidates: Sequence[Clusterable], sizes: GroupSizes
) -> tuple[ClusteringGroup, ...]:
    groups: tuple[ClusteringGroup, ...] = shapes.items(
        answer, ClusteringGroup, "a sequence of ClusteringGroup"
    )
    left = {_key(item): item for item in candidates}
    for group in groups:
        if not shapes.items(group.slices, Clusterable, "groups of the candidates given"):
            raise Wrong("a group of nothing", "groups of the candidates given")
        for item in group.slices:
            found = left.pop(_key(item), None)
            if found is not item and found != item:
                raise Wrong(
                    f"{_key(item)}, which was no candidate or came twice",
                    "groups of the candidates given, each of them once at most",
                )
        if len(group.slices) > 1 and group.size > sizes.group:
            raise Wrong(
                f"a group of {group.size} bytes", f"groups of {sizes.group} bytes at the most"
            )
    return groups


@rule("Clustering.fitted")
def _fitted(answer: Any, ask: Ask, sample: pa.Table) -> Any:
    made = part(answer, ask, ask.who.family)
    if made.columns != shapes.names(ask.inner.columns):
        raise Wrong(
            f"a Clustering of {made.columns}", f"one of the columns {tuple(ask.inner.columns)}"
        )
    return made


@rule("Clustering.keys")
def _order(answer: Any, ask: Ask, rows: pa.Table) -> tuple[pa.ChunkedArray | pa.Array, ...]:
    wanted = f"one array or more of {rows.num_rows} values each, of types that Arrow sorts"
    keys: tuple[Any, ...] = shapes.items(answer, pa.Array | pa.ChunkedArray, wanted)
    if not keys:
        raise Wrong("no array", wanted)
    for key in keys:
        if len(key) != rows.num_rows:
            raise Wrong(says(key), wanted)
        kind = key.type.value_type if pa.types.is_dictionary(key.type) else key.type
        if pa.types.is_nested(kind):
            raise Wrong(says(key), wanted)
    return keys


def _key(item: Clusterable) -> Key:
    return item.slice.partition_path, item.slice.file_id
