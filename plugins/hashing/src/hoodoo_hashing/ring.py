"""The ring of a partition path: which bucket owns which hash values, and how buckets are split and
merged.

A node owns the values after its predecessor's up to its own; those after the last one's are the
first one's. Source: ``ConsistentBucketIdentifier`` and ``HoodieConsistentHashingMetadata`` of Hudi
1.2."""

from __future__ import annotations

import hashlib
import json
import struct
import uuid
from collections.abc import Iterable, Sequence
from typing import Any

from attrs import evolve, frozen

MOST = 0x7FFFFFFF
NORMAL, REPLACE, DELETE = "NORMAL", "REPLACE", "DELETE"


@frozen(order=True)
class Node:
    """``value``: the last hash value that it owns. ``prefix``: of the id of its file group; None
    where it goes."""

    value: int
    prefix: str | None
    tag: str = NORMAL

    @property
    def file_id(self) -> str:
        return f"{self.prefix}-0"

    def record(self) -> dict[str, Any]:
        return {"value": self.value, "fileIdPrefix": self.prefix, "tag": self.tag}


def nodes_of(raw: Iterable[dict[str, Any]]) -> tuple[Node, ...]:
    """From JSON objects. KeyError, TypeError or ValueError for what are none of nodes."""
    return tuple(
        Node(int(one["value"]), one.get("fileIdPrefix"), one.get("tag") or NORMAL) for one in raw
    )


@frozen
class Ring:
    """``nodes`` by their values, at least one."""

    nodes: tuple[Node, ...]

    @classmethod
    def of(cls, nodes: Iterable[Node]) -> Ring:
        return cls(tuple(sorted(nodes)))

    def __len__(self) -> int:
        return len(self.nodes)

    @property
    def file_ids(self) -> frozenset[str]:
        return frozenset(node.file_id for node in self.nodes)

    def at(self, file_id: str) -> int | None:
        """The place of the node whose file group that is."""
        return next((n for n, node in enumerate(self.nodes) if node.file_id == file_id), None)

    def with_children(self, children: Iterable[Node]) -> Ring:
        """What a resize makes of it."""
        by_value = {node.value: node for node in self.nodes}
        for child in children:
            if child.tag == DELETE:
                by_value.pop(child.value, None)
            else:
                by_value[child.value] = evolve(child, tag=NORMAL)
        return Ring.of(by_value.values())

    def halves(self, at: int, prefixes: Sequence[str]) -> tuple[Node, Node] | None:
        """The two nodes that share what the node owns; None where that is one value."""
        own, before = self.nodes[at].value, self.nodes[at - 1].value
        middle = ((before + own + (0 if before < own else MOST + 1)) >> 1) & MOST
        if middle in (before, own):
            return None
        return Node(middle, prefixes[0], REPLACE), Node(own, prefixes[1], REPLACE)

    def merged(self, places: Sequence[int], prefix: str) -> tuple[Node, ...]:
        """One node in the place of neighbours, which come in the order of the ring."""
        gone = (Node(self.nodes[at].value, None, DELETE) for at in places[:-1])
        return (*gone, Node(self.nodes[places[-1]].value, prefix, REPLACE))


def first_ring(path: str, buckets: int) -> Ring:
    """Of a partition path that had no rows. Each writer makes the same."""
    step, begin, nodes = (MOST + buckets - 1) // buckets, 0, []
    for number in range(1, buckets + 1):
        end = min(step * number, MOST)
        nodes.append(Node(end, _named(struct.pack(">qq", begin, end) + path.encode())))
        begin = end
    return Ring.of({node.value: node for node in nodes}.values())


def new_prefix(*parts: object) -> str:
    """The first part of a file id, the same for the same ``parts``."""
    return _named("/".join(map(str, parts)).encode())


def _named(data: bytes) -> str:
    """As Java's ``UUID.nameUUIDFromBytes``."""
    return str(uuid.UUID(bytes=hashlib.md5(data, usedforsecurity=False).digest(), version=3))


def nodes_text(nodes: Sequence[Node]) -> str:
    """As Hudi writes them: JSON as its library prints it."""
    return printed([node.record() for node in nodes])


def printed(value: Any, indent: str = "") -> str:
    """JSON as Jackson prints it."""
    if isinstance(value, dict):
        inner = ",\n".join(
            f"{indent}  {json.dumps(key)} : {printed(one, f'{indent}  ')}"
            for key, one in value.items()
        )
        return f"{{\n{inner}\n{indent}}}"
    if isinstance(value, list):
        return f"[ {', '.join(printed(one, indent) for one in value)} ]" if value else "[ ]"
    return json.dumps(value, ensure_ascii=False)
