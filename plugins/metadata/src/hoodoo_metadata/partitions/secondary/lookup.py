"""Secondary lookup: the record keys of the values that a filter asks for, by a secondary index.

An entry names a value and a record key, and no partition path. Of a key that is in two places with
one value there is one entry, which goes when the first of the two rows goes. So these indexes hold
while each key is in one place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from hoodoo.errors import CorruptTableError
from hoodoo.hookspecs.pruner import PruneRequest
from hoodoo.timeline.snapshot import Snapshot

from hoodoo_metadata.life.definitions import made_again
from hoodoo_metadata.life.kept_by import first_commit_not_indexed, knows_all_places
from hoodoo_metadata.partitions.record_index.index_reach import describes
from hoodoo_metadata.partitions.secondary.rows import (
    DEAD,
    groups_of,
    is_indexable,
    prefixes,
    record_keys_of,
    secondaries,
)
from hoodoo_metadata.table.metadata_table import MetadataTable, listed
from hoodoo_metadata.table.schema import FIX
from hoodoo_metadata.table.slice import layers

# More keys than that are better looked for in the files.
_MOST_KEYS = 100_000
Asked = Callable[[pc.Expression, pa.Schema, str], "list[Any] | None"]


def keys_of_values(request: PruneRequest, asked: Asked) -> pa.Array | None:
    """The record keys of all rows that the filter can let through, and perhaps others; None where
    it does not ask for certain values of an indexed column, or the index does not describe what is
    read. ``asked``: the values of a column beside which alone a filter can be true."""
    storage, timeline, bound = request.storage, request.timeline, request.as_of
    for partition, column in secondaries(timeline.config).items():
        usable = partition in listed(timeline.config) and column not in request.hidden
        if not usable or column not in request.columns:
            continue
        kind = request.schema.field(column).type
        values = asked(request.where, request.schema, column) if is_indexable(kind) else None
        if (
            values is None
            or first_commit_not_indexed(Snapshot(storage, timeline), partition) is not None
        ):
            continue
        if not knows_all_places(Snapshot(storage, timeline)):
            return None
        if made_again(storage, {partition: column}):
            continue
        if bound is not None and not describes(Snapshot(storage, timeline), bound, partition):
            continue
        found = _keys(
            MetadataTable.open(storage, timeline).until(bound),
            partition,
            bound,
            pa.array(values, kind),
        )
        if found is not None:
            return found
    return None


def _keys(
    table: MetadataTable, partition: str, bound: str | None, values: pa.Array
) -> pa.Array | None:
    groups = table.slices(partition, bound)
    if not groups:
        raise CorruptTableError(f"{table.storage.root}/{partition}", "holds no file slice.", FIX)
    begin = prefixes(values)
    spread = groups_of(table.data.config, (group.file_id for group in groups))
    # Without one of their own, entries of a value may lie in any group.
    slots = None if spread.hash is None else spread.slots(begin, None)
    parts: list[pa.Array] = []
    for slot, group in enumerate(groups):
        mine = (begin if slots is None else begin.filter(pa.array(slots == slot))).cast(pa.binary())
        if not len(mine):
            continue
        known = pa.array([], pa.binary())
        for layer in layers(table.storage, group):
            if layer.hfile is None:
                keys = layer.deleted
                assert keys is not None
                live = keys.slice(0, 0)
            else:
                found = layer.hfile.get_prefixes(mine).combine_chunks()
                keys = found.column("key").combine_chunks()
                value = found.column("value").combine_chunks()
                there = pc.and_(pc.greater(pc.binary_length(value), 0), pc.not_equal(value, DEAD))
                live = keys.filter(pc.and_(there, pc.invert(pc.is_in(keys, value_set=known))))
            parts.append(live)
            known = pa.concat_arrays([known, _flat(keys)])
    found_keys = pa.concat_arrays([_flat(part) for part in parts])
    return None if len(found_keys) > _MOST_KEYS else pc.unique(record_keys_of(found_keys))


def _flat(keys: pa.Array | pa.ChunkedArray) -> pa.Array:
    if isinstance(keys, pa.ChunkedArray):
        keys = pa.concat_arrays(keys.chunks) if keys.num_chunks else pa.array([], pa.binary())
    return keys.cast(pa.binary())
