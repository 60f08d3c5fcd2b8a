"""Makes the segments that are missing: each in a task, from the rows of its base file."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
from attrs import frozen
from hoodoo.errors import ConfigError, SchemaError
from hoodoo.hookspecs.engine import Engine, Task
from hoodoo.hookspecs.read_source import ReadSource
from hoodoo.model.filegroup import FileSlice
from hoodoo.model.payload import unpack_slices
from hoodoo.storage.api import Storage
from hoodoo_rows.api import Reads, Scan, StoredFiles

from hoodoo_vector_index.columns import Indexed
from hoodoo_vector_index.plugin import COLUMNS
from hoodoo_vector_index.segment import Segment
from hoodoo_vector_index.segments import forget, path_of, stored

KEY = "_hoodie_record_key"
_MADE = pa.schema([("segments", pa.int64())])


def bring_up(
    source: ReadSource,
    engine: Callable[[], Engine],
    each: tuple[Indexed, ...],
    least: int,
    again: bool = False,
) -> tuple[str, ...]:
    """Make the segments of base files that have none, and delete those of files that are not among
    the newest any more. ``again``: make all of them. Returns what was done. Writers may go on: a
    file that comes meanwhile is searched whole until the next action. ConfigError for a column that
    is not there; the others are done."""
    done: list[str] = []
    wrong: list[ConfigError] = []
    for one in each:
        if again:
            source.storage.delete_prefix(one.folder)
            forget(source.storage)
        try:
            done += _bring_up(source, engine, one, least)
        except ConfigError as error:  # there is no such column: the others are indexed
            wrong.append(error)
    if wrong:
        raise wrong[0]
    return tuple(done)


def _bring_up(
    source: ReadSource, engine: Callable[[], Engine], one: Indexed, least: int
) -> Iterator[str]:
    scan = scan_of(source, one)
    have = stored(source.storage, one)
    slices = [s for s in plain(scan, one) if s.base_file and s.base_file.name not in have]
    if slices:
        runs, step = engine(), _Make(scan.step, source.storage, one, least)
        payloads = Reads.payloads(slices, runs.parallelism)
        runs.collect(runs.map(runs.tasks(payloads), step))
        yield f"indexed {len(slices)} files of {one.column} ({one.metric})"
    newest = max((s.instant for s in scan.plan.slices), default="")
    names = {s.base_file.name for s in scan.plan.slices if s.base_file}
    # A file that is younger than all that this process has seen is another writer's.
    gone = [name for name in have - names if name.rpartition("_")[2] <= f"{newest}~"]
    for name in gone:
        source.storage.delete(f"{one.folder}/{name}")
    if gone:
        yield f"forgot {len(gone)} files of {one.column} ({one.metric})"


def scan_of(source: ReadSource, one: Indexed) -> Scan:
    """The keys and the vectors of the newest rows. ConfigError if there is no such column."""
    try:
        return Scan.of(source, columns=[KEY, one.column])
    except SchemaError as error:
        raise ConfigError(
            f"option {COLUMNS.key}",
            f"names {one.column}, which {error.rule}",
            'Name others: table.run("index_vectors", columns="embedding cosine").',
        ) from error


def plain(scan: Scan, one: Indexed) -> list[FileSlice]:
    """Slices whose rows are those of their base file, which has the column under its name."""
    config = scan.source.config
    if not config.populate_meta_fields:
        return []  # no record keys are stored, and rows are named by them
    history = StoredFiles.history(scan.plan.file_format)
    names = (lambda _s: None) if history is None else (lambda s: history.names(s.instant))
    found = [s for s in scan.plan.slices if s.base_file is not None and not s.row_logs]
    return [s for s in found if (n := names(s)) is None or not n.moves(one.column)]


@frozen
class _Make:
    """Step: packed slices into the number of segments that were stored."""

    reader: Callable[..., object]
    storage: Storage
    indexed: Indexed
    least: int

    @property
    def out_schema(self) -> pa.Schema:
        return _MADE

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for payload in batch.column(Reads.PAYLOAD):
                slices = unpack_slices(payload.as_py())
                for one in slices:
                    self._make(one)
                yield pa.record_batch([[len(slices)]], schema=_MADE)

    def _make(self, slice_: FileSlice) -> None:
        file = slice_.base_file
        assert file is not None
        made = self._segment(slice_, file.size)
        self.storage.put_if_absent(path_of(self.indexed, file), made.to_bytes())

    def _segment(self, slice_: FileSlice, size: int) -> Segment:
        keys, vectors, dimension = [], [], 0
        for batch in self.reader.rows(slice_):  # type: ignore[attr-defined]
            batch = batch.filter(batch.column(1).is_valid())
            lists = batch.column(1)
            lengths = lists.value_lengths() if hasattr(lists, "value_lengths") else None
            values = lists.flatten()
            dimension = dimension or (len(values) // batch.num_rows if batch.num_rows else 0)
            ragged = len(values) != dimension * batch.num_rows or values.null_count
            if lengths is not None and not ragged and batch.num_rows:
                ragged = int(pa.compute.min(lengths).as_py()) != dimension
            if ragged:
                return Segment(size, 0, "vectors of different lengths, or with null")
            keys.append(batch.column(0).cast(pa.string()))
            with np.errstate(over="ignore"):
                numbers = values.to_numpy(zero_copy_only=False).astype(np.float32)
            vectors.append(numbers.reshape(-1, dimension) if dimension else None)
        there = [v for v in vectors if v is not None and len(v)]
        if not there:
            return Segment(size, 0, "no vectors")
        names = pa.concat_arrays([k for k in keys if len(k)])
        return Segment.of(size, self.indexed.metric, names, np.concatenate(there), self.least)
