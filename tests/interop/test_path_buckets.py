"""Numbers of buckets by partition path, by turns with Spark Hudi 1.2: no key is stored twice."""

from __future__ import annotations

from typing import Any

import pytest
from both import Both
from model import SCHEMA, Model
from spark_hudi import HudiError

RULES = {"hoodie.bucket.index.partition.expressions": "^u,2;e.$,3"}


def batch(count: int, ts: int) -> list[dict[str, Any]]:
    return [
        {"id": f"{region}{n}", "name": f"{ts}", "ts": ts, "region": region}
        for n in range(count)
        for region in ("eu", "us", "other", "asia")
    ]


def buckets(both: Both) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {}
    for one in both.hoodoo().file_slices():
        found.setdefault(one.partition_path, set()).add(int(one.file_id[:8]))
    return found


def spark_upsert(both: Both, changed: list[dict[str, Any]]) -> None:
    """Twice where it fails: tasks of one process make the rules at the same time, into a map of
    Hudi (PartitionBucketIndexCalculator) that is not made for that."""
    try:
        both.spark_upsert(changed)
    except HudiError as error:
        if "ConcurrentModificationException" not in str(error):
            raise
        both.spark_upsert(changed)


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize("maker", ["hoodoo", "spark"])
def test_by_turns(both: Both, maker: str, kind: str) -> None:
    """Of a table that Hoodoo made Spark Hudi has the rules by the file that says them."""
    given = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "4", **RULES}
    both.setup(Model(), SCHEMA, 9, "BUCKET", False, ["region"], table_type=kind)
    if maker == "hoodoo":
        both.create(RULES)
        both.hoodoo_upsert(batch(40, 1))
        both.opened = {}
    else:
        both.options |= RULES
        spark_upsert(both, batch(40, 1))
        both.opened = {"options": given}
    most = {"eu": {0, 1, 2}, "us": {0, 1}, "other": {0, 1, 2}, "asia": {0, 1, 2, 3}}
    assert buckets(both) == most
    for ts in range(2, 6):
        if (ts % 2 == 0) == (maker == "hoodoo"):
            spark_upsert(both, batch(30 + 5 * ts, ts))
        else:
            both.hoodoo_upsert(batch(30 + 5 * ts, ts))
        assert buckets(both) == most
    both.check(f"{maker}, {kind}")
    assert both.hoodoo().verify().ok
