"""Partitions ``expr_index_*``: which values an expression has in a file, and in a partition path.

Hudi's readers open a file that no entry is of. So where nothing narrow is known of a new file,
there is no entry; partition paths are pruned by an entry of their own, which each action widens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
from attrs import evolve, frozen
from hoodoo.model.column_range import ColumnRange
from hoodoo.model.commit import WriteStat
from hoodoo.model.filegroup import FileSlice
from hoodoo.storage.api import Storage

from hoodoo_metadata.life.begin import put_group, ranges_of_slices
from hoodoo_metadata.life.definitions import defined
from hoodoo_metadata.partitions.api import Beginning, OfFiles, Work
from hoodoo_metadata.partitions.column_stats.deltas import RangeRows
from hoodoo_metadata.partitions.column_stats.ranges import decode_ranges, encode_range
from hoodoo_metadata.partitions.expression.definition import Expression
from hoodoo_metadata.partitions.files.deltas import entries
from hoodoo_metadata.table.combine import with_ranges_merged
from hoodoo_metadata.table.deltas import Delta
from hoodoo_metadata.table.keys import column_key, expression_key, partition_key
from hoodoo_metadata.table.layout import COLUMN_STATS, group_id, group_of

# File groups of a new one: Hudi's default.
_GROUPS = 2


@frozen
class ExpressionPartition(OfFiles):
    """See :class:`hoodoo_metadata.partitions.api.Partition`."""

    name: str
    keys: bool = False
    stored_keys: bool = False
    noted: bool = False
    sought: bool = False

    def begin(self, beginning: Beginning) -> tuple[WriteStat, ...]:
        state, rows = beginning.state, {}
        found = self._expression(state.storage, state.schema, state.config.version)
        if found is not None and found.stored == COLUMN_STATS:
            ranges, paths = ranges_of_slices(state, [found.column])
            rows = _rows(found, ranges, paths, state.config.version)
        ids = [group_id(self.name, number) for number in range(_GROUPS)]
        filled = _by_group(rows, ids)
        return tuple(
            put_group(
                state, beginning.table, beginning.pending, self.name, filled[n].to_batches(), n
            )
            for n in range(_GROUPS)
        )

    def deltas(self, work: Work) -> Sequence[Delta]:
        change, version = work.change, work.table.data.config.version
        found = self._expression(change.storage, change.schema, version)
        if found is None or found.stored != COLUMN_STATS:
            return ()
        rows = _rows(found, work.ranges_of(found.column), work.files.added, version)
        gone = pa.array(
            sorted(
                column_key(found.column, path, name)
                for path, names in work.files.removed.items()
                for name in names
            ),
            pa.string(),
        )
        ids = sorted(group.file_id for group in work.table.slices(self.name))
        if work.began is not None:
            ids = [group_id(self.name, number) for number in range(work.groups(self.name))]
        if not ids:
            return ()
        lost, filled = group_of(gone, len(ids)), _by_group(rows, ids)
        return [
            Delta(self.name, file_id, filled[n], gone.filter(pa.array(lost == n)))
            for n, file_id in enumerate(ids)
        ]

    def merged(
        self, storage: Storage, slice_: FileSlice, schema_text: str
    ) -> Iterator[pa.RecordBatch]:
        return with_ranges_merged(storage, slice_, schema_text)

    def _expression(self, storage: Storage, schema: pa.Schema, version: int) -> Expression | None:
        return Expression.of(defined(storage).get(self.name), schema, version)


def _rows(
    expression: Expression,
    ranges: RangeRows,
    added: Mapping[str, Mapping[str, int]],
    version: int,
) -> dict[str, bytes]:
    """Entries of the files ``added``, and of the partition paths that they are in."""
    column, rows = expression.column, {}
    for key, found in zip(ranges.files, _decoded(ranges.files), strict=True):
        known = expression.of_file(found) if found.column == column else None
        if known is not None:
            rows[key] = encode_range(known, version)
    for path in added:
        told = ranges.partitions.get(partition_key(column, path))
        whole = (
            ColumnRange(column, path, of_partition=True, values=1)
            if told is None
            else decode_ranges([told])[0]
        )
        key = expression_key(column, path)
        rows[key] = encode_range(evolve(expression.of_any(whole), name=path), version)
    return rows


def _decoded(rows: Mapping[str, bytes]) -> list[ColumnRange]:
    return decode_ranges(pa.array(list(rows.values()), pa.binary())) if rows else []


def _by_group(rows: Mapping[str, bytes], ids: Sequence[str]) -> list[pa.Table]:
    keys = list(rows)
    groups = group_of(pa.array(keys, pa.string()), len(ids))
    return [
        entries({str(k): rows[str(k)] for k in np.array(keys, object)[groups == n]})
        for n in range(len(ids))
    ]
