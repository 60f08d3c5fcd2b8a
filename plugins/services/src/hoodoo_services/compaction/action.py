"""The actions ``compaction`` and ``logcompaction``: log files become base files, or fewer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from attrs import evolve, frozen
from hoodoo.actions.rollback.recovery import recover
from hoodoo.errors import CommitConflictError, ConfigError, UnsupportedTableError
from hoodoo.hookspecs.action import AfterWrite
from hoodoo.hookspecs.engine import Engine
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.resolve import resolve
from hoodoo.model.instant import State
from hoodoo.model.outcome import RolledBack
from hoodoo.storage.api import Storage
from hoodoo.timeline.heartbeat import Liveness
from hoodoo.timeline.plans import pending_compactions
from hoodoo.timeline.timeline import Timeline
from hoodoo_rows.api import Batches, Commit, NewFiles

from hoodoo_services.compaction import run as compaction
from hoodoo_services.options import COMPACTION, LOG_BLOCKS, LOG_COMPACT_INLINE

if TYPE_CHECKING:
    from hoodoo.table.handle import TableHandle


@frozen
class CompactionAction:
    """Implements :class:`~hoodoo.hookspecs.action.Action`: planned, and run after writes."""

    @classmethod
    def from_settings(cls, settings: Settings) -> CompactionAction:
        return cls()

    def run(
        self, table: TableHandle, strategy: Any = None, engine: str | Engine | None = None
    ) -> Commit:
        commit = Commit("", "commit", "compact")
        for pending in pending_compactions(_undoing_ended(table)):
            try:
                commit = self.run_planned(table, pending.requested, engine)
            except ConfigError:
                if table.timeline().find(pending.requested) is None:
                    raise  # else another process has finished it meanwhile
        instant = self.schedule(table, strategy)
        if instant is None:
            return commit
        with _own(table, instant):
            return self.run_planned(table, instant, engine)

    def schedule(self, table: TableHandle, strategy: Any = None) -> str | None:
        table.check_writable()
        table.refresh()  # the keys may have become virtual
        _check_merged(table)
        _undoing_ended(table)
        wanted = strategy or COMPACTION.read(table.options)
        found, ref = resolve("compaction", wanted, table.settings)
        instant = compaction.schedule(table.storage, table.config, found, ref.name)
        return None if instant is None else instant.requested

    def run_planned(
        self, table: TableHandle, instant: str, engine: str | Engine | None = None
    ) -> Commit:
        return compaction.run(_target(table, engine), instant)

    def after_write(self, table: TableHandle) -> AfterWrite | None:
        every = compaction.inline_interval(table.config, table.options)
        if not every:
            return None

        def due(timeline: Timeline, engine: Callable[[], Engine]) -> bool:
            wanted = compaction.commits_since(timeline) >= every
            return wanted and bool(self.run(table, engine=engine()).instant)

        return AfterWrite("compaction", due, order=10, by_hand="table.compact()")


@frozen
class LogCompactionAction:
    """Implements :class:`~hoodoo.hookspecs.action.Action`: planned, and run after writes. What a
    process has begun and not ended is undone before the next write."""

    @classmethod
    def from_settings(cls, settings: Settings) -> LogCompactionAction:
        return cls()

    def run(
        self, table: TableHandle, strategy: Any = None, engine: str | Engine | None = None
    ) -> Commit:
        from hoodoo_services.compaction import logs  # few tables have them

        commit = Commit("", "deltacommit", "log_compact")
        for pending in logs.pending_log_compactions(table.timeline()):
            with suppress(CommitConflictError, ConfigError):  # it was undone, or is another one's
                living = Liveness(table.storage).is_alive(pending.requested)
                if pending.state is State.INFLIGHT and not living:
                    table.undo(pending)  # as Hudi does, before it plans another one
                else:
                    commit = self.run_planned(table, pending.requested, engine)
        instant = self.schedule(table, strategy)
        if instant is None:
            return commit
        with _own(table, instant):
            return self.run_planned(table, instant, engine)

    def schedule(self, table: TableHandle, strategy: Any = None) -> str | None:
        table.check_writable()
        table.refresh()
        _check_merged(table)
        recover(table.storage, table.config)
        from hoodoo_services.compaction import logs

        found, ref = resolve("compaction", strategy or "unbounded", table.settings)
        kind = logs.kind(LOG_BLOCKS.read(table.options))
        instant = compaction.schedule(table.storage, table.config, found, ref.name, kind)
        return None if instant is None else instant.requested

    def run_planned(
        self, table: TableHandle, instant: str, engine: str | Engine | None = None
    ) -> Commit:
        from hoodoo_services.compaction import logs

        target = _target(table, engine)
        recover(table.storage, table.config)
        return logs.run(target, instant, table.undo)

    def after_write(self, table: TableHandle) -> AfterWrite | None:
        every = LOG_BLOCKS.read(table.options)
        merged = table.config.table_type == "MERGE_ON_READ"
        if not merged or not LOG_COMPACT_INLINE.read(table.options):
            return None

        def due(timeline: Timeline, engine: Callable[[], Engine]) -> bool:
            from hoodoo_services.compaction import logs

            wanted = logs.is_due(table.storage, timeline, every)
            return wanted and bool(self.run(table, engine=engine()).instant)

        return AfterWrite("logcompaction", due, order=11, by_hand='table.run("logcompaction")')

    def recover(
        self, storage: Storage, timeline: Timeline, living: Liveness
    ) -> tuple[RolledBack, ...]:
        from hoodoo_services.compaction import logs

        return logs.undo_dead(storage, timeline, living)


def _undoing_ended(table: TableHandle) -> Timeline:
    """The timeline; what a dead process was about to undo is undone. Writes are let be that may
    only be slow: those of Spark have no heartbeat."""
    timeline = table.timeline()
    if any(i.traits.undoes for i in timeline.pending()):
        recover(table.storage, table.config)
        return table.timeline()
    return timeline


@contextmanager
def _own(table: TableHandle, instant: str) -> Iterator[None]:
    """CommitConflictError where the plan, which was made just now, is not pending any more."""
    try:
        yield
    except ConfigError as error:
        if error.rule != compaction.NOT_PENDING:
            raise
        raise CommitConflictError(
            f"{table.storage.root}: plan {instant}",
            "another process has undone it, or has run it.",
            "Repeat the call.",
        ) from error


def _target(table: TableHandle, engine: str | Engine | None) -> compaction.CompactionTarget:
    table.check_writable()
    table.refresh()
    _check_merged(table)
    plugins = table.plugins()
    runner = table.engine(None, engine or table.default_engine)
    runner.check(plugins.refs)
    written = NewFiles.log_settings(table.settings, table.schema)
    if written is not None and not table.config.populate_meta_fields:
        written = evolve(written, virtual=plugins.generator)
    return compaction.CompactionTarget(
        storage=table.storage,
        config=table.config,
        schema=table.schema,
        engine=runner,
        merger=plugins.merger,
        file_format=plugins.file_format,
        before_publish=table.participants.drop_stale,
        generator=plugins.generator,
        join=table.participants.join,
        logs=written,
        by_rows=table.settings.value(Batches.BY_ROWS),
    )


def _check_merged(table: TableHandle) -> None:
    if table.config.table_type != "MERGE_ON_READ":
        raise UnsupportedTableError(
            f"table {table.config.name} of type {table.config.table_type}",
            "has no log files, and needs no compaction",
            "nothing: only tables of type MERGE_ON_READ have them.",
        )
