"""The action ``resize_buckets``: the partition paths of a table with a bucket index get other
numbers of buckets.

The rows of these paths go into new file groups, in a replacecommit of the kind of a clustering: no
row changes, and readers and other writers can continue. It is a commit like that of a write: an
interrupted one is undone by the next writer, and it is done again where any other write came in
between. A write that has taken keys into the buckets of before is repeated, whatever it touches.
"""

from __future__ import annotations

import json
import math
import uuid
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from attrs import evolve, frozen
from hoodoo.errors import CommitConflictError, UnsupportedTableError
from hoodoo.hookspecs.engine import Engine
from hoodoo.hookspecs.index import PathBuckets
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.answers import plain
from hoodoo.model.filegroup import FileSlice
from hoodoo.model.instant import Instant
from hoodoo.model.meta import RECORD_KEY
from hoodoo.timeline.log_sizes import with_committed_sizes
from hoodoo.timeline.plans import pending_groups
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.task_fence import fence_of
from hoodoo_rows.api import ArrivingRows, KeyLookup, Pending, WriteResult, Writes, WriteTarget

from hoodoo_clustering.hookspecs.clustering import ClusteredGroup
from hoodoo_clustering.hookspecs.resizing import BucketNumbers, ResizesBuckets
from hoodoo_clustering.outcome import BucketsResized
from hoodoo_clustering.plan import ClusteringPlan, PlannedGroup
from hoodoo_clustering.run_groups import run_groups

if TYPE_CHECKING:
    from hoodoo.table.handle import TableHandle

# In what is said of a group: its partition path, and the buckets that it becomes.
_PATH, _NUMBERS, _IDS = "path", "numbers", "file ids"


@frozen
class ResizeAction:
    """Implements :class:`~hoodoo.hookspecs.action.Action`. See
    :meth:`hoodoo.Table.resize_buckets`."""

    @classmethod
    def from_settings(cls, settings: Settings) -> ResizeAction:
        return cls()

    def run(
        self,
        table: TableHandle,
        buckets: int | None = None,
        expressions: str | None = None,
        *,
        dry_run: bool = False,
        engine: str | Engine | None = None,
    ) -> BucketsResized:
        table.check_writable()
        table.refresh()
        timeline, slices = table.newest_slices()
        seen = Snapshot(table.storage, timeline)
        now = _numbers(table, seen, buckets, expressions)
        moved = _moved(now, slices)
        found = BucketsResized(
            instant="",
            partitions=tuple(sorted({s.partition_path for s in moved})),
            files=len(moved),
            bytes=sum(s.size for s in moved),
            before=now.first,
            after=now.last,
        )
        if dry_run or not now.changes:
            if not dry_run:  # an earlier call may have ended before this
                _say(table, now.last)
            return found
        _refuse_compacted(table.config.name, moved, pending_groups(seen))
        look = partial(table.write_target, None, engine or table.default_engine)
        now.check(KeyLookup.context_of(look(), ArrivingRows.Arrivals(rows={})))
        # From here on each writer uses the numbers that bear an instant.
        _say(table, now.first)
        now.begin(table.storage)
        request = table.write_request(Writes.RELOCATE, look)
        commit = Writes.replace(request, _Work(table, buckets, expressions))
        table.refresh()
        _say(table, now.last)
        return evolve(found, instant="" if commit is None else commit.instant)


def _say(table: TableHandle, properties: Mapping[str, str]) -> None:
    if any(table.config.get(key) != value for key, value in properties.items()):
        table.change_properties(properties)


def _numbers(
    table: TableHandle, snapshot: Snapshot, buckets: int | None, expressions: str | None
) -> BucketNumbers:
    index = plain(table.plugins().index)
    if isinstance(index, ResizesBuckets):
        return index.resized(snapshot, buckets, expressions)
    raise UnsupportedTableError(
        f"table {table.config.name}",
        "has an index without a number of buckets that could become another.",
        "Buckets of consistent hashing are split and merged by table.cluster(); the file groups "
        "of other indexes are given another size by table.cluster(target_file_size=...).",
    )


def _moved(now: BucketNumbers, slices: Sequence[FileSlice]) -> list[FileSlice]:
    """Those of partition paths whose number becomes another."""
    paths = {s.partition_path for s in slices}
    other = {path for path in paths if len({*now.counts(path)}) > 1}
    return [s for s in slices if s.partition_path in other]


def _refuse_compacted(
    name: str, moved: Sequence[FileSlice], compacting: Mapping[tuple[str, str], str]
) -> None:
    busy = {(s.partition_path, s.file_id) for s in moved} & compacting.keys()
    if busy:
        path, file_id = min(busy)
        instant = compacting[path, file_id]
        raise CommitConflictError(
            f"table {name}: resize of its buckets",
            f"compaction {instant} is pending for file group {file_id} in partition {path!r}.",
            f'Run it first: table.run_compaction("{instant}").',
        )


