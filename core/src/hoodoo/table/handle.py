"""The handle of a table: its store, properties, options and plugins, which everything done to it shares."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack, nullcontext, suppress
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

import pyarrow as pa
from attrs import evolve

from hoodoo.actions.rollback.recovery import recover
from hoodoo.actions.rollback.run import rollback
from hoodoo.errors import CommitConflictError, HoodooError, PluginError, UnsupportedTableError, warn
from hoodoo.hookspecs.clustering_updates import PendingPlan
from hoodoo.hookspecs.engine import Engine, KnowsStorage
from hoodoo.hookspecs.file_format import BaseFileFormat
from hoodoo.hookspecs.key_generator import KeyGenerator, Settles, record_key_columns
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.registry import kernel
from hoodoo.kernel.resolve import Resolved, default_name, resolve
from hoodoo.model.config import HUDI_INDEX, OWN_INDEX, TableConfig
from hoodoo.model.filegroup import FileSlice
from hoodoo.model.instant import Instant
from hoodoo.model.meta import RECORD_KEY, without_meta
from hoodoo.model.schema.avro import arrow_schema
from hoodoo.options import write as write_options
from hoodoo.participants.listing import build_whole, is_known
from hoodoo.produce.markers import MARKERS
from hoodoo.read.exact import refuse_inexact
from hoodoo.read.plan import plan_scan
from hoodoo.read.source import ReadSource
from hoodoo.read.stored_row import stored_row
from hoodoo.storage.api import Storage
from hoodoo.storage.together import Asked, Listed, looking, together
from hoodoo.table import settings as tables
from hoodoo.table.after_write import AfterWrites
from hoodoo.table.call_action import call_action
from hoodoo.table.participants import TableParticipants
from hoodoo.timeline import heartbeat, ledger, properties
from hoodoo.timeline.batches import Batch
from hoodoo.timeline.instants import next_instant
from hoodoo.timeline.ledger import settled
from hoodoo.timeline.plans import PLANNER, pending_clusterings, pending_groups
from hoodoo.timeline.removed import taken_since
from hoodoo.timeline.snapshot import Look, Snapshot
from hoodoo.timeline.timeline import Timeline, from_names, load, reload
from hoodoo.write.log_keys import stores_keys
from hoodoo.write.operation import WriteKind
from hoodoo.write.run import Follow, WriteRequest
from hoodoo.write.target import WritePlugins, WritePolicy, WriteTarget

SNAPSHOT_ATTEMPTS = 10
Read = TypeVar("Read")


class TableHandle:
    """One open table, as actions, reads and writes get it. Every call looks at the table as it is then.

    What an action needs of it, in the order in which it usually does:

    - ``storage`` is the only way to the table's files; ``config`` are its properties, ``options`` what it was
      opened with, ``settings`` both; :meth:`check_options` for those of one call.
    - :meth:`timeline` and :meth:`newest_slices` are what is there. Nothing has been locked: by the time that an
      action has worked, both may be old. So it publishes through a request (:meth:`write_request`), which looks
      again after every conflict, with :func:`hoodoo.write.run.commit_files` or
      :func:`hoodoo.write.run.drop_partitions`.
    - ``participants`` know of it by themselves where a request is used; an action that puts its own instants on
      the timeline gives them :attr:`participants` ``.join(timeline)``.
    - :meth:`run` does another action first, or afterwards.

    ``default_engine``: the engine of calls that name none. ``overrides``: plugins that are objects, by family.
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
        self.writer_queue = tables.turns(Settings(config, options))
        self.participants = TableParticipants(self)
        self.after_writes = AfterWrites(self)
        # An index in place of the one that properties and options name.
        self._index: Resolved | None = None
        self._timeline: Timeline | None = None
        self._plugins: tables.Plugins | None = None
        self._write_plugins: tuple[tables.Plugins, dict[str, str], WritePlugins] | None = None
        self._warned_of_keys = False
        self._recovered = False

    def with_options(self, options: Mapping[str, str]) -> TableHandle:
        """This table, with ``options`` in place of its own of these names."""
        other = copy.copy(self)
        other.options = {**self.options, **options}
        return other

    def with_index(self, found: Resolved, options: Mapping[str, str]) -> TableHandle:
        """This table as if ``found`` were its index, whatever its properties say."""
        other = copy.copy(self)
        other.options = dict(options)
        other.overrides = {k: v for k, v in self.overrides.items() if k != "index"}
        if found.ref.instance is not None:
            other.overrides["index"] = found.ref.instance
        other.participants = TableParticipants(other)
        other.after_writes = AfterWrites(other)
        other._plugins, other._index = None, found
        return other

    # --- what it is -------------------------------------------------------------------------------
    @property
    def settings(self) -> Settings:
        """Properties and options, as factories of plugins get them."""
        return Settings(self.config, self.options)

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
        stored = plan_scan(self.source()).stored if text is None else arrow_schema(text)
        return without_meta(stored)

    def timeline(self) -> Timeline:
        """The active timeline, now. A commit that was decided, and whose writer died before it could be seen, is
        made visible first; :meth:`load_timeline` does without."""
        with suppress(HoodooError):  # who may not write reads what there is
            return self.load_timeline(settled(self.storage, self.config, reads=True))
        return self.load_timeline()

    def load_timeline(self, listed: Timeline | None = None) -> Timeline:
        """The active timeline now, or as ``listed`` shows it; changes nothing. NotATableError of a deleted table."""
        known = self._timeline
        if listed is None and known is not None:
            now = reload(self.storage, known)
        else:
            config = self.participants.readable(self.config)
            found = load(self.storage, config) if listed is None else evolve(listed, config=config)
            now = found if known is None else known.seen_by(found)
        if not now.instants:  # nor may there be a table any more
            properties.load(self.storage)
        self._timeline = now  # another thread may put an older one there
        return now

    def refresh(self) -> None:
        """Read the properties again: another writer may have changed them since the table was opened. An action
        calls it first."""
        self.use_properties(properties.load(self.storage))

    def use_properties(self, config: TableConfig) -> None:
        """Go by the properties ``config``, which are stored already."""
        if config != self.config:
            self.config, self._timeline, self._plugins = config, None, None

    def change_properties(self, changes: Mapping[str, str | None]) -> None:
        """Store other values of properties, for all who open the table; None removes one."""
        self.config = properties.update(self.storage, self.config, changes)
        self._timeline, self._plugins = None, None

    def check_writable(self) -> None:
        """UnsupportedTableError where the table is of a version that Hoodoo only reads, or has what no participant
        that is installed keeps up to date. Called before anything is written."""
        if not self.config.traits.is_writable:
            raise UnsupportedTableError(
                f"table {self.config.name} of version {self.config.version}",
                "can only be read: this version is an interim format of Hudi 1.0, and its writers differ",
                "upgrade it with Hudi 1.1 or newer to version 9.",
            )
        self.participants.each.refuse_unanswered(self.config)

    def _stands(self, known: Timeline | None, exactly: bool, listed: Listed) -> bool:
        """Whether no write has completed since ``known``, what this handle knew when the look began (another thread may
        know more now): all files of others were there before. ``exactly``: nor is anything else new, or pending."""
        found = listed(self.config.timeline_path)
        if known is None or found is None:
            return False
        names = [e.name for e in found if not e.is_dir]
        return known.is_shown_by(names) if exactly else known.has_writes_of(names)

    def _asks(self, writes: bool = False) -> list[Asked]:
        """What the first look of this handle asks of the store, where it knows the timeline of a moment before."""
        seen = self._timeline
        if seen is None:
            return []
        asks = [
            ("get", properties.PATH),
            ("list", ledger.FOLDER),
            ("list", self.config.timeline_path),
        ]
        asks += [] if is_known(seen) else [("list", "")]
        left = [("get", properties.BACKUP), ("list", MARKERS), ("list", heartbeat.FOLDER)]
        return asks + left if writes else asks

    def begin_with(self, names: Iterable[str]) -> None:
        """The timeline directory had these names a moment ago."""
        self._timeline = from_names(names, self.participants.readable(self.config))

    def likely_instant(self, now: datetime) -> str:
        """What the next instant will be if nobody comes before it."""
        seen = self._timeline
        after = None if seen is None else seen.last_instant_time()
        return next_instant(now, after, self.config.timezone)

    def saw(self, timeline: Timeline) -> None:
        """The timeline as it is now, with what has just been published; by another thread, perhaps, before this one
        has published something else."""
        seen = self._timeline
        if seen is None or (timeline.decided or 0) >= (seen.decided or 0):
            self.after_writes.seen = self._timeline = timeline

    # --- plugins ----------------------------------------------------------------------------------
    def plugins(self) -> tables.Plugins:
        """Key generator, merger, index and file format, as the properties name them."""
        found = self._plugins  # another thread may take it away
        if found is None:
            now, overrides = self.config, self.overrides
            config = now
            if self._index is not None:
                named = (HUDI_INDEX, OWN_INDEX)
                config = TableConfig({k: v for k, v in config.properties.items() if k not in named})
                by = self._index.ref
                overrides = {**overrides, "index": by.name if by.instance is None else by.instance}
            found = tables.load_plugins(config, self.options, overrides)
            if self.config is now:
                self._plugins = found
        return found

    def __getstate__(self) -> dict[str, Any]:
        """A copy in another process makes its plugins of a write again: they are found by functions, which don't travel."""
        return {**self.__dict__, "_write_plugins": None}

    def write_plugins(self) -> WritePlugins:
        """Those, and what else decides in a write, by the options. Made once for the properties and options."""
        plugins, made = self.plugins(), self._write_plugins
        if made is None or made[0] is not plugins or made[1] != self.options:
            found = tables.write_plugins(plugins, self.settings)
            made = self._write_plugins = (plugins, dict(self.options), found)
        return made[2]

    def key_generator(self) -> KeyGenerator:
        """The key generator as the next write needs it: one that the table's properties don't tell enough reads a
        row of the table. ConfigError where that does not say it either."""
        found: KeyGenerator = self.plugins().generator
        if not isinstance(found, Settles):
            return found
        return found.settled(lambda: self.stored_row(record_key_columns(found)))

    def stored_row(self, columns: Sequence[str]) -> pa.RecordBatch | None:
        """One row's meta columns and ``columns``; None of an empty table."""
        return stored_row(self.source(), columns)

    def check_options(self, options: Mapping[str, Any]) -> dict[str, str]:
        """The ``options`` of one call as text, judged as those of ``hoodoo.open`` are: UnknownOptionError,
        OptionConflictError, ConfigError. They are not added to those of the table: ``{**table.options, **found}``
        are both."""
        return tables.check_options(options, self.config)

    def run(self, action: Any, /, **options: Any) -> Any:
        """Do an action on this table: the name of one that is installed, or an object. The answer is the action's.
        CallError for options that it does not have."""
        return call_action(self, action, "run", options)

    def file_format(self) -> BaseFileFormat:
        """The format of the base files. PluginError where no plugin offers it."""
        name = self.config.base_file_format
        found: BaseFileFormat = resolve("file_format", name, self.settings).instance
        return found

    def engine(self, data: Any, engine: str | Engine | None) -> Engine:
        """The engine that runs a call: ``engine`` where it is given, else the one that reads ``data``; the local one
        where there is no data."""
        if engine is None:
            # An engine registers `source:<package>` for the kinds of data that only it reads.
            package = type(data).__module__.split(".")[0]
            reader = kernel().find("engine", f"source:{package}")
            engine = default_name("engine", self.settings) if reader is None else reader.name
        found: Engine = resolve("engine", engine, self.settings).instance
        return found.on(self.storage) if isinstance(found, KnowsStorage) else found

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
        )

    def plan_read(self, plan: Callable[[ReadSource], Read]) -> Read:
        """What ``plan`` makes of the table as a read sees it; it is called again where another writer deleted files
        while the table was listed. CommitConflictError where that goes on."""
        for left in reversed(range(SNAPSHOT_ATTEMPTS)):
            with suppress(CommitConflictError) if left else nullcontext(), ExitStack() as stack:
                known = self._timeline
                seen = partial(self._stands, known, False)
                shown = stack.enter_context(looking(self.storage, "read", seen, self._asks()))
                self.refresh()  # the keys may have become virtual: rows that were written since lack them
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
        rollback(self.storage, load(self.storage, self.config), instant)

    def newest_slices(
        self, listed: Timeline | None = None, checked: bool = True
    ) -> tuple[Timeline, tuple[FileSlice, ...]]:
        """The timeline, and the newest slice of each file group that is part of the table by it. Lists the table,
        or asks the participant that knows its files. ``listed``: the timeline of a moment ago. ``checked``: no
        other writer has taken files away while they were listed; CommitConflictError where they do so all the time."""
        for _ in range(SNAPSHOT_ATTEMPTS):
            timeline, listed = self.load_timeline(listed), None
            try:
                slices = build_whole(self.storage, timeline).slices
            except CommitConflictError:  # undone since it was read
                continue
            if not checked or not taken_since(self.storage, timeline):
                return timeline, slices
        raise CommitConflictError(
            f"table {self.config.name}", f"files were deleted {SNAPSHOT_ATTEMPTS} times while they were listed.",
            "Repeat the write.",
        )  # fmt: skip

    def _looked(self, listed: Timeline | None, later: bool) -> tuple[Timeline, Look]:
        """The timeline, and what answers the newest slices; see :meth:`write_target` for ``later``."""
        if later and self.config.partition_fields:
            timeline = self.load_timeline(listed)
            return timeline, lambda paths: build_whole(self.storage, timeline, paths).slices
        timeline, slices = self.newest_slices(listed, checked=not later)
        return timeline, lambda paths: tuple(
            s for s in slices if paths is None or s.partition_path in paths
        )

    def write_target(
        self,
        data: Any = None,
        engine: str | Engine | None = None,
        repair: bool = True,
        spare: Collection[str] = (),
        looks: bool = False,
        later: bool = False,
    ) -> WriteTarget:
        """What a write or an action works on: one look at the table (timeline, newest slices, schema, plugins, the
        engine). What writers that died have left is finished or undone before.

        ``data`` is what is written, and chooses the engine; an action has none. ``engine``: by default that of the
        table. ``repair``: participants that are not complete are completed first. ``spare``: the instants of
        abandoned clusterings that are not undone. ``looks``: nothing is written, so nothing is changed before, either.
        ``later``: files are listed when they are asked for, those of some partition paths alone if that will do; what
        others took away meanwhile is found before a commit (:mod:`hoodoo.write.conflicts`).
        """
        engine = engine or self.default_engine
        if not looks:
            self.check_writable()
        for left in reversed(range(SNAPSHOT_ATTEMPTS)):
            # Others archived between a listing and its reading: look again.
            with suppress(FileNotFoundError) if left else nullcontext(), ExitStack() as stack:
                runner = self.engine(data, engine)
                known = self._timeline
                same = partial(self._stands, known, True)
                look_begins = looking(self.storage, "begin", same, self._asks(True))
                shown = not looks and stack.enter_context(look_begins)
                calm = shown and self._recovered
                if looks or calm:
                    self.refresh()
                else:
                    self.use_properties(properties.recovered(self.storage))
                self.plugins()  # what is missing is said before anything is changed
                listed = None
                if not looks:
                    recovered = recover(self.storage, self.config, spare, calm)
                    listed, self._recovered = recovered.timeline, not recovered.waits
                    if repair and self.participants.repair(fresh=listed is not None):
                        listed = None
                if shown and not (known and listed and known.has_writes_like(listed)):
                    stack.close()  # what was listed may be older than what is looked at now
                    shown = False
                look = partial(self._looked, listed, later)
                # Properties that change meanwhile refuse the commit.
                if shown and listed is not None:
                    (timeline, slices), now = look(), self.config
                elif listed is None:  # the properties are read after the timeline
                    (timeline, slices), now = look(), properties.load(self.storage)
                else:
                    read = partial(properties.load, self.storage)
                    (timeline, slices), now = together(self.storage, look, read)
                still = shown and known is not None and known.decided == timeline.decided
                return _write_target(self, timeline, slices, runner, now, still)
        raise AssertionError("not reached")

    def write_request(
        self,
        kind: WriteKind,
        take_snapshot: Callable[[], WriteTarget] | None = None,
        batch: Batch | None = None,
        follow: Follow = lambda timeline, files: None,
    ) -> WriteRequest:
        """A commit of ``kind`` (:mod:`hoodoo.write.operation`), for the functions of :mod:`hoodoo.write.run`: how often it is
        repeated, who waits for whom and what is a conflict, by the table's options. ``take_snapshot`` is called
        before each attempt: by default :meth:`write_target`."""
        return WriteRequest(
            storage=self.storage,
            kind=kind,
            look=take_snapshot or self.write_target,
            undo=self.undo,
            before_publish=self.participants.drop_stale,
            conflicts=tables.conflict_strategy(self.settings),
            turns=self.writer_queue,
            repeats=write_options.REPEATS.read(self.options),
            batch=batch,
            table=self.config.name,
            likely=self.likely_instant,
            saw=self.saw,
            follow=follow,
            late=partial(setattr, self, "_recovered", False),
        )

    def warn_of_stored_keys(self, slices: Sequence[FileSlice]) -> None:
        """Warn once of files whose stored keys are not read, as these are virtual."""
        if self._warned_of_keys or RECORD_KEY in self.config.filled_meta:
            return
        storing = sum(stores_keys(s, self.config) for s in slices)
        if storing:
            self._warned_of_keys = True
            warn(
                f"table {self.config.name}: its record keys are virtual; {storing} of {len(slices)} file "
                "groups have older files with stored keys, which are not used. table.rewrite_keys() makes these files smaller."
            )


