"""What is done to the indexes of a table, as actions that are done at once and never planned."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import TYPE_CHECKING, Any

from attrs import frozen
from hoodoo.hookspecs.engine import Engine
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.resolve import resolve
from hoodoo.model.meta import PARTITION_PATH, RECORD_KEY
from hoodoo_rows.api import Reads, WriteTarget

from hoodoo_services.indexes.compare import compared, compared_whole
from hoodoo_services.indexes.lookup import KEYED, all_keys
from hoodoo_services.indexes.steady import steady
from hoodoo_services.indexes.switching import rebuild_index, switch_index
from hoodoo_services.outcome import Comparison

if TYPE_CHECKING:
    from hoodoo.table.handle import TableHandle


@frozen
class CompareIndexes:
    """Implements :class:`~hoodoo.hookspecs.action.Action`."""

    @classmethod
    def from_settings(cls, settings: Settings) -> CompareIndexes:
        return cls()

    def run(
        self,
        table: TableHandle,
        a: Any,
        b: Any,
        since: str | date | None = None,
        until: str | date | None = None,
        engine: str | Engine | None = None,
    ) -> Comparison:
        def look() -> WriteTarget:
            return table.write_target(None, engine or table.default_engine)

        target = look()
        one, other = (resolve("index", index, table.settings).instance for index in (a, b))
        if since is None:
            return steady(target, look, lambda t: compared_whole(t, one, other, all_keys(t)))
        keys = [RECORD_KEY, PARTITION_PATH]
        changed = Reads.query(
            table, "incremental", since=since, until=until, columns=keys
        ).to_arrow()
        return compared(target, one, other, target.engine.source(changed.cast(KEYED)))


@frozen
class RebuildIndex:
    """Implements :class:`~hoodoo.hookspecs.action.Action`."""

    @classmethod
    def from_settings(cls, settings: Settings) -> RebuildIndex:
        return cls()

    def run(
        self,
        table: TableHandle,
        name: str | None = None,
        source: Any = None,
        engine: str | Engine | None = None,
        shape: Mapping[str, Any] | None = None,
        keep_own: bool = False,
    ) -> tuple[str, ...]:
        return rebuild_index(
            table, name, source=source, engine=engine, shape=shape, keep_own=keep_own
        )


@frozen
class SwitchIndex:
    """Implements :class:`~hoodoo.hookspecs.action.Action`."""

    @classmethod
    def from_settings(cls, settings: Settings) -> SwitchIndex:
        return cls()

    def run(self, table: TableHandle, index: Any, engine: str | Engine | None = None) -> Comparison:
        return switch_index(table, index, engine=engine)
