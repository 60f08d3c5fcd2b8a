"""Steps over files of the source: what their footers say, their keys, and the skeleton files that
are made of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import count, islice

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen
from hoodoo.errors import DataError, MissingColumnError, NullKeyError
from hoodoo.hookspecs.engine import PART, SLOT, Engine, Stream, Task
from hoodoo.hookspecs.file_format import BaseFileFormat, BaseFileReader
from hoodoo.hookspecs.key_generator import KeyGenerator, record_key_columns, refuse_ambiguous
from hoodoo.model.commit import WriteStat
from hoodoo.model.filegroup import BaseFile
from hoodoo.model.meta import COMMIT_SEQNO, META_COLUMNS, META_FIELDS, repeated
from hoodoo.model.payload import Payload
from hoodoo.storage.api import Storage
from hoodoo.storage.temporaries import scratch_file
from hoodoo.timeline.markers import CREATE
from hoodoo.timeline.names import parse_path
from hoodoo_rows.api import Batches as RowBatches
from hoodoo_rows.api import NewFiles, Pending, Reads

from hoodoo_bootstrap.folder import PathColumns, with_values
from hoodoo_bootstrap.index import SourceFile
from hoodoo_bootstrap.zipped import changed

Batches = Iterator[pa.RecordBatch]
FOOTERS = pa.schema([("path", pa.string()), ("rows", pa.int64()), ("schema", pa.binary())])
_KEYS = pa.schema(
    [
        (PART, pa.int32()),
        (SLOT, pa.int32()),
        ("record_key", pa.string()),
        ("partition_path", pa.string()),
    ]
)
TWICE = pa.schema(
    [("record_key", pa.string()), ("partition_path", pa.string()), ("rows", pa.int64())]
)
_SHOWN = 10  # keys that occur twice, of each task
# Files, and rows, in a batch: one of a few rows takes some KiB, as much as hundreds of them.
_AT_ONCE, _ROWS_AT_ONCE = 1024, 1 << 14


def tasks(engine: Engine, files: Sequence[SourceFile], most: int) -> Stream:
    """At most ``most`` tasks over ``files``, each with its number among them."""
    groups = Reads.dealt(files, min(most, max(1, 4 * engine.parallelism)))
    numbers = count()
    return engine.tasks(
        [
            Payload.of(
                json.dumps([[f.path, f.size, next(numbers)] for f in group]).encode(),
                sum(f.size for f in group),
            )
            for group in groups
        ]
    )


def _files(batches: Batches) -> Iterator[tuple[SourceFile, int]]:
    for batch in batches:
        for payload in batch.column("payload").to_pylist():
            for path, size, number in json.loads(payload):
                yield SourceFile(path, size), number


@frozen
class ReadFooters:
    """Step: rows and columns of each file. The schema is empty where it is that of the file
    before."""

    source: Storage
    file_format: BaseFileFormat
    out_schema = FOOTERS

    def __call__(self, batches: Batches, task: Task) -> Batches:
        files = _files(batches)
        before = b""
        while some := list(islice(files, _AT_ONCE)):
            rows = []
            for file, _number in some:
                with self.file_format.reader(self.source, file.path) as reader:
                    text = reader.schema.serialize().to_pybytes()
                    rows.append((file.path, reader.num_rows, b"" if text == before else text))
                    before = text
            yield pa.record_batch(list(zip(*rows, strict=True)), schema=FOOTERS)


@frozen
class SourceKeys:
    """The record keys of a file of the source. Rows have to lie in their partition's folder, but
    for those of the folders that are ``copied``. ``schema``: the table's own columns."""

    source: Storage
    file_format: BaseFileFormat
    generator: KeyGenerator
    columns: PathColumns
    schema: pa.Schema
    copied: frozenset[str] = frozenset()

    def of(self, file: SourceFile, reader: BaseFileReader) -> Iterator[tuple[pa.Array, pa.Array]]:
        """Keys and partition paths of each batch in file order. MissingColumnError, NullKeyError,
        or DataError for a row that lies in another folder than its partition's."""
        obj = f"source file {self.source.root}/{file.path}"
        values = self.columns.of(file.folder, reader.schema.names)
        tops = [*record_key_columns(self.generator), *self._partition_columns()]
        names = list(dict.fromkeys(tops))
        for name in names:
            if name not in reader.schema.names and name not in values:
                raise MissingColumnError(
                    obj,
                    f"lacks the column {name}, of which the record key or the partition path "
                    "is made.",
                    "Name columns that all files have: record_key=..., partition_by=....",
                )
        kinds = pa.schema([self.schema.field(name) for name in names])
        for batch in reader.batches([name for name in names if name not in values]):
            rows = RowBatches.widened(with_values(names, batch, values), kinds, file.path)
            try:
                keys = self.generator.record_keys(rows)
            except NullKeyError as error:
                raise NullKeyError(f"{obj}: {error.obj}", error.rule, error.fix) from error
            refuse_ambiguous(self.generator, rows)
            paths = self.generator.partition_paths(rows)
            if file.folder not in self.copied:
                self._check_places(obj, file.folder, paths)
            yield keys, paths

    def _partition_columns(self) -> list[str]:
        return [name.split(".")[0] for name in self.generator.partition_fields]

    def _check_places(self, obj: str, folder: str, paths: pa.Array) -> None:
        here = pc.equal(paths, folder)
        if not pc.all(here).as_py():
            other = paths.filter(pc.invert(here))[0].as_py()
            raise DataError(
                obj,
                f"has a row of partition path {other!r}, and lies in the folder {folder!r}.",
                "Name as partition_by the columns whose values the folders are, one for each "
                "level; or let these partitions "
                "be copied: mode FULL_RECORD.",
            )


