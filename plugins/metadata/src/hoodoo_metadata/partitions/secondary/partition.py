"""Partitions ``secondary_index_*``: which record keys have a value of a column."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve, frozen
from hoodoo.errors import CommitConflictError
from hoodoo.hookspecs.engine import Stream, Task
from hoodoo.hookspecs.file_format import BaseFileFormat
from hoodoo.hookspecs.participant import KEY_CHANGES, TableState
from hoodoo.model.commit import WriteStat
from hoodoo.model.config import TableConfig
from hoodoo.model.filegroup import BaseFile, FileSlice, LogFile
from hoodoo.model.meta import RECORD_KEY, with_meta
from hoodoo.model.payload import pack_slices, unpack_slices
from hoodoo.storage.api import Storage
from hoodoo.timeline.names import parse_path
from hoodoo_rows.api import Batches, MergeRule, NewFiles, WriteTarget

from hoodoo_metadata.life.begin import rows_by_path
from hoodoo_metadata.partitions.api import Beginning, Missed, OfKeys, Work
from hoodoo_metadata.partitions.record_index.groups import IndexGroups
from hoodoo_metadata.partitions.record_index.rows import GroupFiles, places, write_index_rows
from hoodoo_metadata.partitions.secondary.rows import LIVE, entry_keys, groups_of, secondaries
from hoodoo_metadata.table.combine import newest_merged
from hoodoo_metadata.table.layout import group_id
from hoodoo_metadata.table.schema import record_schema

_TASKS_PER_CORE = 2
Pair = tuple[FileSlice | None, FileSlice | None]


@frozen
class SecondaryPartition(OfKeys):
    """What the file slices that an action changes held before and hold after it, told as what came
    and went. See :class:`hoodoo_metadata.partitions.api.Partition`."""

    name: str
    keys: bool = True
    stored_keys: bool = True
    noted: bool = True
    sought: bool = True

    def begin(self, beginning: Beginning) -> tuple[WriteStat, ...]:
        state, table = beginning.state, beginning.table
        count = beginning.size.groups(sum(rows_by_path(state, beginning.size).values()))
        files = GroupFiles(
            table.storage,
            beginning.pending,
            record_schema(state.config.version),
            self._groups(state.config, count),
            base=True,
            partition=self.name,
            value=LIVE,
        )
        whole: list[Pair] = [(None, slice_) for slice_ in state.slices]
        column = secondaries(state.config)[self.name]
        rows = self._changes(state, state.schema, whole, beginning.pending.requested, column)
        return write_index_rows(state.engine, rows, places([]), files, state.serializer)[0]

    def write(self, work: Work) -> tuple[WriteStat, ...]:
        keys = work.change.keys
        if keys is None or keys.moves:  # rows that move keep their values
            return ()
        before = {(s.partition_path, s.file_id): s for s in keys.table.slices}
        pairs: list[Pair] = list(_changed(before, work.change.stats))
        pairs += [(slice_, None) for slice_ in keys.replaced]
        return self._put(work, keys.table, pairs)

    def catch_up(self, missed: Missed) -> tuple[WriteStat, ...]:
        keys = missed.work.change.keys
        assert keys is not None
        now = set(keys.table.slices)
        pairs: list[Pair] = [(None, s) if s in now else (s, None) for s in missed.slices]
        return self._put(missed.work, keys.table, pairs)

    def merged(
        self, storage: Storage, slice_: FileSlice, schema_text: str
    ) -> Iterator[pa.RecordBatch]:
        return newest_merged(storage, slice_, schema_text)

    def _put(self, work: Work, state: TableState, pairs: Sequence[Pair]) -> tuple[WriteStat, ...]:
        count, begun = work.groups(self.name), work.begun
        if not count:
            raise CommitConflictError(
                f"{work.table.storage.root}/{self.name}",
                "has been taken away since this write looked at the table.",
                "Repeat the write.",
            )
        if not pairs:
            return ()
        files = GroupFiles(
            work.table.storage,
            begun.pending,
            begun.schema_text,
            self._groups(state.config, count),
            base=False,
            partition=self.name,
            places=begun.places_of(self.name),
            value=LIVE,
        )
        # Its schema has the columns that this write brings; the table as it was may lack them.
        # Another writer may have noted the index since the table was looked at.
        column = secondaries(work.table.data.config)[self.name]
        rows = self._changes(state, work.change.schema, pairs, begun.pending.requested, column)
        return write_index_rows(state.engine, rows, places([]), files, state.serializer)[0]

    def _groups(self, config: TableConfig, count: int) -> IndexGroups:
        return groups_of(config, (group_id(self.name, number) for number in range(count)))

    def _changes(
        self, state: TableState, schema: pa.Schema, pairs: Sequence[Pair], instant: str, column: str
    ) -> Stream:
        """KEY_CHANGES whose keys are those of entries. A file slice is read in the columns that it
        takes, with the log blocks of ``instant``, which is not completed."""
        assert isinstance(state, WriteTarget)
        rule = state.merge_rule(with_meta(schema)).narrowed([RECORD_KEY, column])
        rule = evolve(rule, visible=rule.visible.with_own(instant))
        payloads = [
            json.dumps([pack_slices([s] if s else []).decode() for s in pair]).encode()
            for pair in pairs
        ]
        step = _Changes(state.storage, state.file_format, rule, column)
        return state.engine.map(state.engine.tasks(payloads), step)


def _changed(
    before: dict[tuple[str, str], FileSlice], stats: Sequence[WriteStat]
) -> Iterator[Pair]:
    """The file slices that ``stats`` tell of, as they were and as they will be."""
    after: dict[tuple[str, str], FileSlice] = {}
    for stat in stats:
        file = parse_path(stat.path, stat.file_size)
        key = (stat.partition_path, stat.file_id)
        if isinstance(file, BaseFile):
            logs = after[key].log_files if key in after else ()
            after[key] = FileSlice(*key, file.instant, file, logs)
        elif isinstance(file, LogFile) and not file.suffix:
            known = after.get(key) or before.get(key) or FileSlice(*key, file.instant)
            after[key] = evolve(known, log_files=(*known.row_logs, file))
    for key, slice_ in after.items():
        yield before.get(key), slice_


@frozen
class _Changes:
    """Step: pairs of slices in, each as it was and as it is; entries that came, and that went,
    out."""

    storage: Storage
    file_format: BaseFileFormat
    rule: MergeRule
    column: str

    @property
    def out_schema(self) -> pa.Schema:
        return KEY_CHANGES

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for payload in batch.column("payload").to_pylist():
                old, new = (self._keys(text) for text in json.loads(payload))
                for keys, others, deleted in ((new, old, False), (old, new, True)):
                    if others is not None and len(others):
                        keys = keys.filter(pc.invert(pc.is_in(keys, value_set=others)))
                    if len(keys):
                        yield NewFiles.key_changes(keys, 0, deleted)

    def _keys(self, slices: str) -> pa.Array:
        parts = [
            entry_keys(rows.column(self.column), rows.column(RECORD_KEY))
            for slice_ in unpack_slices(slices.encode())
            for rows in Batches.merged(self.storage, self.file_format, self.rule, slice_)
        ]
        return pa.concat_arrays(parts) if parts else pa.array([], pa.string())
