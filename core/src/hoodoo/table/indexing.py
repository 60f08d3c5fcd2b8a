"""Indexing: how a table gets a metadata table, and gets it back where something undid too much of it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pyarrow as pa

from hoodoo.actions.restore.metadata import Restored
from hoodoo.actions.rollback.run import RolledBack
from hoodoo.hookspecs.engine import Engine
from hoodoo.hookspecs.participant import RebuildRequest, TableState
from hoodoo.indexes.compare import Comparison, compared, compared_whole
from hoodoo.indexes.lookup import KEYED, all_keys, locations_of
from hoodoo.kernel.resolve import resolve
from hoodoo.table.writing import Writing
from hoodoo.write.target import WriteTarget


class Indexing(Writing):
    """A table with its metadata table."""

    def compare_indexes(
        self,
        a: Any,
        b: Any,
        since: str | datetime | None = None,
        until: str | datetime | None = None,
        *,
        engine: str | Engine | None = None,
    ) -> Comparison:
        """Ask two indexes where keys lie, and report where they differ: names, Java classes or objects.

        All keys of the table, or with ``since`` those of rows that commits after it, up to ``until`` or now,
        wrote: so a job of its own can follow the writers. Of all keys, stale entries are reported, too: those
        of indexes that store them, of keys that the table does not have. Changes nothing. Raises ConfigError
        for points and names that are none, CorruptTableError where an index can't be read.
        """
        target = self._target(None, engine or self._engine)
        one, other = (resolve("index", index, self._settings).instance for index in (a, b))
        if since is None:
            return compared_whole(target, one, other, all_keys(target))
        changed = self._changed(since, until)
        return compared(target, one, other, target.engine.source(changed.cast(KEYED)))

    def _changed(self, since: str | datetime, until: str | datetime | None) -> pa.Table:
        raise NotImplementedError

    def compact_metadata(self, *, engine: str | Engine | None = None) -> tuple[str, ...]:
        """Compact the metadata table now; the instants of its compactions. Writes do so by themselves
        after each ``hoodie.metadata.compact.max.delta.commits``."""
        self._check_writable()
        self._refresh()

        def runner() -> Engine:
            return self._resolve_engine(None, engine or self._engine)

        return self._participants.service(self._storage, self.timeline(), runner, due=False)

    # --- what undoes more than a metadata table can follow -----------------------------------------
    def rollback(self, instant: str | None = None) -> Any:
        held = instant is not None and self._holds_for_good(instant)
        if held:
            self._retire()
        done: tuple[str, ...] | RolledBack = super().rollback(instant)  # type: ignore[arg-type]  # as there
        if held:  # who has made it anew before may have seen what is undone
            self._refresh()
            self._retire()
        self._repair()
        return done

    rollback.__doc__ = Writing.rollback.__doc__

    def schedule_restore(self, instant: str) -> str | None:
        self._check_writable()
        self._refresh()
        self._retire()
        return super().schedule_restore(instant)

    schedule_restore.__doc__ = Writing.schedule_restore.__doc__

    def run_restore(self, instant: str) -> Restored:
        self._refresh()
        self._retire()
        done = super().run_restore(instant)
        self._refresh()
        self._retire()
        self._repair()
        return done

    run_restore.__doc__ = Writing.run_restore.__doc__

    # --- inside -----------------------------------------------------------------------------------
    def _request(
        self,
        name: str | None = None,
        engine: str | Engine | None = None,
        source: Any = None,
        own_index: str | None = None,
        is_index: bool = False,
    ) -> RebuildRequest:
        """What is to be made anew for a participant. ``source``: an index that is asked where keys lie."""

        def look() -> WriteTarget:
            return self._target(None, engine or self._engine, mend=False)

        asked = None
        if source is not None:
            index = resolve("index", source, self._settings).instance

            def asked(target: TableState) -> pa.Table:
                assert isinstance(target, WriteTarget)
                return locations_of(target, index, all_keys(target))

        return RebuildRequest(
            self._storage, self._config, look, name, asked, own_index, is_index=is_index
        )

    def _created(self) -> None:
        """Of a new table: make what its participants need."""
        self._participants.created(self._storage, self._config)
        self._repair()

    def _repair(self) -> None:
        """Complete what was begun to be made, by whomever, and nobody is at."""
        self._refresh()
        self._note(self._participants.repair(self._request()))

    def _retire(self) -> None:
        """Nobody goes by what participants say until it has been made anew."""
        self._note(self._participants.retire(self._storage, self._config))

    def _holds_for_good(self, instant: str) -> bool:
        """Whether participants can't follow when the completed ``instant`` is undone."""
        return self._participants.holds(self._storage, self.timeline(), instant)
