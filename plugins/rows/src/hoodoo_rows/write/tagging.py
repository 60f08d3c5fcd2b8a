"""Tagging: the file groups of rows that arrive, by any index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
from attrs import evolve, frozen
from hoodoo.errors import DuplicateKeyError
from hoodoo.hookspecs.conflict import Group
from hoodoo.hookspecs.engine import Stream, Workspace, result_bytes
from hoodoo.hookspecs.index import (
    BucketPlace,
    ComputedIndex,
    LookupIndex,
    PathBuckets,
    PathIndex,
)
from hoodoo.model.filegroup import FileSlice
from hoodoo.model.meta import with_meta
from hoodoo.options.write import DUPLICATES, duplicates
from hoodoo.timeline.codec.large import LazyStats

from hoodoo_rows.produce.slots import SlotPlan, new_uuid
from hoodoo_rows.produce.summary import Arrivals, Summarise, arrivals
from hoodoo_rows.read.source import SKELETONS
from hoodoo_rows.write.conflicts import doubles_rows
from hoodoo_rows.write.key import AddPathBuckets
from hoodoo_rows.write.key_table import check_groups
from hoodoo_rows.write.located import context_of, living
from hoodoo_rows.write.operation import Replaces, WriteKind
from hoodoo_rows.write.places import OnDriver, Places, in_tasks, tag, where_rows_stay
from hoodoo_rows.write.tag import LocatedDeletes, OnlyUntagged, UntaggedInserts
from hoodoo_rows.write.target import RowChanges, WriteTarget

# How much Parquet shrinks Arrow bytes, roughly: the size of a stored row before any commit shows it
# (Hudi: hoodie.copyonwrite.record.size.estimate).
_SHRINK = 0.35
_SAMPLE = 1000  # files of a commit that say what a row costs


@frozen
class Prepared:
    """Keyed rows that wait to be written, each source row evaluated at most once."""

    kind: WriteKind
    schema: pa.Schema  # the table's schema after this write
    keyed: Stream
    staged: bool
    arriving: Arrivals
    partial: bool = False  # rows lack columns that keep their stored values
    # Deletes that may lie in any partition path go through this index.
    anywhere: LookupIndex | None = None
    # What somebody who has read the table makes of its rows.
    changes: RowChanges | None = None
    # Where the places of the rows can be staged.
    workspace: Workspace | None = None

    @property
    def places(self) -> Mapping[Group, int] | None:
        """The rows by file group, where these are known; else None."""
        return None if self.changes is None else self.changes.places

    @property
    def replaced(self) -> Sequence[str] | None:
        """The partition paths whose file groups the write replaces; None: all."""
        if self.kind.replaces is Replaces.TABLE:
            return None
        return sorted(self.arriving.rows) if self.kind.replaces is Replaces.PARTITIONS else []


def arrivals_of(target: WriteTarget, keyed: Stream, looks: bool = False) -> Arrivals:
    """Count the rows of ``keyed`` for each partition path and file group, in tasks. ``looks``: the
    driver also gets their keys, as far as these are few."""
    step = Summarise(result_bytes(target.engine) if looks else 0)
    return arrivals(target.engine.collect(target.engine.map(keyed, step)))


def plan_buckets(
    index: ComputedIndex,
    prepared: Prepared,
    slices: Sequence[FileSlice],
    slots: SlotPlan,
    instant: str,
) -> None:
    """Add to ``slots`` the file groups of the buckets in which rows arrive."""
    held = {(s.partition_path, index.bucket_of(s.file_id)): s.file_id for s in slices}
    for path, bucket, rows, puts in prepared.arriving.buckets:
        file_id = held.get((path, bucket))
        if file_id is None and not puts:
            continue  # deletes of keys that are nowhere
        if file_id is None:
            file_id = index.file_id(bucket, new_uuid(instant, path, bucket))
        slots.bucket(path, bucket, file_id, rows)


def in_paths(
    target: WriteTarget, index: PathIndex, prepared: Prepared, keyed: Stream, instant: str
) -> tuple[PathBuckets, Stream]:
    """The current buckets of the paths that rows arrive in, and the rows with their buckets."""
    paths = prepared.replaced
    if paths is None:
        paths = sorted({*prepared.arriving.rows, *(s.partition_path for s in target.slices)})
    replaces = prepared.kind.replaces is not Replaces.NOTHING
    doubles = bool(target.policy.clusterings) and doubles_rows(target, prepared.kind)
    found = index.in_paths(
        context_of(target, prepared.arriving),
        paths if replaces else sorted(prepared.arriving.rows),
        instant,
        replaces,
        doubles,
    )
    return found, target.engine.map(keyed, AddPathBuckets(keyed.schema, found))


def plan_places(
    target: WriteTarget,
    buckets: PathBuckets,
    keyed: Stream,
    slices: Sequence[FileSlice],
    slots: SlotPlan,
    begun: dict[tuple[str, str], BucketPlace],
) -> None:
    """Add to ``slots`` the file groups of the buckets in which rows arrive; to ``begun`` those that
    a pending clustering will make."""
    held = {(s.partition_path, s.file_id) for s in slices}
    for path, bucket, rows, puts in arrivals_of(target, keyed).buckets:
        place = buckets.place(path, bucket)
        if place.begun is not None:
            begun[path, place.file_id] = place
        elif not puts and (path, place.file_id) not in held:
            continue  # deletes of keys that are nowhere
        slots.bucket(path, bucket, place.file_id, rows)


def tag_rows(
    target: WriteTarget,
    prepared: Prepared,
    slices: tuple[FileSlice, ...],
    slots: SlotPlan,
    looked: Places | None,
) -> tuple[Stream, bool]:
    """The tagged rows; and whether some of them stay where their columns do not say. ``looked``:
    where their keys lie (None: nobody looks)."""
    arriving = prepared.arriving
    new = dict(arriving.puts)
    misplaced = False
    if prepared.places is not None:
        stream: Stream = prepared.keyed
        for (path, file_id), puts in sorted(prepared.places.items()):
            slots.existing(path, file_id)
            new[path] = new.get(path, 0) - puts
    elif looked is None:
        stream = target.engine.map(prepared.keyed, UntaggedInserts(prepared.keyed.schema))
    else:
        index = looked.index
        groups = looked.groups()
        if prepared.kind.matches and not prepared.kind.deletes:
            paths = {row["partition_path"] for row in groups}
            stay, misplaced = where_rows_stay(target, looked, paths, prepared.keyed, arriving)
            if stay is not looked:
                looked, groups = stay, stay.groups()
        check_groups(
            index,
            ((row["partition_path"], row["file_id"]) for row in groups),
            {(s.partition_path, s.file_id) for s in target.slices} if groups else (),
        )
        if prepared.kind.deletes:
            # The locations are the deletes: one row for each place where the key lies.
            stream = target.engine.map(looked.stream(), LocatedDeletes(prepared.keyed.schema))
        elif not prepared.kind.matches:
            stream = only_new_keys(target, prepared, looked)
        else:
            stream = tag(target, looked, prepared.keyed)
        for row in groups:
            if prepared.kind.matches:
                slots.existing(row["partition_path"], row["file_id"])
            if not index.is_global or target.logs is not None:
                left = new.get(row["partition_path"], 0) - row["rows"]
                new[row["partition_path"]] = max(left, 0)
    if not prepared.kind.deletes:
        # Estimates may say that nothing is new where a row is: every path keeps a place for it. A
        # table with log files keeps it in a new file group, as filling one means to rewrite it.
        least = 1 if target.logs is None and prepared.places is None else 0
        weights = {path: max(least, rows) for path, rows in new.items() if max(least, rows)}
        plugins = target.plugins
        layout = plugins.filling_layout if prepared.kind.fills else plugins.new_layout
        busy = target.clustered
        # A skeleton is small, and what it becomes when it is filled is not.
        free = [
            s
            for s in slices
            if (s.partition_path, s.file_id) not in busy
            and (s.base_file is None or s.base_file.instant != SKELETONS)
        ]
        slots.add_slots(layout.plan(weights, free, row_bytes_of(target, arriving)))
        for path in sorted(new.keys() - weights.keys()):
            slots.new(path, 1)
    return stream, misplaced


def found_in_tasks(target: WriteTarget, prepared: Prepared, index: LookupIndex) -> Places | None:
    """Find where the keys lie, in tasks; None where they are few enough for the driver."""
    kind = prepared.kind
    stored = None if kind.matches else with_meta(prepared.schema)
    return in_tasks(
        target, index, prepared.keyed, prepared.arriving, prepared.workspace, kind.deletes, stored
    )


def only_new_keys(target: WriteTarget, prepared: Prepared, known: Places) -> Stream:
    """An insert under a duplicate policy: known keys are dropped or refused."""
    if isinstance(known, OnDriver):
        stored = with_meta(prepared.schema)
        known = evolve(known, found=living(target, known.index, known.found, stored))
    if duplicates(target.options) == "fail":
        rows = sum(group["rows"] for group in known.groups())
        if rows:
            raise DuplicateKeyError(
                f"record key {known.first()!r}",
                f"is in the table already (of the keys to insert, {rows} are).",
                f"use upsert, or {DUPLICATES.key}=drop.",
            )
    tagged = tag(target, known, prepared.keyed, moves=False)
    return target.engine.map(tagged, OnlyUntagged(tagged.schema))


def row_bytes_of(target: WriteTarget, arriving: Arrivals) -> float:
    """Bytes on disk of one row: from the newest commit that wrote some, else guessed from
    memory."""
    for instant in target.timeline.writes()[:-4:-1]:
        stats = target.timeline.metadata(target.storage, instant).stats
        stats = stats.first(_SAMPLE) if isinstance(stats, LazyStats) else stats
        stats = tuple(s for s in stats[:_SAMPLE] if s.log_version is None)
        rows = sum(s.num_writes for s in stats)
        if rows >= 1000:  # footers outweigh the rows of small files
            return sum(s.file_size for s in stats) / rows
    return max(1.0, _SHRINK * arriving.bytes / max(1, arriving.total))
