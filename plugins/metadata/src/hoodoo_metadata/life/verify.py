"""Verify: does the metadata table say what the files say?

Memory: the entries of one file group of the record index, and the record keys of the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import define, field, frozen
from hoodoo.errors import HoodooError
from hoodoo.hookspecs.participant import KeysCheck
from hoodoo.model.filegroup import FileSlice
from hoodoo.model.findings import Finding
from hoodoo.storage.api import Storage
from hoodoo.timeline.names import parse_path
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import Timeline

from hoodoo_metadata.hfile import ENTRIES
from hoodoo_metadata.life.definitions import is_partitioned
from hoodoo_metadata.life.kept_by import is_doubled, is_refused, why_stale
from hoodoo_metadata.partitions.files.listing import told_files
from hoodoo_metadata.partitions.record_index.groups import IndexGroups
from hoodoo_metadata.partitions.record_index.locations import decode_locations
from hoodoo_metadata.partitions.record_index.verify_growing import (
    check_growing,
    may_outlive_rows,
    some,
)
from hoodoo_metadata.table.layout import FILES, GROWING_INDEX, INDEXES, is_own
from hoodoo_metadata.table.metadata_table import FOLDER, MetadataTable, is_listed, listed
from hoodoo_metadata.table.schema import record_schema
from hoodoo_metadata.table.slice import UNSUMMED, is_unsummed, layers, merged

_FIX = "hoodoo rebuild-index, or table.rebuild_index(), rebuilds the metadata table."


def check_listing(
    snapshot: Snapshot,
    files: Mapping[str, int],
    expected: Callable[[str], bool],
    removed: Callable[[str], bool],
) -> Iterator[Finding | str]:
    """The partition ``files`` against the ``files`` that are there. ``timeline`` was looked at
    before these were listed. A text is a note."""
    if not is_listed(snapshot.timeline):
        return
    try:
        table = MetadataTable.open(snapshot.storage, snapshot.timeline)
        told = {entry.path: entry.size for entry in told_files(table)}
        if any(is_unsummed(layers(table.storage, group)) for group in table.slices(FILES)):
            yield f"metadata table: {UNSUMMED}"
    except (HoodooError, FileNotFoundError) as error:
        rule = error.rule.rstrip(".") if isinstance(error, HoodooError) else f"{error} is not there"
        yield Finding("metadata.unreadable", FOLDER, rule, _FIX)
        return
    for path in files:
        if path in told or removed(path):
            continue
        if expected(path):
            rule = "the metadata table does not list it: readers that go by it miss its rows"
            yield Finding("metadata.files", path, rule, _FIX)
    for path, size in told.items():
        found = files.get(path)
        named = parse_path(path)
        if found is not None and found != size:
            rule = f"it has {found} bytes, and the metadata table says {size}"
            yield Finding("metadata.files", path, rule, _FIX)
            continue
        known = named is None or snapshot.timeline.contains_or_before_start(named.instant)
        if found is None and known and not removed(path):
            rule = "the metadata table lists it, and it is not there"
            yield Finding("metadata.files", path, rule, _FIX)


@define
class LocationsCheck:
    """The record indexes against the keys of the newest slices, which are shown one slice after the
    other."""

    storage: Storage
    timeline: Timeline
    _keys: list[pa.Array] = field(factory=list)
    _places: list[pa.Array] = field(factory=list)
    _slices: list[FileSlice] = field(factory=list)
    _unsummed: bool = False

    def see(self, slice_: FileSlice, keys: pa.ChunkedArray) -> None:
        number = len(self._slices)
        self._slices.append(slice_)
        for chunk in keys.chunks:
            self._keys.append(chunk)
            self._places.append(pa.array(np.full(len(chunk), number, np.int32)))

    def findings(self) -> Iterator[Finding | str]:
        keys = pa.chunked_array(self._keys, pa.string()).combine_chunks()
        places = pa.chunked_array(self._places, pa.int32()).combine_chunks()
        for index in INDEXES:
            if index not in listed(self.timeline.config):
                continue
            check = self._growing if index == GROWING_INDEX else partial(self._compared, index)
            try:
                yield from check(keys, places)
            except (HoodooError, FileNotFoundError) as error:
                rule = f"{error} is not there"
                if isinstance(error, HoodooError):
                    rule = error.rule.rstrip(".")
                yield Finding("metadata.unreadable", f"{FOLDER}/{index}", rule, _FIX)
        if self._unsummed:
            yield f"metadata table: {UNSUMMED}"

    def _growing(self, keys: pa.Array, places: pa.Array) -> Iterator[Finding]:
        return check_growing(Snapshot(self.storage, self.timeline), keys, places, self._slices)

    def _compared(self, index: str, keys: pa.Array, places: pa.Array) -> Iterator[Finding]:
        if is_own(index) and why_stale(Snapshot(self.storage, self.timeline), index) is not None:
            return  # lookups do not go by it
        table = MetadataTable.open(self.storage, self.timeline)
        buckets = table.slices(index)
        partitioned = is_partitioned(self.storage, index)
        if not buckets and not partitioned:
            obj = f"{FOLDER}/{index}"
            yield Finding("metadata.unreadable", obj, "it holds no file group", _FIX)
            return
        paths = pa.array([s.partition_path for s in self._slices], pa.string())
        groups = IndexGroups.of(
            [s.file_id for s in buckets],
            {s.partition_path for s in self._slices} if partitioned else None,
        )
        slots = groups.slots(keys, paths.take(places))
        by_id = {bucket.file_id: bucket for bucket in buckets}
        for slot, file_id in enumerate(groups.file_ids):
            mine = pa.array(slots == slot)
            told = self._entries(table, by_id[file_id])
            yield from self._of_bucket(by_id[file_id], keys.filter(mine), places.filter(mine), told)
        lost = keys.filter(pa.array(slots < 0))
        if len(lost):
            rule = (
                f"it has no file group for {len(lost)} keys, for example "
                f"{some(lost[:3].to_pylist())}"
            )
            yield Finding("metadata.keys", f"{FOLDER}/{index}", rule, _FIX)

    def _entries(self, table: MetadataTable, bucket: FileSlice) -> pa.Table:
        text = record_schema(self.timeline.config.version)
        found = layers(table.storage, bucket, text)
        self._unsummed = self._unsummed or is_unsummed(found)
        rows = pa.Table.from_batches(merged(found), ENTRIES)
        path, file_id, _millis = decode_locations(rows.column("value").combine_chunks(), text)
        key = rows.column("key").combine_chunks().cast(pa.string())
        return pa.table({"key": key, "place": _place(path, file_id)})

    def _is_doubled(self, bucket: FileSlice) -> bool:
        index = bucket.partition_path
        is_global = not is_partitioned(self.storage, index)
        return is_global and is_doubled(self.timeline.config, index)

    def _is_refused(self, bucket: FileSlice) -> bool:
        return self._is_doubled(bucket) and is_refused(self.timeline.config, bucket.partition_path)

    def _of_bucket(
        self, bucket: FileSlice, keys: pa.Array, places: pa.Array, told: pa.Table
    ) -> Iterator[Finding]:
        obj = f"{FOLDER}/{bucket.partition_path}/{bucket.file_id}"
        at = pc.index_in(keys, value_set=told.column("key").combine_chunks())
        missing = keys.filter(pc.is_null(at))
        # Of a key that was in two places the last entry may have gone with one of them.
        if len(missing) and not self._is_doubled(bucket):
            rule = f"it lacks {len(missing)} keys, for example {some(missing[:3].to_pylist())}"
            yield Finding("metadata.keys", obj, f"{rule}; writers then insert them again", _FIX)
        here = _place(
            pa.array([s.partition_path for s in self._slices], pa.string()),
            pa.array([s.file_id for s in self._slices], pa.string()),
        ).take(places)
        there = told.column("place").combine_chunks().take(at)
        wrong = keys.filter(pc.fill_null(pc.not_equal(here, there), False))
        if len(wrong):
            # Of a key that the table has twice, one place is right.
            twice = pc.is_in(
                wrong, value_set=keys.filter(pc.fill_null(pc.equal(here, there), False))
            )
            wrong = wrong.filter(pc.invert(twice))
        # Nobody goes by an index that had no room for all places of a key.
        if len(wrong) and not self._is_refused(bucket):
            rule = (
                f"it has {len(wrong)} keys in wrong places, for example "
                f"{some(wrong[:3].to_pylist())}"
            )
            yield Finding("metadata.keys", obj, rule, _FIX)
        group = pa.array([f"{s.partition_path}\0{s.file_id}" for s in self._slices], pa.string())
        lost = told.filter(pc.invert(pc.is_in(told.column("place"), value_set=group)))
        if lost.num_rows:
            example = some(lost.column("key")[:3].to_pylist())
            rule = (
                f"{lost.num_rows} of its keys lie in file groups that are not there, for example "
                f"{example}"
            )
            yield Finding("metadata.keys", obj, rule, _FIX)
        if may_outlive_rows(self.timeline.config):
            return
        there_is = pa.chunked_array([keys, lost.column("key").combine_chunks()]).combine_chunks()
        stale = told.filter(pc.invert(pc.is_in(told.column("key"), value_set=there_is)))
        if stale.num_rows:
            example = some(stale.column("key")[:3].to_pylist())
            rule = (
                f"it has {stale.num_rows} keys that the table does not have, for example {example}"
            )
            yield Finding("metadata.keys", obj, rule, _FIX)


@frozen
class AllChecks:
    """Several checks as one."""

    each: tuple[KeysCheck, ...]

    def see(self, slice_: FileSlice, keys: pa.ChunkedArray) -> None:
        for check in self.each:
            check.see(slice_, keys)

    def findings(self) -> Iterator[Finding | str]:
        for check in self.each:
            yield from check.findings()


def _place(paths: pa.Array, file_ids: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(paths, file_ids, "\0")
