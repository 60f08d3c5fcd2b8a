"""Resizes that are planned: which buckets of a partition path become which, as the plans of
clusterings say."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from attrs import field, frozen
from hoodoo.errors import CorruptTableError
from hoodoo.model.instant import Instant
from hoodoo.timeline.plans import clustering_record
from hoodoo.timeline.snapshot import Snapshot

from hoodoo_hashing.ring import Node, nodes_of, nodes_text

# In the extra metadata of a group of a plan; Hudi's names.
PARTITION = "clustering.group.partition"
CHILDREN = "clustering.group.child.node"
SEQUENCE = "clustering.group.sequence.no"


@frozen
class Resize:
    """What ``instant`` does to a partition path whose ring has the sequence number ``seq``.
    ``file_ids``: of the file groups that go. ``knows``: the plan says what becomes of each of
    them."""

    instant: str
    seq: int = 0
    children: tuple[Node, ...] = ()
    file_ids: frozenset[str] = field(factory=frozenset)
    knows: bool = True


def group_extra(path: str, nodes: tuple[Node, ...], seq: int) -> dict[str, str]:
    """What the plan says of a group."""
    return {PARTITION: path, CHILDREN: nodes_text(nodes), SEQUENCE: str(seq)}


def children_of(extra: Mapping[str, str], where: str) -> tuple[Node, ...]:
    """The nodes that a group becomes. CorruptTableError naming the plan (``where``)."""
    try:
        return nodes_of(json.loads(extra[CHILDREN]))
    except (KeyError, RecursionError, TypeError, ValueError) as error:
        raise CorruptTableError(
            where,
            f"does not say which buckets a group of file slices becomes ({error!r}).",
            "Cancel it (table.cancel_clustering): a resize can always be planned again.",
        ) from error


def planned(snapshot: Snapshot, instant: Instant) -> dict[str, Resize]:
    """What the clustering ``instant`` does, by partition path; empty where it is none, or no
    resize."""
    record = clustering_record(snapshot, instant)
    found: dict[str, Resize] = {}
    for group in (record or {}).get("inputGroups") or ():
        for path, resize in _of_group(group, instant.requested).items():
            before = found.get(path, Resize(instant.requested))
            found[path] = Resize(
                instant.requested,
                max(before.seq, resize.seq),
                before.children + resize.children,
                before.file_ids | resize.file_ids,
                before.knows and resize.knows,
            )
    return found


def resizes(snapshot: Snapshot) -> dict[str, Resize]:
    """All that are planned and not completed, by partition path."""
    found: dict[str, Resize] = {}
    for instant in snapshot.pending():
        found |= planned(snapshot, instant)
    return found


def _of_group(group: Mapping[str, Any], instant: str) -> dict[str, Resize]:
    slices = group.get("slices") or ()
    ids = frozenset(str(one.get("fileId")) for one in slices)
    extra = group.get("extraMetadata") or {}
    if CHILDREN not in extra:
        paths = {str(one.get("partitionPath") or "") for one in slices}
        return {path: Resize(instant, file_ids=ids, knows=False) for path in paths}
    nodes = children_of(extra, f"the plan of the clustering {instant}")
    path = str(extra.get(PARTITION) or "")
    return {path: Resize(instant, int(extra.get(SEQUENCE) or 0), nodes, ids)}
