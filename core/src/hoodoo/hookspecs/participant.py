"""Participant: what becomes true together with an action of the table, and may refuse it.

An index that learns, a table of metadata, a catalog, a validator. It is asked before an action is
decided, begins what it has to say under the instant of the action, and completes it by the same
decision: both are seen, or none."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import pyarrow as pa
from attrs import Factory, frozen

from hoodoo.hookspecs.answers import Names, answers
from hoodoo.hookspecs.engine import Engine, Stream
from hoodoo.hookspecs.family import Family, Optional
from hoodoo.hookspecs.file_format import BaseFileFormat
from hoodoo.hookspecs.serializer import Serializer
from hoodoo.model.column_range import ColumnRange
from hoodoo.model.commit import Operation, WriteStat
from hoodoo.model.config import TableConfig
from hoodoo.model.filegroup import BaseFile, FileSlice
from hoodoo.model.findings import Finding
from hoodoo.model.instant import Instant
from hoodoo.storage.api import Entry, Storage
from hoodoo.timeline.publish import CoupledCommit
from hoodoo.timeline.timeline import Timeline

# A record key that a write added to a file, or (``deleted``) removed from it. ``file``: a number of
# :attr:`ChangedKeys.files`.
KEY_CHANGES = pa.schema(
    [("record_key", pa.string()), ("file", pa.int64()), ("deleted", pa.bool_())]
)
# What changes of the table's properties: None takes one away.
Changes = Mapping[str, str | None]


class TableState(Protocol):
    """A table as it was at one moment, and what works on it."""

    @property
    def storage(self) -> Storage:
        """The files of the table."""

    @property
    def config(self) -> TableConfig:
        """The properties of the table (``hoodie.properties``)."""

    @property
    def timeline(self) -> Timeline:
        """The timeline that :attr:`slices` were listed with."""

    @property
    def schema(self) -> pa.Schema:
        """The table's own columns."""

    @property
    def slices(self) -> tuple[FileSlice, ...]:
        """The newest of each file group."""

    @property
    def engine(self) -> Engine:
        """The engine of the call, in which steps over rows run."""

    @property
    def file_format(self) -> BaseFileFormat:
        """The format of base files. For a table with virtual keys it also makes the record keys."""

    @property
    def serializer(self) -> Serializer | None:
        """What packs rows that cross an exchange; None means the engine's default."""

    @property
    def options(self) -> Mapping[str, str]:
        """The options of the table handle: ``hoodie.*`` and ``hoodoo.*`` keys with their text."""

    def keys_of(self, slices: Sequence[FileSlice], first: int = 0, deleted: bool = False) -> Stream:
        """KEY_CHANGES of the rows of ``slices``, whose numbers begin with ``first``: reads their
        record keys, in tasks."""


@frozen
class ChangedKeys:
    """The record keys that a write put, moved or deleted.

    ``rows``: KEY_CHANGES of the files that it wrote (may be read more than once); None where it
    wrote none. ``files``: partition path and file id of each number there. ``replaced``: file
    slices that leave the table with the action, whose keys are not among ``rows``. ``moves``: each
    key of these has come into another file.
    """

    table: TableState
    rows: Stream | None = None
    files: Mapping[int, tuple[str, str]] = Factory(dict)
    replaced: tuple[FileSlice, ...] = ()
    moves: bool = False

    def with_replaced(self) -> ChangedKeys:
        """The same, with the keys of what is replaced as deleted ones: their files are read."""
        if self.moves or not self.replaced:
            return self
        return self.with_deleted(
            lambda first: self.table.keys_of(self.replaced, first, deleted=True)
        )

    def with_deleted(self, read: Callable[[int], Stream]) -> ChangedKeys:
        """The same, with the keys of what is replaced as ``read`` answers them, numbered from the
        number that it is given."""
        first = 1 + max(self.files, default=-1)
        more = {n: (s.partition_path, s.file_id) for n, s in enumerate(self.replaced, first)}
        streams = [s for s in (self.rows, read(first)) if s is not None]
        rows = self.table.engine.union(streams) if len(streams) > 1 else streams[0]
        return ChangedKeys(self.table, rows, {**self.files, **more}, (), self.moves)


