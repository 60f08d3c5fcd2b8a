"""Consistent hashing: the bucket of a key follows from its hash and from the ring of its partition
path.

Source: ``HoodieConsistentBucketIndex`` of Hudi 1.2. Hudi keeps the options of an index nowhere in
the table; here those that decide are properties of the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from attrs import field, frozen
from hoodoo.errors import (
    CorruptTableError,
    PendingClusteringError,
    UnsupportedTableError,
)
from hoodoo.hookspecs.index import BucketPlace, IndexContext
from hoodoo.hookspecs.registration import Settings
from hoodoo.model.filegroup import FileSlice
from hoodoo.storage.api import Storage
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import Timeline
from hoodoo_standard.options import BUCKETS, hash_fields

from hoodoo_hashing import stored
from hoodoo_hashing.key_texts import key_texts
from hoodoo_hashing.pending import Resize, resizes
from hoodoo_hashing.ring import MOST, Node, Ring
from hoodoo_hashing.stored import PathRing
from hoodoo_hashing.xxhash32 import xxhash32

_AT_ONCE = 8
Hashes = npt.NDArray[np.int64]


@frozen
class ConsistentIndex:
    """Implements :class:`~hoodoo.hookspecs.index.PathIndex`. ``buckets``: of a partition path at
    first; ``hash_fields`` are among the record key fields."""

    buckets: int
    hash_fields: tuple[str, ...]

    @classmethod
    def from_settings(cls, settings: Settings) -> ConsistentIndex:
        table = settings.table
        if table.table_type != "MERGE_ON_READ":
            raise UnsupportedTableError(
                f"table {table.name}",
                f"is {table.table_type}, and buckets that are split and merged need log files: "
                "writers beside a "
                "resize write into the old and the new file group.",
                "Make it MERGE_ON_READ, or take a fixed number of buckets "
                "(hoodie.index.bucket.engine=SIMPLE).",
            )
        return cls(settings.value(BUCKETS), hash_fields(settings))

    @property
    def is_global(self) -> bool:
        return False

    @property
    def moves_partitions(self) -> bool:
        return False

    def hashes(self, record_keys: pa.Array) -> Hashes:
        """The hash value of each key: 31 bits."""
        return (xxhash32(key_texts(record_keys, self.hash_fields)) & np.uint32(MOST)).astype(
            np.int64
        )

    def in_paths(
        self,
        context: IndexContext,
        paths: Sequence[str],
        instant: str | None = None,
        replaced: bool = False,
        doubles: bool = False,
    ) -> RingBuckets:
        timeline = context.timeline
        assert timeline is not None
        rings = self.rings(context.storage, timeline, context.slices, paths, instant is not None)
        if replaced and instant is not None:
            held = {s.partition_path for s in context.slices}
            rings = {p: r.renewed(instant) if p in held else r for p, r in rings.items()}
            for path in held.intersection(rings):
                stored.save(context.storage, rings[path])
        else:
            _check_known(context, rings)
        coming: dict[str, _Coming] = {}
        if doubles:
            planned = resizes(Snapshot(context.storage, timeline))
            for path in planned.keys() & rings.keys():
                coming[path] = _Coming.of(rings[path], planned[path])
        return RingBuckets(self, {p: r.ring for p, r in rings.items()}, coming)

    def rings(
        self,
        storage: Storage,
        timeline: Timeline,
        slices: Sequence[FileSlice],
        paths: Sequence[str],
        writes: bool = False,
    ) -> dict[str, PathRing]:
        """The ring of each of the ``paths``; a path without one gets its first, which is noted if
        ``writes``."""
        ids: dict[str, set[str]] = {path: set() for path in paths}
        for slice_ in slices:
            if slice_.partition_path in ids:
                ids[slice_.partition_path].add(slice_.file_id)

        def ring(path: str) -> PathRing:
            found = stored.load(Snapshot(storage, timeline), path, ids[path], writes)
            if found is not None:
                return found
            if writes:
                return stored.first(storage, path, self.buckets)
            return stored.unwritten(path, self.buckets)

        with ThreadPoolExecutor(_AT_ONCE) as pool:
            return dict(zip(paths, pool.map(ring, paths), strict=True))


def _check_known(context: IndexContext, rings: Mapping[str, PathRing]) -> None:
    known = {path: ring.ring.file_ids for path, ring in rings.items()}
    for slice_ in context.slices:
        path = slice_.partition_path
        if path in known and slice_.file_id not in known[path]:
            raise CorruptTableError(
                f"file group {slice_.file_id!r} of partition {path!r}",
                f"is not one of the {len(known[path])} buckets that the partition has by its "
                "hashing metadata.",
                "Open the table with the index that it was written by; if a program wrote to it "
                "that knows no bucket index, as "
                'hudi-rs: table.switch_index("simple"), or `hoodoo switch-index PATH simple`, '
                "keeps all rows and looks keys up.",
            )


@frozen
class _Coming:
    """The ring that a pending resize makes, and of which buckets."""

    ring: Ring
    instant: str
    gone: frozenset[str]

    @classmethod
    def of(cls, now: PathRing, resize: Resize) -> _Coming:
        if not resize.knows or resize.seq != now.seq:
            raise PendingClusteringError(
                f"partition {now.path!r}",
                f"clustering {resize.instant} is pending there, which does not say what becomes of "
                "its buckets as "
                "they are now: rows can't be put into the file groups to come.",
                f'Run it (table.run_clustering("{resize.instant}")) or cancel it '
                f'(table.cancel_clustering("{resize.instant}")).',
            )
        return cls(now.ring.with_children(resize.children), resize.instant, resize.file_ids)


@frozen
class RingBuckets:
    """Implements :class:`~hoodoo.hookspecs.index.PathBuckets`. Nodes of a ring are numbered from 0,
    those of the one to come after them."""

    index: ConsistentIndex
    rings: Mapping[str, Ring]
    coming: Mapping[str, _Coming] = field(factory=dict)

    @property
    def buckets(self) -> int:
        sizes = [len(ring) for ring in self.rings.values()]
        sizes += [len(self.rings[path]) + len(one.ring) for path, one in self.coming.items()]
        return max(sizes, default=1)

    def bucket(self, record_keys: pa.Array, partition_paths: pa.Array) -> pa.Array:
        found = np.zeros(len(record_keys), np.int32)
        hashes = self.index.hashes(record_keys)
        for path, rows in _by_path(partition_paths):
            found[rows] = _owners(self._ring(path), hashes[rows])
        return pa.array(found)

    def second(self, record_keys: pa.Array, partition_paths: pa.Array) -> pa.Array | None:
        if not self.coming:
            return None
        found = np.full(len(record_keys), -1, np.int32)
        hashes = self.index.hashes(record_keys)
        for path, rows in _by_path(partition_paths):
            coming = self.coming.get(path)
            if coming is not None:
                ring = self._ring(path)
                goes = np.array([node.file_id in coming.gone for node in ring.nodes])
                moved = goes[_owners(ring, hashes[rows])]
                later = _owners(coming.ring, hashes[rows]) + len(ring)
                found[rows] = np.where(moved, later, -1)
        return pa.array(found, mask=found < 0)

    def place(self, partition_path: str, bucket: int) -> BucketPlace:
        ring = self._ring(partition_path)
        if bucket < len(ring):
            return BucketPlace(ring.nodes[bucket].file_id)
        coming = self.coming[partition_path]
        node: Node = coming.ring.nodes[bucket - len(ring)]
        return BucketPlace(node.file_id, coming.instant)

    def _ring(self, path: str) -> Ring:
        return self.rings[path]


def owners(nodes: Sequence[Node], hashes: Hashes) -> npt.NDArray[np.int32]:
    """The place among ``nodes``, which are sorted, of the one that owns each hash."""
    at = np.searchsorted(np.array([n.value for n in nodes], np.int64), hashes, side="left")
    return np.where(at < len(nodes), at, 0).astype(np.int32)


def _owners(ring: Ring, hashes: Hashes) -> npt.NDArray[np.int32]:
    return owners(ring.nodes, hashes)


def _by_path(paths: pa.Array) -> list[tuple[str, npt.NDArray[np.int64]]]:
    """Each path, and the places of its rows."""
    if not len(paths):
        return []
    encoded = pc.dictionary_encode(paths)
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    numbers = np.asarray(encoded.indices)
    order = np.argsort(numbers, kind="stable")
    ends = np.cumsum(np.bincount(numbers, minlength=len(encoded.dictionary)))
    begins = np.concatenate(([0], ends[:-1]))
    return [
        (path, order[begin:end])
        for path, begin, end in zip(encoded.dictionary.to_pylist(), begins, ends, strict=True)
    ]
