"""What serializers answer.

How many rows a message holds can't be seen from outside. The first message of each stream, and then
one in so many, is read again at once: a serializer that loses rows, or gives others back, is found
before anything is written."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from hoodoo.kernel.answers import shapes
from hoodoo.kernel.answers.declared import kind_of, rule
from hoodoo.kernel.answers.seam import Ask, guarded, judged, may_travel, wrapped
from hoodoo.kernel.answers.wrong import Wrong, says

_SAMPLED = 64


class Stream:
    """What the seam notes of one stream; a copy that travels counts for itself."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema, self.messages = schema, 0

    def __reduce__(self) -> tuple[Any, ...]:
        return Stream, (self.schema,)


@rule("Serializer.bind")
def _bind(answer: Any, ask: Ask, schema: pa.Schema, near: bool = False) -> Any:
    return _bound(answer, ask, schema)


@rule("Serializer.open")
def _open(answer: Any, ask: Ask, header: bytes) -> Any:
    return _bound(answer, ask, None)


def _bound(answer: Any, ask: Ask, schema: pa.Schema | None) -> Any:
    members = ("schema", "length", "header", "serialize", "deserialize")
    shapes.having(answer, members, "a BoundSerializer")
    may_travel(answer, ask.who)
    own = shapes.schema(answer.schema, schema or answer.schema, "the schema that was bound")
    return wrapped(kind_of("bound_serializer"), answer, ask.who, Stream(own))


@rule("BoundSerializer.schema")
def _schema(answer: Any, ask: Ask) -> pa.Schema:
    return shapes.schema(answer, ask.terms.schema, "the schema that was bound")


@rule("BoundSerializer.serialize")
def _serialize(answer: Any, ask: Ask, rows: pa.RecordBatch) -> pa.Buffer:
    shapes.instance(answer, pa.Buffer, "a pyarrow.Buffer")
    length = judged(ask.inner.length, ask.of("length"), lambda found, ask: shapes.whole(found, -1))
    if length >= 0 and len(answer) != rows.num_rows * length:
        raise Wrong(f"{len(answer)} bytes", f"{length} bytes for each of {rows.num_rows} rows")
    stream: Stream = ask.terms
    stream.messages += 1
    if stream.messages % _SAMPLED == 1:
        reading = ask.of("deserialize")
        again = guarded(reading, lambda inner: inner.deserialize(answer))
        again = judged(again, reading, _deserialize, answer)
        if again.num_rows != rows.num_rows:
            raise Wrong(
                f"a message that deserialize makes {again.num_rows} rows of",
                f"one of {rows.num_rows} rows",
            )
    return answer


@rule("BoundSerializer.deserialize")
def _deserialize(answer: Any, ask: Ask, message: Any, reuse: Any = None) -> pa.RecordBatch:
    shapes.instance(answer, pa.RecordBatch, "a pyarrow.RecordBatch")
    wanted: pa.Schema = ask.terms.schema
    if not answer.schema.equals(wanted):
        shapes.schema(answer.schema, wanted, "rows of the schema that was bound")
    return answer


@rule("BoundSerializer.copy")
def _copied(answer: Any, ask: Ask, rows: Any, reuse: Any = None) -> Any:
    if type(answer) is not type(rows):
        raise Wrong(says(answer), f"a copy: a {type(rows).__name__}")
    if isinstance(rows, pa.RecordBatch):
        if answer.num_rows != rows.num_rows:
            raise Wrong(says(answer), f"a copy of {rows.num_rows} rows")
        shapes.schema(answer.schema, rows.schema, "a copy")
    return answer
