"""Procedures about the metadata table and its indexes."""

from __future__ import annotations

from hoodoo.errors import ConfigError
from hoodoo.participants.listing import list_data
from hoodoo.table.table import Table
from hoodoo.timeline.snapshot import Snapshot

from hoodoo_statements.session.procedures.procedure import Call, Procedure, Rows

_PARTITIONS = "hoodie.table.metadata.partitions"


def _create(call: Call) -> Rows:
    made = call.table.rebuild_index()
    return [(f"Created the partitions {', '.join(made)} of the metadata table",)]


def _delete(call: Call) -> Rows:
    """Drop the partitions of the metadata table: first those that need others, the files last."""
    table = call.table
    for index in sorted(table.indexes(), key=lambda index: index.kind != "secondary"):
        table.drop_index(index.name)
    if table.config.properties.get(_PARTITIONS):
        table.drop_index("files")
    return [(f"Deleted the metadata table of {table.config.name}",)]


def _partitions(call: Call) -> Rows:
    _check(call.table)
    return [(path,) for path in sorted({path.rpartition("/")[0] for path in _files_of(call.table)})]


def _files(call: Call) -> Rows:
    _check(call.table)
    wanted = str(call.get("partition", ""))
    found = (path.rpartition("/") for path in _files_of(call.table))
    return [(name,) for folder, _, name in sorted(found) if folder == wanted][: call.limit]


def _files_of(table: Table) -> list[str]:
    found = list_data(Snapshot(table.handle.storage, table.timeline()))
    return [entry.path for entry in found if not entry.is_dir]


def _check(table: Table) -> None:
    if not table.config.properties.get(_PARTITIONS):
        raise ConfigError(
            f"table {table.config.name}",
            "has no metadata table.",
            "CALL create_metadata_table(table => 't') makes one.",
        )


PROCEDURES = {
    "create_metadata_table": Procedure("table*", "result", _create),
    "init_metadata_table": Procedure("table* read_only-", "result", _create),
    "delete_metadata_table": Procedure("table*", "result", _delete),
    "show_metadata_table_partitions": Procedure("table path filter", "partition", _partitions),
    "show_metadata_table_files": Procedure(
        "table path partition limit=100 filter", "file_path", _files
    ),
}
