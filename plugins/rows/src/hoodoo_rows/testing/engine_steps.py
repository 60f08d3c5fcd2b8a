"""Small steps for tests of engines: pure, picklable by name, without pytest."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from attrs import field, frozen
from hoodoo.errors import DataError
from hoodoo.hookspecs.engine import PART, SLOT, Side, Task
from hoodoo.hookspecs.serializer import BoundSerializer

from hoodoo_rows.engine.crossing import usual_serializer
from hoodoo_rows.engine.frames import Framed, refuse_reuse

Batches = Iterator[pa.RecordBatch]


def _with(batch: pa.RecordBatch, schema: pa.Schema, *columns: pa.Array) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([*batch.columns, *columns], schema=schema)


@frozen
class Route:
    """Adds ``_hoodie__part`` and ``_hoodie__slot`` from the int64 column ``key``: part = key mod
    parts, slot = key mod slots."""

    in_schema: pa.Schema
    parts: int
    slots: int
    out_schema: pa.Schema = field(init=False)

    @out_schema.default
    def _out_schema(self) -> pa.Schema:
        return self.in_schema.append(pa.field(PART, pa.int32())).append(pa.field(SLOT, pa.int32()))

    def __call__(self, batches: Batches, task: Task) -> Batches:
        for batch in batches:
            part, slot = (_modulo(batch.column("key"), n) for n in (self.parts, self.slots))
            yield _with(batch, self.out_schema, part, slot)


def _modulo(values: pa.Array, by: int) -> pa.Array:
    whole = pc.multiply(pc.divide(values, by), by)
    return pc.subtract(values, whole).cast(pa.int32())


@frozen
class Numbered:
    """Adds the int32 column ``name``: the number of the task that saw the row."""

    in_schema: pa.Schema
    name: str = "task"
    out_schema: pa.Schema = field(init=False)

    @out_schema.default
    def _out_schema(self) -> pa.Schema:
        return self.in_schema.append(pa.field(self.name, pa.int32()))

    def __call__(self, batches: Batches, task: Task) -> Batches:
        for batch in batches:
            number = pa.array([task.number] * batch.num_rows, pa.int32())
            yield _with(batch, self.out_schema, number)


@frozen
class Count:
    """One row for each partition, empty ones too: ``task`` and its number of ``rows``."""

    out_schema: pa.Schema = pa.schema([("task", pa.int32()), ("rows", pa.int64())])

    def __call__(self, batches: Batches, task: Task) -> Batches:
        rows = sum(batch.num_rows for batch in batches)
        yield pa.RecordBatch.from_pylist([{"task": task.number, "rows": rows}], self.out_schema)


@frozen
class Trace:
    """One row for each batch: its ``task``, place, number of rows, and the slots and parts in
    it."""

    out_schema: pa.Schema = pa.schema(
        [(name, pa.int64()) for name in ("task", "place", "rows", "low", "high", "parts", "part")]
    )

    def __call__(self, batches: Batches, task: Task) -> Batches:
        for place, batch in enumerate(batches):
            slots = pc.min_max(batch.column(SLOT)).as_py()
            parts = batch.column(PART).unique().to_pylist()
            row: dict[str, Any] = {
                "task": task.number,
                "place": place,
                "rows": batch.num_rows,
                "low": slots["min"],
                "high": slots["max"],
                "parts": len(parts),
                "part": parts[0] if parts else -1,
            }
            yield pa.RecordBatch.from_pylist([row], self.out_schema)


@frozen
class Same:
    """Returns what it gets; ``mark`` is a folder that gets one file for each evaluation of a
    partition."""

    out_schema: pa.Schema
    mark: str = ""

    def __call__(self, batches: Batches, task: Task) -> Batches:
        if self.mark:
            os.close(tempfile.mkstemp(prefix=f"{task.number}-", dir=self.mark)[0])
        yield from batches


@frozen
class Narrow:
    """Returns only the columns of ``out_schema``."""

    out_schema: pa.Schema

    def __call__(self, batches: Batches, task: Task) -> Batches:
        for batch in batches:
            yield batch.select(self.out_schema.names)


@frozen
class Reversed:
    """Returns the columns in reverse order, int64 ones as int32: within what a step may do."""

    out_schema: pa.Schema

    def __call__(self, batches: Batches, task: Task) -> Batches:
        for batch in batches:
            names = batch.schema.names[::-1]
            yield pa.RecordBatch.from_arrays(
                [_narrow(batch.column(name)) for name in names], names=names
            )


def _narrow(column: pa.Array) -> pa.Array:
    return column.cast(pa.int32()) if column.type == pa.int64() else column


@frozen
class Drop:
    """Promises ``out_schema`` and returns it without the column ``name``."""

    out_schema: pa.Schema
    name: str

    def __call__(self, batches: Batches, task: Task) -> Batches:
        for batch in batches:
            yield batch.select([n for n in batch.schema.names if n != self.name])


@frozen
class Refuse:
    """Raises ``kind`` at the first row whose ``key`` is ``key``; a HoodooError or any exception."""

    out_schema: pa.Schema
    key: int
    kind: type[Exception] = DataError

    def __call__(self, batches: Batches, task: Task) -> Batches:
        for batch in batches:
            if pc.any(pc.equal(batch.column("key"), self.key)).as_py():
                raise self.kind(f"key {self.key}", "is not wanted.", "Leave it out.")
            yield batch


@frozen
class Ignore:
    """Reads nothing of its input and returns nothing."""

    out_schema: pa.Schema

    def __call__(self, batches: Batches, task: Task) -> Batches:
        return iter(())


@frozen
class Lookup:
    """Adds the string column ``word``: the row of a side table (``key``, ``word``) with the key."""

    in_schema: pa.Schema
    words: Side
    out_schema: pa.Schema = field(init=False)

    @out_schema.default
    def _out_schema(self) -> pa.Schema:
        return self.in_schema.append(pa.field("word", pa.string()))

    def __call__(self, batches: Batches, task: Task) -> Batches:
        words = self.words.table()
        for batch in batches:
            found = pc.index_in(batch.column("key"), words.column("key"))
            word = words.column("word").combine_chunks().take(found)
            yield _with(batch, self.out_schema, word)


def words(rows: pa.Table) -> pa.Table:
    """A side table for :class:`Lookup`, of rows with a ``key``."""
    keys = rows.column("key")
    made = pc.binary_join_element_wise("word", keys.cast(pa.string()), " ")
    return pa.table({"key": keys, "word": made}).combine_chunks()


@frozen
class Upper:
    """Payloads of :meth:`Engine.tasks` -> their text in capitals, with the number of the task."""

    out_schema: pa.Schema = pa.schema([("text", pa.string()), ("task", pa.int32())])

    def __call__(self, batches: Batches, task: Task) -> Batches:
        for batch in batches:
            text = pc.utf8_upper(batch.column("payload").cast(pa.string()))
            number = pa.array([task.number] * batch.num_rows, pa.int32())
            yield pa.RecordBatch.from_arrays([text, number], schema=self.out_schema)


@frozen
class Backwards:
    """A serializer like no other: the bytes of the usual one, the last one first."""

    name: str = "backwards"

    def bind(self, schema: pa.Schema, near: bool = False) -> BackwardsMessages:
        return BackwardsMessages(schema, usual_serializer().bind(schema))

    def open(self, header: bytes) -> BackwardsMessages:
        return self.bind(pa.ipc.read_schema(pa.py_buffer(header)))


@frozen
class BackwardsMessages(Framed):
    schema: pa.Schema
    inner: BoundSerializer

    def header(self) -> bytes:
        return self.schema.serialize().to_pybytes()

    def serialize(self, rows: pa.RecordBatch) -> pa.Buffer:
        return pa.py_buffer(bytes(self.inner.serialize(rows))[::-1])

    def deserialize(self, message: pa.Buffer | bytes, reuse: Any = None) -> pa.RecordBatch:
        refuse_reuse(reuse)
        return self.inner.deserialize(bytes(message)[::-1])