def _write_target(
    table: TableHandle,
    timeline: Timeline,
    slices: Look,
    runner: Engine,
    now: TableConfig,
    calm: bool,
) -> WriteTarget:
    schema = table.schema_at(timeline)
    policy = WritePolicy(
        options=table.options,
        logs=tables.log_settings(table.settings, schema),
        compacting=pending_groups(table.storage, timeline),
        clusterings=_pending_plans(table, timeline),
        refuse_inexact=lambda grown: refuse_inexact(
            evolve(table.source(), timeline=timeline), runner, grown
        ),
    )
    return WriteTarget(
        Snapshot(table.storage, table.config, timeline, schema, slices),
        evolve(table.write_plugins(), generator=table.key_generator()),
        policy,
        runner,
        table.participants.join(timeline, now),
        calm,
    )


def _pending_plans(table: TableHandle, timeline: Timeline) -> tuple[PendingPlan, ...]:
    undone = write_options.UNDONE.read(table.options)
    return tuple(
        PendingPlan(
            instant=plan.instant.requested,
            strategy=plan.strategy,
            groups=plan.file_groups,
            params=plan.params,
            action=plan.instant.action,
            is_foreign=undone or PLANNER not in plan.extra,
        )
        for plan in pending_clusterings(table.storage, timeline)
    )
