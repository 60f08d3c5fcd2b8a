"""Compact: a file slice becomes one base file. The work of a compaction's tasks."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import pyarrow as pa
from attrs import asdict, define, frozen
from hoodoo.hookspecs.engine import Task
from hoodoo.hookspecs.file_format import BaseFileFormat, BaseFileReader, BaseFileWriter
from hoodoo.model.commit import WriteStat
from hoodoo.model.filegroup import FileSlice, path_of
from hoodoo.model.log_block import Damage
from hoodoo.model.meta import FILE_NAME, RECORD_KEY, repeated
from hoodoo.model.payload import pack_slices, unpack_slices
from hoodoo.storage.api import Storage, of_size
from hoodoo.storage.temporaries import scratch_file
from hoodoo.timeline.markers import CREATE, MERGE
from hoodoo_rows.api import Batches, LogRows, MergeRule, Pending, StoredFiles

RESULT = pa.schema([("stat", pa.binary()), ("damages", pa.list_(pa.string()))])


@frozen
class Job:
    """One slice, and the name of the base file that it becomes."""

    slice: FileSlice
    file_name: str

    @property
    def path(self) -> str:
        return path_of(self.slice.partition_path, self.file_name)


def payload(jobs: Sequence[Job]) -> bytes:
    slices = pack_slices([job.slice for job in jobs]).decode()
    return json.dumps([[job.file_name for job in jobs], slices]).encode()


def jobs_of(data: bytes) -> list[Job]:
    """The inverse of :func:`payload`."""
    names, slices = json.loads(data)
    found = unpack_slices(slices.encode())
    return [Job(slice_, name) for slice_, name in zip(found, names, strict=True)]


@define
class _Counts:
    kept: int = 0
    updates: int = 0
    deletes: int = 0
    inserts: int = 0


@frozen
class MergesSlices(ABC):
    """Step: payloads of jobs in, one row of RESULT out for each file written. Rows keep their
    commit time and sequence number.

    Damaged bytes of log files don't stop it: every read skips the same bytes, so no row changes,
    and they stay in their file, which compaction does not delete. Hudi does the same. They are
    reported with the result, and counted in the commit."""

    storage: Storage
    rule: MergeRule
    pending: Pending

    @property
    def out_schema(self) -> pa.Schema:
        return RESULT

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for data in batch.column("payload").to_pylist():
                for job in jobs_of(data):
                    stat, logs = self._compact(job)
                    texts = None if stat is None else json.dumps(asdict(stat)).encode()
                    columns = [
                        pa.array([texts], pa.binary()),
                        pa.array([[str(d) for d in logs.damages]], pa.list_(pa.string())),
                    ]
                    yield pa.record_batch(columns, schema=RESULT)

    @abstractmethod
    def _compact(self, job: Job) -> tuple[WriteStat | None, LogRows]:
        """What was written, if there was anything, and what was read."""


@frozen
class CompactSlices(MergesSlices):
    """Base files, whose rows get the new file's name. The base file of a slice is streamed; the
    rows of its log files are held."""

    file_format: BaseFileFormat

    def _compact(self, job: Job) -> tuple[WriteStat, LogRows]:
        slice_ = job.slice
        base = slice_.base_file
        with scratch_file(self.storage) as local, ExitStack() as stack:
            reader = None
            if base is not None:
                reader = stack.enter_context(self.file_format.reader(self.storage, base.path))
                of_size(reader, base.path, base.size)
            logs = Batches.rows_that_meet(self.storage, slice_, self.rule, reader)
            waiting = 0 if logs.waiting is None else logs.waiting.rows.num_rows
            expected = waiting + (0 if reader is None else reader.num_rows)
            writer = self.file_format.writer(local, self.rule.schema, expected, reader)
            counts = self._write(writer, reader, logs, job.file_name)
            size = writer.close()
            kind = CREATE if base is None else MERGE
            size = self.pending.put(
                self.storage, slice_.partition_path, job.file_name, local, kind, size
            )
        return _stat(job, counts, logs, size), logs

    def _write(
        self,
        writer: BaseFileWriter,
        reader: BaseFileReader | None,
        logs: LogRows,
        name: str,
    ) -> _Counts:
        counts, waiting, places = _Counts(), logs.waiting, None
        if waiting is not None and reader is not None:
            places = Batches.places_of(waiting, self._keys(reader))
        for batch in () if reader is None else Batches.stored(reader, self.rule.schema):
            stays = batch
            if waiting is not None and places is not None:
                met = waiting.meet(batch, places.take(batch.num_rows))
                stays = met.kept
                counts.deletes += met.deleted
                if met.winners is not None and met.winners.num_rows:
                    counts.updates += met.winners.num_rows
                    writer.write(self._named(met.winners, name), known=True)
            if stays.num_rows:
                counts.kept += stays.num_rows
                writer.write(Batches.renamed(stays, name), known=True)
        rest = None if waiting is None else waiting.rest()
        if rest is not None and rest.num_rows:
            counts.inserts += rest.num_rows
            writer.write(self._named(rest, name))
        return counts

    def _keys(self, reader: BaseFileReader) -> Iterator[pa.Array]:
        """The record keys of a base file, made from the types that its rows get."""
        keys = self.rule.keys
        names = {RECORD_KEY} if keys is None else {*StoredFiles.key_columns(keys, self.rule.schema)}
        schema = pa.schema([field for field in self.rule.schema if field.name in names])
        return map(self.rule.record_keys, Batches.stored(reader, schema))

    def _named(self, rows: pa.Table, name: str) -> pa.Table:
        names = self.rule.schema.names
        columns = [
            repeated(name, rows.num_rows) if n == FILE_NAME else rows.column(n) for n in names
        ]
        return pa.Table.from_arrays(columns, names=names)


def read_result(table: pa.Table) -> tuple[tuple[WriteStat, ...], tuple[str, ...]]:
    """(stats sorted by path, damages) of the collected rows."""
    written = table.column("stat").drop_null().to_pylist()
    found: list[Mapping[str, Any]] = [json.loads(data) for data in written]
    stats = [WriteStat(**{**raw, "log_files": tuple(raw["log_files"])}) for raw in found]
    damages = [text for texts in table.column("damages").to_pylist() for text in texts]
    return tuple(sorted(stats, key=lambda s: s.path)), tuple(sorted(damages))


def _stat(job: Job, counts: _Counts, logs: LogRows, size: int) -> WriteStat:
    slice_, base = job.slice, job.slice.base_file
    return WriteStat(
        partition_path=slice_.partition_path,
        file_id=slice_.file_id,
        path=job.path,
        prev_commit=slice_.instant,
        prev_base_file=base.name if base is not None else None,
        num_writes=counts.kept + counts.updates + counts.inserts,
        num_inserts=counts.inserts,
        num_updates=counts.updates,
        num_deletes=counts.deletes,
        file_size=size,
        extra=read_counts(slice_, logs),
    )


def read_counts(slice_: FileSlice, logs: LogRows) -> dict[str, int]:
    """What a write stat says of the log files that were read."""
    return {
        "totalLogRecords": logs.rows,
        "totalLogFilesCompacted": len(slice_.log_files),
        "totalLogSizeCompacted": sum(log.size for log in slice_.log_files),
        "totalUpdatedRecordsCompacted": 0 if logs.waiting is None else logs.waiting.rows.num_rows,
        "totalLogBlocks": logs.blocks,
        "totalCorruptLogBlock": _corrupt_blocks(logs.damages),
    }


def _corrupt_blocks(damages: Sequence[Damage]) -> int:
    """Stretches of bytes that were skipped; the end of a block and the missing end of its file are
    one."""
    skipped = [damage for damage in damages if damage.size]
    ends = {(damage.path, damage.offset + damage.size) for damage in skipped}
    return sum((damage.path, damage.offset) not in ends for damage in skipped)