@frozen
class ActionChange:
    """What an action is about to change. Its files are there, under the pending ``instant``; it is
    not decided.

    ``stats``: the files that it adds; ``removed``: paths that it takes away; ``replaced``:
    partition path -> file ids of the file groups that leave the table with it. ``schema``: the
    table's own columns. ``timeline``: what the action was made of. ``engine``: None where no file
    was written. ``keys``: only for who asks for them, and of actions that change where keys lie.
    ``index``: what found the keys of the write. ``resumed``: an earlier run of the action may have
    come as far as this.
    """

    storage: Storage
    timeline: Timeline
    instant: Instant
    operation: Operation
    schema: pa.Schema
    stats: tuple[WriteStat, ...] = ()
    removed: tuple[str, ...] = ()
    replaced: Mapping[str, tuple[str, ...]] = Factory(dict)
    engine: Engine | None = None
    keys: ChangedKeys | None = None
    index: Any = None
    serializer: Serializer | None = None
    resumed: bool = False


@runtime_checkable
class Participation(Protocol):
    """Takes part in the actions that are made of one look at the table."""

    @property
    def keys(self) -> bool:
        """Whether it asks for record keys. The cost: tasks note each key that came or went, and the
        keys are staged; rows that are written without an index are read again."""

    @property
    def noted(self) -> Mapping[str, str]:
        """What commits say of it in their ``extraMetadata``."""

    def begin(self, change: ActionChange) -> CoupledCommit | None:
        """Begin what has to become true with ``change``; how it is completed, or None where nothing
        is left to do.

        The writer waits for it: it may cost what the action changed, and never what the table
        holds. A :class:`~hoodoo.errors.HoodooError` refuses the action, with its reason: all that
        was written is undone then, and (:meth:`ParticipantServices.undone`) what was begun here.
        """


@runtime_checkable
class Participant(Protocol):
    """Contract suite: ``hoodoo.testing.contracts.participant``. Rebuilt for each table that is
    opened, and asked on the driver alone. Members beyond these are in :class:`ParticipantServices`,
    :class:`ListsFiles` and :class:`KnowsRanges`; each of them may be missing."""

    def join(self, storage: Storage, timeline: Timeline) -> Participation | None:
        """How it takes part in what is made of ``timeline``, whose properties were read after it;
        None where it has nothing to do with the table. Asked before each action: a few small reads
        at the most."""


@frozen
class RebuildRequest:
    """``name``: what is to be rebuilt, None for all that there is; ``is_index``: it is the name of
    an index, and of nothing else that may have the same. ``look`` answers the table as it is now.
    ``source``: asked where all keys of the table lie, in place of the files. ``own_index``: the
    name of the index that the table has. ``shape``: how it is to be made, by words that the maker
    knows; ConfigError for others."""

    storage: Storage
    config: TableConfig
    look: Callable[[], TableState]
    name: str | None = None
    source: Callable[[TableState], pa.Table] | None = None
    own_index: str | None = None
    is_index: bool = False
    shape: Mapping[str, Any] = Factory(dict)


@frozen
class Rebuilt:
    """``config``: the properties as they are then; ``made``: the names of what was made.
    ``unique_index``: an index of the whole table that was made with it, of keys that lie in one
    place each."""

    config: TableConfig
    made: tuple[str, ...] = ()
    unique_index: str | None = None


class KeysCheck(Protocol):
    """Compares what a participant says of record keys with the rows, which are shown slice by
    slice."""

    def see(self, slice_: FileSlice, keys: pa.ChunkedArray) -> None:
        """The record keys of a slice. Each of the newest slices is shown once."""

    def findings(self) -> Iterable[Finding | str]:
        """What is wrong, once all have been seen; as a text, what is allowed and worth a note."""


