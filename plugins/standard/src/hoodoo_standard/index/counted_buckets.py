"""Counted buckets: those of partition paths that have numbers of buckets of their own.

Source: ``NumBucketsFunction`` of Hudi 1.2."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen
from hoodoo.errors import UnsupportedTableError
from hoodoo.hookspecs.index import BucketPlace, IndexContext
from hoodoo.timeline.snapshot import Snapshot

from hoodoo_standard.index.key_fields import fields_hash
from hoodoo_standard.index.path_counts import PathCounts
from hoodoo_standard.index.plan import KeyReader
from hoodoo_standard.index.strange_keys import StrangeKeys
from hoodoo_standard.options import BUCKETS, PATH_BUCKETS

_NAMESPACE = uuid.UUID("6d1f2c0a-6f1e-4d0c-9a57-0a4a1f6b7c52")


def refuse_strange(
    context: IndexContext, snapshot: Snapshot, counts: PathCounts, replaced: Sequence[str] = ()
) -> None:
    """UnsupportedTableError where the table has rows, and not by ``counts``. Once for a table: from
    then on it has the file."""
    gone = frozenset(replaced)
    slices = [s for s in context.slices if s.partition_path not in gone]
    files = [s.base_file.path for s in slices if s.base_file is not None]
    found = StrangeKeys(KeyReader.of(context), counts).first(context.engine, files)
    if found is not None:
        raise UnsupportedTableError(
            f"table {snapshot.config.name}: file {found['path']}",
            f"has {found['rows']} record keys of other buckets, for example {found['key']!r}, than "
            f"{PATH_BUCKETS.key} and {BUCKETS.key} say: an upsert would store these keys twice.",
            "Give the options by which the table was written.",
        )


@frozen
class CountedBuckets:
    """Implements :class:`~hoodoo.hookspecs.index.PathBuckets`. ``held``: the file groups that are
    there; others get names that follow from ``instant``."""

    counts: PathCounts
    each: Mapping[str, int]
    held: Mapping[tuple[str, int], str]
    instant: str

    @property
    def buckets(self) -> int:
        return max(self.each.values(), default=1)

    def bucket(self, record_keys: pa.Array, partition_paths: pa.Array) -> pa.Array:
        paths = pa.array(list(self.each), pa.string())
        at = pc.index_in(partition_paths.cast(pa.string()), value_set=paths)
        numbers = np.array(list(self.each.values()) or [1], np.int32)[np.asarray(at)]
        positive = fields_hash(record_keys, self.counts.hash_fields) & np.int32(0x7FFFFFFF)
        return pa.array(positive % numbers, pa.int32())

    def second(self, record_keys: pa.Array, partition_paths: pa.Array) -> pa.Array | None:
        return None

    def place(self, partition_path: str, bucket: int) -> BucketPlace:
        file_id = self.held.get((partition_path, bucket))
        if file_id is None:
            name = f"{self.instant}/{partition_path}/{bucket}"
            index = self.counts.in_path(partition_path)
            file_id = index.file_id(bucket, str(uuid.uuid5(_NAMESPACE, name)))
        return BucketPlace(file_id)
