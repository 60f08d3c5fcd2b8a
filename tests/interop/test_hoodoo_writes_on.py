"""Hoodoo writes in tables that Spark Hudi made, and Spark writes on."""

from __future__ import annotations

import pytest
from both import Both, travel
from model import KEYS, SCHEMA, Model, rows, table


@pytest.mark.parametrize("partitioned", [False, True], ids=["flat", "partitioned"])
@pytest.mark.parametrize("metadata", [False, True], ids=["listing", "metadata"])
@pytest.mark.parametrize("index", ["SIMPLE", "BLOOM", "BUCKET"])
@pytest.mark.parametrize("version", [9, 6, 8])
def test_by_turns(both: Both, version: int, index: str, metadata: bool, partitioned: bool) -> None:
    by = ("region",) if partitioned else ()
    both.setup(Model(), SCHEMA, version, index, metadata, by)
    if index == "BUCKET":  # Hudi notes neither the index nor the number in the table
        both.opened = {
            "options": {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "4"}
        }
    both.spark_upsert(rows(KEYS, 5, "first"))
    both.hoodoo_upsert([*rows(KEYS[10:20], 7, "hoodoo"), *rows(["c:d", "x:1,y:2"], 7, "hoodoo"),
                        *rows(["late"], 1, "hoodoo"), *rows(KEYS[5:8], 4, "late")])  # fmt: skip
    both.hoodoo_delete(rows([*KEYS[18:22], "a,b", "nowhere"], 0, ""))
    both.check("after Hoodoo's upsert and delete")
    both.spark_upsert(rows([*KEYS[15:25], "a,b", "late", "𝄞 clef"], 8, "spark"))
    both.spark_delete(rows([*KEYS[12:18], "nowhere"], 0, ""))
    both.check("after Spark's upsert and delete")
    if partitioned:
        both.hoodoo().insert_overwrite(
            table(both.model.replace(rows(["k1", "e,v"], 1, "over"), "region"), SCHEMA)
        )
    else:
        both.hoodoo().insert_overwrite_table(
            table(both.model.replace(rows(["k1", "e,v"], 1, "over")), SCHEMA)
        )
    both.spark_upsert(rows(["k1", "k2", "e,v"], 9, "on"))
    both.check("after Hoodoo's overwrite and Spark's upsert")
    if index == "SIMPLE":
        for instant in both.hoodoo().timeline().writes():
            travel(both, instant.requested)
