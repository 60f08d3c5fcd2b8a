"""SHOW TABLES, PARTITIONS, COLUMNS, INDEXES, TBLPROPERTIES and CREATE TABLE, and DESCRIBE: the
columns of Spark's answers."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import sqlglot
from hoodoo.model.schema import logical
from hoodoo.table.table import Table
from sqlglot import exp

from hoodoo_statements.partition_spec import PartitionSpec, partition_columns, partition_paths
from hoodoo_statements.query import Query, arrow_of
from hoodoo_statements.session.names import SessionNames
from hoodoo_statements.session.table_functions import with_functions
from hoodoo_statements.session.unsupported import unsupported
from hoodoo_statements.spark_sql import kinds
from hoodoo_statements.text.dialect import DIALECT

_TABLES = re.compile(
    r"TABLES(?:\s+(?:IN|FROM)\s+`?(?P<space>[^\s`']+)`?)?(?:\s+(?:LIKE\s+)?'(?P<like>[^']*)')?",
    re.I,
)
_DATABASES = re.compile(
    r"(?P<what>DATABASES|SCHEMAS|NAMESPACES|CATALOGS)(?:\s+(?:LIKE\s+)?'(?P<like>[^']*)')?", re.I
)
_OF_TABLE = re.compile(
    r"(?P<what>PARTITIONS|TBLPROPERTIES|COLUMNS\s+(?:IN|FROM)|INDEXES\s+(?:IN|FROM)|CREATE\s+TABLE)"
    r"\s+(?P<name>[^\s(]+)(?P<more>\s*(?:PARTITION\s*)?\(.*\))?",
    re.I | re.S,
)
# Properties that CREATE TABLE has in other words, or by itself.
_OWN = re.compile(
    r"hoodie\.(table\.(name|initial\.version|type|recordkey\.fields|ordering\.fields|format"
    r"|checksum|precombine\.field|partition\.fields|create\.schema|timeline\..*|metadata\..*)"
    r"|datasource\.write\.drop\.partition\.columns|timeline\..*|archivelog\.folder"
    r"|database\.name)"
    r"|hoodoo\.(catalogs|partition\.rows\..*)"
)


def show(tree: exp.Command, names: SessionNames) -> pa.Table:
    """What SHOW answers. ConfigError for something else, and for a table that is not there."""
    text = str(getattr(tree.args.get("expression"), "name", "")).strip()
    found = _TABLES.fullmatch(text)
    if found is not None:
        return _tables(names, found["space"], found["like"])
    found = _DATABASES.fullmatch(text)
    if found is not None:
        return _databases(names, found["what"].upper(), found["like"])
    found = _OF_TABLE.fullmatch(text)
    if found is None:
        raise unsupported(tree)
    what, more = found["what"].split()[0].upper(), found["more"]
    table = names.table(exp.to_table(found["name"], dialect=DIALECT))
    if not more:
        return _SHOWN[what](table, found["name"])
    if what == "PARTITIONS":
        return _some_partitions(table, more)
    if what == "TBLPROPERTIES":
        return _one_property(table, more)
    raise unsupported(tree)


def describe(tree: exp.Describe, names: SessionNames) -> pa.Table:
    """What DESCRIBE answers of a table, or of a query."""
    style = str(tree.args.get("style") or "").upper()
    is_known = style in ("", "EXTENDED", "FORMATTED") and not tree.args.get("partition")
    if isinstance(tree.this, exp.Query) and is_known and not style:
        found = [(f.name, spark_name(f.type), None) for f in _schema_of(tree.this, names)]
        return _answer(("col_name", "data_type", "comment"), found)
    if not isinstance(tree.this, exp.Table) or not is_known:
        raise unsupported(tree)
    table = names.table(tree.this)
    rows: list[Any] = [(f.name, spark_name(f.type), None) for f in table.schema]
    partitions = [table.schema.field(name) for name in partition_columns(table)]
    if partitions:
        rows += [("# Partition Information", "", ""), ("# col_name", "data_type", "comment")]
        rows += [(f.name, spark_name(f.type), None) for f in partitions]
    if style:
        config = table.config
        rows += [("", "", ""), ("# Detailed Table Information", "", "")]
        rows += [("Table", config.name, ""), ("Provider", "hudi", ""), ("Location", table.path, "")]
        rows += [("Type", str(config.table_type), ""), ("Version", str(config.version), "")]
        rows += [("Record Key", ",".join(config.record_key_fields), "")]
    return _answer(("col_name", "data_type", "comment"), rows)


def _schema_of(query: Any, names: SessionNames) -> pa.Schema:
    """The columns that ``query`` answers; no row is asked for."""
    made = with_functions(query, names)
    empty = exp.select("*").from_(query.subquery("q")).limit(0)
    return arrow_of(Query(names.of_tree(query, made), names.spark).run(empty)).schema


def spark_name(kind: pa.DataType) -> str:
    """What Spark calls the type."""
    t = pa.types
    if t.is_timestamp(kind):  # of any unit and zone
        return "timestamp_ntz" if kind.tz is None else "timestamp"
    if t.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if text := logical.text_of(kind):
        return text.lower()
    if t.is_list(kind) or t.is_large_list(kind):
        return f"array<{spark_name(kind.value_type)}>"
    if t.is_map(kind):
        return f"map<{spark_name(kind.key_type)},{spark_name(kind.item_type)}>"
    if t.is_struct(kind):
        return f"struct<{','.join(f'{f.name}:{spark_name(f.type)}' for f in kind)}>"
    return kinds.spark_name(kind).lower() if kind in kinds.NAMES else str(kind)


def _tables(names: SessionNames, space: str | None, like: str | None) -> pa.Table:
    rows = []
    several = len(names.catalogs) > 1
    for full, catalog in names.listed():
        database, _, name = full.rpartition(".")
        if catalog is not None and several:
            database = ".".join(part for part in (catalog, database) if part)
        if space is not None and space.lower() not in (database.lower(), (catalog or "").lower()):
            continue
        if like is not None and not _is_like(name, like):
            continue
        rows.append((database, name, False))
    return _answer(("namespace", "tableName", "isTemporary"), rows)


def _databases(names: SessionNames, what: str, like: str | None) -> pa.Table:
    """The databases in which tables of the session are, or its catalogs, in their order."""
    if what == "CATALOGS":
        column, found = "catalog", list(names.catalogs)
    else:
        listed = _tables(names, None, None).column("namespace").to_pylist()
        column, found = "namespace", sorted({name for name in listed if name})
    return _answer((column,), [(n,) for n in found if like is None or _is_like(n, like)])


def _is_like(name: str, pattern: str) -> bool:
    """As Spark has it: ``*`` is any text, ``|`` is or, in any case."""
    ways = [re.escape(one.strip()).replace(r"\*", ".*") for one in pattern.split("|")]
    return any(re.fullmatch(way, name, re.I) for way in ways)


def _partitions(table: Table, name: str) -> pa.Table:
    return _answer(("partition",), [(path,) for path in partition_paths(table) if path])


def _some_partitions(table: Table, more: str) -> pa.Table:
    """Those that ``PARTITION (...)`` names."""
    statement = sqlglot.parse_one(f"TRUNCATE TABLE t {more}", read=DIALECT)
    partition = statement.args.get("partition")
    if partition is None:
        raise unsupported(statement)
    paths = PartitionSpec.of(partition, table).paths(table, partition_paths(table))
    return _answer(("partition",), [(path,) for path in paths])


def _indexes(table: Table, name: str) -> pa.Table:
    """As Hudi names them: by the partitions of the metadata table that store them."""
    rows = []
    for one in table.indexes():
        secondary = one.kind == "secondary"
        kind = "secondary_index" if secondary else one.kind
        rows.append((one.partition, kind, ",".join(one.columns) if secondary else ""))
    return _answer(("index_name", "index_type", "col_name"), rows)


def _one_property(table: Table, more: str) -> pa.Table:
    key = more.strip()[1:-1].strip().strip("'\"`")
    missing = f"Table {table.config.name} does not have property: {key}"
    return _answer(("key", "value"), [(key, table.config.properties.get(key, missing))])


def _columns(table: Table, name: str) -> pa.Table:
    return _answer(("col_name",), [(column,) for column in table.schema.names])


def _properties(table: Table, name: str) -> pa.Table:
    return _answer(("key", "value"), sorted(table.config.properties.items()))


def _definition(table: Table, name: str) -> pa.Table:
    return _answer(("createtab_stmt",), [(definition(table, name, table.path),)])


def definition(table: Table, name: str, location: str | None) -> str:
    """The CREATE TABLE that makes a table such as ``table``."""
    config, indent = table.config, ",\n  "
    columns = [f"{_quoted(f.name)} {spark_name(f.type)}" for f in table.schema]
    said = {"type": "mor" if config.table_type == "MERGE_ON_READ" else "cow"}
    if config.record_key_fields:
        said["primaryKey"] = ",".join(config.record_key_fields)
    if config.ordering_fields:
        said["orderingFields"] = ",".join(config.ordering_fields)
    said |= {k: v for k, v in sorted(config.properties.items()) if not _OWN.fullmatch(k)}
    partitions = ", ".join(map(_quoted, partition_columns(table)))
    text = f"CREATE TABLE {name} (\n  {indent.join(columns)})\nUSING hudi\n"
    text += f"PARTITIONED BY ({partitions})\n" if partitions else ""
    text += f"LOCATION {_text(location)}\n" if location else ""
    pairs = indent.join(f"{_text(key)} = {_text(value)}" for key, value in said.items())
    return f"{text}TBLPROPERTIES (\n  {pairs})\n"


_SHOWN: dict[str, Callable[[Table, str], pa.Table]] = {
    "PARTITIONS": _partitions,
    "INDEXES": _indexes,
    "COLUMNS": _columns,
    "TBLPROPERTIES": _properties,
    "CREATE": _definition,
}


def _answer(names: tuple[str, ...], rows: list[Any]) -> pa.Table:
    kinds = [pa.bool_() if name.startswith("is") else pa.string() for name in names]
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(names)
    return pa.table([pa.array(c, k) for c, k in zip(columns, kinds, strict=True)], list(names))


def _quoted(name: str) -> str:
    return name if re.fullmatch(r"\w+", name) else "`{}`".format(name.replace("`", "``"))


def _text(value: str) -> str:
    return str(exp.Literal.string(value).sql(DIALECT))
