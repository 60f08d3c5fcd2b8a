"""Rows of tables with consistent hashing, and what is expected of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import hoodoo
import pyarrow as pa
from hoodoo.timeline.snapshot import Snapshot
from hoodoo_hashing import stored
from hoodoo_hashing.stored import PathRing
from hoodoo_rows.testing.tables import Maker

SCHEMA = pa.schema(
    [("id", pa.string()), ("region", pa.string()), ("ts", pa.int64()), ("v", pa.string())]
)
OPTIONS = {
    "hoodie.index.bucket.engine": "CONSISTENT_HASHING",
    "hoodie.bucket.index.num.buckets": "4",
    "hoodie.bucket.index.min.num.buckets": "2",
    "hoodie.bucket.index.max.num.buckets": "16",
}
# What makes all buckets too large, or too small.
SPLIT = {"hoodie.bucket.index.split.threshold": "0", "hoodie.bucket.index.merge.threshold": "0"}
MERGE = {"hoodie.bucket.index.split.threshold": "9", "hoodie.bucket.index.merge.threshold": "1"}

rows = Maker(
    SCHEMA,
    "ts",
    "word",
    word="a",
    id=str,
    region=("us", "eu", "eu"),
    v=lambda i, word: f"{word}{i}",
)


def contents(table: hoodoo.Table) -> list[dict[str, Any]]:
    """All rows, without meta columns: a row twice is seen."""
    found = table.read().to_arrow().select(SCHEMA.names)
    return sorted(found.to_pylist(), key=lambda row: (row["id"], row["v"]))


def expected(*written: pa.Table, without: Iterable[int] = ()) -> list[dict[str, Any]]:
    """What there is after tables that were written one after the other."""
    last = {row["id"]: row for table in written for row in table.to_pylist()}
    for gone in without:
        last.pop(str(gone), None)
    return sorted(last.values(), key=lambda row: (row["id"], row["v"]))


def ring(table: hoodoo.Table, path: str) -> PathRing:
    found = stored.load(Snapshot(table.handle.storage, table.timeline()), path)
    assert found is not None
    return found


def in_their_buckets(table: hoodoo.Table) -> None:
    """Each file group that has rows is a bucket of its path, and each key is found where it lies."""
    for slice_ in table.file_slices():
        assert slice_.file_id in ring(table, slice_.partition_path).ring.file_ids
    keys = table.read().to_arrow().select(["id", "region"])
    if len(keys):
        assert table.locate(keys).num_rows == len(keys)
