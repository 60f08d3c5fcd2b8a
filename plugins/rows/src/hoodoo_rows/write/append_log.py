"""Append: the rows of one slot become the blocks of a new log file; the base file is not opened."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen
from hoodoo.hookspecs.file_format import BaseFileFormat
from hoodoo.hookspecs.log_format import LogFileWriter
from hoodoo.hookspecs.merger import delete_mark
from hoodoo.model.commit import WriteStat
from hoodoo.model.filegroup import path_of
from hoodoo.model.meta import META_COLUMNS, PARTITION_PATH, RECORD_KEY, emptied
from hoodoo.model.payload import unpack_slices
from hoodoo.storage.api import Storage
from hoodoo.storage.temporaries import scratch_file

from hoodoo_rows.merge.pairs import flat
from hoodoo_rows.merge.rule import MergeRule
from hoodoo_rows.merge.slice import merged_rows
from hoodoo_rows.merge.virtual import delete_block_keys
from hoodoo_rows.model.internal_row import DELETE, OP, PUT
from hoodoo_rows.produce.columns import completed, stored_rows
from hoodoo_rows.produce.key_changes import KeyChanges
from hoodoo_rows.produce.pending import Pending
from hoodoo_rows.write.erased import MergedSlice
from hoodoo_rows.write.key_table import StoredAt
from hoodoo_rows.write.merge_file import MergeFile
from hoodoo_rows.write.target import LogSettings


@frozen
class AppendLog:
    """``schema`` is the stored schema, meta columns first. Rows that lack some of its columns
    become a partial block: readers keep the stored values. ``rule``: how the rows of a slice are
    read. ``rewrite``: writes a new base file of a slice if a log file is not enough. ``stored_at``:
    the rows of base files that are changed, where the index has seen them."""

    schema: pa.Schema
    storage: Storage
    file_format: BaseFileFormat
    pending: Pending
    settings: LogSettings
    rule: MergeRule
    rewrite: MergeFile
    stored_at: StoredAt | None = None

    def write(
        self, rows: pa.Table, target: dict[str, Any], key_changes: KeyChanges
    ) -> WriteStat | None:
        """``rows``: keyed, one for each key. None if no row matters. ``key_changes`` gets the
        inserted and deleted keys as far as they are known: not a delete that a stored row may
        survive; and an update as an insert if the index finds keys that a log file has deleted, or
        computes places."""
        if target["after_deletes"]:
            (slice_,) = unpack_slices(target["slice"])
            stored = MergedSlice(self.storage, self.file_format, self.rule, slice_)
            rows, gone = stored.after_deletes(rows, target["compacting"])
            if gone is not None:
                key_changes.went(gone)
                name = f"{slice_.file_id}_{target['slot']}-0-0_{self.pending.requested}"
                named = {**target, "file_name": name + self.file_format.extension}
                return self.rewrite.write(rows, named, key_changes, stored)
        is_new = target["log_fresh"]
        deleted = pc.equal(rows.column(OP), DELETE)
        if delete_mark(self.rule.merger) is not None:  # which Spark Hudi does not see in data
            deleted = pc.not_equal(rows.column(OP), PUT)
        if is_new:  # nothing is stored that could be deleted
            data, gone = rows.filter(pc.equal(rows.column(OP), PUT)), rows.slice(0, 0)
        else:
            data, gone = rows.filter(pc.invert(deleted)), rows.filter(deleted)
        if not data.num_rows and not gone.num_rows:
            return None
        partition, name = target["partition_path"], target["file_name"]
        with scratch_file(self.storage) as local:
            size = self._blocks(local, data, gone, target)
            marker = self.settings.marker
            size = self.pending.put(self.storage, partition, name, local, marker, size)
        self._tell(key_changes, data, gone, is_new or not self.settings.index_is_told)
        puts = pc.sum(pc.equal(data.column(OP), PUT)).as_py() or 0
        return WriteStat(
            partition_path=partition,
            file_id=target["file_id"],
            path=path_of(partition, name),
            prev_commit=target["log_prev_commit"],
            num_writes=data.num_rows,
            num_inserts=puts if is_new else 0,
            num_updates=0 if is_new else puts,
            num_deletes=gone.num_rows + data.num_rows - puts,
            file_size=size,
            base_file=target["log_base_file"],
            log_version=target["log_version"],
            log_files=tuple(target["log_files"]),
        )

    def _tell(self, key_changes: KeyChanges, data: pa.Table, gone: pa.Table, comes: bool) -> None:
        if not key_changes.tells:
            return
        sure = pc.equal(gone.column(OP), DELETE)
        wins = self.settings.deletes_win
        key_changes.went((gone if wins else gone.filter(sure)).column(RECORD_KEY))
        is_put = pc.equal(data.column(OP), PUT)
        if self.settings.deletes_win:
            key_changes.went(data.filter(pc.invert(is_put)).column(RECORD_KEY))
        if comes:
            key_changes.came(data.filter(is_put).column(RECORD_KEY))

    def _blocks(self, local: str, data: pa.Table, gone: pa.Table, target: dict[str, Any]) -> int:
        instant, settings = self.pending.requested, self.settings
        there = {*data.schema.names, *META_COLUMNS}
        schema = pa.schema([f for f in self.schema if f.name in there])
        blocks = settings.blocks
        formats = {} if blocks is None else {blocks.kind: blocks}
        assert settings.format is not None
        with settings.format.writer(local, formats) as writer:
            partial = len(schema) < len(self.schema)
            start = 0
            for rows, whole in self._pieces(data, target) if partial else [(data, True)]:
                if not rows.num_rows:
                    continue
                rows = self._placed(writer, rows, target)
                kept = self.schema if whole else schema
                lacking = [n for n in kept.names if n not in there]
                made = stored_rows(
                    completed(rows, kept, lacking),
                    kept,
                    instant,
                    target["file_id"],
                    target["slot"],
                    start,
                )
                start += rows.num_rows
                assert blocks is not None
                writer.data_block(
                    blocks.kind,
                    made if settings.filled is None else emptied(made, settings.filled),
                    instant=instant,
                    table_name=settings.table_name,
                    partial=not whole,
                )
            if gone.num_rows:
                gone = self._placed(writer, gone, target)
                keys = delete_block_keys(settings.virtual, gone.column(RECORD_KEY))
                paths = gone.column(PARTITION_PATH)
                always = pc.equal(gone.column(OP), DELETE)
                marked = not pc.all(always).as_py()
                ordering = [gone.column(name) for name in self.rule.ordering if marked]
                writer.delete_block(
                    keys,
                    paths,
                    ordering or None,
                    always if ordering else None,
                    instant,
                    settings.schema_text,
                )
            return writer.close()

    def _placed(self, writer: LogFileWriter, rows: pa.Table, target: dict[str, Any]) -> pa.Table:
        """``rows`` of the next block. Where it is known which rows of the base file they change,
        they are in the order of these, and the block says it."""
        if self.stored_at is None or target["base_instant"] is None:
            return rows
        group = target["partition_path"], target["file_id"]
        at = self.stored_at.rows(*group, rows.column(RECORD_KEY))
        if at is None:
            return rows
        order = np.argsort(at)
        writer.at_rows(target["base_instant"], at[order])
        return rows if (order[1:] > order[:-1]).all() else rows.take(pa.array(order))

    def _pieces(self, data: pa.Table, target: dict[str, Any]) -> Iterator[tuple[pa.Table, bool]]:
        """Partial rows, and those that have to be whole: Spark Hudi can't read a partial row whose
        key is stored nowhere. The keys of the slice are read where the index does not say."""
        text = target["slice"]
        if text is None:
            yield data, False
            return
        keys = data.column(RECORD_KEY)
        known = np.zeros(data.num_rows, bool)
        for slice_ in unpack_slices(text):
            keys_only = self.rule.narrowed([RECORD_KEY])
            for rows in merged_rows(self.storage, self.file_format, keys_only, slice_):
                at = pc.index_in(rows.column(RECORD_KEY), value_set=flat(keys)).drop_null()
                known[np.asarray(at)] = True
        yield data.filter(pa.array(known)), False
        yield data.filter(pa.array(~known)), True
