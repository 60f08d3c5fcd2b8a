"""The archived instants of a table (format page 2.5), wherever its layout has them.

Reading names costs a listing and three narrow columns (layout 2) or the archive files (layout 1).
What an instant says of itself is read when it is asked for.
"""

from __future__ import annotations

from hoodoo.model.config import TableConfig
from hoodoo.storage.api import Storage
from hoodoo.timeline.archive.archived import ArchivedInstant
from hoodoo.timeline.instants import order_key
from hoodoo.timeline.layouts import layout_of

__all__ = ["ArchivedInstant", "load_archived", "oldest"]


def load_archived(
    storage: Storage, config: TableConfig, since: str | None = None
) -> tuple[ArchivedInstant, ...]:
    """The completed instants that were archived, by requested time, each once.

    An instant may be on the active timeline as well, for a moment or after a crash. With ``since``,
    files whose instants were all requested before are not read (layout 2; older ones of the other files are left
    in). Raises :class:`~hoodoo.errors.CorruptTableError` naming a file that can't be read.
    """
    once: dict[tuple[str, str], ArchivedInstant] = {}
    for instant in layout_of(config).archived(storage, config, since):
        once.setdefault((instant.requested, instant.action), instant)
    return tuple(sorted(once.values(), key=lambda i: (order_key(i.requested), i.action)))


def oldest(storage: Storage, config: TableConfig) -> str | None:
    """When the first of the archived instants was requested; None if nothing is archived. Costs a
    listing and a small file."""
    return layout_of(config).oldest_archived(storage, config)
