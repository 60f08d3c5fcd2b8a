"""A secondary index that Hoodoo made: Spark reads by it and keeps it, and both write on."""

from __future__ import annotations

from pathlib import Path

import hoodoo
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from both import Both
from hoodoo_metadata.partitions.secondary.rows import entry_keys
from hoodoo_metadata.table.metadata_table import MetadataTable
from hoodoo_metadata.table.slice import layers, merged
from indexed import KEPT, SKIPPING, check, doubts, made, rows, said, select


def entries(table: hoodoo.Table) -> list[str]:
    opened = MetadataTable.open(table.handle.storage, table.timeline())
    found: list[str] = []
    for group in opened.slices("secondary_index_by_name"):
        for batch in merged(layers(opened.storage, group)):
            found += batch.column(0).cast(pa.string()).to_pylist()
    return sorted(found)


def holds(both: Both) -> None:
    found = both.hoodoo().read(["name", "_hoodie_record_key"]).to_arrow().combine_chunks()
    names, keys = (column.combine_chunks() for column in found.columns)
    assert set(entry_keys(names, keys).to_pylist()) <= set(entries(both.hoodoo()))


@pytest.mark.parametrize("version", [9, 8])
@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_by_turns(both: Both, kind: str, version: int) -> None:
    both.version = version
    made(both, kind, "region")
    both.hoodoo_upsert(rows(range(22), 1, "old"))
    both.hoodoo().create_index("by_name", ["name"])
    both.hoodoo_upsert(rows([3, 4, 30], 2, "new"))
    both.hoodoo_delete(rows([5], 2, ""))
    both.check("Hoodoo wrote")
    holds(both)
    at = said(both)
    seen = {**KEPT, **SKIPPING}
    assert select(both, "name = 'new-3'", seen) == ["k3"]
    assert select(both, "name IN ('old-7', 'old-3', 'new-30')", seen) == ["k30", "k7"]
    assert select(both, "name = 'old-5'", seen) == []
    both.spark_upsert(rows([7, 40], 3, "spark"))
    assert "secondary_index_by_name" in both.hoodoo().config.metadata_partitions
    holds(both)
    assert select(both, "name = 'spark-7'", seen) == ["k7"]
    both.hoodoo_upsert(rows([7, 41], 4, "last"))
    both.check("by turns")
    holds(both)
    assert select(both, "name IN ('last-7', 'spark-40', 'spark-7')", seen) == ["k40", "k7"]
    assert doubts(both, at) == []
    for name, ids in (("last-41", ["k41"]), ("old-7", [])):
        found = both.hoodoo().read(["id"], where=pc.field("name") == name).to_pylist()
        assert [row["id"] for row in found] == ids
    both.hoodoo().drop_index("by_name")
    assert not (Path(both.path) / ".hoodie/metadata/secondary_index_by_name").exists()
    check(both, "dropped")
