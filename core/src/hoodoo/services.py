"""Services of a table: what is done to it besides reading and writing rows."""

from __future__ import annotations

from typing import Any

from hoodoo.actions import compaction
from hoodoo.actions.heal import heal
from hoodoo.actions.rollback import rollback
from hoodoo.errors import UnsupportedTableError
from hoodoo.hookspecs.engine import Engine
from hoodoo.kernel.resolve import resolve
from hoodoo.model.instant import Instant
from hoodoo.opened import OpenTable
from hoodoo.timeline.compaction_plan import pending_compactions
from hoodoo.timeline.timeline import load
from hoodoo.write.commit import Commit


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
            commit = self.run_compaction(pending.requested, engine=engine)
        instant = self.schedule_compaction(strategy)
        return commit if instant is None else self.run_compaction(instant, engine=engine)

    def schedule_compaction(self, strategy: Any = None) -> str | None:
        """Plan a compaction; its instant, or None where there is nothing to compact.

        Raises CommitConflictError in version 6 while a write is under way.
        """
        self._check_writable()
        self._check_merged("compaction")
        wanted = strategy or self._options.get("hoodie.compaction.strategy", "log_size")
        found, ref = resolve("compaction", wanted, self._settings)
        instant = compaction.schedule(self._storage, self._config, found, ref.name)
        return None if instant is None else instant.requested

    def run_compaction(self, instant: str, *, engine: str | Engine | None = None) -> Commit:
        """Run a planned compaction, from the start or where an earlier run stopped."""
        self._check_writable()
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
            before_publish=self._drop_metadata_table,
        )
        return compaction.run(target, instant)

    schedule_compact = schedule_compaction
    run_compact = run_compaction

    def rollback(self) -> tuple[str, ...]:
        """Undo failed writes now instead of at the next write; the instants that were undone."""
        return tuple(done.instant for done in heal(self._storage, self._config))

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
