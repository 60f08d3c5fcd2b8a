"""Plan bounds: the smallest and largest values of columns that the plan of a clustering has, for
who looks at it before it is run. They are values of rows, which may have to be forgotten."""

from __future__ import annotations

from typing import Any

from hoodoo.timeline.codec import avro as codec_avro

BOUNDS = ("hoodoo.min.", "hoodoo.max.")
_PARTS = ("metrics", "extraMetadata")


def without_bounds(data: bytes, where: str) -> bytes:
    """The requested file of a clustering without them; ``data`` itself if it has none. Raises
    CorruptTableError naming ``where`` if it can't be read."""
    if not any(bound.encode() in data for bound in BOUNDS):
        return data
    record = codec_avro.decode(data, where)
    plan = record.get("clusteringPlan") or {}
    groups = [_plain(group) for group in plan.get("inputGroups") or ()]
    if not groups:
        return data
    record["clusteringPlan"] = {**plan, "inputGroups": groups}
    return codec_avro.encode("HoodieRequestedReplaceMetadata", record)


def _plain(group: dict[str, Any]) -> dict[str, Any]:
    parts = {part: group.get(part) or {} for part in _PARTS}
    return group | {
        part: {name: value for name, value in said.items() if not name.startswith(BOUNDS)}
        for part, said in parts.items()
    }
