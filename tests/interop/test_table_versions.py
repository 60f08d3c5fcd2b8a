"""Hoodoo changes the version of a table that both write; Spark Hudi reads all of it, and goes on."""

from __future__ import annotations

import pytest
from both import Both
from mor import check, check_travel, instants, log_files, rows, setup

VERSION = "hoodie.write.table.version"


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize("metadata", [False, True])
def test_up_and_down(both: Both, table_type: str, metadata: bool) -> None:
    setup(both, 6, "SIMPLE", "avro", "ts")
    both.options["hoodie.datasource.write.table.type"] = table_type
    both.options["hoodie.metadata.enable"] = str(metadata).lower()
    both.create()
    both.hoodoo_upsert(rows(range(30), 5, "first"))
    both.spark_upsert(rows(range(4), 6, "spark"))
    both.hoodoo_upsert(rows(range(4, 12), 7, "newer"))
    both.hoodoo_delete(rows(range(10, 12), 7, ""))
    check(both, "before")
    assert bool(log_files(both)) == (table_type == "MERGE_ON_READ")
    written = instants(both)

    last = 6
    for turn, version in enumerate((9, 8, 6, 8, 9)):
        _ = both.hoodoo().upgrade(version) if version > last else both.hoodoo().downgrade(version)
        last = version
        both.options[VERSION] = str(version)
        both.version = version
        check(both, f"at version {version}")
        for instant in written if turn < 2 else ():  # later ones are cleaned
            check_travel(both, instant)
        both.spark_upsert(rows(range(2, 6), 10 + 20 * turn, f"spark {turn}"))
        both.spark_delete(rows(range(20, 21), 10 + 20 * turn, ""))
        check(both, f"Spark goes on at version {version}")
        both.hoodoo_upsert(rows(range(5, 9), 20 + 20 * turn, f"hoodoo {turn}"))
        check(both, f"and Hoodoo at version {version}")
        assert both.hoodoo().config.version == version
        assert not both.hoodoo().verify().findings