@runtime_checkable
class ParticipantServices(Protocol):
    """What a participant may have in addition: each member by itself, with the default that it
    says."""

    # --- properties -------------------------------------------------------------------------------
    @property
    @answers(Names())
    def properties(self) -> tuple[str, ...]:
        """Table properties that it answers for. A table that has one of them which nobody answers
        for is not written. Default: none."""

    @property
    def parts(self) -> tuple[Participant, ...]:
        """Further participants that come with it, each asked for itself: one for each index that
        learns, say. Asked once for each table that is opened. Default: none."""

    def hidden(self, config: TableConfig) -> TableConfig:
        """``config`` as of a table that it has no part in: what is verified by listings. Default:
        the same."""

    def reading(self, config: TableConfig) -> TableConfig:
        """``config`` as reads use it, with the options of this call. Default: the same."""

    def check(self) -> None:
        """Raises ConfigError for options that are right alone and contradict each other. Default:
        none do."""

    def new_table(self, config: TableConfig) -> TableConfig:
        """The properties of a table that is about to be made, with what it needs. Raises
        ConfigError or UnsupportedTableError where the options ask for what can't be. Default: the
        same."""

    def created(self, storage: Storage, config: TableConfig) -> None:
        """The table is there, without rows. Default: nothing is done; :meth:`repair` follows."""

    def stale(self, storage: Storage, config: TableConfig) -> TableConfig:
        """Before a write is decided: take away what would be wrong after it, as nobody keeps it;
        the properties as they are then. Default: the same."""

    # --- life of actions --------------------------------------------------------------------------
    def undone(self, storage: Storage, config: TableConfig, requested: str) -> None:
        """The action of the instant ``requested`` is being undone, by a rollback or a restore, and
        is pending again: leave nothing of it. Before its files leave the timeline. May come again.
        Default: nothing."""

    def sweep(self, storage: Storage, undone: Collection[str]) -> None:
        """Delete what late tasks put for instants that were undone. Default: nothing."""

    def holds(self, storage: Storage, timeline: Timeline, requested: str) -> bool:
        """Whether the completed instant ``requested`` can't be taken out again: it is rebuilt then
        (:meth:`retire`, :meth:`repair`). Default: no."""

    def refuse_undo(self, storage: Storage, timeline: Timeline, requested: str) -> None:
        """Right before it is decided that ``requested`` is undone: raises CommitConflictError where
        that may not be now. Default: it may."""

    def kept_from(self, storage: Storage, timeline: Timeline) -> str | None:
        """The first instant that has to stay on the active timeline, as what is stored is read by
        it; None: archiving may take any. Default: None."""

    def retire(self, storage: Storage, config: TableConfig) -> TableConfig:
        """More is undone than the participant can follow: its answers must not be used until it is
        rebuilt. The properties as they are then. Default: the same."""

    def repair(self, request: RebuildRequest) -> TableConfig:
        """What a writer does first: complete what somebody began to make, and nobody is at. The
        properties as they are then. Default: the same."""

    def service(
        self, storage: Storage, timeline: Timeline, engine: Callable[[], Engine], due: bool
    ) -> tuple[str, ...]:
        """After a write (``due``: only what is due), or when a user asks: its own upkeep; what was
        done. What it raises is no failure of the write. Default: nothing."""

    def after_action(self, request: RebuildRequest, timeline: Timeline) -> tuple[str, ...]:
        """After every completed action, inline or by hand: write, rollback, restore, clean and the
        others. ``timeline`` has it; ``request.look()`` shows the table. Returns what was done. May
        be called again for one action, and by several threads. An error is no failure of the
        action. Default: nothing."""

    def before_clean(self, request: RebuildRequest, paths: Sequence[str]) -> None:
        """A clean is about to delete ``paths``; a HoodooError leaves it pending. Default:
        nothing."""

    # --- indexes ----------------------------------------------------------------------------------
    def makes(self, name: str) -> bool:
        """Whether :meth:`rebuild` knows ``name``: an index, or another thing that it stores.
        Default: no."""

    def stores(self, index: str) -> bool:
        """Whether entries of the index of this name are stored here. Default: no."""

    def lacks(self, storage: Storage, config: TableConfig, index: str) -> bool:
        """Whether the index of this name is stored here, and there is none of it yet. ConfigError
        or UnsupportedTableError where the table can't have it."""

    def shares(self, one: str, other: str) -> bool:
        """Whether two indexes that are stored here have one place, so that one goes when the other
        is made. Default: no."""

    def rebuild(self, request: RebuildRequest) -> Rebuilt:
        """Rebuild it from the table's files, while writers go on. Raises ConfigError for what it
        can't make, CommitConflictError while another process is at it."""

    def make_virtual(self, request: RebuildRequest) -> TableConfig:
        """Before a table stops to store record keys: make what goes on with virtual ones in the
        place of what can't (:meth:`keys_are_virtual`); the properties as they are then. Default:
        nothing."""

    def make_stored(self, request: RebuildRequest) -> TableConfig:
        """The way back, after the table stores them again. Default: nothing."""

    def keys_are_virtual(self, config: TableConfig) -> Changes:
        """The changes of the properties of a table that stores record keys no longer. Default:
        none."""

    def delete_given_up(self, storage: Storage, config: TableConfig) -> None:
        """Delete what the properties do not name any more. Default: nothing."""

    # --- verification -----------------------------------------------------------------------------
    def verify_files(
        self,
        storage: Storage,
        timeline: Timeline,
        files: Mapping[str, int],
        expected: Callable[[str], bool],
        removed: Callable[[str], bool],
    ) -> Iterable[Finding | str]:
        """Compare what it says of files with ``files``, path -> bytes, that are there. ``timeline``
        was looked at before. ``expected``: whether a completed commit names a path of them;
        ``removed``: whether a clean took a path away. A text is a note: what is allowed. Default:
        nothing is found."""

    def verify_keys(self, storage: Storage, timeline: Timeline) -> KeysCheck | None:
        """What compares the record keys; None where nothing is said of keys. Default: None."""


