"""How many jobs of Spark an upsert of 1,000 rows takes, in a session that has written before: with rows that go on in the
driver's process, as they do by default, and in Spark's tasks. And what is left of them in the driver's temporary folder."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import hoodoo
import pytest

pytestmark = pytest.mark.spark

# In tasks. Of these one for each shuffle is adaptive execution's, which runs the halves of a shuffle as two jobs. Rows
# of buckets are not shuffled.
MOST = {
    "BUCKET": 3,
    "SIMPLE": 6,
    "BLOOM": 6,
    "GLOBAL_SIMPLE": 9,
    "PARTITIONED_RECORD_INDEX": 10,
    "RECORD_INDEX": 13,
}


def jobs(spark: Any) -> int:
    context = spark.sparkContext._jsc.sc()
    context.listenerBus().waitUntilEmpty()
    found = context.statusStore().jobsList(spark.sparkContext._jvm.java.util.ArrayList())
    # By their numbers: of more than a thousand Spark forgets the first.
    return max(int(found.head().jobId()), int(found.last().jobId())) + 1 if found.size() else 0


# With small rows in the driver's process.
SMALL = 1


@pytest.mark.parametrize(
    ("index", "small"),
    [
        pytest.param(
            index, small, marks=() if (index, small) == ("BUCKET", "4MB") else pytest.mark.trial
        )
        for index in MOST
        for small in ("0", "4MB")
    ],
)
def test_a_small_upsert_takes_few_jobs(spark: Any, tmp_path: Path, index: str, small: str) -> None:
    rows = spark.range(1000).selectExpr(
        "id", "CONCAT('c', id % 3) AS city", "id * 0.5D AS fare", "1L AS ts"
    )
    options = {"hoodie.index.type": index, "hoodoo.spark.small.bytes": small}
    if index == "BUCKET":
        options["hoodie.bucket.index.num.buckets"] = "4"
    table = hoodoo.create(
        str(tmp_path / "t"), rows.schema, record_key="id", partition_by="city", ordering="ts", options=options
    )  # fmt: skip
    table.insert(rows)
    table.upsert(rows.limit(1))
    before = jobs(spark)
    newer = rows.selectExpr(
        "id + 500 AS id", "CONCAT('c', (id + 500) % 3) AS city", "fare", "2L AS ts"
    )
    commit = table.upsert(newer)
    assert (commit.updated, commit.inserted) == (500, 500)
    assert 0 < jobs(spark) - before <= (MOST[index] if small == "0" else SMALL)


def files(spark: Any) -> set[Path]:
    return {path for path in Path(spark.sparkContext._temp_dir).rglob("*") if path.is_file()}


@pytest.mark.parametrize("enclosed", [0, 256 << 10])
@pytest.mark.sampled(2, among="long, on Spark")
def test_writes_leave_nothing_in_the_temporary_folder(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, enclosed: int
) -> None:
    """PySpark keeps a file of each broadcast until the session ends: a stream that goes on would fill the disk."""
    from hoodoo_spark import side

    monkeypatch.setattr(side, "ENCLOSED_BYTES", enclosed)  # what is larger is broadcast
    rides = spark.range(50).selectExpr("id", "1L AS ts")
    table = hoodoo.create(
        str(tmp_path / "t"), rides.schema, record_key="id", table_type="MERGE_ON_READ",
        options={"hoodoo.spark.small.bytes": "0"},
    )  # fmt: skip
    before = files(spark)
    for _ in range(2):
        table.upsert(rides)
    gc.collect()
    assert files(spark) == before
    frame = table.read().to_spark(spark)  # nobody knows how long it is used
    gc.collect()
    assert frame.count() == 50
