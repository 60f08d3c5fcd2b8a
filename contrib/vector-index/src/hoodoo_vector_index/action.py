"""The action ``index_vectors``: the index is brought up, or made again, beside writers. The action
``forget_vectors``: what is of older files goes, as an erasure needs it."""

from __future__ import annotations

from typing import Any

from attrs import frozen
from hoodoo.errors import ConfigError
from hoodoo.hookspecs import Settings
from hoodoo.hookspecs.engine import Engine
from hoodoo.table.handle import TableHandle

from hoodoo_vector_index.build import bring_up, scan_of
from hoodoo_vector_index.columns import HOME, indexed
from hoodoo_vector_index.plugin import COLUMNS, LEAST
from hoodoo_vector_index.segments import forget


@frozen
class IndexVectors:
    """Implements :class:`~hoodoo.hookspecs.action.Action`."""

    @classmethod
    def from_settings(cls, settings: Settings) -> IndexVectors:
        return cls()

    def run(
        self,
        table: TableHandle,
        *,
        columns: str | None = None,
        again: bool = False,
        engine: str | Engine | None = None,
    ) -> tuple[str, ...]:
        """Index the base files that are not, and with ``again`` all of them. ``columns``, such as
        ``embedding cosine``, are those of the table from now on, in all processes. Returns what was
        done. ConfigError where no column is named, or one that is not there."""
        table.refresh()
        given: dict[str, Any] = {**table.config.properties, **table.options}
        if columns is not None:
            given[COLUMNS.key] = columns
        each = indexed(given)
        if columns is not None:
            for one in each:
                scan_of(table.source(), one)
            table.change_properties({COLUMNS.key: columns})
        if not each:
            raise ConfigError(
                "index_vectors",
                "does not know which columns to index.",
                'Name them: table.run("index_vectors", columns="embedding cosine").',
            )
        made = lambda: table.engine(None, engine or table.default_engine)  # noqa: E731
        return bring_up(table.source(), made, each, LEAST.read(table.options), again)


@frozen
class ForgetVectors:
    """Implements :class:`~hoodoo.hookspecs.action.Action`. Of each column that has ever been
    indexed, also of one that has another name now, or that the options do not name any more."""

    stored_in = (HOME,)  # an erasure refuses folders that no plugin names

    @classmethod
    def from_settings(cls, settings: Settings) -> ForgetVectors:
        return cls()

    def run(self, table: TableHandle) -> tuple[str, ...]:
        """Delete what is not of a base file of the newest slices. Returns the paths. What another
        process indexes meanwhile of a file that is newer than these is made again later."""
        _, slices = table.newest_slices()
        names = {one.base_file.name for one in slices if one.base_file}
        each = table.storage.list(HOME, recursive=True)
        gone = tuple(entry.path for entry in each if entry.name not in names)
        for path in gone:
            table.storage.delete(path)
        forget(table.storage)
        return gone
