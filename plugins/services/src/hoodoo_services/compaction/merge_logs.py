"""Log compaction of a slice: the blocks of its log files become the blocks of one log file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen
from hoodoo.hookspecs.log_format import LogFileWriter
from hoodoo.hookspecs.merger import delete_mark
from hoodoo.model.commit import WriteStat
from hoodoo.model.filegroup import FileSlice
from hoodoo.model.meta import RECORD_KEY, emptied, repeated
from hoodoo.storage.temporaries import scratch_file
from hoodoo.timeline.names import parse_data_file
from hoodoo_rows.api import Batches, LogRows, NewFiles
from hoodoo_rows.model.internal_row import DELETE, DELETE_ROW, OP, PUT

from hoodoo_services.compaction.merge_slice import Job, MergesSlices, read_counts


@frozen
class CompactLogs(MergesSlices):
    """A log file of each slice: the base file is not read. Its blocks say which instants they
    stand for; the files of these stay.

    What the log rows of a key have become is written as it is: a row, whole or with the columns
    that it has, or a delete. So a reader that goes on from it comes to the same result."""

    settings: NewFiles.LogSettings

    def _compact(self, job: Job) -> tuple[WriteStat | None, LogRows]:
        slice_ = job.slice
        if self.settings.notes_rows:
            logs = Batches.numbered_rows(self.storage, slice_, self.rule)
        else:
            logs = Batches.log_rows(self.storage, slice_.log_files, self.rule)
        waiting = logs.waiting
        if waiting is None:  # all of them were rolled back, or are empty
            return None, logs
        op = waiting.rows.column(OP)
        stays = pc.equal(op, PUT)
        # Mergers may look at the columns of a row that is marked as deleted.
        marked = Batches.marked_operations(waiting.rows, delete_mark(self.rule.merger))
        stays = pc.or_(stays, pc.equal(marked, DELETE_ROW))
        path, marker = slice_.partition_path, self.settings.marker
        with scratch_file(self.storage) as local:
            size = self._blocks(local, logs, stays, slice_)
            size = self.pending.put(self.storage, path, job.file_name, local, marker, size)
        file = parse_data_file(path, job.file_name)
        assert file is not None
        puts = pc.sum(pc.equal(op, PUT)).as_py() or 0
        by_slice = file.instant != self.pending.requested
        base = slice_.base_file
        return WriteStat(
            partition_path=slice_.partition_path,
            file_id=slice_.file_id,
            path=job.path,
            prev_commit=slice_.instant,
            num_writes=pc.sum(stays).as_py() or 0,
            num_updates=puts,
            num_deletes=waiting.rows.num_rows - puts,
            file_size=size,
            base_file=base.name if base is not None and by_slice else "",
            log_version=getattr(file, "version", 1),
            log_files=(*(x.name for x in slice_.log_files if by_slice), file.name),
            extra=read_counts(slice_, logs),
        ), logs

    def _blocks(
        self,
        local: str,
        logs: LogRows,
        stays: pa.ChunkedArray,
        slice_: FileSlice,
    ) -> int:
        settings, instant, blocks = self.settings, self.pending.requested, self.settings.blocks
        waiting = logs.waiting
        assert settings.format is not None and blocks is not None and waiting is not None
        gone = waiting.rows.filter(pc.invert(stays))
        with settings.format.writer(local, {blocks.kind: blocks}) as writer:
            writer.stands_for(logs.instants)
            for places, lacking in _shapes(stays, waiting.absent):
                names = [n for n in self.rule.schema.names if n not in lacking]
                rows = _placed(writer, waiting.rows.take(places), slice_).select(names)
                writer.data_block(
                    blocks.kind,
                    rows if settings.filled is None else emptied(rows, settings.filled),
                    instant=instant,
                    table_name=settings.table_name,
                    partial=bool(lacking),
                )
            if gone.num_rows:
                gone = _placed(writer, gone, slice_)
                keys = NewFiles.delete_block_keys(settings.virtual, gone.column(RECORD_KEY))
                ordering = [gone.column(name) for name in self.rule.ordering]
                always = pc.equal(gone.column(OP), DELETE) if ordering else None
                paths = repeated(slice_.partition_path, gone.num_rows)
                writer.delete_block(keys, paths, ordering or None, always, instant)
            return writer.close()


def _placed(writer: LogFileWriter, rows: pa.Table, slice_: FileSlice) -> pa.Table:
    """``rows`` of the next block; where it is known which rows of the base file they change, in the
    order of these, which the block says."""
    base = slice_.base_file
    if base is None or Batches.POSITION not in rows.schema.names:
        return rows
    rows = rows.sort_by(Batches.POSITION)
    writer.at_rows(base.instant, rows.column(Batches.POSITION).to_numpy())
    return rows


def _shapes(
    stays: pa.ChunkedArray, absent: Mapping[str, npt.NDArray[np.bool_]]
) -> Iterator[tuple[pa.Array, frozenset[str]]]:
    """The places of rows that have the same columns, with the columns that these lack."""
    places = np.flatnonzero(np.asarray(stays))
    if not absent or not len(places):
        if len(places):
            yield pa.array(places), frozenset()
        return
    names = np.array(sorted(absent))
    masks = np.stack([absent[name][places] for name in names], axis=1)
    shapes, which = np.unique(masks, axis=0, return_inverse=True)
    for number, shape in enumerate(shapes):
        yield pa.array(places[which.ravel() == number]), frozenset(names[shape].tolist())
