"""Verify: does the growing record index say where the keys of the newest slices are?

A key may have entries in several file groups of its bucket; the youngest counts, as in a lookup.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from hoodoo.model.config import TableConfig
from hoodoo.model.filegroup import FileSlice
from hoodoo.model.findings import Finding
from hoodoo.timeline.snapshot import Snapshot

from hoodoo_metadata.life.kept_by import is_doubled, is_refused, why_stale
from hoodoo_metadata.partitions.record_index.index import RecordIndex
from hoodoo_metadata.table.layout import GROWING_INDEX
from hoodoo_metadata.table.metadata_table import FOLDER
from hoodoo_metadata.table.slice import layers

SHOWN = 3
_OBJECT = f"{FOLDER}/{GROWING_INDEX}"
_FIX = 'table.rebuild_index("growing_record_index") rebuilds it.'


def check_growing(
    snapshot: Snapshot, keys: pa.Array, places: pa.Array, slices: Sequence[FileSlice]
) -> Iterator[Finding]:
    """``places``: of each of ``keys``, the number of its slice. Nothing is said of an index that
    lookups refuse, as others have written since. Raises CorruptTableError for what can't be
    read."""
    if why_stale(snapshot, GROWING_INDEX) is not None:
        return
    index = RecordIndex.open(snapshot.storage, snapshot.timeline, partition=GROWING_INDEX)
    entered = [
        layer.all().column("key").combine_chunks().cast(pa.string())
        for bucket in index.buckets
        for slice_ in bucket
        for layer in layers(index.storage, slice_)
    ]
    asked = pc.unique(pa.chunked_array([keys, *entered], pa.string()).combine_chunks())
    found = index.locations(asked)
    told = pc.binary_join_element_wise(
        found.column("partition_path"), found.column("file_id"), "\0"
    ).combine_chunks()
    known = found.column("record_key").combine_chunks()
    groups = pa.array([f"{s.partition_path}\0{s.file_id}" for s in slices], pa.string())
    at = pc.index_in(keys, value_set=known)
    missing = keys.filter(pc.is_null(at))
    if len(missing) and not is_doubled(snapshot.config, GROWING_INDEX):
        rule = (
            f"it lacks {len(missing)} keys, for example {_some(missing)}; writers then insert them "
            "again"
        )
        yield Finding("metadata.keys", _OBJECT, rule, _FIX)
    right = pc.equal(told.take(at), groups.take(places))
    wrong = keys.filter(pc.invert(pc.fill_null(right, True)))
    # Of a key that the table has twice, one place is right.
    wrong = wrong.filter(
        pc.invert(pc.is_in(wrong, value_set=keys.filter(pc.fill_null(right, False))))
    )
    # Nobody goes by an index that had no room for all places of a key.
    if len(wrong) and not is_refused(snapshot.config, GROWING_INDEX):
        rule = f"it has {len(wrong)} keys in wrong places, for example {_some(wrong)}"
        yield Finding("metadata.keys", _OBJECT, rule, _FIX)
    stale = known.filter(pc.invert(pc.is_in(known, value_set=keys)))
    if len(stale) and not may_outlive_rows(snapshot.config):
        rule = f"it has {len(stale)} keys that the table does not have, for example {_some(stale)}"
        yield Finding("metadata.keys", _OBJECT, rule, _FIX)


def may_outlive_rows(config: TableConfig) -> bool:
    """Whether a record index may rightly know keys that the table does not have: where rows are
    merged on read, and a row marked as deleted may lose, its key stays."""
    by_time = config.merge_mode or ("EVENT_TIME_ORDERING" if config.ordering_fields else "")
    return config.table_type == "MERGE_ON_READ" and by_time not in ("", "COMMIT_TIME_ORDERING")


def _some(keys: pa.Array) -> str:
    return some(keys[:SHOWN].to_pylist())


def some(values: Iterable[str | None]) -> str:
    """A few values, for a message."""
    ordered = sorted(values, key=str)
    return ", ".join(map(repr, ordered[:SHOWN])) + (", ..." if len(ordered) > SHOWN else "")
