"""What those answer that plan: layouts, compaction strategies, cleaning policies, conflict strategies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hoodoo.hookspecs.cleaning import Aged, History
from hoodoo.hookspecs.compaction import Candidate
from hoodoo.hookspecs.layout import Slot
from hoodoo.kernel.answers import shapes
from hoodoo.kernel.answers.seam import Ask, Kind, iterated
from hoodoo.kernel.answers.wrong import Wrong, says
from hoodoo.model.filegroup import FileSlice
from hoodoo.model.instant import Instant
from hoodoo.timeline.archived import ArchivedInstant

_POLICIES = ("KEEP_LATEST_COMMITS", "KEEP_LATEST_FILE_VERSIONS", "KEEP_LATEST_BY_HOURS")


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


def _choose(answer: Any, ask: Ask, candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
    wanted = "some of the candidates given, each once"
    found: tuple[Candidate, ...] = shapes.items(answer, Candidate, wanted)
    return shapes.chosen(found, candidates, wanted)


def _earliest(answer: Any, ask: Ask, history: History) -> Instant | None:
    wanted = "one of history.writes, or None"
    if answer is None:
        return None
    if not isinstance(answer, Instant) or answer not in history.writes:
        raise Wrong(says(answer) if not isinstance(answer, Instant) else str(answer), wanted)
    return answer


def _surplus(answer: Any, ask: Ask, aged: Aged, earliest: str | None) -> tuple[FileSlice, ...]:
    wanted = "some of the slices of the file group given, each once"
    found: tuple[FileSlice, ...] = shapes.items(answer, FileSlice, wanted)
    return shapes.chosen(found, aged.group.slices, wanted) if found else found


def _archived(answer: Any, ask: Ask, *given: Any) -> Iterator[ArchivedInstant]:
    if not hasattr(answer, "__iter__"):
        raise Wrong(says(answer), "archived instants")
    return iterated(answer, ask, _instant)


def _instant(item: Any, ask: Ask) -> ArchivedInstant:
    if not isinstance(item, ArchivedInstant):
        raise Wrong(says(item), "archived instants")
    return item


def _oldest(answer: Any, ask: Ask, *given: Any) -> str | None:
    return None if answer is None else shapes.text(answer, "a requested time, or None")


LAYOUT = Kind("layout", methods={"plan": _plan})

# An action works on the table by calls of core: what these raise is not the plugin's fault, and passes.
ACTION = Kind(
    "action",
    methods=dict.fromkeys(("run", "schedule", "run_planned", "after_write", "recover")),
)

ARCHIVED_TIMELINE = Kind(
    "archived_timeline",
    methods={"instants": _archived, "oldest": _oldest, "add": None, "tidy": None},
)

COMPACTION = Kind("compaction", methods={"choose": _choose})

CLEANING = Kind(
    "cleaning",
    properties={
        "policy": lambda answer, ask: shapes.one_of(answer, _POLICIES),
        "by_writes": lambda answer, ask: shapes.flag(answer),
    },
    methods={"earliest": _earliest, "surplus": _surplus},
)

CONFLICT = Kind(
    "conflict",
    methods={"conflict": lambda answer, ask, mine, other: shapes.reason(answer)},
)
