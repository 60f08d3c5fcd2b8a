"""What participants and metadata partitions answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hoodoo.hookspecs.metadata_partition import PARTITION_ENTRIES, GroupEntries
from hoodoo.kernel.answers import shapes
from hoodoo.kernel.answers.declared import rule
from hoodoo.kernel.answers.seam import Ask
from hoodoo.kernel.answers.wrong import Wrong, says
from hoodoo.storage.api import Entry


@rule("ListsFiles.list_files")
def _entries(answer: Any, ask: Ask, storage: Any, timeline: Any, partitions: Any = None) -> Any:
    # As many turns as there are files: they are looked at where they are parsed.
    if not hasattr(answer, "__iter__"):
        raise Wrong(says(answer), "entries of files")
    if isinstance(answer, list) and answer and not isinstance(answer[0], Entry):
        raise Wrong(f"a list with {says(answer[0])} in it", "entries of files")
    return answer


@rule("KnowsRanges.column_ranges")
def _ranges(
    answer: Any, ask: Ask, storage: Any, timeline: Any, files: Any, columns: Sequence[str]
) -> Mapping[Any, Any]:
    wanted = "a mapping of some of the files to mappings of some of the columns to ColumnRange"
    if not isinstance(answer, Mapping) or not set(answer).issubset(files):
        raise Wrong(says(answer), wanted)
    for ranges in answer.values():
        if not isinstance(ranges, Mapping) or not set(ranges).issubset(columns):
            raise Wrong(says(ranges), wanted)
    return answer


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