@frozen
class RouteKeys:
    """Step: the keys of the files, equal ones into one part."""

    keys: SourceKeys
    parts: int
    anywhere: bool
    out_schema = _KEYS

    def __call__(self, batches: Batches, task: Task) -> Batches:
        held: list[pa.RecordBatch] = []
        rows = 0
        for batch in self._keys(batches):
            held.append(batch)
            rows += batch.num_rows
            if rows >= _ROWS_AT_ONCE:
                yield from _joined(held)
                held, rows = [], 0
        if held:
            yield from _joined(held)

    def _keys(self, batches: Batches) -> Batches:
        for file, _number in _files(batches):
            with self.keys.file_format.reader(self.keys.source, file.path) as reader:
                for keys, paths in self.keys.of(file, reader):
                    slots = pa.array(np.zeros(len(keys), np.int32))
                    place = pa.array([""]).take(slots) if self.anywhere else paths
                    columns = [NewFiles.part_of(keys, self.parts), slots, keys, place]
                    yield pa.record_batch(columns, schema=_KEYS)


def _joined(batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    joined: list[pa.RecordBatch] = pa.Table.from_batches(batches).combine_chunks().to_batches()
    return joined


@frozen
class FindTwice:
    """Step: the keys that occur more than once in a part."""

    out_schema = TWICE

    def __call__(self, batches: Batches, task: Task) -> Batches:
        found = pa.Table.from_batches(list(batches), _KEYS)
        by = ["record_key", "partition_path"]
        counted = found.group_by(by).aggregate([([], "count_all")])
        twice = counted.filter(pc.greater(counted.column("count_all"), 1)).slice(0, _SHOWN)
        columns = [twice.column(name) for name in (*by, "count_all")]
        yield from pa.table(columns, schema=TWICE).to_batches()


@frozen
class MakeSkeletons:
    """Step: a skeleton file for each file, and its stat. Its name follows from the ``seed`` of the
    bootstrap and the number of the file, so that a task may run twice."""

    keys: SourceKeys
    storage: Storage
    pending: Pending
    seed: str
    out_schema = NewFiles.STATS

    def __call__(self, batches: Batches, task: Task) -> Batches:
        yield from NewFiles.stats_batches(self._made(*file) for file in _files(batches))

    def _made(self, file: SourceFile, number: int) -> WriteStat:
        keys, requested, rows = self.keys, self.pending.requested, 0
        file_id = NewFiles.uuid(requested, self.seed, number)
        token, extension = f"{number}-0-0", keys.file_format.extension
        base = BaseFile(file.folder, file_id, requested, token, extension)
        with (
            keys.file_format.reader(keys.source, file.path) as reader,
            scratch_file(self.storage) as local,
        ):
            writer = keys.file_format.writer(local, pa.schema(META_FIELDS), reader.num_rows)
            for found, _paths in keys.of(file, reader):
                writer.write(_meta_rows(found, base, requested, rows))
                rows += len(found)
            size = writer.close()
            if rows != reader.num_rows:
                raise changed(file.path, f"has {rows} rows, and its footer says {reader.num_rows}.")
            size = self.pending.put(self.storage, file.folder, base.name, local, CREATE, size)
        return WriteStat(
            partition_path=file.folder,
            file_id=base.file_id,
            path=base.path,
            num_writes=rows,
            num_inserts=rows,
            file_size=size,
        )


def source_of(stat: WriteStat, files: Sequence[SourceFile]) -> tuple[BaseFile, SourceFile]:
    """The skeleton file that ``stat`` names, and that of ``files`` it was made of."""
    base = parse_path(stat.path)
    assert isinstance(base, BaseFile)
    return base, files[int(base.write_token.partition("-")[0])]


def _meta_rows(keys: pa.Array, file: BaseFile, requested: str, start: int) -> pa.RecordBatch:
    count = len(keys)
    numbers = pa.array(np.arange(start, start + count)).cast(pa.string())
    place = f"{requested}_{file.write_token.split('-')[0]}"
    columns = {
        "_hoodie_commit_time": repeated(requested, count),
        COMMIT_SEQNO: pc.binary_join_element_wise(place, numbers, "_"),
        "_hoodie_record_key": keys,
        "_hoodie_partition_path": repeated(file.partition_path, count),
        "_hoodie_file_name": repeated(file.name, count),
    }
    return pa.RecordBatch.from_arrays([columns[n] for n in META_COLUMNS], names=list(META_COLUMNS))
