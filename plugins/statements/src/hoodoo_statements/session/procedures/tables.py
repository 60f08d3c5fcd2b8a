"""Procedures that show or change a table as a whole: properties, versions, partitions, copies."""

from __future__ import annotations

import time
from typing import Any

from hoodoo.errors import ConfigError
from hoodoo.table.table import Table
from hoodoo_rows.api import Scan
from sqlglot import exp

from hoodoo_statements.session.procedures.procedure import Call, Procedure, Rows
from hoodoo_statements.text.dialect import DIALECT
from hoodoo_statements.text.moments import instant_of

_VERSIONS = {"SIX": 6, "SEVEN": 7, "EIGHT": 8, "NINE": 9}


def _properties(call: Call) -> Rows:
    return sorted(call.table.config.properties.items())[: call.limit]


def _upgrade(call: Call) -> Rows:
    call.table.upgrade(_version(call))
    return [(True,)]


def _downgrade(call: Call) -> Rows:
    call.table.downgrade(_version(call))
    return [(True,)]


def _version(call: Call) -> int:
    """Hudi's name of a table version, such as NINE, or its number."""
    said = str(call.get("to_version")).strip().upper()
    if said in _VERSIONS or said.isdecimal():
        return _VERSIONS.get(said) or int(said)
    raise ConfigError(
        f"to_version {said!r}", "is no table version.", "Use NINE, EIGHT or SIX, or the number."
    )


def _drop_partition(call: Call) -> Rows:
    call.table.delete_partitions(_paths(call, "partition"))
    return [("Success",)]


def _truncate(call: Call) -> Rows:
    began = time.monotonic()
    if "partitions" in call.given:
        call.table.delete_partitions(_paths(call, "partitions"))
    else:
        call.table.delete(where="true", engine=call.engine)
    return [("SUCCESS", int((time.monotonic() - began) * 1000))]


def _paths(call: Call, name: str) -> list[str]:
    return [one.strip() for one in str(call.get(name)).split(",")]


def _copy(call: Call) -> Rows:
    """A table, or rows of it, as a new table, or as rows of one that is there."""
    node = exp.to_table(str(call.get("new_table")), dialect=DIALECT)
    mode = str(call.get("save_mode")).lower()
    there = call.names.find(str(call.get("new_table")), node)
    if mode not in ("overwrite", "append", "errorifexists", "ignore"):
        raise ConfigError(
            f"save_mode {mode!r}",
            "is not known.",
            "Use overwrite, append, errorifexists or ignore.",
        )
    if there is not None and mode == "ignore":
        return [(0,)]
    if there is not None and (mode == "errorifexists" or not isinstance(there, Table)):
        raise ConfigError(
            f"table {call.get('new_table')}",
            "is there.",
            "Choose another name, or save_mode => 'append' or 'overwrite'.",
        )
    rows = _asked(call)
    if there is not None:
        write = there.bulk_insert if mode == "append" else there.insert_overwrite_table
        write(rows, engine=call.engine)
        return [(0,)]
    place = call.names.place(node)
    if place is None:
        raise ConfigError(
            f"new_table {call.get('new_table')}",
            "is not there, and the session has no catalog for a new table.",
            "Give a catalog: hoodoo.session(catalogs=place); or call table.clone(path).",
        )
    config = call.table.config
    place[0].create(
        place[1],
        rows.schema,
        record_key=list(config.record_key_fields) or None,
        partition_by=list(config.partition_fields),
        ordering=list(config.ordering_fields) or None,
        table_type=config.table_type,
        options={
            key: value
            for key, value in config.properties.items()
            if key.startswith("hoodie.datasource.write.")
        },
    ).bulk_insert(rows, engine=call.engine)
    return [(0,)]


def _view(call: Call) -> Rows:
    """Rows of a table under a name of the session."""
    name = str(call.get("view_name"))
    taken = [key for key in call.names.own if key.lower() == name.lower()]
    if taken and not call.get("replace"):
        raise ConfigError(
            f"view {name}", "is in the session.", "Choose another name, or replace => true."
        )
    for key in taken:
        del call.names.own[key]
    call.names.own[name] = _asked(call)
    return [(0,)]


def _asked(call: Call) -> Scan:
    """The rows of the table that a call is about."""
    kind, table = str(call.get("query_type")).lower(), call.table
    columns = [one.strip() for one in str(call.get("columns", "")).split(",") if one.strip()]
    if kind == "incremental":
        begin, end = (
            instant_of(str(call.get(f"{edge}_instance_time", ""))) for edge in ("begin", "end")
        )
        found: Scan = table.incremental(begin or "earliest", end or None, columns or None)
        return found
    if kind not in ("snapshot", "read_optimized"):
        raise ConfigError(
            f"query_type {kind!r}",
            "is not known.",
            "Use snapshot, read_optimized or incremental.",
        )
    as_of: Any = instant_of(str(call.get("as_of_instant", ""))) or None
    scan: Scan = table.read(columns or None, as_of=as_of, mode=kind)
    return scan


_OF_ROWS = "begin_instance_time end_instance_time as_of_instant"
PROCEDURES = {
    "show_table_properties": Procedure("table path limit=10 filter", "key value", _properties),
    "upgrade_table": Procedure("table* to_version*", "result:boolean", _upgrade),
    "downgrade_table": Procedure("table* to_version*", "result:boolean", _downgrade),
    "drop_partition": Procedure("table* partition*", "result", _drop_partition),
    "truncate_table": Procedure("table* partitions", "result time_cost:long", _truncate),
    "copy_to_table": Procedure(
        f"table* query_type=snapshot new_table* {_OF_ROWS} save_mode=overwrite columns",
        "status:int",
        _copy,
    ),
    "copy_to_temp_view": Procedure(
        f"table* query_type=snapshot view_name* {_OF_ROWS} replace=false global-",
        "status:int",
        _view,
    ),
}
