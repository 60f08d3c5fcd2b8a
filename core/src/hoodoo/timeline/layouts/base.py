"""Timeline layout: the interface between table versions and all code that uses the timeline."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar, Protocol

from attrs import frozen

from hoodoo.model.action import named
from hoodoo.model.commit import CommitMetadata
from hoodoo.model.config import TableConfig
from hoodoo.model.filegroup import FileSlice, LogFile
from hoodoo.model.instant import Instant, State
from hoodoo.timeline import stats
from hoodoo.timeline.names import PENDING, completed_action, parse_pending

Place = tuple[str, str, int]
Newest = FileSlice | None


class Writes(Protocol):
    """What a layout has to know of a timeline."""

    def find(self, requested: str) -> Instant | None:
        """Return the completed write of that requested time, or None."""

    def writes(self) -> tuple[Instant, ...]:
        """Return all completed writes, by requested time."""

    def completion_time(self, instant: str) -> str:
        """Return when ``instant`` completed; its requested time where that is not known."""


@frozen
class NewLog:
    """A log file that a write adds to a file group, and what its write stat says: the instant and
    the base file of the slice, and the names of the slice's log files with the new one."""

    file: LogFile
    prev_commit: str
    base_file: str
    files: tuple[str, ...]


class TimelineLayout(ABC):
    """How the timeline of a table is laid out, and all that follows from it.

    ``names_completion``: the file of a completed instant has its completion time, and readers use
    it; else they use the requested time. ``log_names_slice``: the name of a log file has the slice
    it belongs to, not its writer: blocks of several writers, committed or not, may be in one file.
    Else the name has the instant that wrote the file. ``allows_empty``: the file of a completed
    commit may be empty. ``log_marker``: the type of the marker of a log file. ``plans_as_writes``:
    a pending service that replaces file groups is filed under the write that it completes as.
    """

    number: ClassVar[int]
    names_completion: ClassVar[bool]
    log_names_slice: ClassVar[bool]
    allows_empty: ClassVar[bool]
    log_marker: ClassVar[str]
    plans_as_writes: ClassVar[bool] = False
    _form: ClassVar[str]

    def __eq__(self, other: object) -> bool:  # a copy in another process is the same layout
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return f"<timeline layout {self.number}>"

    # --- names of instants ------------------------------------------------------------------------
    def parse_instant(self, name: str) -> Instant | None:
        """The instant that a file of the active timeline stands for; None for any other file.

        The action is as the name says it: a completed compaction is a ``commit``.
        """
        return parse_pending(name) if name.endswith(PENDING) else self._parse_completed(name)

    def file_name(self, instant: Instant) -> str:
        """The inverse of :meth:`parse_instant`. Raises :class:`~hoodoo.errors.HoodooError` for a
        completed instant without completion time where its name says that."""
        if instant.state is State.COMPLETED:
            return self._completed_name(instant, completed_action(instant.action))
        action = self.pending_action(instant.action)
        if instant.state is State.INFLIGHT and action == "commit":
            return f"{instant.requested}.inflight"
        return f"{instant.requested}.{action}.{instant.state.value.lower()}"

    def pending_action(self, action: str) -> str:
        """The action that a pending ``action`` is filed under."""
        found = named(action)
        moved = self.plans_as_writes and found.is_service and found.replaces
        return found.completes_as if moved else action

    @abstractmethod
    def _parse_completed(self, name: str) -> Instant | None: ...

    @abstractmethod
    def _completed_name(self, instant: Instant, action: str) -> str: ...

    # --- contents ---------------------------------------------------------------------------------
    def encode_commit(self, metadata: CommitMetadata, action: str) -> bytes:
        """The completed file of a commit, deltacommit or replacecommit, or of a service."""
        if not named(action).replaces:
            return self.encode_inflight(metadata)
        record = stats.to_record(metadata, self._form)
        record["partitionToReplaceFileIds"] = {k: list(v) for k, v in metadata.replaced.items()}
        return self._encode("HoodieReplaceCommitMetadata", record)

    def encode_inflight(self, metadata: CommitMetadata) -> bytes:
        """The workload profile in an inflight file; its stats have an empty ``path``."""
        return self._encode("HoodieCommitMetadata", stats.to_record(metadata, self._form))

    @abstractmethod
    def _encode(self, name: str, record: dict[str, Any]) -> bytes:
        """The bytes of ``record``, of the schema ``name``."""

    # --- places -----------------------------------------------------------------------------------
    @abstractmethod
    def folders(self, config: TableConfig) -> tuple[str, ...]:
        """Where a timeline of this layout may be, relative to the table root."""

    @abstractmethod
    def first_files(self, config: TableConfig) -> tuple[str, ...]:
        """Empty files that a new table begins with."""

    @abstractmethod
    def archive_folder(self, config: TableConfig) -> str:
        """Where the archived timeline is, relative to the table root."""

    # --- log files --------------------------------------------------------------------------------
    @abstractmethod
    def log_time(self, log: LogFile, timeline: Writes) -> str:
        """The instant that places ``log``: it belongs to the newest slice that began by then."""

    @abstractmethod
    def log_writers(self, names: Iterable[str], timeline: Writes) -> list[Instant]:
        """The completed writes that may have written to log files with the instants ``names``."""

    @abstractmethod
    def new_log(
        self, place: Place, instant: str, slice_: Newest, pending: str | None, tells_slice: bool
    ) -> NewLog:
        """The log file that the write ``instant`` adds. ``place``: partition path, file id, number
        of the task; ``slice_``: the latest slice of the group; ``pending``: the instant of the
        compaction that is planned for it; ``tells_slice``: the stat names the slice where the name
        of the file does not."""

    def request_bound(self, point: str | None) -> str | None:
        """The requested time up to which log files count for a reader that sees the timeline as of
        ``point``; None where the timeline itself says which count."""
        return point if self.log_names_slice else None