@runtime_checkable
class ListsFiles(Protocol):
    """A participant that knows which files the table has, so that no directory is listed. What it
    says of an instant counts once that is completed on the timeline."""

    def lists(self, timeline: Timeline) -> bool:
        """Whether it knows the files of the table that ``timeline`` is of."""

    def list_files(
        self, storage: Storage, timeline: Timeline, partitions: Iterable[str] | None = None
    ) -> Iterable[Entry]:
        """All files of the table, or of the partition paths given. CorruptTableError if the
        stored listing can't be read: a missing file is a wrong answer."""


@runtime_checkable
class KnowsRanges(Protocol):
    """A participant that knows what base files hold in columns, so that they need not be opened."""

    def column_ranges(
        self,
        storage: Storage,
        timeline: Timeline,
        files: Sequence[BaseFile],
        columns: Sequence[str],
    ) -> Mapping[BaseFile, Mapping[str, ColumnRange]]:
        """Those of ``columns`` (fields of structs: ``outer.inner``) that it knows of some of
        ``files``."""


FAMILY = Family(
    "hoodoo_participants",
    """Offer participants. When: a table is opened, each of them is made for it;
    :meth:`Participant.join` says whether it has anything to do there. Default: none.

    Options of the registration are honoured on every table. The factory returns a
    :class:`Participant`.""",
    (Participant,),
    optional=(ParticipantServices, ListsFiles, KnowsRanges),
    lacking={"properties": Optional(()), "parts": Optional(())},
    parts={"participation": (Participation,)},
)
