"""Pruning by the metadata table: file slices that have no row of the result, as the record index
(point reads) and the ranges of columns say. Opens no data file. The pruners themselves are in
:mod:`hoodoo_metadata.pruners`.

Nothing is left out on a guess: the record keys that a filter asks for are proven to be all."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from hoodoo.errors import CorruptTableError
from hoodoo.hookspecs.pruner import PruneRequest
from hoodoo.model.column_range import ColumnRange
from hoodoo.model.filegroup import FileSlice
from hoodoo.timeline.properties import load as load_properties
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import reload
from hoodoo_rows.api import StoredFiles
from hoodoo_rows.model.filter_text import text_of

from hoodoo_metadata.life.kept_by import knows_all_places
from hoodoo_metadata.life.partition_state import unbuilt, warn_unbuilt
from hoodoo_metadata.partitions.column_stats.lookup import known_ranges
from hoodoo_metadata.partitions.column_stats.value_types import GREATEST_TEXT
from hoodoo_metadata.partitions.known import has_ranges
from hoodoo_metadata.partitions.record_index.index import RecordIndex
from hoodoo_metadata.partitions.record_index.index_reach import describes, is_rebuilt
from hoodoo_metadata.partitions.secondary.lookup import keys_of_values
from hoodoo_metadata.table.keys import column_key
from hoodoo_metadata.table.layout import COLUMN_STATS, INDEXES, RECORD_INDEX
from hoodoo_metadata.table.metadata_table import MetadataTable, listed
from hoodoo_metadata.table.schema import FIX

Keep = Callable[[PruneRequest, Sequence[FileSlice]], Sequence[FileSlice]]

# Of a record index that is partitioned: keys in paths.
_MOST_LOOKUPS = 100_000
# Fewer slices are opened as fast as their ranges are looked up.
_FEW_SLICES = 4


def by_keys(request: PruneRequest, slices: Sequence[FileSlice]) -> Sequence[FileSlice]:
    """The slices that hold record keys which the filter asks for; of a table that keeps a record
    index."""
    return _while_it_stands(request, slices, _by_keys)


def by_ranges(request: PruneRequest, slices: Sequence[FileSlice]) -> Sequence[FileSlice]:
    """The slices whose ranges of columns let the filter be true; of a table that keeps them."""
    return _while_it_stands(request, slices, _by_ranges)


def _by_keys(request: PruneRequest, slices: Sequence[FileSlice]) -> Sequence[FileSlice]:
    storage, timeline, generator = request.storage, request.timeline, request.key_generator
    kept = [index for index in INDEXES if index in listed(timeline.config)]
    if generator is None or len(slices) < 2:  # to look into one is as fast
        return slices
    keys = StoredFiles.asked_keys(request.where, request.schema, generator)
    of_values = keys is None
    if of_values and request.merged:
        keys, kept = keys_of_values(request, StoredFiles.asked_values), [RECORD_INDEX]
    if keys is None:
        return slices
    usable = (i for i in kept if knows_all_places(Snapshot(storage, timeline), i))
    partition = next(usable, None)
    if partition is None:
        return slices
    bound = request.as_of
    if bound is not None and not describes(Snapshot(storage, timeline), bound, partition):
        return slices
    try:
        paths = {s.partition_path for s in slices}
        found = _found(request, partition, keys, paths, everywhere=of_values)
    except (CorruptTableError, FileNotFoundError):
        if _as_it_was(Snapshot(storage, timeline), partition):
            _refuse_damage(Snapshot(storage, timeline))
        return slices
    # Else the index may tell of commits that this read does not see, or was rebuilt meanwhile.
    if found is None or not _as_it_was(Snapshot(storage, timeline), partition):
        return slices
    places = set(
        zip(*(found.column(n).to_pylist() for n in ("partition_path", "file_id")), strict=True)
    )
    return tuple(s for s in slices if (s.partition_path, s.file_id) in places)


def _while_it_stands(
    request: PruneRequest, slices: Sequence[FileSlice], keep: Keep
) -> Sequence[FileSlice]:
    """What ``keep`` lets through. All, where it lacks something that is gone since the read was
    planned: an index that was dropped, an instant that was archived. The files of the read may all
    be there."""
    storage, timeline = request.storage, request.timeline
    try:
        return keep(request, slices)
    except (CorruptTableError, FileNotFoundError):
        listed_now = load_properties(storage).metadata_partitions
        same = reload(storage, timeline).completed() == timeline.completed()
        if same and listed_now == timeline.config.metadata_partitions:
            _refuse_damage(Snapshot(storage, timeline))
        return slices


def _refuse_damage(snapshot: Snapshot) -> None:
    """Raise the error that is being handled, unless it comes from what nobody has completed."""
    if not (lacking := unbuilt(snapshot)):
        raise
    warn_unbuilt(snapshot, lacking)


def _found(
    request: PruneRequest, partition: str, keys: pa.Array, paths: set[str], everywhere: bool
) -> pa.Table | None:
    """Where ``keys`` lie, as the index ``partition`` says; None for too many questions.
    ``everywhere``: they have to be unique in the whole table, not only in their partition path;
    None where the index does not say that."""
    index = RecordIndex.open(request.storage, request.timeline, request.as_of, partition=partition)
    if index.partitioned and (everywhere or len(paths) * len(keys) > _MOST_LOOKUPS):
        return None
    return index.locations(keys, within=paths)


def _as_it_was(snapshot: Snapshot, partition: str) -> bool:
    """Whether nobody has written, or made an index again, since the look at ``timeline``."""
    fresh = snapshot.reload().timeline
    unchanged = fresh.writes() == snapshot.writes()
    return unchanged and not is_rebuilt(snapshot.storage, snapshot.timeline, fresh, partition)


def _by_ranges(request: PruneRequest, slices: Sequence[FileSlice]) -> Sequence[FileSlice]:
    timeline, bound = request.timeline, request.as_of
    config = timeline.config
    if not has_ranges(config):
        return slices
    schema = pa.schema([f for f in request.schema if f.name in request.columns])
    columns = [f.name for f in schema if _orders(f.type) and f.name not in request.hidden]
    told = [s for s in slices if s.base_file is not None and not s.log_files]
    if not columns or len(told) < _FEW_SLICES:
        return slices
    names = {
        column_key(column, s.partition_path, s.base_file.name): (n, column)
        for n, s in enumerate(told)
        for column in columns
        if s.base_file is not None
    }
    table = MetadataTable.open(request.storage, timeline).until(bound)
    groups = table.slices(COLUMN_STATS, bound)
    if not groups:
        if bound is not None:
            return slices
        raise CorruptTableError(
            f"{table.storage.root}/{COLUMN_STATS}",
            "holds no file slice, though the properties list it.",
            FIX,
        )
    by_column: dict[str, dict[int, ColumnRange]] = {column: {} for column in columns}
    for (slice_number, column), one in known_ranges(table, groups, names):
        by_column[column][slice_number] = one
    promises = [pc.scalar(True)] * len(told)
    empty: set[int] = set()
    # Of a long list Arrow proves nothing.
    has_list = "is_in(" in text_of(request.where)
    for column, ranges in by_column.items():
        named = StoredFiles.named_values(request.where, schema, column) if has_list else None
        for n, promise in _promises(column, schema.field(column).type, ranges, named):
            if promise is None:
                empty.add(n)
            else:
                promises[n] = promises[n] & promise
    possible = StoredFiles.satisfiable(promises, request.where, schema)
    kept = {told[n] for n in possible if n not in empty}
    return tuple(s for s in slices if s in kept or s.log_files or s.base_file is None)


def _orders(kind: pa.DataType) -> bool:
    """Not floats: what their ranges are beside NaN, writers disagree about."""
    return (
        pa.types.is_integer(kind)
        or pa.types.is_string(kind)
        or pa.types.is_date(kind)
        or pa.types.is_timestamp(kind)
        or pa.types.is_decimal(kind)
        or pa.types.is_boolean(kind)
    )


def _promises(
    column: str, kind: pa.DataType, ranges: dict[int, ColumnRange], named: pa.Array | None
) -> Iterator[tuple[int, pc.Expression | None]]:
    """What holds of the rows of each slice; None where its range has room for none of ``named``, in
    order, beside which alone the filter can be true."""
    usable = {n: r for n, r in ranges.items() if r.is_known and not r.is_deleted}
    if not usable:
        return
    here = pc.field(column)
    table = StoredFiles.range_table(list(usable.values()), kind)
    rows: Sequence[dict[str, Any]] = table.select(["values", "nulls"]).to_pylist()
    ends = [table.column(end) for end in ("least", "greatest")]
    if pa.types.is_string(kind):
        ends = _by_code_point(*ends)
    for place, (n, counts) in enumerate(zip(usable, rows, strict=True)):
        least, greatest = (end[place] for end in ends)
        if counts["nulls"] >= counts["values"]:
            yield n, here.is_null() if named is None else None
        elif least.is_valid and greatest.is_valid:
            if named is not None and not _has_room(named, least, greatest):
                yield n, None
                continue
            one = least.equals(greatest)
            inside = here == least if one else (here >= least) & (here <= greatest)
            yield n, inside | here.is_null() if counts["nulls"] else inside


def _has_room(named: pa.Array, least: pa.Scalar, greatest: pa.Scalar) -> bool:
    first = bisect_left(named, _ordered(least), key=_ordered)
    return first < len(named) and bool(_ordered(named[first]) <= _ordered(greatest))


def _ordered(value: Any) -> Any:
    """Times as numbers: Python has none of the years after 9999."""
    return value.value if pa.types.is_temporal(value.type) else value.as_py()


def _by_code_point(least: pa.ChunkedArray, greatest: pa.ChunkedArray) -> list[pa.ChunkedArray]:
    """Bounds of texts, as Arrow orders these, of bounds by the order of Java's strings.

    Hudi compares the bounds of a file's row groups as Java's strings, whose units of 16 bits put
    what is past U+FFFF (emoji, say) before U+E000 to U+FFFF. From the first such character on, a
    bound says nothing here."""
    lower = pc.replace_substring_regex(least, "(?s)[\U00010000-\U0010ffff].*", "\ue000")
    upper = pc.replace_substring_regex(greatest, "(?s)[\ue000-\uffff].*", GREATEST_TEXT)
    one = pc.equal(least, greatest)
    return [pc.if_else(one, least, lower), pc.if_else(one, greatest, upper)]
