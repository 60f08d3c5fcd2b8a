"""Doubles: record keys that occur more than once, and whether an insert may have brought them.

``insert`` and its like don't look at stored keys, so a key that two of them brought is no damage.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from hoodoo.hookspecs.key_generator import record_key_columns
from hoodoo.hookspecs.read_source import ReadSource
from hoodoo.model.commit import Operation
from hoodoo.model.filegroup import FileSlice
from hoodoo.model.findings import Finding
from hoodoo.model.meta import COMMIT_SEQNO, COMMIT_TIME, RECORD_KEY
from hoodoo_rows.api import Batches, ScanPlan, StoredFiles
from hoodoo_rows.model.key_hash import key_hash

Hashes = npt.NDArray[np.uint64]
SHOWN = 3
# Keys that are hashed at a time: it takes some bytes for each of their characters.
_HASHED = 1 << 16
_INSERTS = (
    Operation.INSERT,
    Operation.INSERT_PREPPED,
    Operation.BULK_INSERT,
    Operation.BULK_INSERT_PREPPED,
    Operation.BOOTSTRAP,
    Operation.INSERT_OVERWRITE,
    Operation.INSERT_OVERWRITE_TABLE,
)
_FIX = "delete these keys, then upsert the rows that are right."


def columns(source: ReadSource) -> Sequence[str]:
    """What a scan has to read for :func:`rows`."""
    if source.config.populate_meta_fields or source.key_generator is None:
        return (RECORD_KEY, COMMIT_TIME, COMMIT_SEQNO)
    return record_key_columns(source.key_generator)


def rows(
    source: ReadSource, plan: ScanPlan, slice_: FileSlice
) -> Iterator[tuple[pa.Array, pa.Array | None]]:
    """Record keys, and commit times with sequence numbers (None where keys are virtual), of the
    merged rows of a slice."""
    file_format = StoredFiles.format(source)
    for batch in Batches.of_slice(source.storage, file_format, plan.spec, slice_, plan.rule):
        if source.config.populate_meta_fields or source.key_generator is None:
            said = [batch.column(COMMIT_TIME), batch.column(COMMIT_SEQNO)]
            yield batch.column(RECORD_KEY), pa.StructArray.from_arrays(said, ["time", "row"])
        else:
            yield source.key_generator.record_keys(batch), None


def joined(pieces: Iterable[pa.ChunkedArray]) -> pa.ChunkedArray:
    return pa.chunked_array([chunk for piece in pieces for chunk in piece.chunks], pa.string())


def repeated(keys: pa.ChunkedArray) -> pa.Array | None:
    """The keys that occur more than once, each once; None if there are none."""
    if pc.count_distinct(keys).as_py() == len(keys):
        return None
    counted = keys.value_counts()
    return counted.filter(pc.greater(counted.field("counts"), 1)).field("values")


def hashed(keys: pa.Array) -> Hashes:
    """A number for each key; that of two keys is the same by chance in one of 2**64 pairs.
    ``keys``: strings without nulls."""
    found = np.empty(len(keys), np.uint64)
    for start in range(0, len(keys), _HASHED):
        found[start : start + _HASHED] = key_hash(keys.slice(start, _HASHED))
    return found


def common(hashes: Sequence[Hashes]) -> Hashes:
    """What is in more than one of ``hashes``, each of which has no value twice."""
    ordered = np.sort(np.concatenate(hashes))
    return np.unique(ordered[1:][ordered[1:] == ordered[:-1]])


def in_partition(
    source: ReadSource,
    plan: ScanPlan,
    partition: str,
    slices: Sequence[FileSlice],
    doubled: pa.Array,
) -> Iterator[Finding | str]:
    """What to say of keys that occur more than once in one partition path."""
    copies = pa.concat_tables(
        [_copies(source, plan, slice_, keys_in=doubled) for slice_ in slices]
    ).sort_by("key")
    yield from _judged(source, copies, partition or ".", "")


def in_table(source: ReadSource, plan: ScanPlan, suspect: Hashes) -> Iterator[Finding | str]:
    """What to say of keys of several partition paths, by hashes first, then exactly."""
    if not len(suspect):
        return
    copies = pa.concat_tables([_copies(source, plan, s, hashes_in=suspect) for s in plan.slices])
    pairs = copies.group_by(["key", "partition"]).aggregate([])
    counted = pairs.group_by("key").aggregate([("partition", "count")])
    doubled = counted.filter(pc.greater(counted.column("partition_count"), 1)).column("key")
    if len(doubled):
        kept = copies.filter(pc.is_in(copies.column("key"), value_set=doubled.combine_chunks()))
        where = " and ".join(sorted(pc.unique(kept.column("partition")).to_pylist())[:SHOWN])
        why = " although the index of the table is global"
        yield from _judged(source, kept.sort_by("key"), where, why)


def _copies(
    source: ReadSource,
    plan: ScanPlan,
    slice_: FileSlice,
    keys_in: pa.Array | None = None,
    hashes_in: Hashes = np.zeros(0, np.uint64),  # noqa: B008
) -> pa.Table:
    """The wanted keys of a slice: ``key``, ``time``, ``row`` (which the commit's), ``partition``,
    ``file_id``."""
    found = []
    for keys, times in rows(source, plan, slice_):
        if keys_in is not None:
            wanted = pc.is_in(keys, value_set=keys_in)
        else:
            wanted = pa.array(np.isin(hashed(pc.fill_null(keys, "")), hashes_in))
        keys = keys.filter(wanted)
        said = [pa.nulls(len(keys), pa.string())] * 2
        if times is not None:
            said = [times.field(n).filter(wanted) for n in ("time", "row")]
        found.append(pa.table({"key": keys, "time": said[0], "row": said[1]}))
    schema = pa.schema([(name, pa.string()) for name in ("key", "time", "row")])
    table = pa.concat_tables(found).cast(schema) if found else schema.empty_table()
    for name, value in (("partition", slice_.partition_path), ("file_id", slice_.file_id)):
        table = table.append_column(name, pa.repeat(value, len(table)))
    return table


def _judged(source: ReadSource, copies: pa.Table, where: str, why: str) -> Iterator[Finding | str]:
    """A note on keys of which all copies but one may be an insert's, a finding on the others."""
    if source.config.populate_meta_fields:
        inserts = [
            i.requested
            for i in source.timeline.writes()
            if source.timeline.metadata(source.storage, i).operation in _INSERTS
        ]
        inserted = pc.is_in(copies.column("time"), value_set=pa.array(inserts, pa.string()))
    else:  # rows do not say who wrote them
        groups = pa.array([f"{path}\0{id_}" for path, id_ in _inserted_into(source)], pa.string())
        lying = pc.binary_join_element_wise(
            copies.column("partition"), copies.column("file_id"), "\0"
        )
        inserted = pc.is_in(lying, value_set=groups)
    # The same row of the same commit is one that was rewritten, and is still there where it was.
    rows_ = pc.binary_join_element_wise(copies.column("key"), copies.column("row"), "\0")
    again = rows_.value_counts()
    again = again.filter(pc.greater(again.field("counts"), 1)).field("values").drop_null()
    inserted = pc.and_not(inserted, pc.is_in(rows_, value_set=again))
    others = pc.if_else(inserted, 0, 1)
    table = copies.append_column("other", others)
    counted = table.group_by("key").aggregate([("other", "sum")])
    bad = counted.filter(pc.greater(counted.column("other_sum"), 1)).column("key")
    fine = len(counted) - len(bad)
    if fine:
        yield (
            f"{where}: {_keys(fine)} more than once, which inserts brought: they don't look at "
            "stored keys"
        )
    if len(bad):
        one = bad[:1].combine_chunks()
        lying = copies.filter(pc.is_in(copies.column("key"), value_set=one)).column("file_id")
        groups = " and ".join(lying.to_pylist()[:SHOWN])
        rule = (
            f"{_keys(len(bad))} more than once{why}, for example {some(bad[:SHOWN].to_pylist())}; "
            f"{one[0].as_py()!r} in file group {groups}"
        )
        yield Finding("key.twice", where, rule, _FIX)


def _inserted_into(source: ReadSource) -> set[tuple[str, str]]:
    """The file groups that may have rows of an insert: it wrote them, or they replaced such ones in
    their partition path."""
    found: set[tuple[str, str]] = set()
    for instant in source.timeline.writes():
        metadata = source.timeline.metadata(source.storage, instant)
        moved = {path for path, _id in found & metadata.replaced_groups}
        insert = metadata.operation in _INSERTS
        found.update(
            (s.partition_path, s.file_id)
            for s in metadata.stats
            if insert or s.partition_path in moved
        )
    return found


def _keys(count: int) -> str:
    return "1 record key occurs" if count == 1 else f"{count:,} record keys occur"


def some(values: Iterable[str | None]) -> str:
    """A few values, for a message."""
    ordered = sorted(values, key=str)
    return ", ".join(map(repr, ordered[:SHOWN])) + (", ..." if len(ordered) > SHOWN else "")
