"""Workspace: a session of Hoodoo with what dbt expects of a database besides: schemas, stored
views, temporary tables, and tables that are replaced as a whole."""

from __future__ import annotations

import shutil
import tempfile
import uuid
from collections.abc import Mapping
from typing import Any

import hoodoo
import pyarrow as pa
from attrs import define, field
from hoodoo.errors import ConfigError, DuplicateKeyError, NotATableError, TableExistsError
from hoodoo.storage.uri import absolute
from hoodoo.table.settings import open_storage

from hoodoo_dbt.statements import Create, Drop, Rename, Schema, known, plain, quoted, split
from hoodoo_dbt.stored_views import FOLDER, StoredViews

_ROWS = "hoodoo_dbt_rows"
_TABLE, _VIEW = "table", "view"


@define
class Workspace:
    """``database``: the name of the catalog ``lake``, to which all belongs that is created.
    ``root``: the folder of new tables and of views. ``others``: further catalogs, to read from.
    ``temporary``: rows by their names, which nobody else sees. ``settings``: the SET and RESET that
    it was given, which count for what comes after them."""

    database: str
    lake: Any
    root: str
    others: Mapping[str, Any] = field(factory=dict)
    spark: Any = None
    options: Mapping[str, str] = field(factory=dict)
    views: StoredViews = field(init=False)
    temporary: dict[str, Any] = field(factory=dict)
    settings: list[str] = field(factory=list)

    def __attrs_post_init__(self) -> None:
        store = open_storage(f"{self.root}/{FOLDER}", self.options)
        self.views = StoredViews(store, self.database)

    @classmethod
    def at(
        cls,
        path: str,
        database: str = "lake",
        location_root: str | None = None,
        catalogs: Mapping[str, str] | None = None,
        options: Mapping[str, Any] | None = None,
        spark: Any = None,
    ) -> Workspace:
        """The workspace of the catalog at ``path``. ConfigError for one that is no folder, if
        ``location_root`` does not say where new tables lie."""
        given = {key: str(value) for key, value in (options or {}).items()}
        lake = hoodoo.catalog(path, given)
        root = location_root
        if root is None:
            if "://" in path and lake.place.plugin != "file":
                raise ConfigError(
                    f"profile with path {path}",
                    "does not say where new tables and views lie.",
                    "Give location_root: a folder, or the URI of a bucket or folder.",
                )
            root = str(lake.place.uri)
        others = {name: hoodoo.catalog(place, given) for name, place in (catalogs or {}).items()}
        return cls(database, lake, absolute(root).rstrip("/"), others, spark, given)

    # --- statements -------------------------------------------------------------------------------
    def execute(self, text: str) -> Any:
        """Run the statements of a text; the result of the last one, or None."""
        found = None
        for statement in split(text):
            found = self._run(statement)
        return found

    def session(self) -> Any:
        """A session in which names mean what they mean here."""
        catalogs = {self.database: self.lake, **self.others}
        made = hoodoo.session(self.spark, catalogs, dict(self.temporary), self.views)
        for text in self.settings:
            made.sql(text)
        return made

    def has(self, name: str) -> bool:
        """Whether there is a table or view of this name."""
        inner = self._inner(name)
        return (
            inner in self.temporary or inner.lower() in self.views or self._entry(inner) is not None
        )

    def columns(self, name: str) -> list[tuple[str, str]]:
        """The columns of a table or view, and their types."""
        return self.columns_of_query(f"SELECT * FROM {quoted(plain(name))}")

    def columns_of_query(self, text: str) -> list[tuple[str, str]]:
        """The columns that a query answers, and their types."""
        *before, query = split(text)
        for statement in before:
            self._run(statement)
        found = self.session().sql(f"DESCRIBE SELECT * FROM ({query}) AS q").to_pylist()
        return [(row["col_name"], row["data_type"]) for row in found]

    def _run(self, text: str) -> Any:
        said = known(text)
        if isinstance(said, Create) and said.kind == _TABLE:
            return self._create_table(said)
        if isinstance(said, Create):
            return self.create_view(said.name, said.query, said.replace)
        if isinstance(said, Drop):
            if not self.drop(said.name) and not said.spared:
                raise self._missing(said.name)
        elif isinstance(said, Rename):
            self.rename(said.name, said.new)
        elif isinstance(said, Schema):
            (self.create_schema if said.what == "create" else self.drop_schema)(said.name)
        else:
            found = self.session().sql(text)
            if text[:5].lower() in ("set h", "reset"):
                self.settings.append(text)
            return found
        return None

    # --- schemas ----------------------------------------------------------------------------------
    def schemas(self) -> list[str]:
        """The schemas that were created, or have a table or view."""
        of_tables = (name.partition(".")[0] for name in self.lake.tables() if "." in name)
        return sorted({*of_tables, *self.views.schemas()})

    def create_schema(self, name: str) -> None:
        self.views.create_schema(self._inner(f"{name}.t").partition(".")[0])

    def drop_schema(self, name: str) -> None:
        """Delete a schema with all that is in it."""
        schema = self._inner(f"{name}.t").partition(".")[0]
        for table, _ in self.relations(schema):
            self.drop(f"{schema}.{table}")
        self.views.drop_schema(schema)

    def relations(self, schema: str) -> list[tuple[str, str]]:
        """The tables and views of a schema, each with its kind."""
        begin = f"{schema.lower()}."
        tables = [n[len(begin) :] for n in self.lake.tables() if n.lower().startswith(begin)]
        kinds = {name: _VIEW for name in self.views.of_schema(schema)}
        return sorted({**kinds, **dict.fromkeys(tables, _TABLE)}.items())

    # --- tables and views -------------------------------------------------------------------------
    def create_view(self, name: str, query: str, replace: bool = False) -> None:
        """Store a query under a name. What it reads has to be there."""
        inner = self._inner(name)
        self.columns_of_query(query)
        if not replace and (inner.lower() in self.views or self._entry(inner) is not None):
            raise self._exists(name)
        self.views.put(inner, query)
        if self._entry(inner) is not None:
            self._drop_table(inner)

    def hold(self, name: str, rows: Any) -> None:
        """Give rows a name that this workspace alone knows."""
        for key in self._keys(name):
            self.temporary[key] = rows

    def rename(self, old: str, new: str) -> None:
        """Give a table or view another name, and no file another place."""
        before, after = self._inner(old), self._inner(new)
        if "." not in plain(new):
            after = f"{before.partition('.')[0]}.{plain(new)}"
        if before.lower() not in self.views:
            self.session().sql(
                f"ALTER TABLE {quoted(f'{self.database}.{before}')} "
                f"RENAME TO {quoted(f'{self.database}.{after}')}"
            )
            return
        if after.lower() in self.views or self._entry(after) is not None:
            raise self._exists(new)
        self.views.put(after, self.views[before.lower()])
        self.views.drop(before)

    def drop(self, name: str) -> bool:
        """Delete a table with its files, or a view; whether there was one."""
        keys = [key for key in self._keys(name) if self.temporary.pop(key, None) is not None]
        if keys:
            return True
        inner = self._inner(name)
        if self._entry(inner) is not None:
            self._drop_table(inner)
            self.views.drop(inner)
            return True
        return self.views.drop(inner)

    def _create_table(self, said: Create) -> Any:
        rows = self._rows(said.query)
        if said.temporary:
            return self.hold(said.name, rows)
        return self.replace(said.name, rows, said.how, said.replace, said.spared)

    def replace(
        self, name: str, rows: Any, how: str = "", may: bool = True, spared: bool = False
    ) -> Any:
        """The table ``name`` has ``rows``, and nothing else. ``how``: what CREATE TABLE says before
        AS. A table that is so already is overwritten in one commit, and keeps its history; else a
        new one takes its name. ``may``: whether a table may be there; ``spared``: it stays."""
        inner = self._inner(name)
        there = self._entry(inner)
        if not may and (there is not None or inner.lower() in self.views):
            if spared:
                return None
            raise self._exists(name)
        if there is not None and self._is_such(there, rows, how, inner):
            engine = None if self.spark is None else "spark"
            return self.lake.open(inner).insert_overwrite_table(rows, engine=engine)
        path = self._free(inner)
        try:
            self._made(path, rows, how, inner)
            if self.spark is not None:
                _refuse_doubles(hoodoo.open(path, self.options), rows)
        except BaseException:
            self._delete(path)
            raise
        if there is not None:
            self.lake.drop(inner)
        self.lake.register(inner, path)
        self.views.drop(inner)
        if there is not None:
            self._delete(there.location)
        return None

    def _made(self, path: str, rows: Any, how: str, inner: str, most: str = "") -> Any:
        """A table at ``path``, which has no name yet, and its session."""
        name = inner.rpartition(".")[2]
        using = "" if "using" in how.lower().split() else "USING hudi "
        made = hoodoo.session(self.spark, tables={_ROWS: rows})
        place = path.replace("\\", "\\\\").replace("'", "\\'")
        made.sql(
            f"CREATE TABLE {quoted(name)} {using}{how} LOCATION '{place}' "
            f"AS SELECT * FROM {_ROWS}{most}"
        )
        return made

    def _is_such(self, there: Any, rows: Any, how: str, inner: str) -> bool:
        """Whether the table of the entry ``there`` is what ``how`` would make of ``rows``. Not if
        several have one key: a new table combines or refuses them, as the ordering says."""
        name = inner.rpartition(".")[2]
        keys = [
            key for key in self.lake.open(inner).config.record_key_fields if key in _names(rows)
        ]
        if keys and _has_doubles(rows, keys):
            return False
        folder = tempfile.mkdtemp(prefix="hoodoo-dbt-")
        try:
            made = self._made(f"{folder}/{name}", rows, how, inner, " LIMIT 0")
            stored = hoodoo.session(tables={name: self.lake.open(inner)})
            return _shape(made, name) == _shape(stored, name)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _rows(self, query: str) -> Any:
        """What a query answers, computed now."""
        found = self.session().sql(query)
        if self.spark is None:
            return found.to_arrow()
        frame = found.to_spark().persist()
        frame.count()
        return frame

    def _drop_table(self, inner: str) -> None:
        entry = self._entry(inner)
        self.lake.drop(entry.name)
        self._delete(entry.location)

    def _delete(self, location: str) -> None:
        """The files of a table, if it lies where tables of this workspace lie."""
        if absolute(location).startswith(f"{self.root}/"):
            open_storage(location, self.options).delete_prefix("")

    def _free(self, inner: str) -> str:
        """A folder for the table that no other has: renamed tables stay where they are."""
        path = f"{self.root}/{inner.replace('.', '/')}"
        if open_storage(path, self.options).list(""):
            schema, _, name = inner.rpartition(".")
            path = f"{self.root}/{schema}/{uuid.uuid4().hex[:8]}/{name}"
        return path

    # --- names ------------------------------------------------------------------------------------
    def _inner(self, name: str) -> str:
        """The name within the catalog of this workspace. ConfigError for one of another."""
        parts = plain(name).split(".")
        if len(parts) == 3:
            if parts[0].lower() != self.database.lower():
                raise ConfigError(
                    f"name {name}",
                    f"is of the database {parts[0]}, and only {self.database} is written to.",
                    f"Name it {'.'.join([self.database, *parts[1:]])}.",
                )
            del parts[0]
        return ".".join(parts)

    def _keys(self, name: str) -> tuple[str, str]:
        inner = self._inner(name)
        return f"{self.database}.{inner}", inner

    def _entry(self, inner: str) -> Any:
        try:
            return self.lake.entry(inner)
        except NotATableError:
            return None

    def _exists(self, name: str) -> TableExistsError:
        return TableExistsError(
            f"table {plain(name)}", "is there already.", "Write CREATE OR REPLACE."
        )

    def _missing(self, name: str) -> ConfigError:
        near = ", ".join(n for n, _ in self.relations(self._inner(name).partition(".")[0]))
        return ConfigError(
            f"table {plain(name)}",
            f"is not there (its schema has {near or 'nothing'}).",
            "Write DROP ... IF EXISTS, or another name.",
        )


