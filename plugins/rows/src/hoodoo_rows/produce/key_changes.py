"""Key changes: the record keys that a write adds to a file group or removes from it.

The tasks that write files report them to participants that index all keys, in one stream with the
stats of the files: one evaluation gives both. A row is a stat, or a key with its file's number.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc
from attrs import define, field, frozen
from hoodoo.hookspecs.engine import Engine, Stream, Task, Workspace
from hoodoo.hookspecs.participant import KEY_CHANGES
from hoodoo.model.commit import WriteStat

from hoodoo_rows.produce.stats import STATS_SCHEMA, read_stats, stats_batch

# ``file`` numbers the files of one write. ``deleted``: the key was removed from the file.
WRITTEN = pa.schema([("stat", pa.binary()), *KEY_CHANGES])
# File groups that one task of an index write tells apart; a task writes far fewer files.
_FILES_PER_TASK = 1 << 24


@define
class KeyChanges:
    """Key changes of one task, or of one of its files after ``files`` others. Without ``tells``,
    stats alone, as STATS_SCHEMA."""

    tells: bool = False
    task: Task = Task()
    _files: int = 0
    _keys: list[tuple[pa.Array, bool]] = field(factory=list)

    @property
    def out_schema(self) -> pa.Schema:
        """The columns of :meth:`told`."""
        return WRITTEN if self.tells else STATS_SCHEMA

    def came(self, keys: pa.Array | pa.ChunkedArray) -> None:
        """Keys that the file now written holds, and its file group did not."""
        self._add(keys, False)

    def went(self, keys: pa.Array | pa.ChunkedArray) -> None:
        """Keys whose rows the write removed from the file group."""
        self._add(keys, True)

    def told(self, stat: WriteStat) -> Iterator[pa.RecordBatch]:
        """The rows about the file of ``stat``."""
        batch = stats_batch([stat])
        if not self.tells:
            yield batch
            return
        number = self.task.number * _FILES_PER_TASK + self._files
        self._files += 1
        text = json.dumps(batch.to_pylist()[0]).encode()
        yield _rows(pa.array([text], pa.binary()), pa.nulls(1, pa.string()), number, None)
        for keys, deleted in self._keys:
            yield _rows(pa.nulls(len(keys), pa.binary()), keys, number, deleted)
        self._keys = []

    def _add(self, keys: pa.Array | pa.ChunkedArray, deleted: bool) -> None:
        if self.tells and len(keys):
            chunks = keys.chunks if isinstance(keys, pa.ChunkedArray) else [keys]
            self._keys += [(chunk.cast(pa.string()), deleted) for chunk in chunks if len(chunk)]


def _rows(stats: pa.Array, keys: pa.Array, number: int, deleted: bool | None) -> pa.RecordBatch:
    count = len(keys)
    columns = [
        stats,
        keys,
        pa.repeat(pa.scalar(number, pa.int64()), count),
        pa.repeat(pa.scalar(deleted, pa.bool_()), count),
    ]
    return pa.record_batch(columns, schema=WRITTEN)


@frozen
class WriteResult:
    """What a write made. ``keys``: a stream of KEY_CHANGES, or None if no participant needs it;
    ``files``: the file of each number in it. ``direct``: tasks wrote new files, without keys."""

    stats: tuple[WriteStat, ...]
    keys: Stream | None = None
    files: dict[int, WriteStat] = field(factory=dict)
    direct: bool = False


def collect_written(engine: Engine, stream: Stream, workspace: Workspace) -> WriteResult:
    """Evaluate the stream of a write whose tasks tell keys, once."""
    staged = engine.stage(stream, workspace)
    found = engine.collect(engine.map(staged, _OnlyStats()))
    files: dict[int, WriteStat] = {}
    for number, text in zip(
        *(found.column(n).to_pylist() for n in found.schema.names), strict=True
    ):
        files[number] = stat_of(text)
    stats = tuple(sorted(files.values(), key=lambda stat: stat.path))
    return WriteResult(stats, engine.map(staged, OnlyKeys()), files)


def stat_of(text: str | bytes) -> WriteStat:
    """The stat of a row of WRITTEN."""
    (stat,) = read_stats(pa.Table.from_pylist([json.loads(text)], STATS_SCHEMA))
    return stat


@frozen
class _OnlyStats:
    @property
    def out_schema(self) -> pa.Schema:
        """The number of a file and its stat."""
        return pa.schema([("file", pa.int64()), ("stat", pa.binary())])

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch.filter(pc.is_valid(batch.column("stat"))).select(self.out_schema.names)


@frozen
class OnlyKeys:
    """Step: of rows that have the columns of WRITTEN, those about keys."""

    @property
    def out_schema(self) -> pa.Schema:
        """The rows of an index."""
        return KEY_CHANGES

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            keys = batch.column("record_key")
            kept = batch if not keys.null_count else batch.filter(pc.is_valid(keys))
            yield kept.select(KEY_CHANGES.names)
