"""Statements and functions of other libraries' SQL, and what to call in their place."""

from __future__ import annotations

from typing import Any

from hoodoo.errors import ConfigError
from sqlglot import exp

_GIVE = 'Name the table: tables={"t": hoodoo.open(path)}, then SELECT * FROM t.'
_FILES = 'Give the files as rows: tables={"f": pyarrow.dataset.dataset(path)}, then FROM f.'
_CHANGES = "In hoodoo.session: SELECT * FROM hudi_table_changes('t', 'cdc', 'earliest')."
_FUNCTIONS = {
    "delta_scan": _GIVE,
    "hudi_scan": _GIVE,
    "iceberg_scan": _GIVE,
    "parquet_scan": _FILES,
    "read_csv": _FILES,
    "read_csv_auto": _FILES,
    "read_json": _FILES,
    "read_json_auto": _FILES,
    "read_parquet": _FILES,
    "table_changes": _CHANGES,
    "table_changes_by_path": _CHANGES,
    "iceberg_snapshots": "In hoodoo.session: SELECT * FROM hudi_query_timeline('t').",
}
# By the first word of texts that sqlglot does not read.
_STATEMENTS = {
    "ATTACH": 'Name tables, or their catalog: hoodoo.session(tables={"t": path}, catalogs=place).',
    "CONVERT": 'Call hoodoo.convert(source, record_key="id"), or hoodoo.bootstrap(...).',
    "REORG": "Call table.optimize(), or table.rewrite().",
    "RESTORE": 'Call table.restore(1), or table.restore("2026-01-31").',
    "UNDROP": "Call hoodoo.restore_backup(source, path): a dropped table has no history.",
}
# Procedures of Iceberg.
PROCEDURES = {
    "ancestors_of": "CALL show_commits(table => 't').",
    "cherrypick_snapshot": "Read it, table.read(as_of=1), and write the rows: table.upsert(rows).",
    "create_changelog_view": "SELECT * FROM hudi_table_changes('t', 'cdc', 'earliest').",
    "expire_snapshots": "CALL run_clean(table => 't', retain_commits => 10).",
    "fast_forward": "Leave it out: a table has one timeline.",
    "migrate": "Call hoodoo.bootstrap(source, path, record_key='id'), or hoodoo.convert(...).",
    "publish_changes": "Leave it out: each write is published by its commit.",
    "register_table": 'Call hoodoo.catalog(place).register("db.t", path).',
    "remove_orphan_files": "Leave it out: the next write undoes those that died.",
    "rewrite_data_files": "CALL run_clustering(table => 't', order => 'city').",
    "rewrite_manifests": "Leave it out: there are none; the metadata table compacts itself.",
    "rewrite_position_delete_files": "CALL run_compaction(op => 'run', table => 't').",
    "rollback_to_snapshot": "CALL rollback_to_instant(table => 't', instant_time => '...').",
    "rollback_to_timestamp": "CALL rollback_to_instant(table => 't', instant_time => '...').",
    "set_current_snapshot": "CALL rollback_to_instant(table => 't', instant_time => '...').",
    "snapshot": "Call hoodoo.convert(source, record_key='id').",
}


def instead_of(text: str) -> str | None:
    """What to call in place of a text that is no statement here."""
    return _STATEMENTS.get(text.split(maxsplit=1)[0].upper() if text.strip() else "")


def refuse_of_others(tree: Any) -> None:
    """ConfigError for what sqlglot reads, and no table here has: functions that read files, and
    clones."""
    if isinstance(tree, exp.Create) and tree.args.get("clone") is not None:
        raise ConfigError(
            f"statement {tree.sql('spark')}",
            "is not supported here.",
            "Call table.clone(path), which copies the rows.",
        )
    for node in tree.find_all(exp.Table):
        name = node.this.sql("spark").partition("(")[0].lower()
        if not isinstance(node.this, exp.Identifier) and name in _FUNCTIONS:
            raise ConfigError(f"function {name}", "is not one of these.", _FUNCTIONS[name])
