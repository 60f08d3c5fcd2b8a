"""Bucket index with a number of buckets for each partition path, by rules over the path.

Source: ``HoodieSimpleBucketIndex`` with ``NumBucketsFunction`` of Hudi 1.2."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from attrs import frozen
from hoodoo.hookspecs.index import IndexContext
from hoodoo.hookspecs.registration import Settings
from hoodoo.timeline.snapshot import Snapshot

from hoodoo_standard.index import path_counts
from hoodoo_standard.index.counted_buckets import CountedBuckets, refuse_strange
from hoodoo_standard.index.hashed_buckets import number_of
from hoodoo_standard.index.path_counts import PathCounts
from hoodoo_standard.options import BUCKETS, PATH_BUCKETS, hash_fields

if TYPE_CHECKING:
    from hoodoo_standard.index.resizing import Resizing


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
