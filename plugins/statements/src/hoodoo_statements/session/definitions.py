"""CREATE TABLE, CREATE TABLE ... AS SELECT, and DROP TABLE."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pyarrow as pa
import sqlglot
from attrs import field, frozen
from hoodoo.errors import ConfigError, SchemaError, TableExistsError
from hoodoo.options.table import MERGE_MODE
from hoodoo.table.table import create as create_table
from hoodoo.table.table import open as open_table
from sqlglot import exp

from hoodoo_statements.alter_sql import constrained
from hoodoo_statements.query import Query
from hoodoo_statements.session.names import SessionNames
from hoodoo_statements.session.shows import definition
from hoodoo_statements.session.table_functions import with_functions
from hoodoo_statements.session.table_settings import key_of
from hoodoo_statements.sql import name_of
from hoodoo_statements.text.dialect import DIALECT
from hoodoo_statements.types import arrow_type

_PROVIDERS = ("hudi", "hoodoo", "org.apache.hudi")
# What Hudi's SQL calls properties of a table, in lower case -> arguments of hoodoo.create.
_ARGUMENTS = {
    "primarykey": "record_key",
    "precombinefield": "ordering",
    "orderingfields": "ordering",
    "type": "table_type",
}
_OPTIONS = {"recordmergemode": MERGE_MODE.key}
_CLASS = "write.payload.class"
# As Hudi's SQL has it, where nothing else is said.
_HIVE_STYLE = "hoodie.datasource.write.hive_style_partitioning"


@frozen
class Definition:
    """What a CREATE TABLE says. ``fields``: its columns, those of partitions last."""

    fields: list[pa.Field] = field(factory=list)
    partition_by: list[str] = field(factory=list)
    arguments: dict[str, Any] = field(factory=dict)
    options: dict[str, str] = field(factory=lambda: {_HIVE_STYLE: "true"})
    found: dict[str, str] = field(factory=dict)  # provider, location
    like: list[Any] = field(factory=list)  # the table of LIKE

    @classmethod
    def of(cls, tree: exp.Create) -> Definition:
        """The definition that ``tree`` spells. ConfigError and SchemaError for anything that would
        be lost."""
        made = cls()
        name = name_of(tree.this.this if isinstance(tree.this, exp.Schema) else tree.this)
        if tree.args.get("replace"):
            raise _refused(name, "OR REPLACE", "Drop the table, delete its folder, and create it.")
        properties = tree.args.get("properties")
        columns = tree.this.expressions if isinstance(tree.this, exp.Schema) else []
        for column in columns:
            if not isinstance(column, exp.ColumnDef):
                raise _no_column(name, column)
            made.fields.append(_field(column))
        for node in properties.expressions if properties else ():
            made._property(node, name)
        if made.found.get("provider", "hudi" if made.like else "") not in _PROVIDERS:
            raise ConfigError(
                f"CREATE TABLE {name}",
                f"is of {made.found.get('provider', 'no provider')}, and not of Hudi.",
                f"Write CREATE TABLE {name} (...) USING hudi.",
            )
        custom = made.options.get(MERGE_MODE.key, "").upper() == "CUSTOM"
        if custom and any(key.endswith(_CLASS) for key in made.options):
            del made.options[MERGE_MODE.key]  # as in Hudi's own example, the class says the mode
        last = {column.lower() for column in made.partition_by}
        made.fields.sort(key=lambda one: one.name.lower() in last)  # as Spark orders them
        return made

    def create(self, make: Callable[..., Any], where: str, rows: Any) -> Any:
        """The table that ``make``, with the arguments of ``hoodoo.create``, makes at ``where``."""
        schema = pa.schema(self.fields) if rows is None else self._ordered(rows)
        return make(
            where,
            schema,
            partition_by=self.partition_by,
            options=self.options,
            **self.arguments,
        )

    def _ordered(self, rows: Any) -> Any:
        """``rows`` with the columns of partitions last."""
        names = rows.column_names if isinstance(rows, pa.Table) else rows.columns
        last = [column.lower() for column in self.partition_by]
        return rows.select(sorted(names, key=lambda name: name.lower() in last))

    def _property(self, node: Any, name: str) -> None:
        if isinstance(node, exp.FileFormatProperty) and not node.args.get("hive_format"):
            self.found["provider"] = node.name.lower()
        elif isinstance(node, exp.LocationProperty):
            self.found["location"] = node.name
        elif isinstance(node, exp.LikeProperty) and not node.expressions:
            self.like.append(node.this)
        elif isinstance(node, exp.PartitionedByProperty):
            for column in node.this.expressions:
                if isinstance(column, exp.ColumnDef) and column.args.get("kind") is not None:
                    self.fields.append(_field(column))
                elif not isinstance(column, (exp.Identifier, exp.ColumnDef, exp.Column)):
                    said = column.sql(DIALECT)
                    fix = "Partition by columns; key_generator= of hoodoo.create makes paths."
                    raise _refused(name, f"PARTITIONED BY ({said})", fix)
                self.partition_by.append(column.name)
        elif isinstance(node, exp.OptionsProperty):
            for inner in node.expressions:
                self._property(inner, name)
        elif type(node) is exp.Property:
            self._table_property(key_of(node.this), node.args["value"].name)
        elif not isinstance(node, exp.ExternalProperty):
            raise _refused(name, node.sql(DIALECT), "Leave it out: a table does not store it.")

    def _table_property(self, key: str, value: str) -> None:
        argument = _ARGUMENTS.get(key.lower())
        if argument is not None:
            self.arguments[argument] = value
        elif key.lower() in _OPTIONS or key.startswith(("hoodie.", "hoodoo.")):
            self.options[_OPTIONS.get(key.lower(), key)] = value
        else:
            raise ConfigError(
                f"property {key} of TBLPROPERTIES",
                "is not known.",
                "Use primaryKey, orderingFields (or preCombineField), type, or a hoodie.* key.",
            )


def of_other(name: str, wanted: Definition, names: SessionNames) -> Definition:
    """The definition of the table that LIKE names, with what the statement says besides."""
    (node,) = wanted.like
    if wanted.fields or wanted.partition_by:
        raise _refused(name, "columns beside LIKE", "Leave them out, or leave LIKE out.")
    text = definition(names.table(node), "t", None)
    made = Definition.of(sqlglot.parse_one(text, read=DIALECT))
    made.arguments.update(wanted.arguments)
    made.options.update(wanted.options)
    made.found.update(wanted.found)
    return made


def create(tree: exp.Create, names: SessionNames) -> None:
    """Run CREATE TABLE. The table belongs to the first catalog of the session, or the one that its
    name begins with; without a catalog, to the session alone. Raises what ``hoodoo.create``
    raises."""
    node = tree.this.this if isinstance(tree.this, exp.Schema) else tree.this
    name, wanted = name_of(node), Definition.of(tree)
    if names.find(name, node) is not None:
        if tree.args.get("exists"):
            return
        raise TableExistsError(
            f"table {name}", "is in the session.", "Choose another name, or write IF NOT EXISTS."
        )
    query = tree.args.get("expression")
    if wanted.like:
        wanted = of_other(name, wanted, names)
    if query is not None and wanted.fields:
        raise _refused(name, "columns beside AS SELECT", "Name them in the query: SELECT a AS b.")
    place, location = names.place(node), wanted.found.get("location")
    if place is None and location is None:
        raise ConfigError(
            f"CREATE TABLE {name}",
            "has no LOCATION, and the session has no catalog.",
            "Write LOCATION 'path', or give one: hoodoo.session(catalogs=place).",
        )
    rows = None
    if query is not None:
        changed = with_functions(query, names)
        rows = Query(names.of_tree(query, changed), names.spark).run(query)
    if rows is None and not wanted.fields:
        _add(names, name, location, place)
    elif place is None:
        names.own[name] = wanted.create(create_table, str(location), rows)
    else:
        lake, inner = place
        made = wanted.create(partial(lake.create, path=location), inner, rows)
        # The table stores its properties; options of its writers are of this session.
        stored = made.config.properties
        more = {key: text for key, text in wanted.options.items() if key not in stored}
        names.options[name.lower()] = more


def _add(names: SessionNames, name: str, location: str | None, place: Any) -> None:
    """A table that is there gets a name."""
    if location is None:
        raise ConfigError(
            f"CREATE TABLE {name}",
            "has neither columns, nor a query, nor the LOCATION of a table.",
            f"Write CREATE TABLE {name} (id BIGINT, ...) USING hudi.",
        )
    if place is None:
        names.own[name] = open_table(location)
    else:
        place[0].register(place[1], location)


def drop(tree: exp.Drop, names: SessionNames) -> None:
    """Run DROP TABLE: the name goes, from the session or the catalog; no file is deleted."""
    for node in tree.args.get("tables") or [tree.this]:
        name = name_of(node)
        if tree.args.get("purge"):
            raise _refused(
                name, "PURGE", "DROP TABLE takes away the name; delete the folder after it."
            )
        own = [key for key in names.own if key.lower() == name.lower()]
        found = names.stored(node)
        names.options.pop(name.lower(), None)
        if own:
            del names.own[own[0]]
        elif found is not None:
            found[0].drop(found[1])
        elif not tree.args.get("exists"):
            raise names.unknown(name)


def _field(column: Any) -> pa.Field:
    what, nullable = f"column {column.name} of CREATE TABLE", True
    for constraint in column.args.get("constraints") or ():
        kind = constraint.kind
        if isinstance(kind, exp.PrimaryKeyColumnConstraint):
            fix = f"Write TBLPROPERTIES (primaryKey = '{column.name}')."
            raise SchemaError(what, "would be the primary key by itself.", fix)
        if not isinstance(kind, exp.NotNullColumnConstraint):
            raise constrained(what, kind)
        nullable = bool(kind.args.get("allow_null"))
    if column.args.get("kind") is None:
        raise ConfigError(what, "has no type.", f"Give one: {column.name} BIGINT.")
    return pa.field(column.name, arrow_type(column.args["kind"], what), nullable)


def _no_column(name: str, node: Any) -> ConfigError:
    """The error for a constraint among the columns."""
    if not isinstance(node, exp.PrimaryKey):
        return _refused(name, node.sql(DIALECT), "Leave it out: a table does not store it.")
    key = ",".join(part.name for part in node.expressions)
    return _refused(name, node.sql(DIALECT), f"Write TBLPROPERTIES (primaryKey = '{key}').")


def _refused(name: str, part: str, fix: str) -> ConfigError:
    return ConfigError(f"table {name}", f"has {part}, which is not supported.", fix)
