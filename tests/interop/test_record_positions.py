"""Record positions: Spark Hudi merges by those that Hoodoo writes, and Hoodoo by those of Spark Hudi."""

from __future__ import annotations

import pytest
from both import Both
from hoodoo.kernel.log_files import log_files
from hoodoo.model.log_block import Header
from met_by_number import met_by_number
from mor import check, rows, setup, spark_compact

# As Hudi has them by default; Spark's reader then merges by positions.
BY_POSITION = {"hoodie.merge.use.record.positions": "true"}


def positions(both: Both) -> list[bool]:
    """Of each block of the newest slices, whether it has positions in the base file."""
    table, found = both.hoodoo(), []
    for one in table.file_slices():
        for log in one.log_files:
            with log_files(table.config).reader(table.handle.storage, log.path) as reader:
                for block in reader.blocks:
                    base = block.headers.get(Header.BASE_FILE_INSTANT)
                    assert base in (None, one.base_file.instant if one.base_file else None)
                    found.append(base is not None and Header.RECORD_POSITIONS in block.headers)
    return found


@pytest.mark.parametrize(
    ("version", "index", "blocks", "ordering"),
    [
        (9, "SIMPLE", "parquet", "ts"),
        (9, "GLOBAL_SIMPLE", "avro", None),
        (9, "BLOOM", "parquet", None),
        (8, "SIMPLE", "avro", "ts"),
    ],
)
def test_both_ways(
    both: Both,
    monkeypatch: pytest.MonkeyPatch,
    version: int,
    index: str,
    blocks: str,
    ordering: str | None,
) -> None:
    setup(both, version, index, blocks, ordering)
    both.spark_upsert(rows(range(40), 5, "first"))
    both.hoodoo_upsert(rows([30, 2, 17, 8, 9], 6, "hoodoo"))
    both.hoodoo_delete(rows(range(20, 25), 5, ""))
    both.hoodoo_upsert(rows(range(2, 6), 4, "late") + rows(range(30, 33), 7, "again"))
    assert positions(both) and all(positions(both))
    check(both, "written by Hoodoo")
    met = met_by_number(monkeypatch)
    both.spark_upsert(rows(range(6, 12), 8, "spark"))
    both.spark_delete(rows(range(26, 28), 9, ""))
    assert any(positions(both))
    check(both, "and by Spark")
    assert all(positions(both)) == all(met)
    if index != "GLOBAL_SIMPLE":  # whose tagging loses the positions in Spark Hudi
        assert all(met), "Hoodoo has not gone by Spark's positions"
    spark_compact(both)
    both.hoodoo_upsert(rows(range(8), 10, "after"))
    check(both, "compacted by Spark")
    both.hoodoo().compact()
    both.spark_upsert(rows(range(4, 14), 11, "end"))
    both.hoodoo_delete(rows(range(4, 6), 11, ""))
    check(both, "compacted by Hoodoo")
