"""Bucket index with a number of buckets for each partition path, by rules over the path.

Source: ``HoodieSimpleBucketIndex`` with ``NumBucketsFunction`` of Hudi 1.2."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen
from hoodoo.errors import UnsupportedTableError
from hoodoo.hookspecs.index import BucketPlace, IndexContext
from hoodoo.hookspecs.registration import Settings
from hoodoo.timeline.snapshot import Snapshot

from hoodoo_standard.index import path_counts
from hoodoo_standard.index.bucket import number_of
from hoodoo_standard.index.key_fields import fields_hash
from hoodoo_standard.index.path_counts import PathCounts
from hoodoo_standard.index.plan import KeyReader
from hoodoo_standard.index.strange_keys import StrangeKeys
from hoodoo_standard.options import BUCKETS, PATH_BUCKETS, hash_fields

if TYPE_CHECKING:
    from hoodoo_standard.index.resizing import Resizing

_NAMESPACE = uuid.UUID("6d1f2c0a-6f1e-4d0c-9a57-0a4a1f6b7c52")


@frozen
class PathBucketIndex:
    """Implements :class:`~hoodoo.hookspecs.index.PathIndex`. ``counts``: as the options say; what
    the table's own file says goes before."""

    counts: PathCounts

    @classmethod
    def from_settings(cls, settings: Settings) -> PathBucketIndex:
        fields = hash_fields(settings)
        return cls(PathCounts(settings.value(PATH_BUCKETS), settings.value(BUCKETS), fields))

    @property
    def is_global(self) -> bool:
        return False

    @property
    def moves_partitions(self) -> bool:
        return False

    def group_of(self, file_id: str) -> int:
        """Two file groups of one bucket are the same to writers beside each other."""
        return number_of(file_id)

    def counts_of(self, snapshot: Snapshot) -> PathCounts:
        """The numbers that the table has now."""
        return path_counts.stored(snapshot, self.counts.hash_fields) or self.counts

    def resized(self, snapshot: Snapshot, number: int | None, expressions: str | None) -> Resizing:
        """What it comes to that paths get other numbers; see :meth:`Resizing.of`."""
        from hoodoo_standard.index.resizing import Resizing

        return Resizing.of(self.counts_of(snapshot), number, expressions)

    def in_paths(
        self,
        context: IndexContext,
        paths: Sequence[str],
        instant: str | None = None,
        replaced: bool = False,
        doubles: bool = False,
    ) -> CountedBuckets:
        assert context.timeline is not None
        snapshot = Snapshot(context.storage, context.timeline)
        counts = path_counts.stored(snapshot, self.counts.hash_fields)
        if counts is None and instant is None:
            counts = self.counts
        elif counts is None:
            if PATH_BUCKETS.stored(snapshot.config.properties) is None:
                refuse_strange(context, snapshot, self.counts, paths if replaced else ())
            path_counts.first(context.storage, self.counts)
            counts = self.counts_of(snapshot)  # perhaps those of a faster writer
        each = {path: counts.in_path(path) for path in paths}
        held = {
            (s.partition_path, each[s.partition_path].bucket_of(s.file_id)): s.file_id
            for s in context.slices
            if s.partition_path in each and not (replaced and instant is not None)
        }
        buckets = {path: index.buckets for path, index in each.items()}
        return CountedBuckets(counts, buckets, held, instant or "")


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
