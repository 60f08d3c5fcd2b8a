"""The other side of :mod:`hoodoo_spark.groups`: the task of a part reads its groups where they lie,
in the place of an exchange."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from attrs import define, field, frozen
from hoodoo.hookspecs.engine import PART, SLOT, RoutesGroups, Side, Task
from hoodoo.hookspecs.serializer import Serializer
from hoodoo.kernel.answers.engines import Watched
from hoodoo.storage.api import Storage
from hoodoo_rows.engine.crossing import usual_serializer
from hoodoo_rows.engine.runs import refuse_other_parts, routed

from hoodoo_spark.groups import AT, BY, SIZE, read_index
from hoodoo_spark.stage import ReadStaged, has_index, opened, path_in, rows_in
from hoodoo_spark.stream import SparkStream

# Files times parts: of more, each look into a file brings few rows, and Spark's shuffle puts them
# together.
MOST_LOOKS = 10_000
_OPEN = 64  # files that a task holds open

_Read = Callable[[], pa.RecordBatch]
_Piece = tuple[int, _Read]  # a slot, and some of its rows


@frozen
class Lying:
    """What is staged in groups, the step that routes it, and the payloads that say where it is."""

    read: ReadStaged
    route: Any
    payloads: tuple[bytes, ...]


def lying(stream: SparkStream, parts: int, serializer: Serializer | None) -> Lying | None:
    """What :class:`ReadGroups` needs, where ``stream`` is staged rows on their way into ``parts``
    parts, and nothing has been made of them since; None for any other, and where rows have to be
    packed by ``serializer``."""
    if serializer is not None and serializer != usual_serializer():
        return None
    leg = stream.legs[0]
    if len(stream.legs) > 1 or not leg.staged or len(leg.chain) != 2:
        return None
    read, route = (link.step for link in leg.chain)
    if isinstance(route, Watched) and route.behalf is None:
        route = route.step
    if not (isinstance(read, ReadStaged) and isinstance(route, RoutesGroups)):
        return None
    files = sum(path_in(payload) is not None for payload in leg.staged)
    if route.routes_by != BY or not all(map(has_index, leg.staged)) or files * parts > MOST_LOOKS:
        return None
    return Lying(read, route, leg.staged)


@frozen
class ReadGroups:
    """Step: in task i the rows of part i, by slot, as an exchange hands them out. ``staged``: a
    table of one column ``payload``, as :class:`~hoodoo_spark.stage.WriteStaged` returned them, in
    order."""

    storage: Storage
    schema: pa.Schema  # of the rows there
    staged: Side
    route: Any  # a step that RoutesGroups
    parts: int

    @property
    def out_schema(self) -> pa.Schema:
        found: pa.Schema = self.route.out_schema
        return found

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        for _batch in batches:  # of a payload that says nothing: a task knows its part
            pass
        payloads = self.staged.table().column("payload").to_pylist()
        pieces: dict[int, list[_Read]] = {}
        with closing(_Files(self.storage)) as files:
            for payload in payloads:
                path = path_in(payload)
                found = self._held(payload, task) if path is None else self._in(path, files, task)
                for slot, piece in found:
                    pieces.setdefault(slot, []).append(piece)
            for slot in sorted(pieces):
                for piece in pieces.pop(slot):
                    yield piece()

    def _in(self, path: str, files: _Files, task: Task) -> Iterator[_Piece]:
        """The groups of the part in a file, which are read later."""
        index = read_index(files.open(path))
        assert index is not None, path  # its payload says so
        for batch in index.to_batches():
            parts, slots = self.route.route(batch.select(BY))
            refuse_other_parts(0, int(parts.max(initial=0)), self.parts)
            mine = batch.append_column(SLOT, pa.array(slots, pa.int32())).filter(
                pa.array(parts == task.number)
            )
            for row in mine.select([SLOT, AT, SIZE]).to_pylist():
                yield row[SLOT], partial(self._read, files, path, task.number, row)

    def _read(self, files: _Files, path: str, part: int, row: Mapping[str, int]) -> pa.RecordBatch:
        message = files.read(path, row[AT], row[SIZE])
        rows = pa.ipc.read_record_batch(message, self.schema)
        numbers = {PART: part, SLOT: row[SLOT]}
        columns = [
            pa.repeat(pa.scalar(numbers[f.name], f.type), rows.num_rows)
            if f.name in numbers
            else rows.column(f.name)
            for f in self.out_schema
        ]
        return pa.RecordBatch.from_arrays(columns, schema=self.out_schema)

    def _held(self, payload: bytes, task: Task) -> Iterator[_Piece]:
        """The rows of the part among the few that a payload holds itself."""
        with rows_in(payload) as reader:
            found = list(self.route(iter(reader), task))
        for batch in found:
            refuse_other_parts(0, pc.max(batch.column(PART)).as_py() or 0, self.parts)
            mine = batch.filter(pc.equal(batch.column(PART), task.number))
            if mine.num_rows:
                rows, runs = routed(mine, task.number + 1)
                for _part, slot, start, count in runs:
                    yield slot, partial(rows.slice, start, count)


@define
class _Files:
    """Staged files, of which a few stay open."""

    storage: Storage
    open_: dict[str, pa.NativeFile] = field(factory=dict)

    def close(self) -> None:
        for file in self.open_.values():
            file.close()
        self.open_.clear()

    def open(self, path: str) -> pa.NativeFile:
        if path not in self.open_:
            if len(self.open_) >= _OPEN:
                self.open_.pop(next(iter(self.open_))).close()
            self.open_[path] = opened(self.storage, path)
        return self.open_[path]

    def read(self, path: str, start: int, size: int) -> pa.Buffer:
        file = self.open(path)
        file.seek(start)
        return file.read_buffer(size)
