"""What partitions of the metadata table answer, as far as no type says it."""

from __future__ import annotations

from typing import Any

from hoodoo.kernel.answers import Ask, Wrong, rule, shapes

from hoodoo_metadata.hookspecs.metadata_partition import PARTITION_ENTRIES, GroupEntries


@rule("MetadataPartition.begin", "MetadataPartition.delta")
def _groups(answer: Any, ask: Ask, *args: Any) -> tuple[GroupEntries, ...]:
    wanted = "GroupEntries of its file groups, each once, of PARTITION_ENTRIES"
    found: tuple[GroupEntries, ...] = shapes.items(list(answer), GroupEntries, wanted)
    numbers = [group.group for group in found]
    if len(set(numbers)) < len(numbers) or any(not 0 <= n < ask.inner.groups for n in numbers):
        raise Wrong(f"the groups {numbers}", wanted)
    for group in found:
        shapes.schema(group.entries.schema, PARTITION_ENTRIES, wanted)
    return found
