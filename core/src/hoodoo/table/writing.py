"""Writing: what a write looks at and works with, and which services follow it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import Any

from attrs import evolve

from hoodoo.actions.compaction import run as compaction
from hoodoo.actions.rollback.recovery import recover
from hoodoo.errors import CommitConflictError, HoodooError, warn
from hoodoo.hookspecs.clustering import PendingPlan
from hoodoo.hookspecs.engine import Engine
from hoodoo.kernel.resolve import resolve
from hoodoo.model.filegroup import FileSlice
from hoodoo.options import write as write_options
from hoodoo.options.clustering import UNDONE, UPDATES
from hoodoo.participants.listing import build_whole
from hoodoo.read.exact import refuse_inexact
from hoodoo.read.stored_row import stored_row
from hoodoo.table import settings as tables
from hoodoo.table.services import Services
from hoodoo.timeline import properties
from hoodoo.timeline.batches import Batch
from hoodoo.timeline.plans.clustering import PLANNER, pending_clusterings
from hoodoo.timeline.plans.compaction import pending_groups
from hoodoo.timeline.taken import taken_since
from hoodoo.timeline.timeline import Timeline
from hoodoo.write import operation
from hoodoo.write.commit import Commit
from hoodoo.write.delete_keys import as_keys
from hoodoo.write.python_rows import as_rows
from hoodoo.write.run import WriteRequest, run
from hoodoo.write.target import WriteTarget

SNAPSHOT_ATTEMPTS = 10


class Writing(Services):
    """How a table is written, by whatever method."""

    def _combined(self, kind: operation.WriteKind) -> operation.WriteKind:
        wanted = write_options.COMBINE.read(self._options)
        return kind.exchanged() if wanted else kind

    def _as_keys(self, data: Any) -> Any:
        return as_keys(data, self._config.record_key_fields, self.schema)

    def _write(
        self,
        kind: operation.WriteKind,
        data: Any,
        engine: str | Engine | None,
        batch: Batch | None,
    ) -> Commit:
        services = self._inline_services()
        chosen = engine or self._engine
        if isinstance(data, (list, tuple, Mapping)):
            data = as_rows(data, self.schema)
        commit = run(self._order(kind, lambda: self._target(data, chosen), batch), data)
        if commit.instant:
            services(lambda: self._resolve_engine(data, chosen))
        return commit

    def _order(
        self,
        kind: operation.WriteKind,
        look: Callable[[], WriteTarget],
        batch: Batch | None = None,
    ) -> WriteRequest:
        return WriteRequest(
            storage=self._storage,
            kind=kind,
            look=look,
            undo=self._undo,
            before_publish=self._drop_stale,
            conflicts=tables.conflict_strategy(self._settings),
            turns=self._turns,
            repeats=tables.repeats(self._options),
            batch=batch,
        )

    def _inline_services(self) -> Callable[[Callable[[], Engine]], None]:
        """What has to be done after a write: its options are checked now, before anything is written."""
        every = compaction.inline_interval(self._config, self._options)
        cleaning = self._inline_cleaning()
        archiving = self._inline_archiving()
        clustering = self._inline_clustering()

        def after(engine: Callable[[], Engine]) -> None:
            def compacting(timeline: Timeline) -> bool:
                wanted = compaction.commits_since(timeline) >= every
                return wanted and bool(self.compact(engine=engine()).instant)

            def upkeep(timeline: Timeline) -> bool:
                return bool(participants.service(self._storage, timeline, engine, due=True))

            def clustered(timeline: Timeline) -> bool:
                return clustering is not None and clustering(timeline, engine)

            participants = self._participants
            timeline: Timeline | None = None  # one look serves all that have nothing to do
            for what, method, service in (
                ("compaction", "compact", compacting if every else None),
                ("clustering", "cluster", clustered if clustering else None),
                ("cleaning", "clean", cleaning),
                ("archiving", "archive", archiving),
                ("metadata compaction", "compact_metadata", upkeep),
            ):
                if service is None:
                    continue
                try:
                    timeline = timeline or self.timeline()
                    if service(timeline):
                        timeline = None
                except (HoodooError, FileNotFoundError) as error:  # others take files away
                    timeline = None  # the rows have landed: this is no failure of the write
                    warn(
                        f"table {self._config.name}: the write is done, the inline {what} after it is "
                        f"not ({error}); table.{method}() finishes it."
                    )

        return after

    def _target(
        self,
        data: Any,
        engine: str | Engine | None,
        mend: bool = True,
        spare: Collection[str] = (),
    ) -> WriteTarget:
        """``mend``: what participants have not complete is completed first. ``spare``: abandoned clusterings
        that are not given up."""
        self._check_writable()
        for _ in range(SNAPSHOT_ATTEMPTS - 1):
            with suppress(FileNotFoundError):  # others archived between a listing and its reading
                return self._looked_at(data, engine, mend, spare)
        return self._looked_at(data, engine, mend, spare)

    def _inline_clustering(self) -> Callable[[Timeline, Callable[[], Engine]], bool] | None:
        """The clustering that follows a write, should one be due then. ConfigError for its options."""
        return None

    def _repair(self) -> None:
        """Complete what somebody began to make for a participant."""

    def _looked_at(
        self, data: Any, engine: str | Engine | None, mend: bool, spare: Collection[str]
    ) -> WriteTarget:
        runner = self._resolve_engine(data, engine)
        properties.recover(self._storage)
        self._refresh()
        plugins = self._plugins()
        recover(self._storage, self._config, spare)
        if mend:
            self._repair()
        timeline, slices = self._seen()
        settings = self._settings
        schema = self._schema(timeline)
        generator = tables.settled(
            plugins.generator, lambda columns: stored_row(self._source(), columns)
        )
        serializer = resolve("serializer", write_options.SERIALIZER.read(self._options), settings)
        return WriteTarget(
            storage=self._storage,
            config=self._config,
            timeline=timeline,
            schema=schema,
            slices=slices,
            engine=runner,
            generator=generator,
            merger=plugins.merger,
            index=plugins.index,
            filling_layout=resolve(
                "layout", write_options.LAYOUT.read(self._options), settings
            ).instance,
            new_layout=resolve("layout", "new_files", settings).instance,
            file_format=plugins.file_format,
            anywhere=lambda: resolve("index", "global_simple", settings).instance,
            by_path=lambda: resolve("index", "simple", settings).instance,
            logs=tables.log_settings(settings, schema),
            compacting=pending_groups(self._storage, timeline),
            clusterings=self._pending_plans(timeline),
            updates=lambda: (
                resolve("clustering_updates", UPDATES.read(self._options), settings).instance
            ),
            serializer=serializer.instance,
            plugins=(*plugins.refs, serializer.ref),
            options=self._options,
            joined=self._join(timeline),
            refuse_inexact=lambda grown: refuse_inexact(
                evolve(self._source(), timeline=timeline), runner, grown
            ),
        )

    def _pending_plans(self, timeline: Timeline) -> tuple[PendingPlan, ...]:
        undone = UNDONE.read(self._options)
        return tuple(
            PendingPlan(
                instant=instant.requested,
                strategy=plan.strategy,
                groups=plan.file_groups,
                params=plan.params,
                action=instant.action,
                is_foreign=undone or PLANNER not in plan.extra,
            )
            for instant, plan in pending_clusterings(self._storage, timeline)
        )

    def _seen(self) -> tuple[Timeline, tuple[FileSlice, ...]]:
        """The timeline, and the newest slices that it tells of. CommitConflictError where others take
        files away faster than these can be listed."""
        for _ in range(SNAPSHOT_ATTEMPTS):
            timeline = self._look()
            try:
                slices = build_whole(self._storage, timeline).slices
            except CommitConflictError:  # undone since the look
                continue
            if not taken_since(self._storage, timeline):
                return timeline, slices
        raise CommitConflictError(
            f"table {self._config.name}", f"files were taken away {SNAPSHOT_ATTEMPTS} times while they were listed.",
            "Repeat the write.",
        )  # fmt: skip
