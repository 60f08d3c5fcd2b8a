"""What Spark Hudi puts in the order of Java's strings: bounds of texts over several row groups."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from both import Both
from model import Model

SCHEMA = pa.schema([("id", pa.string()), ("ts", pa.int64()), ("name", pa.string())])
# Pages and row groups of few rows; rows in the order of their keys.
SMALL = {
    "hoodie.parquet.block.size": "2000",
    "hoodie.parquet.page.size": "1000",
    "hoodie.parquet.small.file.limit": "0",
    "hoodie.bulkinsert.shuffle.parallelism": "1",
    "hoodie.bulkinsert.sort.mode": "GLOBAL_SORT",
    "hoodie.metadata.index.column.stats.enable": "true",
}
WIDE, SMILE = "\uff21", "\U0001f600"


def test_values_are_found_by_ranges(both: Both) -> None:
    """Java has the emoji before the full-width letter, and Arrow behind it."""
    both.setup(Model(keys=("id",)), SCHEMA, metadata=True, partition_by=())
    both.options.update(SMALL)
    for lot, names in enumerate([(WIDE, SMILE), (SMILE, WIDE), ("a", "b"), ("c", "d"), ("e", "f")]):
        rows = [
            {"id": f"{lot}-{n:04}", "ts": 1, "name": f"{names[n >= 600]}{n}"} for n in range(1200)
        ]
        both.spark_write("bulk_insert", both.model.upsert(rows))
    groups = [pq.read_metadata(file).num_row_groups for file in both.path.glob("*.parquet")]
    assert len(groups) == 5 and min(groups) > 1
    assert "column_stats" in both.hoodoo().config.metadata_partitions
    for name in (f"{WIDE}3", f"{SMILE}3", f"{WIDE}900", f"{SMILE}900", "b700"):
        found = both.hoodoo().read(where=pc.field("name") == name).to_arrow()
        want = [row["id"] for row in both.model.rows.values() if row["name"] == name]
        assert found["id"].to_pylist() == want and len(want) == 1, name
    assert len(both.hoodoo().read(where=pc.field("name") == "b700").plan.slices) == 1
