"""The participant of a table, which is in catalogs or not: one that is in none imports nothing of
what syncs them."""

from __future__ import annotations

from attrs import define
from hoodoo.hookspecs.registration import Settings

from hoodoo_catalogs import options

# Options without which a table that notes no catalog is in none.
_SAY = frozenset(one.key for one in (options.CATALOGS, options.ENABLED, options.HIVE_ENABLED))


@define
class OfNoCatalog:
    """The participant of a table that is in no catalog: nothing follows its actions."""

    settings: Settings

    def join(self, *look: object) -> None:
        """It has no part in decisions: what it does comes after them."""
        return None


def of_settings(settings: Settings) -> OfNoCatalog:
    """The participant of a table with these properties and options. It is made for each look at
    the table, and parses nothing: wrong options are found by ``check``."""
    if options.CATALOGS.key in settings.table.properties or not _SAY.isdisjoint(settings.options):
        from hoodoo_catalogs.participant import OfCatalogs

        return OfCatalogs(settings)
    return OfNoCatalog(settings)
