"""Spark Hudi writes in tables that Hoodoo made, with its own indexes, and Hoodoo writes on.

A row that Spark fails to find shows up as a second row of its key: bloom filters, key ranges,
bucket numbers, file ids and key strings are right where no key ever occurs twice.
"""

from __future__ import annotations

import pytest
from both import Both
from model import KEYS, SCHEMA, Model, rows, table


@pytest.mark.parametrize("partitioned", [False, True], ids=["flat", "partitioned"])
@pytest.mark.parametrize("metadata", [False, True], ids=["listing", "metadata"])
@pytest.mark.parametrize("index", ["SIMPLE", "BLOOM", "BUCKET"])
@pytest.mark.parametrize("version", [9, 6])
def test_by_turns(both: Both, version: int, index: str, metadata: bool, partitioned: bool) -> None:
    by = ("region",) if partitioned else ()
    both.setup(Model(), SCHEMA, version, index, metadata, by)
    both.create().insert(table(both.model.upsert(rows(KEYS, 5, "first"))))
    # Updates, late ones that lose, and new keys.
    both.spark_upsert([*rows(KEYS[5:15], 6, "spark"), *rows(KEYS[30:47:2], 4, "late"),
                       *rows(["new1", "new2,3"], 1, "spark")])  # fmt: skip
    both.spark_delete(rows([*KEYS[12:18], "a,b", "nowhere"], 0, ""))
    both.check("after Spark's upsert and delete")
    both.hoodoo_upsert([*rows(KEYS[10:20], 7, "hoodoo"), *rows(["new1", "c:d", "x:1,y:2"], 7, "hoodoo"),
                        *rows(["late"], 1, "hoodoo"), *rows(KEYS[5:8], 5, "late")])  # fmt: skip
    both.hoodoo_delete(rows([*KEYS[18:22], "new2,3", "nowhere"], 0, ""))
    both.check("after Hoodoo's upsert and delete")
    both.spark_upsert(rows([*KEYS[15:25], "a,b", "new1", "late", "𝄞 clef"], 8, "again"))
    both.check("after Spark's second upsert")
