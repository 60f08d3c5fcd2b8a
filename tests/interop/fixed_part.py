"""The part of these tests that CI runs on every change: each action once, in both directions.

``HOODOO_INTEROP=fixed`` chooses it. A test that is named here and not found any more is an error, so
that the part never becomes smaller unseen.
"""

from __future__ import annotations

import os

VARIABLE = "HOODOO_INTEROP"

# What Hoodoo does and Spark Hudi reads and continues.
BY_HOODOO = {
    "deltacommit": "test_mor_hoodoo_writes.py::test_life[9-SIMPLE-parquet-ts]",
    "commit": "test_hoodoo_writes_on.py::test_by_turns[6-BUCKET-metadata-partitioned]",
    "compaction": "test_metadata_services.py::test_after_hoodoos[compaction-mor]",
    "clustering": "test_clustering_plans.py::test_spark_runs_hoodoos[9-COPY_ON_WRITE-size-linear]",
    "clean": "test_metadata_services.py::test_after_hoodoos[clean-cow]",
    "archive": "test_metadata_services.py::test_after_hoodoos[archive-mor]",
    "rollback": "test_metadata_services.py::test_after_hoodoos[rollback-mor]",
    "savepoint": "test_restores.py::test_spark_restores_to_hoodoos_savepoint[MERGE_ON_READ-6]",
    "restore": "test_metadata_services.py::test_after_hoodoos[restore-mor]",
    "replacecommit": "test_metadata_services.py::test_after_hoodoos[insert_overwrite-mor]",
    "delete_partition": "test_metadata_services.py::test_after_hoodoos[delete_partitions-cow]",
    "indexing": "test_metadata_services.py::test_after_hoodoos[rebuild-mor]",
    "columns by hand": "test_evolved_columns.py::test_hoodoo_begins[mor]",
    "vectors and blobs": (
        "test_vectors_and_blobs.py::test_spark_goes_on_with_a_table_of_hoodoo[mor]"
    ),
}
# What Spark Hudi does and Hoodoo reads and continues.
BY_SPARK = {
    "deltacommit": "test_mor_spark_writes.py::test_life[9-SIMPLE-avro-ts]",
    "commit": "test_table_life.py::test_made_by_sql[9-SIMPLE]",
    "compaction": "test_metadata_services.py::test_after_sparks_compaction",
    "clustering": "test_clustering_plans.py::test_hoodoo_runs_sparks[9-MERGE_ON_READ-linear]",
    "clean": "test_cleans.py::test_by_turns[9-COPY_ON_WRITE]",
    "archive": "test_archives.py::test_by_turns[6-MERGE_ON_READ]",
    "rollback": "test_mor_failed_writes.py::test_hoodoo_undoes_sparks[9-SIMPLE-DIRECT]",
    "savepoint, restore": (
        "test_restores.py::test_hoodoo_restores_to_sparks_savepoint[COPY_ON_WRITE-9]"
    ),
    "indexing": ("test_metadata_services.py::test_spark_adds_partitions_after_an_indexing_action"),
    "columns by hand": "test_evolved_columns.py::test_spark_begins[cow]",
    "vectors and blobs": (
        "test_vectors_and_blobs.py::test_hoodoo_goes_on_with_a_table_of_spark[cow]"
    ),
    "times without a zone": "test_mor_types.py::test_timestamps_without_a_zone[9-avro]",
}
# hudi-rs and Hoodoo in turns, where hudi-rs is built.
BY_HUDI_RS = {
    "tables": "test_hudi_rs.py::test_its_tables_are_read_written_and_verified",
    "buckets": "test_hudi_rs.py::test_a_table_with_a_bucket_index",
    "version 8": "test_hudi_rs.py::test_its_tables_of_version_8",
    "histories": "test_hudi_rs.py::test_fixed_histories",
}


def chosen() -> frozenset[str] | None:
    """The tests to run, as ``file::name``; None for all. ValueError for a value that is neither."""
    value = os.environ.get(VARIABLE) or "all"
    if value == "all":
        return None
    if value == "fixed":
        return frozenset([*BY_HOODOO.values(), *BY_SPARK.values(), *BY_HUDI_RS.values()])
    raise ValueError(f"{VARIABLE}={value}: give fixed or all.")
