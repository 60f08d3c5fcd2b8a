"""What layouts and cleaning policies answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hoodoo.hookspecs.cleaning import History
from hoodoo.hookspecs.layout import Slot
from hoodoo.kernel.answers import shapes
from hoodoo.kernel.answers.declared import rule
from hoodoo.kernel.answers.seam import Ask
from hoodoo.kernel.answers.wrong import Wrong, says
from hoodoo.model.filegroup import FileSlice
from hoodoo.model.instant import Instant


@rule("Layout.plan")
def _plan(
    answer: Any,
    ask: Ask,
    arrivals: Mapping[str, int],
    slices: Sequence[FileSlice],
    row_bytes: float,
) -> tuple[Slot, ...]:
    slots: tuple[Slot, ...] = shapes.items(answer, Slot, "a tuple of Slot")
    # File ids are unique over the table; only those that were answered are looked up.
    named = {slot.file_id for slot in slots if slot.file_id is not None}
    known = {(s.partition_path, s.file_id) for s in slices if s.file_id in named} if named else ()
    seen: set[tuple[str, str]] = set()
    for slot in slots:
        if slot.partition_path not in arrivals:
            raise Wrong(f"a slot of {says(slot.partition_path)}", "slots of the paths of arrivals")
        shapes.whole(slot.weight, 1)
        if slot.file_id is not None:
            place = (slot.partition_path, slot.file_id)
            if place not in known or place in seen:
                raise Wrong(
                    f"the file group {slot.file_id!r} of {slot.partition_path!r}",
                    "file groups of the slices given, each once",
                )
            seen.add(place)
    without = set(arrivals).difference(slot.partition_path for slot in slots)
    if without:
        raise Wrong(f"no slot for {sorted(without)[:3]}", "one at least for each path of arrivals")
    return slots


@rule("CleaningPolicy.earliest")
def _earliest(answer: Any, ask: Ask, history: History) -> Instant | None:
    wanted = "one of history.writes, or None"
    if answer is None:
        return None
    if not isinstance(answer, Instant) or answer not in history.writes:
        raise Wrong(says(answer) if not isinstance(answer, Instant) else str(answer), wanted)
    return answer
