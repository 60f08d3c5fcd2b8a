"""Procedures of Hudi that are something else here, and what to do in their place."""

from __future__ import annotations

ELSEWHERE = {
    "commits_compare": "Call table.history() of both tables, and compare the instants.",
    "delete_marker": "Call table.rollback(): it takes the markers of failed writes along.",
    "export_instants": "Call table.backup(target), or run hoodoo inspect on its timeline.",
    "show_logfile_metadata": "Run hoodoo inspect PATH on the log file.",
    "show_logfile_records": "Run hoodoo inspect PATH on the log file, or read the table.",
    "show_file_status": "CALL show_fsview_all(table => 't', filter => 'data_file LIKE ...').",
    "hdfs_parquet_import": "Call hoodoo.create(path, schema).bulk_insert(rows).",
    "run_bootstrap": "Call hoodoo.bootstrap(...): docs/bootstrap.md.",
    "show_bootstrap_mapping": "Run hoodoo inspect on the index of the bootstrap.",
    "show_bootstrap_partitions": "Run hoodoo inspect on the index of the bootstrap.",
    "show_metadata_table_column_stats": "Call table.stats(), or table.indexes() for the columns.",
    "show_metadata_table_stats": "Call table.stats(); table.indexes() lists the partitions.",
    "validate_metadata_table_files": "Call table.verify(): it compares both with the files.",
    "repair_add_partition_meta": "Leave it out: nothing reads .hoodie_partition_metadata here.",
    "repair_corrupted_clean_files": "Call table.verify(): it names files that can't be read.",
    "repair_deduplicate": "Call table.verify(), then DELETE FROM t the rows that it names.",
    "repair_migrate_partition_meta": "Leave it out: nothing reads .hoodie_partition_metadata here.",
    "repair_overwrite_hoodie_props": "Call table.restore(instant), or table.upgrade(version); "
    "table.backup(target) keeps a copy.",
    "show_metadata_column_stats_overlap": "Run hoodoo layout PATH: it shows which values of "
    "columns each file holds.",
    "sync_validate": "Call table.sync(): it compares the catalogs with the table.",
    "hive_sync": "Call table.sync(), in a table whose catalog is noted.",
    "run_ttl": "Call table.run('retention', days=...), of the distribution hoodoo-retention.",
    "partition_bucket_index_manager": "Call table.rebuild_index(name, buckets=...).",
    "set_audit_lock": "Leave it out: locks are not audited.",
    "show_audit_lock_status": "Leave it out: locks are not audited.",
    "validate_audit_lock": "Leave it out: locks are not audited.",
    "cleanup_audit_lock": "Leave it out: locks are not audited.",
}