@frozen
class _Work:
    """What a commit leaves behind, and what makes its files, of the table as an attempt sees it."""

    table: TableHandle
    buckets: int | None
    expressions: str | None

    def __call__(self, target: WriteTarget) -> tuple[Mapping[str, tuple[str, ...]], Any] | None:
        now = _numbers(self.table, target.snapshot, self.buckets, self.expressions)
        if not now.changes:  # another process did the same
            return None
        moved = sorted(_moved(now, target.settled), key=lambda s: (s.partition_path, s.file_id))
        _refuse_compacted(target.config.name, moved, target.policy.compacting)
        replaced = {
            path: tuple(s.file_id for s in of_path)
            for path, of_path in groupby(moved, key=lambda s: s.partition_path)
        }
        return replaced, partial(_files, target, now, moved)


def _files(
    target: WriteTarget, now: BucketNumbers, moved: Sequence[FileSlice], instant: Instant
) -> WriteResult:
    """The rows of ``moved`` in the buckets that they belong into after ``instant``, whose rules
    are noted first."""
    storage, requested = target.storage, instant.requested
    now.note(storage, requested)
    buckets = now.buckets(sorted({s.partition_path for s in moved}), requested)
    whole = [evolve(s, log_files=s.row_logs) for s in moved]
    groups = _groups(now, with_committed_sizes(target.snapshot, whole), buckets)
    door = fence_of(requested, target.config)
    door.open(storage)
    written, _made = run_groups(
        target,
        ClusteringPlan(tuple(groups)),
        IntoBuckets(buckets),
        0,
        target.memory,
        Pending.of(target.timeline, instant, door),
        uuid.uuid4().hex[:12],
        target.schema,
    )
    door.close(storage, (stat.path for stat in written.stats))
    return written


def _groups(
    now: BucketNumbers, slices: Sequence[FileSlice], buckets: PathBuckets
) -> list[PlannedGroup]:
    """Slices that become the same buckets: of a hash, the rest of the division by what divides
    both numbers stays."""
    places: dict[tuple[str, int], list[FileSlice]] = {}
    for slice_ in slices:
        path = slice_.partition_path
        same = math.gcd(*now.counts(path))
        places.setdefault((path, now.bucket_of(slice_) % same), []).append(slice_)
    found = []
    for (path, rest), some in places.items():
        before, after = now.counts(path)
        numbers = list(range(rest, after, math.gcd(before, after)))
        ids = [buckets.place(path, number).file_id for number in numbers]
        extra = {_PATH: path, _NUMBERS: json.dumps(numbers), _IDS: json.dumps(ids)}
        found.append(PlannedGroup(tuple(some), len(ids), {}, extra))
    return found


@frozen
class IntoBuckets:
    """Implements :class:`~hoodoo_clustering.hookspecs.clustering.Clustering`, with rows in the
    order in which they come, and :class:`~hoodoo_clustering.hookspecs.clustering.PlacesRows`."""

    buckets: PathBuckets
    columns: tuple[str, ...] = ()
    sample_rows: int = 0

    def fitted(self, sample: pa.Table) -> IntoBuckets:
        return self

    def keys(self, rows: pa.Table) -> Sequence[pa.ChunkedArray | pa.Array]:
        return []

    def told(self, groups: Sequence[ClusteredGroup]) -> Mapping[str, str]:
        return {}

    def file_ids(self, extra: Mapping[str, str]) -> tuple[str, ...]:
        return tuple(json.loads(extra[_IDS]))

    def file_of(self, rows: pa.Table, extra: Mapping[str, str]) -> pa.Array:
        keys = rows.column(RECORD_KEY).cast(pa.string()).combine_chunks()
        # Releases of pyarrow differ in what combining chunks gives.
        keys = pa.concat_arrays(keys.chunks) if isinstance(keys, pa.ChunkedArray) else keys
        numbers = np.array(json.loads(extra[_NUMBERS]), np.int32)
        found = np.asarray(self.buckets.bucket(keys, pa.repeat(extra[_PATH], len(keys))))
        strange = np.flatnonzero(~np.isin(found, numbers))
        if len(strange):  # an upsert would store it twice
            raise UnsupportedTableError(
                f"partition {extra[_PATH]!r}",
                f"has record keys of other buckets, for example {keys[int(strange[0])].as_py()!r}: "
                "who wrote them had another number of buckets, or knows no bucket index, as "
                "hudi-rs.",
                "If the table does not note its number of buckets, open it with the option by "
                "which it was written. Else give it an index that looks keys up: "
                'table.switch_index("simple"); all rows stay.',
            )
        return pa.array(np.searchsorted(numbers, found).astype(np.int32))
