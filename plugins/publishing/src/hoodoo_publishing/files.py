"""The base files of a table, and how each commit changed them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pyarrow as pa
from attrs import Factory, evolve, frozen
from hoodoo.errors import CorruptTableError, InstantGoneError
from hoodoo.hookspecs.participant import TableState
from hoodoo.model.commit import Operation
from hoodoo.model.filegroup import BaseFile
from hoodoo.model.instant import Instant
from hoodoo.model.meta import without_meta
from hoodoo.model.schema.avro import arrow_schema
from hoodoo.timeline.instants import to_datetime
from hoodoo.timeline.names import parse_path


@frozen
class Head:
    """The newest state that a format's metadata has. ``version``: its number there, -1 if there is
    none. ``files``: path -> base file. ``instant``: the commit that it shows; empty if there is
    none, or if another program wrote the newest version. ``detail``: what the format knows of
    it."""

    version: int = -1
    files: Mapping[str, BaseFile] = Factory(dict)
    instant: str = ""
    detail: Any = None


@frozen
class Step:
    """The change from one state of the table to the next. ``added`` and ``removed``: base files.
    ``instant``, ``completed``: requested and completion time of the commit that made the state."""

    instant: str
    completed: str
    operation: Operation
    schema: pa.Schema
    milliseconds: int
    added: tuple[BaseFile, ...] = ()
    removed: tuple[BaseFile, ...] = ()

    @property
    def changes_rows(self) -> bool:
        """A clustering writes the same rows to other files. So does a compaction, but its rows are
        new in the base files, which alone are published."""
        return self.operation is not Operation.CLUSTER


def milliseconds(instant: str, state: TableState) -> int:
    """Since the epoch, of an instant of the table."""
    return round(to_datetime(instant, state.config.timezone).timestamp() * 1000)


def base_files(state: TableState) -> dict[str, BaseFile]:
    """The base files that the table has now, by path."""
    files = (s.base_file for s in state.slices)
    return {file.path: file for file in files if file is not None}


def steps(head: Head, state: TableState, shows: Callable[[pa.Schema], bool]) -> list[Step]:
    """What has to be published after ``head``, so that it shows ``state``: one step for each commit
    that changed base files, in the order of completion. One step with all changes, if commits since
    are not on the timeline any more, or if the commit of ``head`` was undone. ``shows``: whether
    the schema of ``head`` is the one given."""
    writes = sorted(state.timeline.writes(), key=completion)
    if not writes:
        return _emptied(head, state)
    newest, target = writes[-1], base_files(state)
    found: list[Step] = []
    files = dict(head.files)
    since = _since(head, writes)
    is_one = since is not None
    for write in (since or ())[:-1]:
        step = _step(files, write, state)
        if step is None:
            found, files, is_one = [], dict(head.files), False
            break
        found.append(step)
        files = applied(files, step)
    added = tuple(file for path, file in target.items() if _differs(files.get(path), file))
    removed = tuple(file for path, file in files.items() if path not in target)
    last = Step(
        newest.requested,
        completion(newest),
        _operation(newest, state) if is_one else Operation.UNKNOWN,
        state.schema,
        milliseconds(completion(newest), state),
        added,
        removed,
    )
    before: pa.Schema | None = None
    changing = []
    for step in [*found, last]:
        same = shows(step.schema) if before is None else before == step.schema
        if step.added or step.removed or not same:
            changing.append(step)
            before = step.schema
    return changing


def applied(files: Mapping[str, BaseFile], step: Step) -> dict[str, BaseFile]:
    """``files`` after ``step``."""
    there = dict(files)
    for file in step.removed:
        there.pop(file.path, None)
    there.update((file.path, file) for file in step.added)
    return there


def merged(steps: Iterable[Step], files: Mapping[str, BaseFile]) -> Step:
    """One step from ``files`` to the state after the last of ``steps``."""
    each = list(steps)
    target = dict(files)
    for step in each:
        target = applied(target, step)
    added = tuple(file for path, file in target.items() if path not in files)
    removed = tuple(file for path, file in files.items() if path not in target)
    several = Operation.UNKNOWN if len(each) > 1 else each[-1].operation
    return evolve(each[-1], added=added, removed=removed, operation=several)


def completion(write: Instant) -> str:
    """The completion time of a write; table version 6 does not store it: there it is the requested
    time."""
    return write.completed or write.requested


def _differs(one: BaseFile | None, other: BaseFile) -> bool:
    return one is None or (one.size != other.size and bool(one.size and other.size))


def _since(head: Head, writes: list[Instant]) -> list[Instant] | None:
    """The writes after the commit of ``head``; None if that commit is not among ``writes``, unless
    there has been only one write."""
    for number, write in enumerate(writes):
        if write.requested == head.instant:
            return writes[number + 1 :]
    return writes if not head.files and len(writes) == 1 else None


def _emptied(head: Head, state: TableState) -> list[Step]:
    """The step after the only commit was undone."""
    at = state.timeline.last_instant_time()
    if not head.files or at is None:
        return []
    removed, time = tuple(head.files.values()), milliseconds(at, state)
    return [Step(at, at, Operation.UNKNOWN, state.schema, time, (), removed)]


def _step(files: Mapping[str, BaseFile], write: Instant, state: TableState) -> Step | None:
    """The step of one commit by what it says of itself; None if it can't be read any more."""
    try:
        metadata = state.timeline.metadata(state.storage, write)
        schema = (
            without_meta(arrow_schema(text)) if (text := metadata.schema_text) else state.schema
        )
    except (CorruptTableError, InstantGoneError, FileNotFoundError):
        return None
    written = [
        file
        for stat in metadata.stats
        if stat.log_version is None
        and isinstance(file := parse_path(stat.path, stat.file_size), BaseFile)
    ]
    groups = {(file.partition_path, file.file_id) for file in written} | metadata.replaced_groups
    removed = tuple(f for f in files.values() if (f.partition_path, f.file_id) in groups)
    operation = Operation.COMPACT if metadata.compacted else metadata.operation
    done = completion(write)
    time = milliseconds(done, state)
    return Step(write.requested, done, operation, schema, time, tuple(written), removed)


def _operation(write: Instant, state: TableState) -> Operation:
    try:
        metadata = state.timeline.metadata(state.storage, write)
    except (CorruptTableError, InstantGoneError, FileNotFoundError):
        return Operation.UNKNOWN
    return Operation.COMPACT if metadata.compacted else metadata.operation
