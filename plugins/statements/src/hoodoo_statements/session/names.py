"""Names: what the tables in a statement are, by the session, its catalogs and Spark."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import field, frozen
from hoodoo.calls import nearest
from hoodoo.errors import ConfigError, NotATableError
from hoodoo.kernel.functions import function
from hoodoo.table.table import Table
from hoodoo.table.table import open as open_table
from sqlglot import exp

from hoodoo_statements.alter_sql import altered_table
from hoodoo_statements.sql import check_names, name_of
from hoodoo_statements.text.of_others import beside

_PATHS = ("hudi", "hoodoo")  # hudi.`/path/of/table`
EVERY_TABLE = ""  # in the place of a name, for what SET says


@frozen
class SessionNames:
    """``own``: tables and rows by name, which come first. ``catalogs``: catalogs by name, in the
    order in which they are asked; the name may stand before that of a table. ``options``: what
    statements of this session have said, by the name of a table in lower case."""

    own: dict[str, Any]
    catalogs: Mapping[str, Any]
    spark: Any = None
    options: dict[str, dict[str, str]] = field(factory=dict)
    views: Mapping[str, str] = field(factory=dict)  # queries by name, in lower case

    def of_tree(self, tree: Any, more: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The tables of a statement by their names in it, and ``more``. ConfigError for a name
        without one."""
        nodes = [node for node in tree.find_all(exp.Table) if isinstance(node.this, exp.Identifier)]
        altered = altered_table(tree)
        queries = {cte.alias_or_name.lower() for cte in tree.find_all(exp.CTE)}
        found: dict[str, Any] = dict(more or {})
        for node in [*nodes, *([] if altered is None else [altered])]:
            name = name_of(node)
            if name.lower() in found or name.lower() in queries & self.views.keys():
                continue
            rows = self.find(name, node)
            if rows is not None:
                found[name.lower()] = rows
            elif name.lower() not in queries:
                raise self.unknown(name)
        return found

    def table(self, node: Any) -> Table:
        """The Hoodoo table that ``node`` names. ConfigError if there is none."""
        name = name_of(node)
        found = self.find(name, node)
        if found is None:
            raise self.unknown(name)
        if not isinstance(found, Table):
            raise ConfigError(
                f"table {name}",
                f"is a {type(found).__name__}, and no table of Hoodoo.",
                f'Give the table itself: tables={{"{name}": hoodoo.open(path)}}.',
            )
        return found

    def find(self, name: str, node: Any) -> Any:
        """What ``name`` means; None if nothing has it."""
        said = {**self.options.get(EVERY_TABLE, {}), **self.options.get(name.lower(), {})}
        own = {key.lower(): value for key, value in self.own.items()}
        if name.lower() in own:
            found = own[name.lower()]
            return _opened_again(found, said) if said and isinstance(found, Table) else found
        if name.lower() in self.views:
            raise ConfigError(
                f"table {name}",
                "is a view of the session, which has no rows of its own.",
                f"Write SELECT ... FROM {name}; change the tables that it reads.",
            )
        parts = [part.name for part in node.parts]
        if len(parts) == 2 and parts[0].lower() in _PATHS and ("/" in parts[1] or "\\" in parts[1]):
            return open_table(parts[1], said)
        entry = self.stored(node)
        if entry is not None:
            return entry[0].open(entry[1], options=said)
        if self.spark is not None and self.spark.catalog.tableExists(name):
            path = _path_of(self.spark, node)
            return self.spark.table(name) if path is None else open_table(path, said)
        return None

    def stored(self, node: Any) -> tuple[Any, str] | None:
        """The catalog that has the table ``node``, and its name there."""
        for lake, inner in self._asked([part.name for part in node.parts]):
            name = entry_name(lake, inner)
            if name is not None:
                return lake, name
        return None

    def place(self, node: Any) -> tuple[Any, str] | None:
        """The catalog that a new table of this name belongs to, and its name there; None if the
        session has no catalog."""
        return next(self._asked([part.name for part in node.parts]), None)

    def unknown(self, name: str) -> ConfigError:
        """The error for a name that nothing has."""
        names = sorted({shown for shown, _ in self.listed()})
        near = nearest(name, names)
        shown = f"Did you mean {near}? " if near else f"There are {', '.join(names) or 'none'}. "
        return ConfigError(
            f"table {name}",
            "is not among the tables of the session.",
            f'{beside(name)}{shown}Or add it: hoodoo.session(tables={{"{name}": path}}).',
        )

    def listed(self) -> Iterator[tuple[str, str | None]]:
        """The names of all tables, and of the catalog that has them; None: the session."""
        for name in (*self.own, *self.views):
            yield name, None
        for key, lake in self.catalogs.items():
            for name in lake.tables():
                yield name, key

    def _asked(self, parts: Sequence[str]) -> Iterator[tuple[Any, str]]:
        first, rest = parts[0].lower(), ".".join(parts[1:])
        for key, lake in self.catalogs.items():
            if key.lower() == first and rest:
                yield lake, rest
        for lake in self.catalogs.values():
            yield lake, ".".join(parts)


