"""The tables that are read equal on both engines, and those that are refused."""

from __future__ import annotations

COPY_ON_WRITE = [
    "cow_v6_complexkeygen_hivestyle",
    "cow_v6_empty",
    "cow_v6_nonpartitioned",
    "cow_v6_simplekeygen_hivestyle_no_metafields",
    "cow_v6_simplekeygen_nonhivestyle",
    "cow_v6_simplekeygen_nonhivestyle_overwritetable",
    "cow_v8_empty",
    "cow_v8_nonpartitioned",
    "cow_v8_simplekeygen_hivestyle_no_metafields",
    "cow_v8_simplekeygen_nonhivestyle",
    "cow_v9_spark12_indexes_small",
    "cow_v9_timebasedkeygen_epochmillis",
    "cow_v9_timebasedkeygen_nonhivestyle",
    "cow_v9_timebasedkeygen_unixtimestamp",
    "cow_v9_txns_complex_meta",
    "cow_v9_txns_complex_nometa",
    "cow_v9_txns_nonpart_meta",
    "cow_v9_txns_simple_nometa",
    "cow_v9_txns_simple_overwrite",
]
# Newest slices without log files: nothing to merge.
COMPACTED = [
    "mor_parquet_v6_empty",
    "mor_parquet_v6_simplekeygen_hivestyle_no_metafields",
    "mor_parquet_v6_simplekeygen_nonhivestyle_overwritetable",
]
WITH_LOGS = [
    "mor_avro_v6_trips_8i1u",
    "mor_avro_v9_timebasedkeygen_nonhivestyle",
    "mor_avro_v9_txns_complex_nometa",
    "mor_avro_v9_txns_nonpart_meta",
    "mor_avro_v9_txns_nonpart_nometa",
    "mor_avro_v9_txns_simple_meta",
    "mor_avro_v9_txns_simple_nometa",
    "mor_parquet_v6_nonpartitioned",
    "mor_parquet_v6_nonpartitioned_rollback",
    "mor_parquet_v6_simplekeygen_nonhivestyle",
    "mor_v9_spark12_logcompaction",
]
MERGE_ON_READ = [*WITH_LOGS, *COMPACTED]
READ = [*COPY_ON_WRITE, *MERGE_ON_READ]
# With columns of the types VECTOR and BLOB, which the other reader does not know.
OF_1_2 = ["cow_v9_spark12_vector_blob"]
LANCE = [
    "cow_v9_lance_nonpartitioned",
    "cow_v9_lance_txns_nonpart",
    "cow_v9_lance_txns_simple",
    "cow_v9_trips_lance",
    "mor_avro_v9_lance_nonhivestyle",
    "mor_avro_v9_trips_lance",
]
