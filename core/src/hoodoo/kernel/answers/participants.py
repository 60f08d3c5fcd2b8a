"""What participants and pruners answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from hoodoo.hookspecs.metadata_partition import PARTITION_ENTRIES, GroupEntries
from hoodoo.hookspecs.participant import (
    ActionChange,
    Participation,
    Rebuilt,
)
from hoodoo.hookspecs.pruner import PruneRequest
from hoodoo.kernel.answers import shapes
from hoodoo.kernel.answers.seam import Ask, Kind, wrapped
from hoodoo.kernel.answers.wrong import Wrong, says
from hoodoo.kernel.protocols import members
from hoodoo.model.config import TableConfig
from hoodoo.model.filegroup import FileSlice
from hoodoo.model.findings import Finding
from hoodoo.storage.api import Entry
from hoodoo.timeline.publish import CoupledCommit


def _join(answer: Any, ask: Ask, storage: Any, timeline: Any) -> Any:
    if answer is None:
        return None
    if any(not hasattr(answer, name) for name in members(Participation)):
        raise Wrong(says(answer), "a Participation, or None")
    return wrapped(PARTICIPATION, answer, ask.who)


def _begin(answer: Any, ask: Ask, change: ActionChange) -> CoupledCommit | None:
    if answer is not None and not isinstance(answer, CoupledCommit):
        raise Wrong(says(answer), "a CoupledCommit, or None")
    return answer


def _config(answer: Any, ask: Ask, *args: Any) -> TableConfig:
    if not isinstance(answer, TableConfig):
        raise Wrong(says(answer), "the TableConfig")
    return answer


def _flag(answer: Any, ask: Ask, *args: Any) -> bool:
    return shapes.flag(answer)


def _rebuilt(answer: Any, ask: Ask, request: Any) -> Rebuilt:
    if not isinstance(answer, Rebuilt):
        raise Wrong(says(answer), "a Rebuilt")
    return answer


def _changes(answer: Any, ask: Ask, config: TableConfig) -> Mapping[str, str | None]:
    if not isinstance(answer, Mapping) or not all(
        isinstance(key, str) and isinstance(value, str | None) for key, value in answer.items()
    ):
        raise Wrong(says(answer), "a mapping of texts to texts, or None")
    return answer


def _done(answer: Any, ask: Ask, *args: Any, **kwargs: Any) -> tuple[str, ...]:
    done: tuple[str, ...] = shapes.items(answer, str, "a tuple of texts")
    return done


def _entries(answer: Any, ask: Ask, storage: Any, timeline: Any, partitions: Any = None) -> Any:
    # As many turns as there are files: they are looked at where they are parsed.
    if not hasattr(answer, "__iter__"):
        raise Wrong(says(answer), "entries of files")
    if isinstance(answer, list) and answer and not isinstance(answer[0], Entry):
        raise Wrong(f"a list with {says(answer[0])} in it", "entries of files")
    return answer


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


def _findings(answer: Any, ask: Ask, *args: Any) -> tuple[Finding, ...]:
    return shapes.items(list(answer), Finding, "findings")


def _keys_check(answer: Any, ask: Ask, storage: Any, timeline: Any) -> Any:
    if answer is not None and any(not hasattr(answer, name) for name in ("see", "findings")):
        raise Wrong(says(answer), "a KeysCheck, or None")
    return answer


def _kept(
    answer: Any, ask: Ask, request: PruneRequest, slices: Sequence[FileSlice]
) -> tuple[FileSlice, ...]:
    wanted = "some of the slices given, each once"
    found: tuple[FileSlice, ...] = shapes.items(answer, FileSlice, wanted)
    return found if found == tuple(slices) else shapes.chosen(found, slices, wanted)


PARTICIPANT = Kind(
    "participant",
    properties={
        "properties": lambda answer, ask: shapes.names(answer),
    },
    methods={
        "join": _join,
        "hidden": _config,
        "reading": _config,
        "check": None,
        "new_table": _config,
        "created": None,
        "stale": _config,
        "undone": None,
        "sweep": None,
        "holds": _flag,
        "refuse_undo": None,
        "retire": _config,
        "repair": _config,
        "service": _done,
        "makes": _flag,
        "stores": _flag,
        "lacks": _flag,
        "shares": _flag,
        "rebuild": _rebuilt,
        "keys_are_virtual": _changes,
        "delete_given_up": None,
        "verify_files": _findings,
        "verify_keys": _keys_check,
        "lists": _flag,
        "list_files": _entries,
        "column_ranges": _ranges,
    },
    says_missing=frozenset({"list_files"}),
)

PARTICIPATION = Kind(
    "participation",
    properties={
        "keys": lambda answer, ask: shapes.flag(answer),
        "noted": lambda answer, ask: shapes.texts(answer),
    },
    methods={"begin": _begin},
)


def _groups(answer: Any, ask: Ask, *args: Any) -> tuple[GroupEntries, ...]:
    wanted = "GroupEntries of its file groups, each once, of PARTITION_ENTRIES"
    found: tuple[GroupEntries, ...] = shapes.items(list(answer), GroupEntries, wanted)
    numbers = [group.group for group in found]
    if len(set(numbers)) < len(numbers) or any(not 0 <= n < ask.inner.groups for n in numbers):
        raise Wrong(f"the groups {numbers}", wanted)
    for group in found:
        shapes.schema(group.entries.schema, PARTITION_ENTRIES, wanted)
    return found


def _merge(answer: Any, ask: Ask, older: pa.Array, newer: pa.Array) -> pa.Array:
    return shapes.array(answer, pa.binary(), len(newer))


METADATA_PARTITION = Kind(
    "metadata_partition",
    properties={
        "groups": lambda answer, ask: shapes.whole(answer, 1),
        "keys": lambda answer, ask: shapes.flag(answer),
    },
    methods={"begin": _groups, "delta": _groups, "merge": _merge},
    travels=True,
)

PRUNER = Kind("pruner", methods={"keep": _kept})
