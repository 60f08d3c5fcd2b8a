"""Services of a table: what is done to it besides reading and writing rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from typing import Any, overload

from hoodoo.actions import savepoint
from hoodoo.actions.archive import run as archive
from hoodoo.actions.archive.plan import kept_by_cleaning
from hoodoo.actions.archive.run import Archived
from hoodoo.actions.archive.settings import ArchiveSettings
from hoodoo.actions.clean import run as clean_run
from hoodoo.actions.clean import schedule as clean
from hoodoo.actions.clean.run import Cleaned
from hoodoo.actions.clean.schedule import Cleaning
from hoodoo.actions.clean.settings import CleanSettings, named
from hoodoo.actions.compaction import run as compaction
from hoodoo.actions.restore import plan as restore_plan
from hoodoo.actions.restore import run as restore
from hoodoo.actions.restore.metadata import Restored
from hoodoo.actions.rollback.recovery import recover, sweep_undone
from hoodoo.actions.rollback.run import RolledBack, rollback, undoable
from hoodoo.errors import ConfigError, HoodooError, UnsupportedTableError
from hoodoo.hookspecs.engine import Engine
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.registry import kernel
from hoodoo.kernel.resolve import resolve
from hoodoo.model.figures import TableStats
from hoodoo.model.findings import Progress, Report, silent
from hoodoo.model.instant import Instant
from hoodoo.options.services import COMPACTION
from hoodoo.table import settings as tables
from hoodoo.table.opened import OpenTable
from hoodoo.timeline.plans.clean import pending_cleans
from hoodoo.timeline.plans.compaction import pending_compactions
from hoodoo.timeline.savepoints import Savepoint, savepoints
from hoodoo.timeline.timeline import Timeline, load
from hoodoo.write.commit import Commit

# A service that may be due after a write: it gets the timeline as it is, and says whether it has done
# something, so that the next one has to look again.
Inline = Callable[[Timeline], bool]


class Services(OpenTable):
    """Each service is also there as ``schedule_x`` and ``run_x`` where it has a plan."""

    # --- services ---------------------------------------------------------------------------------
    def compact(self, strategy: Any = None, *, engine: str | Engine | None = None) -> Commit:
        """Make base files of the log files of a table that is merged on read; no row changes.

        Pending compactions are finished, then a new one is planned and run. ``strategy`` is a name,
        a Java class or an object; by default ``hoodie.compaction.strategy`` says it. The commit has an
        empty instant where nothing was there to do. Writers may go on meanwhile.
        """
        commit = Commit("", "commit", "compact")
        for pending in pending_compactions(self.timeline()):
            try:
                commit = self.run_compaction(pending.requested, engine=engine)
            except ConfigError:
                if self.timeline().find(pending.requested) is None:
                    raise  # else another process has finished it meanwhile
        instant = self.schedule_compaction(strategy)
        return commit if instant is None else self.run_compaction(instant, engine=engine)

    def schedule_compaction(self, strategy: Any = None) -> str | None:
        """Plan a compaction; its instant, or None where there is nothing to compact. What somebody began to
        undo, and died, is undone first.

        Raises CommitConflictError in version 6 while a write is under way.
        """
        self._check_writable()
        self._refresh()  # the keys may have become virtual
        self._check_merged("compaction")
        # Writes are let be that may only be slow: those of Spark have no heartbeat.
        undoing = any(i.action in ("rollback", "restore") for i in self.timeline().pending())
        if undoing:
            recover(self._storage, self._config)
        wanted = strategy or COMPACTION.read(self._options)
        found, ref = resolve("compaction", wanted, self._settings)
        instant = compaction.schedule(self._storage, self._config, found, ref.name)
        return None if instant is None else instant.requested

    def run_compaction(self, instant: str, *, engine: str | Engine | None = None) -> Commit:
        """Run a planned compaction, from the start or where an earlier run stopped."""
        self._check_writable()
        self._refresh()
        self._check_merged("compaction")
        plugins = self._plugins()
        runner = self._resolve_engine(None, engine or self._engine)
        runner.check(plugins.refs)
        target = compaction.CompactionTarget(
            storage=self._storage,
            config=self._config,
            schema=self._schema(self.timeline()),
            engine=runner,
            merger=plugins.merger,
            file_format=plugins.file_format,
            before_publish=self._drop_stale,
            generator=plugins.generator,
            join=self._join,
        )
        return compaction.run(target, instant)

    schedule_compact = schedule_compaction
    run_compact = run_compaction

    def clean(self, policy: Any = None, **settings: Any) -> Cleaned:
        """Delete the files that neither readers of the recent past nor a savepoint need.

        Pending cleans are finished, then a new one is planned and run. ``policy`` is a name or an
        object; by default ``hoodie.clean.policy`` says it. ``settings`` are options of cleaning by the
        end of their name: ``commits_retained=5``, ``reader_window=2``. The answer has an empty instant
        where nothing was there to do. Raises StorageError where a file can't be deleted: clean again.
        """
        self._refresh()
        return self._clean(self._cleaning(policy, settings), self.timeline())

    def schedule_clean(self, policy: Any = None, **settings: Any) -> str | None:
        """Plan a clean; its instant, or None where there is nothing to delete."""
        self._refresh()
        how = self._cleaning(policy, settings)
        instant = clean.schedule(self._storage, self.timeline(), how)
        return None if instant is None else instant.requested

    def run_clean(self, instant: str) -> Cleaned:
        """Run a planned clean, from the start or where an earlier run stopped. What has come to be
        needed since it was planned is left."""
        self._refresh()
        self._check_writable()
        threads = CleanSettings.of(self._options).threads
        return clean_run.run(
            self._storage, self.timeline(), instant, threads, self._drop_stale,
            join=self._join, schema=self._schema(self._look()),
        )  # fmt: skip

    def archive(self) -> Archived:
        """Move the beginning of the active timeline into the archived one, if it has more completed
        writes than ``hoodie.keep.max.commits``. What is needed for reading and cleaning stays."""
        settings = ArchiveSettings.of(self._options)
        self._check_writable()
        recover(self._storage, self._config)
        return self._archive(settings, self.timeline())

    @overload
    def rollback(self) -> tuple[str, ...]: ...
    @overload
    def rollback(self, instant: str) -> RolledBack: ...
    def rollback(self, instant: str | None = None) -> tuple[str, ...] | RolledBack:
        """Undo failed writes now instead of at the next write; the instants that were undone.

        With an ``instant``, undo that one: a pending one, or the newest completed write. Raises
        ConfigError where it is neither, a savepoint keeps it, or what it replaced has been cleaned;
        CommitConflictError while something is pending that may build on it.
        """
        if instant is None:
            return tuple(done.instant for done in recover(self._storage, self._config))
        self._check_writable()
        timeline = self.timeline()
        found = undoable(self._storage, timeline, instant)
        self._drop_stale()
        return rollback(self._storage, timeline, found)

    def savepoint(self, instant: str | None = None, comment: str = "", user: str = "") -> str:
        """Keep the completed write ``instant``, by default the newest, and its files; its instant.

        Cleaning and archiving leave it alone until it is deleted. Raises ConfigError if there is no
        such write, or some of its files have been cleaned already.
        """
        self._check_writable()
        return savepoint.create(self._storage, self._config, instant, comment, user)

    def delete_savepoint(self, instant: str) -> None:
        """Keep ``instant`` no longer; the next clean may take its files."""
        self._check_writable()
        savepoint.delete(self._storage, self._config, instant)

    def savepoints(self) -> tuple[Savepoint, ...]:
        """What is kept, the oldest first."""
        return savepoints(self._storage, self.timeline())

    def check_restore(self, instant: str) -> tuple[str, ...]:
        """The instants that :meth:`restore` would undo now, in that order; changes nothing. Raises what it
        raises before it changes anything."""
        self._check_writable()
        timeline = self.timeline()
        for pending in restore_plan.pending_restores(timeline):
            begun = restore_plan.read_plan(self._storage, timeline, pending)
            if begun.point == instant:  # whoever asks for it again finishes it
                return tuple(i.requested for i in begun.instants)
        plan = restore_plan.make_plan(self._storage, timeline, instant)
        return tuple(i.requested for i in plan.instants)

    def check_rollback(self, instant: str) -> None:
        """Raises what :meth:`rollback` of ``instant`` raises before it changes anything."""
        self._check_writable()
        undoable(self._storage, self.timeline(), instant)

    def restore(self, instant: str) -> Restored:
        """Undo everything after the completed write ``instant``, for good: the table is again what
        ``read(as_of=instant)`` shows. Stop other writers first: what they have begun is undone, too.

        Raises ConfigError, with nothing changed, if there is no such write, files that it needs have
        been cleaned (what a savepoint keeps never is), or a later savepoint stands in the way.
        """
        planned = self.schedule_restore(instant)
        return Restored(instant, "") if planned is None else self.run_restore(planned)

    def schedule_restore(self, instant: str) -> str | None:
        """Plan a restore; its instant, or None where nothing came after ``instant``. From here on no
        write that has begun can complete, and the next writer would finish the restore."""
        self._check_writable()
        self._drop_stale()
        planned = restore.schedule(self._storage, self._config, instant)
        return None if planned is None else planned.requested

    def run_restore(self, instant: str) -> Restored:
        """Run the planned restore ``instant``, from the start or where an earlier run stopped."""
        self._check_writable()
        self._drop_stale()
        return restore.run(self._storage, self._config, instant)

    # --- looking ----------------------------------------------------------------------------------
    def report(self, name: str, **arguments: Any) -> Any:
        """What the report ``name`` says of the table now; changes nothing. hoodoo-cli brings ``timeline``,
        ``files``, ``stats``, ``layout`` and ``verify``; ``arguments`` are those of the report.

        Raises PluginError where no plugin offers it.
        """
        return resolve("report", name, self._settings).instance.report(self._source(), **arguments)

    def stats(self, progress: Progress = silent) -> TableStats:
        """How large the files are, how much of them is old, what writing has cost; see
        docs/command-line.md. ``progress`` is told step, done and total."""
        try:
            how, now = self._cleaning(), datetime.now(timezone.utc)
            plan = clean.make_plan(self._storage, self.timeline(), how, now)
        except HoodooError:
            cleanable = None  # a table that is only read, a policy that is not installed
        else:
            cleanable = () if plan is None else plan.files
        found: TableStats = self.report("stats", cleanable=cleanable, progress=progress)
        return found

    def verify(
        self, *, quick: bool = False, keys: bool = True, progress: Progress = silent
    ) -> Report:
        """Look whether all is right: properties, timeline, files, their bytes, record keys; changes
        nothing. ``quick`` opens no data file, ``keys=False`` reads no rows."""
        try:
            in_table = self._plugins().index.is_global
        except HoodooError:
            in_table = False  # no plugin for this table's index
        arguments = {"quick": quick, "keys": keys, "in_table": in_table, "progress": progress}
        found: Report = self.report("verify", **arguments)
        return found

    # --- cleaning ---------------------------------------------------------------------------------
    def _cleaning(self, policy: Any = None, settings: Mapping[str, Any] | None = None) -> Cleaning:
        self._check_writable()
        given = tables.check_options(named(settings or {}), self._config)
        options = {**self._options, **given}
        chosen = CleanSettings.of(options)
        found, ref = resolve("cleaning", policy or chosen.policy, Settings(self._config, options))
        return Cleaning(found, clean.signature(ref.name, found), chosen)

    def _clean(self, how: Cleaning, timeline: Timeline) -> Cleaned:
        def run(timeline: Timeline, requested: str) -> Cleaned:
            return clean_run.run(
                self._storage, timeline, requested, how.settings.threads, self._drop_stale,
                done_is_fine=True, join=self._join, schema=self._schema(timeline),
            )  # fmt: skip

        cleaned = Cleaned()
        for pending in pending_cleans(timeline):
            cleaned = cleaned.then(run(timeline, pending.requested))
            timeline = self.timeline()
        instant = clean.schedule(self._storage, timeline, how)
        return cleaned if instant is None else cleaned.then(run(timeline, instant.requested))

    def _archive(self, settings: ArchiveSettings, timeline: Timeline) -> Archived:
        def kept(timeline: Timeline) -> Instant | None:
            try:
                how = self._cleaning()
            except HoodooError:  # core alone has no policy
                return None
            now = datetime.now(timezone.utc)
            return kept_by_cleaning(timeline, how.policy, how.settings.window, now)

        def before() -> None:
            self._drop_stale()
            # What is older than the timeline's start counts as committed.
            sweep_undone(self._storage, self._look())

        return archive.archive(self._storage, timeline, settings, kept, before)

    def _inline_archiving(self) -> Inline | None:
        """The archiving that follows a write. ConfigError for its options."""
        settings = ArchiveSettings.of(self._options)
        if not settings.automatic:
            return None
        return lambda timeline: bool(self._archive(settings, timeline).instants)

    def _inline_cleaning(self) -> Inline | None:
        """The clean that follows a write, should one be due then. ConfigError for its options."""
        settings = CleanSettings.of(self._options)
        default = settings.policy == CleanSettings().policy
        if not settings.every or (default and kernel().find("cleaning", settings.policy) is None):
            return None  # core alone has no policy, and nobody asked for one
        how = self._cleaning()

        def inline(timeline: Timeline) -> bool:
            if pending_cleans(timeline) or clean.due(self._storage, timeline, settings.every):
                return bool(self._clean(how, timeline).instant)
            return False

        return inline

    # --- inside -----------------------------------------------------------------------------------
    def _check_merged(self, service: str) -> None:
        if self._config.table_type != "MERGE_ON_READ":
            raise UnsupportedTableError(
                f"table {self._config.name} of type {self._config.table_type}",
                f"has no log files, and needs no {service}",
                "nothing: only tables of type MERGE_ON_READ have them.",
            )

    def _undo(self, instant: Instant) -> None:
        rollback(self._storage, load(self._storage, self._config), instant)