def _shape(session: Any, name: str) -> str:
    """What makes a table such as the one of this name, but its place."""
    text = session.sql(f"SHOW CREATE TABLE {quoted(name)}").to_pylist()[0]["createtab_stmt"]
    return "\n".join(line for line in text.splitlines() if not line.startswith("LOCATION "))


def _refuse_doubles(table: Any, frame: Any) -> None:
    """Without Spark, a first write counts its rows itself; here, they are kept and soon counted."""
    config = table.config
    keys = [key for key in config.record_key_fields if key in _names(frame)]
    if keys and not config.ordering_fields and _has_doubles(frame, keys):
        twice = frame.count() - frame.select(keys).distinct().count()
        raise DuplicateKeyError(
            f"record key {', '.join(keys)}",
            f"does not tell the rows apart: {twice} of {frame.count()} have the key of another.",
            "Name more columns, or say by ordering=... which row of a key is the newest.",
        )


def _names(rows: Any) -> list[str]:
    return list(rows.column_names if isinstance(rows, pa.Table) else rows.columns)


def _has_doubles(rows: Any, keys: list[str]) -> bool:
    if isinstance(rows, pa.Table):
        return bool(rows.group_by(keys).aggregate([]).num_rows < rows.num_rows)
    return bool(rows.select(keys).distinct().count() < rows.count())


def arrow_of(columns: Mapping[str, Any]) -> pa.Table:
    """Columns of Python values as rows. A column without a value is text."""
    made = {name: pa.array(values) for name, values in columns.items()}
    return pa.table(
        {n: v.cast(pa.string()) if pa.types.is_null(v.type) else v for n, v in made.items()}
    )
