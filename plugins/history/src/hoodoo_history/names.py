"""What the columns of a table were called at another time."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from attrs import frozen
from hoodoo.table.handle import TableHandle
from hoodoo_rows.api import StoredFiles


@frozen
class NamedColumns:
    """``columns`` of a table at one time, and what answers their names at an instant: the name of
    the one time -> that of the other. Columns that came later are not in it."""

    columns: tuple[str, ...]
    names: Callable[[str], Mapping[str, str]]

    @classmethod
    def of(cls, table: TableHandle, as_of: str | None = None) -> NamedColumns:
        """Those after the instant ``as_of``; None: those of now."""
        source = table.source()
        timeline = source.timeline if as_of is None else source.timeline.as_of(as_of)
        columns = tuple(table.schema_at(timeline).names)
        newest = timeline.latest_schema(table.storage)
        stored = StoredFiles.as_of_schema(StoredFiles.format(source), table.storage, newest)
        history = StoredFiles.history(stored)

        def names(instant: str) -> Mapping[str, str]:
            then = None if history is None else history.names(instant)
            if then is None:
                return {name: name for name in columns}
            return {n: then.stored.get(n, n) for n in columns if n not in then.absent}

        return cls(columns, names)
