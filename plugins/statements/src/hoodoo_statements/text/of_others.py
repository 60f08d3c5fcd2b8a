"""Statements and functions of other libraries' SQL, and what to call in their place."""

from __future__ import annotations

import re
from typing import Any

from hoodoo.errors import ConfigError
from sqlglot import exp

_GIVE = 'Name the table: tables={"t": hoodoo.open(path)}, then SELECT * FROM t.'
_FILES = 'Give the files as rows: tables={"f": pyarrow.dataset.dataset(path)}, then FROM f.'
_CHANGES = "In hoodoo.session: SELECT * FROM hudi_table_changes('t', 'cdc', 'earliest')."
_COMMENTS = re.compile(r"--[^\n]*|/\*.*?\*/", re.S)
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
# By how a text begins, in capitals: statements of Spark and of others that are not run here.
_STATEMENTS = {
    "ANALYZE": "Leave it out: statistics are in the files; table.stats() shows figures.",
    "ATTACH": 'Name tables, or their catalog: hoodoo.session(tables={"t": path}, catalogs=place).',
    "CACHE": 'Keep the rows: rows = session.sql("SELECT ...").to_arrow().',
    "CLEAR CACHE": "Leave it out: each statement reads the newest state.",
    "COMMENT": "Leave it out: a table stores no comments. A catalog may: use its own tools.",
    "CONVERT": 'Call hoodoo.convert(source, record_key="id"), or hoodoo.bootstrap(...).',
    "COPY INTO": "Give the files as rows: table.insert(pyarrow.dataset.dataset(path)); "
    "or run hoodoo ingest, which remembers what it has taken.",
    "DECLARE": "Give the value as a parameter: session.sql('SELECT ... :x', {'x': 5}).",
    "DESCRIBE DETAIL": "Write DESCRIBE EXTENDED t; or call session.table('t').stats().",
    "DESCRIBE DATABASE": "Write SHOW TABLES IN db.",
    "DESCRIBE FUNCTION": "docs/statements.md lists the functions; with Spark, they are its own.",
    "DESCRIBE SCHEMA": "Write SHOW TABLES IN db.",
    "DESCRIBE HISTORY": "Write CALL show_commits(table => 't', limit => 10); or call "
    "session.table('t').history().",
    "EXECUTE IMMEDIATE": "Give the text itself, with parameters: session.sql(text, args).",
    "EXPLAIN": 'Call session.table("t").read(columns, where).explain().',
    "FSCK": "Call session.table('t').verify(): it names what is not as the timeline says.",
    "GENERATE": "Read the files' names: CALL show_fsview_latest(table => 't').",
    "GRANT": "Grant access in the catalog's own tools, or to the folder.",
    "LOAD DATA": "Give the files as rows: table.insert(pyarrow.dataset.dataset(path)).",
    "OPTIMIZE": "Write CALL run_clustering(table => 't', order => 'city'), with order_strategy => "
    "'z-order' for ZORDER BY; or call session.table('t').optimize(columns).",
    "MSCK": "Leave it out: partitions are found; table.sync() updates catalogs.",
    "REFRESH": "Leave it out: each statement reads the newest state.",
    "REORG": "Call table.optimize(), or table.rewrite().",
    "REPAIR": "Leave it out: partitions are found; table.sync() updates catalogs.",
    "REPLACE TABLE": "Drop the table, delete its folder, and create it.",
    "RESTORE": "Call session.table('t').restore(1), or restore('2026-01-31'); or CALL "
    "rollback_to_instant(table => 't', instant_time => '...').",
    "REVOKE": "Revoke access in the catalog's own tools, or of the folder.",
    "SHOW CREATE VIEW": "The query of a view is what hoodoo.session(views={...}) was given.",
    "SHOW CURRENT": "Leave it out: names are looked for in all catalogs of the session.",
    "SHOW FUNCTIONS": "docs/statements.md lists the functions; with Spark, they are its own.",
    "SHOW HISTORY": "Write CALL show_commits(table => 't', limit => 10).",
    "SHOW TABLE EXTENDED": "Write DESCRIBE EXTENDED t, or SHOW TABLES LIKE 't*'.",
    "SHOW VIEWS": "Write SHOW TABLES: it lists the views of the session, too.",
    "UNCACHE": "Leave it out: each statement reads the newest state.",
    "UNDROP": "Call hoodoo.restore_backup(source, path): a dropped table has no history.",
    "VACUUM": "Write CALL run_clean(table => 't'), with hours_retained => 168 for RETAIN; or call "
    "session.table('t').vacuum(hours).",
    **dict.fromkeys(
        ("BEGIN", "COMMIT", "ROLLBACK", "START TRANSACTION"),
        "Leave it out: each statement is one commit. CALL rollback_to_instant(table => 't', "
        "instant_time => '...') takes one back.",
    ),
    **dict.fromkeys(
        ("INSERT WITH SCHEMA EVOLUTION", "MERGE WITH SCHEMA EVOLUTION"),
        "Add the columns first: ALTER TABLE t ADD COLUMNS (extra INT). Then write the statement "
        "without WITH SCHEMA EVOLUTION.",
    ),
}
# By how ALTER TABLE goes on behind the name of the table.
_KEPT = "A table keeps its partitions: CREATE TABLE another one with PARTITIONED BY, and fill it."
_KEY = "The record key is what CREATE TABLE said: TBLPROPERTIES (primaryKey = 'id')."
_ORDERED = "Write CALL run_clustering(table => 't', order => 'city')."
_CHECKED = "Leave it out, and check rows before they are written: no table stores conditions."
_ALTER = {
    "ADD CONSTRAINT": _CHECKED,
    "ADD PARTITION FIELD": _KEPT,
    "CLUSTER BY": _ORDERED,
    "CREATE BRANCH": "Call session.table('t').clone(path): a table of its own, from the same rows.",
    "CREATE TAG": "Call session.table('t').tag('name'), which VERSION AS OF 'name' reads.",
    "DROP BRANCH": "Leave it out: a table has one timeline.",
    "DROP CONSTRAINT": _CHECKED,
    "DROP IDENTIFIER": _KEY,
    "DROP PARTITION FIELD": _KEPT,
    "DROP TAG": "Call session.table('t').untag('name').",
    "RECOVER PARTITIONS": "Leave it out: partitions are found; table.sync() updates catalogs.",
    "REPLACE BRANCH": "Leave it out: a table has one timeline.",
    "REPLACE COLUMNS": "Write what differs: ADD COLUMNS, DROP COLUMNS, RENAME COLUMN ... TO, and "
    "ALTER COLUMN ... TYPE.",
    "REPLACE PARTITION FIELD": _KEPT,
    "SET FILEFORMAT": "Leave it out: the format of base files is what CREATE TABLE said.",
    "SET IDENTIFIER": _KEY,
    "SET OWNER": "Set it in the catalog's own tools.",
    "SET SERDE": "Leave it out: a table of Hudi has none. Options: SET TBLPROPERTIES (hoodie...).",
    "WRITE": _ORDERED,
}
_HINT = re.compile(r"OPTIONS\s*\(", re.I)
# Tables that Iceberg has beside each table.
_BESIDE = {
    "all_data_files": "SELECT * FROM hudi_filesystem_view('{0}')",
    "all_entries": "SELECT * FROM hudi_filesystem_view('{0}')",
    "all_manifests": "CALL show_commits_metadata(table => '{0}')",
    "data_files": "SELECT * FROM hudi_filesystem_view('{0}')",
    "entries": "CALL show_commits_metadata(table => '{0}')",
    "files": "SELECT * FROM hudi_filesystem_view('{0}')",
    "history": "SELECT * FROM hudi_query_timeline('{0}')",
    "manifests": "CALL show_commits_metadata(table => '{0}')",
    "metadata_log_entries": "CALL show_timeline(table => '{0}')",
    "partitions": "SHOW PARTITIONS {0}",
    "refs": "CALL show_savepoints(table => '{0}')",
    "snapshots": "SELECT * FROM hudi_query_timeline('{0}')",
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
    words = _COMMENTS.sub(" ", text).upper().split()
    if words and words[0] == "DESC":
        words[0] = "DESCRIBE"
    if words[:1] == ["DESCRIBE"] and len(words) == 2:
        return None  # a table may have the name of a kind: DESCRIBE history
    known = _STATEMENTS
    if words[:2] == ["ALTER", "TABLE"]:
        words, known = words[3:], _ALTER
    found = (known.get(" ".join(words[:count])) for count in (4, 3, 2, 1))
    return next((fix for fix in found if fix is not None), None)


def beside(name: str) -> str:
    """What to write for ``t.files``, ``t.history`` and others, which Iceberg has beside a table t;
    nothing for another name."""
    table, _, last = name.rpartition(".")
    fix = _BESIDE.get(last.lower()) if table else None
    return "" if fix is None else f"For {last} of {table}, as Iceberg has it: {fix.format(table)}. "


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
        if any(map(_HINT.match, map(str.strip, node.comments or ()))):
            raise ConfigError(
                f"hint {node.comments[0].strip()} of {node.this}",
                "is one of Flink, and has no effect in Spark's SQL.",
                "Write SET hoodie.key = value before the statement; to read changes, SELECT ... "
                "FROM hudi_table_changes('t', 'latest_state', begin).",
            )
        if node.this is None:  # the name of a database
            continue
        name = node.this.sql("spark").partition("(")[0].lower()
        if not isinstance(node.this, exp.Identifier) and name in _FUNCTIONS:
            raise ConfigError(f"function {name}", "is not one of these.", _FUNCTIONS[name])
