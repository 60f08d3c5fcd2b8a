"""The copy-on-write tables with Parquet base files: read equal on both engines."""

from __future__ import annotations

PARQUET = [
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
    "cow_v9_timebasedkeygen_epochmillis",
    "cow_v9_timebasedkeygen_nonhivestyle",
    "cow_v9_timebasedkeygen_unixtimestamp",
    "cow_v9_txns_complex_meta",
    "cow_v9_txns_complex_nometa",
    "cow_v9_txns_nonpart_meta",
    "cow_v9_txns_simple_nometa",
    "cow_v9_txns_simple_overwrite",
]
