"""Options that are copied from a job of another tool, on tables that say otherwise: refused, or without effect on rows."""

from __future__ import annotations

import os
import random
import warnings
from itertools import product
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from effort import effort
from hoodoo.errors import HoodooError
from hoodoo_rows.testing.tables import Tuples

pytestmark = pytest.mark.sampled(4)

SCHEMA = pa.schema([("k", pa.string()), ("p", pa.string()), ("w", pa.int32()), ("ts", pa.int64())])
_WRITE, _PAYLOAD = "hoodie.datasource.write.", "org.apache.hudi.common.model."
_BUCKETS = {"hoodie.bucket.index.num.buckets": "3"}
KINDS: dict[str, dict[str, Any]] = {
    "simple": {},
    "global_simple": {"index": "global_simple"},
    "bucket": {"index": "bucket", "options": _BUCKETS},
    "merged bucket": {"index": "bucket", "options": _BUCKETS, "table_type": "MERGE_ON_READ"},
    "record_index": {"index": "record_index"},
    "version 6": {"table_version": 6},
    "version 8": {"table_version": 8},
    "virtual keys": {"options": {"hoodie.populate.meta.fields": "false"}},
}
COPIED: dict[str, tuple[str, ...]] = {
    **{f"{_WRITE}{name}": ("w",) for name in ("recordkey.field", "partitionpath.field", "precombine.field")},
    f"{_WRITE}table.type": ("MERGE_ON_READ",),
    f"{_WRITE}keygenerator.class": tuple(
        f"org.apache.hudi.keygen.{name}KeyGenerator" for name in ("Complex", "Nonpartitioned", "Simple")
    ),
    f"{_WRITE}payload.class": (
        f"{_PAYLOAD}PartialUpdateAvroPayload", f"{_PAYLOAD}OverwriteWithLatestAvroPayload",
    ),
    "hoodie.record.merge.mode": ("COMMIT_TIME_ORDERING",),
    "hoodie.write.record.merge.mode": ("COMMIT_TIME_ORDERING",),
    "hoodie.write.table.version": ("6", "9"),
    f"{_WRITE}hive_style_partitioning": ("true",),
    f"{_WRITE}partitionpath.urlencode": ("true",),
    "hoodie.index.type": (
        "BUCKET", "BLOOM", "GLOBAL_BLOOM", "SIMPLE", "GLOBAL_SIMPLE", "RECORD_INDEX", "RECORD_LEVEL_INDEX",
        "INMEMORY",
    ),
    "hoodie.bucket.index.num.buckets": ("7",),
    "hoodie.bucket.index.hash.field": ("w",),
    "hoodie.metadata.enable": ("true", "false"),
    "hoodie.metadata.record.index.enable": ("true",),
    "hoodie.populate.meta.fields": ("false", "true"),
    "hoodie.table.cdc.enabled": ("true",),
    f"{_WRITE}drop.partition.columns": ("true",),
    f"{_WRITE}operation": ("delete", "bulk_insert"),
    f"{_WRITE}insert.drop.duplicates": ("true",),
    "hoodie.combine.before.upsert": ("false",),
    "hoodie.simple.index.update.partition.path": ("false",),
    "hoodie.record.index.update.partition.path": ("true",),
    "hoodie.recordkey.virtual.enabled": ("true",),
    "hoodie.base.file.format": ("ORC",),
    f"{_WRITE}slash.separated.date.partitioning": ("true",),
    "hoodie.table.name": ("other",),
    "hoodie.keygen.timebased.timestamp.type": ("DATE_STRING",),
    "hoodie.table.precombine.field": ("w",),
    "hoodie.compact.inline.max.delta.commits": ("1",),
    "hoodie.clustering.inline": ("true",),
}  # fmt: skip

rows = Tuples(SCHEMA)


def stored(path: str) -> list[tuple[str, str, int]]:
    read = hoodoo.open(path).read(columns=["k", "p", "w"]).to_arrow().to_pylist()
    return sorted((row["k"], row["p"], row["w"]) for row in read)


@pytest.mark.parametrize("kind", KINDS)
def test_copied_options_are_refused_or_change_no_row(kind: str, tmp_path: Path) -> None:
    found = {"record_key": "k", "partition_by": "p", "ordering": "ts", **KINDS[kind]}
    path = hoodoo.create(str(tmp_path / "t"), SCHEMA, **found).path
    each = [{key: value} for key, values in COPIED.items() for value in values]
    each += [{**a, **b} for a, b in product(each, each) if not a.keys() & b.keys()]
    number = os.environ.get("HOODOO_SEED") or random.SystemRandom().randrange(10**6)
    before = [("a", "x", 1), ("b", "y", 2), ("c", "x", 3)]
    after = [("a", "x", 9), ("b", "y", 2), ("c", "x", 3), ("d", "y", 9)]
    for options in random.Random(number).sample(each, effort(2, 60)):
        hoodoo.open(path).insert_overwrite_table(rows(*((*row, 5) for row in before)))
        wanted = after
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                writer = hoodoo.open(path, options)
                writer.upsert(rows(("a", "x", 9, 6), ("b", "y", 9, 4), ("d", "y", 9, 1)))
        except HoodooError:
            wanted = before
        assert stored(path) == wanted, f"seed {number}: {options}"
        hoodoo.open(path).upsert(rows(("a", "x", 10, 7), ("c", "x", 10, 7)))
        again = [(k, p, 10 if k in "ac" else w) for k, p, w in wanted]
        assert stored(path) == again, f"seed {number}, after {options}"
        report = hoodoo.open(path).verify()
        assert report.ok, f"seed {number}, {options}: {[str(f) for f in report.findings]}"
