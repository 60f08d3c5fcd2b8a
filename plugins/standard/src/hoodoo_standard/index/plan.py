"""How the base files of a lookup are spread over tasks, and how a task reads their keys."""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any, Protocol, TypeGuard

import pyarrow as pa
from attrs import astuple, frozen
from hoodoo.hookspecs.engine import Engine, Stream
from hoodoo.hookspecs.file_format import BaseFileFormat, BaseFileReader, FindsValues
from hoodoo.hookspecs.index import IndexContext
from hoodoo.hookspecs.key_generator import KeyGenerator
from hoodoo.model.filegroup import BaseFile
from hoodoo.model.meta import RECORD_KEY
from hoodoo.model.payload import Payload
from hoodoo.storage.api import Storage, of_size

# A task costs about 0.1 s to start, so there are few; a file of another size evens out over three
# rounds of them.
_ROUNDS = 3
# Opening a file costs about as much as reading this many bytes of keys.
_OPENING = 1 << 20


@frozen
class KeyFile:
    """One base file to look into; ``number`` is its place in the list that was spread, ``size`` its
    bytes."""

    path: str
    partition_path: str
    file_id: str
    number: int
    size: int


@frozen
class KeyReader:
    """Reads record keys of base files; from the stored column, or with a key generator from the
    columns that it needs (virtual keys)."""

    storage: Storage
    file_format: BaseFileFormat
    key_generator: KeyGenerator | None = None

    @classmethod
    def of(cls, context: IndexContext) -> KeyReader:
        return cls(context.storage, context.file_format, context.key_generator)

    def open(self, file: KeyFile) -> BaseFileReader:
        return of_size(self.file_format.reader(self.storage, file.path), file.path, file.size)

    def keys(
        self, reader: BaseFileReader, near: pa.ChunkedArray | None = None
    ) -> Iterator[pa.Array]:
        """The record keys in file order, a batch at a time. Parts of the file that can have none of
        ``near``, in the order of their bytes, may be left out."""
        generator = self.key_generator
        if generator is None:
            if near is not None and isinstance(reader, FindsValues):
                found = reader.batches_near(RECORD_KEY, near)
            else:
                found = reader.batches([RECORD_KEY])
            for batch in found:
                yield batch.column(RECORD_KEY).cast(pa.string())
        else:
            there = reader.schema.names
            columns = [n if n in there else n.split(".")[0] for n in generator.record_key_fields]
            for batch in reader.batches(list(dict.fromkeys(columns))):
                yield generator.record_keys(batch)

    def numbered_keys(
        self, reader: BaseFileReader, near: pa.ChunkedArray
    ) -> Iterator[tuple[pa.Array, int]]:
        """As :meth:`keys`, each batch with the number of its first row in the file."""
        start = 0
        if self.key_generator is None and _has_groups(reader):
            begins = [0, *accumulate(rows for rows, _ in reader.groups())]
            for number in reader.groups_near(RECORD_KEY, near):
                start = begins[number]
                for batch in reader.group_batches([number], [RECORD_KEY]):
                    yield batch.column(RECORD_KEY).cast(pa.string()), start
                    start += batch.num_rows
            return
        for keys in self.keys(reader):
            yield keys, start
            start += len(keys)


class _HasGroups(Protocol):
    """Optional for a reader of base files: it reads single row groups."""

    def groups(self) -> Sequence[tuple[int, int]]:
        """Rows and bytes of each."""

    def groups_near(self, column: str, values: pa.Array | pa.ChunkedArray) -> list[int]:
        """The numbers of those that may have one of ``values``, which ascend."""

    def group_batches(self, numbers: Sequence[int], columns: Sequence[str]) -> Iterator[Any]:
        """Their rows."""


def _has_groups(reader: object) -> TypeGuard[_HasGroups]:
    return all(hasattr(reader, name) for name in ("groups", "groups_near", "group_batches"))


def base_files(context: IndexContext, partitions: Sequence[str] | None = None) -> list[BaseFile]:
    """The latest base files of the table, or of some partition paths of it."""
    wanted = None if partitions is None else frozenset(partitions)
    return [
        s.base_file
        for s in context.slices
        if s.base_file is not None and (wanted is None or s.partition_path in wanted)
    ]


def file_tasks(engine: Engine, files: Sequence[BaseFile]) -> Stream:
    """One payload per task: files of about equal weight together, sorted by partition path."""
    count = max(1, min(len(files), _ROUNDS * max(1, engine.parallelism)))
    groups: list[list[KeyFile]] = [[] for _ in range(count)]
    heap = [(0, i) for i in range(count)]
    for number, file in sorted(enumerate(files), key=lambda nf: (-nf[1].size, nf[1].path)):
        weight, lightest = heapq.heappop(heap)
        groups[lightest].append(
            KeyFile(file.path, file.partition_path, file.file_id, number, file.size)
        )
        heapq.heappush(heap, (weight + file.size + _OPENING, lightest))
    return engine.tasks([_payload(group, files) for group in groups])


def read_payload(batches: Iterator[pa.RecordBatch]) -> list[KeyFile]:
    """The files that :func:`file_tasks` gave to this task."""
    return [
        KeyFile(*entry)
        for batch in batches
        for payload in batch.column(0).to_pylist()
        for entry in json.loads(payload)
    ]


def _payload(group: Sequence[KeyFile], files: Sequence[BaseFile]) -> bytes:
    ordered = sorted(group, key=lambda f: (f.partition_path, f.path))
    content = json.dumps([astuple(f) for f in ordered]).encode()
    return Payload.of(content, sum(f.size for f in group))
