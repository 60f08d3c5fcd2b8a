"""Pruning by buckets: the file group of a key follows from its hash. Opens no file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from attrs import frozen
from hoodoo.errors import CorruptTableError, HoodooError
from hoodoo.hookspecs.pruner import PruneRequest
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.resolve import resolve
from hoodoo.model.filegroup import FileSlice
from hoodoo.timeline.snapshot import Snapshot
from hoodoo_rows.api import Reads, StoredFiles

from hoodoo_standard.index.bucket_rows import all_by_hash, buckets_of
from hoodoo_standard.index.strange_keys import in_path
from hoodoo_standard.options import BUCKETS


@frozen
class BucketPruner:
    """Implements :class:`~hoodoo.hookspecs.pruner.Pruner`: the slices of the buckets of the record
    keys that a filter asks for. All of them where it does not ask for certain keys, for an earlier
    state, where the table does not note a fixed number of buckets, or a write on the timeline does
    not say that it went by them: another program's, and those of another index, put keys
    elsewhere."""

    settings: Settings
    # Of a few slices others need no index.
    asked_first: ClassVar[bool] = True

    @classmethod
    def from_settings(cls, settings: Settings) -> BucketPruner:
        return cls(settings)

    def keep(self, request: PruneRequest, slices: Sequence[FileSlice]) -> Sequence[FileSlice]:
        timeline, generator = request.timeline, request.key_generator
        name = timeline.config.index_name
        # An earlier state may be of before the table had the index.
        if name is None or generator is None or request.as_of or len(slices) < 2:
            return slices
        if BUCKETS.stored(timeline.config.properties) is None:
            return slices  # each writer may have a number of its own
        keys = StoredFiles.asked_keys(request.where, request.schema, generator)
        if keys is None:
            return slices
        try:
            index = resolve("index", name, self.settings).instance
            buckets = buckets_of(index, Snapshot(request.storage, timeline))
        except HoodooError:
            return slices  # whoever needs the index says so
        if buckets is None or not _in_their_buckets(request):
            return slices
        asked: dict[int, frozenset[int]] = {}

        def has(slice_: FileSlice) -> bool:
            index = in_path(buckets, slice_.partition_path)
            if index.buckets not in asked:
                asked[index.buckets] = frozenset(index.bucket(keys).to_pylist())
            return index.bucket_of(slice_.file_id) in asked[index.buckets]

        try:
            return tuple(s for s in slices if has(s))
        except CorruptTableError:
            return slices  # of a file group that is of no bucket


def _in_their_buckets(request: PruneRequest) -> bool:
    """Whether all rows were put there by writers that know the index."""
    snapshot = Snapshot(request.storage, request.timeline)
    if request.timeline.config.populate_meta_fields:
        return all_by_hash(snapshot)
    return bool(Reads.rows_follow_columns(snapshot))  # by commits of Hoodoo alone
