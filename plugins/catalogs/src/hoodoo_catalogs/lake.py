"""``hoodoo.catalog(...)``: tables by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from attrs import evolve, frozen
from hoodoo.calls import checked, lacks
from hoodoo.errors import (
    ConfigError,
    CorruptTableError,
    NotATableError,
    TableExistsError,
    UnsupportedTableError,
)
from hoodoo.model.config import TableConfig
from hoodoo.options.judge import as_text
from hoodoo.storage.uri import absolute
from hoodoo.table.table import Table
from hoodoo.table.table import create as create_table
from hoodoo.table.table import open as open_table

from hoodoo_catalogs import options as keys
from hoodoo_catalogs.described import Described
from hoodoo_catalogs.hookspecs.catalog import Catalog, CatalogError, CatalogTable
from hoodoo_catalogs.participant import without_entry
from hoodoo_catalogs.places import Place
from hoodoo_catalogs.sync import is_same_place, refuse_other, sync


@frozen
class Lake:
    """The tables of one catalog. Returned by ``hoodoo.catalog``."""

    place: Place
    catalog: Catalog
    options: Mapping[str, str]

    def __repr__(self) -> str:
        return f"<catalog {self.place}>"

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            lacks("'Lake' object has no attribute", "catalog", name, of=self)

    def tables(self) -> tuple[str, ...]:
        """The names of all tables, sorted."""
        return self.catalog.tables()

    def entry(self, name: str) -> CatalogTable:
        """What the catalog has of the table: location, columns, parameters. Raises NotATableError
        if it has no such table."""
        found = self.catalog.find(name)
        if found is None:
            raise NotATableError(
                f"{evolve(self.place, table=name)}",
                "the catalog has no table of this name.",
                "hoodoo.catalog(...).tables() lists the names.",
            )
        return found

    def open(self, name: str, **arguments: Any) -> Table:
        """Open the table. ``arguments`` are those of ``hoodoo.open``."""
        return open_table(self.entry(name).location, **self._with_options(arguments))

    def create(self, name: str, schema: Any, path: str | None = None, **arguments: Any) -> Table:
        """Create a table and its entry. ``path``: by default the folder that the catalog has for
        it. The table notes its catalog, which all writers update. ``arguments`` are those of
        ``hoodoo.create``.

        Raises TableExistsError if the catalog has the name, unless ``exist_ok`` is given and the
        entry is of the table at ``path``; and what ``hoodoo.create`` raises.
        """
        found = self.catalog.find(name)
        is_other = (
            found is not None
            and path is not None
            and not is_same_place(found.location, absolute(path))
        )
        if found is not None and (is_other or not arguments.get("exist_ok")):
            raise TableExistsError(
                f"{evolve(self.place, table=name)}",
                f"is the table at {found.location}.",
                "Choose another name, or open this table.",
            )
        where = path or (self._location_of(name) if found is None else found.location)
        arguments = self._with_options(arguments)
        if not (arguments.get("exist_ok") and self._is_table(where)):  # it may note others as well
            noted = self._noted(name, keys.CATALOGS.given(arguments["options"]) or ())
            arguments["options"][keys.CATALOGS.key] = keys.CATALOGS.spell(noted)
        arguments.setdefault("name", name.rpartition(".")[2])
        table = create_table(where, schema, **arguments)
        return self._kept(name, table)

    def register(self, name: str, path: str) -> Table:
        """Give the table at ``path`` an entry of this name. The table notes its catalog, which all
        writers update. Harmless if it has the entry. Raises CatalogError if another table has the
        name."""
        table = open_table(path, **self._with_options({}))
        found, handle = self.catalog.find(name), table.handle
        wanted = Described(handle.storage, table.timeline(), handle.options).entry(name, "", False)
        if found is not None:
            refuse_other(found, wanted)
        return self._kept(name, table)

    def drop(self, name: str) -> bool:
        """Remove the entry, and no file. The table no longer notes this catalog. False if there is
        no such entry."""
        found = self.catalog.find(name)
        if found is None:
            return False
        try:
            table = open_table(found.location, **self._with_options({}))
        except (
            NotATableError,
            ConfigError,
            CatalogError,
            CorruptTableError,
            UnsupportedTableError,
        ):
            return self.catalog.drop(name)
        names = {str(self.place), str(evolve(self.place, table=name))}

        def others(now: TableConfig) -> dict[str, str | None]:
            noted = keys.CATALOGS.stored(now.properties) or ()
            left = tuple(one for one in noted if str(Place.of(one)) not in names)
            if left == noted:
                return {}
            return {keys.CATALOGS.key: keys.CATALOGS.spell(left) if left else None}

        if others(table.config):
            table.handle.change_properties(others)
        return self.catalog.drop(name)

    # --- inside -----------------------------------------------------------------------------------
    def _is_table(self, path: str) -> bool:
        try:
            open_table(path, **self._with_options({}))
        except NotATableError:
            return False
        return True

    def _kept(self, name: str, table: Table) -> Table:
        """``table`` notes this catalog, whose entry ``name`` is what the table is now."""

        def missing(now: TableConfig) -> dict[str, str | None]:
            noted = keys.CATALOGS.stored(now.properties) or ()
            if str(evolve(self.place, table=name)) in map(str, map(Place.of, noted)):
                return {}
            return {keys.CATALOGS.key: keys.CATALOGS.spell(self._noted(name, noted))}

        if missing(table.config):
            table.handle.change_properties(missing)
        with without_entry(evolve(self.place, table=name), table.path):
            self._sync(name, table)
        return table

    def _noted(self, name: str, noted: tuple[str, ...]) -> tuple[str, ...]:
        return (*noted, str(evolve(self.place, table=name)))

    def _location_of(self, name: str) -> str:
        found = self.catalog.location_of(name) if hasattr(self.catalog, "location_of") else None
        if found is None:
            raise ConfigError(
                f"{evolve(self.place, table=name)}",
                "the catalog does not say where new tables lie.",
                "Give the path: catalog.create(name, schema, path).",
            )
        return str(found)

    def _sync(self, name: str, table: Table) -> None:
        handle = table.handle
        seen = Described(handle.storage, table.timeline(), handle.options)
        sync(seen, evolve(self.place, table=name), self.catalog)

    def _with_options(self, arguments: dict[str, Any]) -> dict[str, Any]:
        return {**arguments, "options": {**self.options, **(arguments.get("options") or {})}}


@checked
def catalog(place: str, options: Mapping[str, Any] | None = None) -> Lake:
    """The catalog at ``place``: a folder or the URI of a bucket or folder (a file catalog, which
    needs no server), ``glue://`` (AWS Glue), or ``hms://host:port`` (a Hive Metastore). ``options``
    are those of its tables.

    Raises ConfigError or PluginError for a place that no installed catalog stands for.

    >>> lake = hoodoo.catalog("lake")
    >>> lake.create("trips", schema, record_key="ride").upsert(rows)
    >>> lake.tables(), lake.open("trips").read().count()
    """
    given = as_text(options)
    found = Place.of(place)
    if found.table is not None:
        raise ConfigError(
            f"catalog {place}",
            f"names a table, {found.table}.",
            f"Open it: {found.in_python}.",
        )
    return Lake(found, found.open(given), given)
