"""Names such as ``glue://db.trips`` in the place of paths: the store of the table that the catalog
has there."""

from __future__ import annotations

from hoodoo.errors import ConfigError, NotATableError
from hoodoo.hookspecs.registration import Settings
from hoodoo.options.table import STORAGE_URI
from hoodoo.storage.api import Storage
from hoodoo.table.settings import open_storage

from hoodoo_catalogs.places import Place


def store_of(settings: Settings) -> Storage:
    """The store of the table whose name is the option ``hoodoo.storage.uri``. NotATableError if
    there is none."""
    uri = STORAGE_URI.read(settings.options)
    place = Place.of(uri)
    if place.table is None:
        raise ConfigError(
            uri, "names a catalog, not a table.", f"Add the name: {place}database.table."
        )
    given = {k: v for k, v in settings.options.items() if k != STORAGE_URI.key}
    found = place.open(given).find(place.table)
    if found is None:
        raise NotATableError(
            uri,
            "the catalog has no table of this name.",
            f"Create it with hoodoo.catalog({place.uri!r}).create(...), or check the name.",
        )
    return open_storage(found.location, given)
