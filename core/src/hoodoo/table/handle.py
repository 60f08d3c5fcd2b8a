"""The handle of a table: its store, properties, options and plugins, which everything done to it
shares."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack, nullcontext, suppress
from functools import partial
from typing import Any, TypeVar

import pyarrow as pa

from hoodoo.actions.rollback.recovery import recover
from hoodoo.actions.rollback.run import rollback
from hoodoo.errors import CommitConflictError, HoodooError, PluginError, UnsupportedTableError
from hoodoo.hookspecs.engine import Engine
from hoodoo.hookspecs.file_format import BaseFileFormat
from hoodoo.hookspecs.key_generator import KeyGenerator
from hoodoo.hookspecs.read_source import ReadSource
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.resolve import Resolved, resolve
from hoodoo.model.config import TableConfig
from hoodoo.model.filegroup import FileSlice
from hoodoo.model.instant import Instant
from hoodoo.model.meta import without_meta
from hoodoo.model.schema.avro import arrow_schema
from hoodoo.options.table import BACKUP_OF
from hoodoo.participants.listing import KnownFiles, build_whole
from hoodoo.participants.of_table import Joined
from hoodoo.storage.api import Storage
from hoodoo.storage.together import looking
from hoodoo.table import settings as tables
from hoodoo.table.after_write import AfterWrites, FollowedTable, call_action
from hoodoo.table.participants import TableParticipants
from hoodoo.timeline import properties
from hoodoo.timeline.batches import Batch
from hoodoo.timeline.publish import Following
from hoodoo.timeline.removed import taken_since
from hoodoo.timeline.snapshot import Look, Snapshot, TableSnapshot
from hoodoo.timeline.timeline import Timeline, load

SNAPSHOT_ATTEMPTS = 10
Read = TypeVar("Read")
Work = TypeVar("Work")
Follow = Callable[[Timeline, KnownFiles], Following | None]


class TableHandle(FollowedTable):
    """One open table, as actions, reads and writes get it. Every call looks at the table as it is
    then.

    What an action needs of it, in the order in which it usually does:

    - ``storage`` is the only way to the table's files; ``config`` has its properties, ``options``
      the options with which it was opened, ``settings`` both; :meth:`check_options` checks options
      of one call.
    - :meth:`timeline` and :meth:`newest_slices` show the present state. Nothing is locked: when the
      action has done its work, both may be old. So it publishes through a request
      (:meth:`write_request`) and ``Writes`` of hoodoo-rows, which look again after every conflict.
    - A request knows ``participants``; an action that puts its own instants on the timeline gives
      them :attr:`participants` ``.join(timeline)``.
    - :meth:`run` runs another action before or after.

    ``default_engine``: the engine of calls that name none. ``overrides``: plugins that are objects,
    by family.
    """

    def __init__(
        self,
        storage: Storage,
        config: TableConfig,
        options: Mapping[str, str],
        engine: str | Engine | None = None,
        overrides: Mapping[str, Any] | None = None,
    ) -> None:
        self.storage = storage
        self.config = config
        self.options = dict(options)
        self.default_engine = engine
        self.overrides = dict(overrides or {})
        self.other_index: Resolved | None = None  # in place of the one that they name
        self.made = {}
        self.warned: set[str] = set()  # of what, by their own names
        self.writer_queue = tables.turns(Settings(config, options))
        self.participants = TableParticipants(self)
        self.after_writes = AfterWrites(self)
        self._recovered = False

    def with_options(self, options: Mapping[str, str]) -> TableHandle:
        """This table, with ``options`` in place of its own of these names."""
        other = copy.copy(self)
        other.options, other.made = {**self.options, **options}, dict(self.made)
        other.participants = TableParticipants(other)
        return other

    # --- what it is -------------------------------------------------------------------------------
    @property
    def schema(self) -> pa.Schema:
        """The table's own columns, now; the ``_hoodie_*`` columns are not among them."""
        for _ in range(SNAPSHOT_ATTEMPTS):
            with suppress(CommitConflictError):  # archived or undone since the look
                return self.schema_at(self.timeline())
        return self.schema_at(self.timeline())

    def schema_at(self, timeline: Timeline) -> pa.Schema:
        """The columns that the newest write of ``timeline`` has noted."""
        text = timeline.latest_schema_text(self.storage) or self.config.create_schema
        return without_meta(
            self.rows.stored_schema(self.source()) if text is None else arrow_schema(text)
        )

    def check_writable(self) -> None:
        """UnsupportedTableError for a backup, and where the table has what no participant that is
        installed keeps up to date. Called before anything is written."""
        if (of := self.config.get(BACKUP_OF)) is not None:
            raise UnsupportedTableError(
                f"backup {self.storage.root}",
                f"is only read: the next backup of {of} would be refused.",
                "Write to that table, or make one of the backup: "
                f"hoodoo.restore_backup({self.storage.root!r}, path).",
            )
        self.participants.each.refuse_unanswered(self.config)

    def saw(self, timeline: Timeline) -> None:
        """The timeline as it is now, with what has just been published; by another thread, perhaps,
        before this one has published something else."""
        seen = self._timeline
        if seen is None or (timeline.decided or 0) >= (seen.decided or 0):
            self.after_writes.seen = self._timeline = timeline

    # --- rows: as the plugin that reads and writes them answers -----------------------------------
    def plugins(self) -> Any:
        """Key generator, merger, index and file format, as the properties name them."""
        return self.rows.plugins(self)

    def key_generator(self) -> KeyGenerator:
        """The key generator as the next write needs it. ConfigError where neither properties nor
        rows say it."""
        return self.rows.key_generator(self)

    def stored_row(self, columns: Sequence[str]) -> pa.RecordBatch | None:
        """One row's meta columns and ``columns``; None of an empty table."""
        return self.rows.stored_row(self, columns)

    def write_request(
        self,
        kind: Any,
        take_snapshot: Callable[[], Any] | None = None,
        batch: Batch | None = None,
        follow: Follow = lambda timeline, files: None,
    ) -> Any:
        """A commit of ``kind`` for the functions of ``write/run.py`` of hoodoo-rows, by the table's
        options. ``take_snapshot`` is called before each attempt: by default
        :meth:`write_target`."""
        return self.rows.write_request(self, kind, take_snapshot, batch, follow)

    def __getstate__(self) -> dict[str, Any]:
        """A copy in another process makes its plugins again: some are found by functions, which
        don't travel."""
        return {**self.__dict__, "made": {}}

    # --- actions ----------------------------------------------------------------------------------
    def check_options(self, options: Mapping[str, Any]) -> dict[str, str]:
        """The ``options`` of one call as text, judged as those of ``hoodoo.open`` are:
        UnknownOptionError, OptionConflictError, ConfigError. They are not added to those of the
        table: ``{**table.options, **found}`` are both."""
        return tables.check_options(options, self.config)

    def run(self, action: Any, /, **options: Any) -> Any:
        """Do an action on this table: the name of one that is installed, or an object. The answer
        is the action's. CallError for options that it does not have."""
        return call_action(self, action, "run", options)

    def file_format(self) -> BaseFileFormat:
        """The format of the base files. PluginError where no plugin offers it."""
        name = self.config.base_file_format
        found: BaseFileFormat = resolve("file_format", name, self.settings).instance
        return found

    # --- reading ----------------------------------------------------------------------------------
    def source(self) -> ReadSource:
        """The table as a read sees it now."""
        try:
            file_format: BaseFileFormat | None = self.file_format()
        except PluginError:
            file_format = None  # the scan names what is missing
        return ReadSource(
            self.storage,
            self.config,
            self.timeline(),
            file_format,
            self._reading("key_generator", lambda config: config.key_generator),
            self._reading("merger", tables.merger_name),
            options=self.options,
        )

    def plan_read(self, plan: Callable[[ReadSource], Read]) -> Read:
        """What ``plan`` makes of the table as a read sees it; it is called again where another
        writer deleted files while the table was listed. CommitConflictError where that goes on."""
        for left in reversed(range(SNAPSHOT_ATTEMPTS)):
            with suppress(CommitConflictError) if left else nullcontext(), ExitStack() as stack:
                known = self._timeline
                seen = partial(self._stands, known, False)
                shown = stack.enter_context(looking(self.storage, "read", seen, self._asks()))
                # The keys may have become virtual: rows that were written since lack them.
                self.refresh()
                source = self.source()
                if shown and not (known and known.has_writes_like(source.timeline)):
                    stack.close()  # it has made a commit visible that the listings may lack
                return plan(source)
        raise AssertionError("not reached")

    def _reading(self, family: str, named: Callable[[TableConfig], str | None]) -> Any:
        """The table's plugin of ``family``; None where no plugin offers it. A read may well do
        without: the key generator prunes, the merger merges log files."""
        with suppress(HoodooError):
            wanted = self.overrides.get(family) or named(self.config)
            return None if wanted is None else resolve(family, wanted, self.settings).instance
        return None

    # --- writing ----------------------------------------------------------------------------------
    def undo(self, instant: Instant) -> None:
        """Roll ``instant`` back: its files are deleted, and it is no more on the timeline."""
        rollback(Snapshot(self.storage, load(self.storage, self.config)), instant)

    def newest_slices(
        self, listed: Timeline | None = None, checked: bool = True
    ) -> tuple[Timeline, tuple[FileSlice, ...]]:
        """The timeline, and the newest slice of each file group that is part of the table by it.
        Lists the table, or asks the participant that knows its files. ``listed``: the timeline of a
        moment ago. ``checked``: no other writer has taken files away while they were listed;
        CommitConflictError where they do so all the time."""
        for _ in range(SNAPSHOT_ATTEMPTS):
            timeline, listed = self.load_timeline(listed), None
            try:
                slices = build_whole(Snapshot(self.storage, timeline)).slices
            except CommitConflictError:  # undone since it was read
                continue
            if not checked or not taken_since(Snapshot(self.storage, timeline)):
                return timeline, slices
        raise CommitConflictError(
            f"table {self.config.name}",
            f"files were deleted {SNAPSHOT_ATTEMPTS} times while they were listed.",
            "Repeat the write.",
        )

    def on_snapshot(
        self,
        work: Callable[[TableSnapshot, Joined | None, bool], Work],
        *,
        check: Callable[[], object] = lambda: None,
        repair: bool = True,
        spare: Collection[str] = (),
        looks: bool = False,
        later: bool = False,
    ) -> Work:
        """What ``work`` makes of one look at the table: the snapshot (timeline, newest slices,
        schema), the participants that join what is made of it, and whether nobody else has decided
        anything since this handle did. What writers that died have left is finished or undone
        before.

        ``check`` is called before all changes. ``repair``: participants are completed first.
        ``spare``: abandoned clusterings that are not undone. ``looks``: nothing is changed.
        ``later``: files are listed on demand; those that others delete meanwhile are found before a
        commit.
        """
        if not looks:
            self.check_writable()
        for left in reversed(range(SNAPSHOT_ATTEMPTS)):
            # Others archived between a listing and its reading: look again.
            with suppress(FileNotFoundError) if left else nullcontext(), ExitStack() as stack:
                known = self._timeline
                same = partial(self._stands, known, True)
                look_begins = looking(self.storage, "begin", same, self._asks(True))
                shown = not looks and stack.enter_context(look_begins)
                calm = shown and self._recovered
                if looks or calm:
                    self.refresh()
                else:
                    self.use_properties(properties.recovered(self.storage))
                check()
                listed = None
                if not looks:
                    recovered = recover(self.storage, self.config, spare, calm)
                    listed, self._recovered = recovered.timeline, not recovered.waits
                    if repair and self.participants.repair(fresh=listed is not None):
                        listed = None
                if shown and not (known and listed and known.has_writes_like(listed)):
                    stack.close()  # what was listed may be older than what is looked at now
                    shown = False
                lists_later = later and bool(self.config.partition_fields)
                look: Callable[[], Any] = (
                    partial(self.load_timeline, listed)
                    if lists_later
                    else partial(self.newest_slices, listed, checked=not later)
                )
                found, now = look(), self.config
                if not shown or listed is None:  # they are read after the timeline
                    now = properties.load(self.storage)  # those that change since refuse the commit
                timeline, slices = (
                    (found, _listed_on_demand(Snapshot(self.storage, found)))
                    if lists_later
                    else (found[0], _already_listed(found[1]))
                )
                still = shown and known is not None and known.decided == timeline.decided
                schema = self.schema_at(timeline)
                snapshot = TableSnapshot(self.storage, timeline, self.config, schema, slices)
                return work(snapshot, self.participants.join(timeline, now), still)
        raise AssertionError("not reached")

    def expect_leftovers(self) -> None:
        """Tasks may yet put files of an instant that has ended: the next write looks for them."""
        self._recovered = False


def _listed_on_demand(snapshot: Snapshot) -> Look:
    return lambda paths: build_whole(snapshot, paths).slices


def _already_listed(slices: tuple[FileSlice, ...]) -> Look:
    return lambda paths: tuple(s for s in slices if paths is None or s.partition_path in paths)
