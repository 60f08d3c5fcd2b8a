"""Calls of their own for catalogs: they become methods of :class:`hoodoo.Table`."""

from __future__ import annotations

from hoodoo.errors import HoodooError
from hoodoo.table.handle import TableHandle

from hoodoo_catalogs.described import Described
from hoodoo_catalogs.participant import sync_all
from hoodoo_catalogs.places import catalogs_of
from hoodoo_catalogs.sync import Synced


def sync(table: TableHandle) -> tuple[Synced, ...]:
    """Update the catalogs that have the table now, also with what other programs committed. Writes
    and services do this by themselves. Returns what was done in each catalog; empty if the table is
    in none.

    Raises the error of the first catalog that could not be updated, after all others were.
    """
    table.refresh()
    places = list(catalogs_of(table.config, table.options))
    seen = Described(table.storage, table.timeline(), table.options)
    done = [found for _, found in sync_all(seen, places, table.options)]
    for found in done:
        if isinstance(found, HoodooError):
            raise found
    return tuple(one for one in done if isinstance(one, Synced))