def _path_of(spark: Any, node: Any) -> str | None:
    """Where a table of Spark's catalog is that ``USING hoodoo`` made; None for others, and for one
    with options of its own, which may say which rows are read."""
    from pyspark.errors import PySparkException

    *within, name = [part.name for part in node.parts]
    place = ".".join("`{}`".format(part.replace("`", "``")) for part in within)
    text = name.replace("\\", "\\\\").replace("'", "\\'")
    asked = f"SHOW TABLE EXTENDED {f'IN {place} ' if place else ''}LIKE '{text}'"
    try:  # DESCRIBE does not say where the table of a source in Python is
        rows = [row for row in spark.sql(asked).collect() if row[1].lower() == name.lower()]
    except PySparkException:  # a catalog that has no such answer
        return None
    if len(rows) != 1 or rows[0]["isTemporary"]:
        return None
    lines = (line.partition(": ") for line in rows[0]["information"].splitlines())
    facts = {key: value for key, colon, value in lines if colon}
    if facts.get("Provider") != "hoodoo" or "Storage Properties" in facts:
        return None
    return facts.get("Location")


def _opened_again(table: Table, options: Mapping[str, str]) -> Table:
    """``table`` with further options."""
    handle = table.handle
    return open_table(
        table.path,
        {**handle.options, **options},
        engine=handle.default_engine,
        **handle.overrides,
    )


def entry_name(lake: Any, name: str) -> str | None:
    """How the catalog ``lake`` spells ``name``, which SQL takes in any case; None if it has no
    such table."""
    try:
        return str(lake.entry(name).name)
    except NotATableError:
        pass
    except ConfigError:  # a name that a catalog can't have
        return None
    near = [one for one in lake.tables() if one.lower() == name.lower()]
    return near[0] if len(near) == 1 else None


def own_views(views: Mapping[str, str] | None) -> Mapping[str, str]:
    """``views`` by names in lower case. ConfigError for a view that is no text."""
    if not isinstance(views, dict):
        return views or {}  # looks names up by itself
    check_names(views)
    for name, text in views.items():
        if not isinstance(text, str):
            raise ConfigError(
                f"view {name}", f"is a {type(text).__name__}.", "Give SELECT ... as text."
            )
    return {name.lower(): text for name, text in views.items()}


def own_tables(tables: Mapping[str, Any] | None) -> dict[str, Any]:
    """``tables`` as they are given, those that are paths opened. Raises what ``hoodoo.open``
    raises."""
    check_names(tables or ())
    return {
        name: open_table(given) if isinstance(given, (str, os.PathLike)) else given
        for name, given in (tables or {}).items()
    }


def opened_catalogs(given: Any) -> dict[str, Any]:
    """The catalogs of ``hoodoo.session(catalogs=...)`` by name: a place, a catalog, a list or a
    dict of these. Without a name, it is that of the place."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        one = isinstance(given, (str, os.PathLike)) or not isinstance(given, (list, tuple))
        found = [_catalog(place) for place in ([given] if one else given)]
        return {str(lake.place): lake for lake in found}
    check_names(map(str, given))
    return {str(name): _catalog(place) for name, place in given.items()}


def _catalog(place: Any) -> Any:
    if isinstance(place, (str, os.PathLike)):
        make = function("catalog")
        assert make is not None  # where it is not installed, the call says so
        return make(str(place))
    if not all(hasattr(type(place), name) for name in ("entry", "open", "create", "tables")):
        raise ConfigError(
            f"catalogs={place!r}",
            "is no catalog.",
            'Give a place ("s3://lake", "glue://"), or what hoodoo.catalog(place) returns.',
        )
    return place
