"""The serializer `arrow`, a stranger's, and one that counts pass one suite."""

from __future__ import annotations

import pickle
from typing import Any

import pyarrow as pa
import pytest
from attrs import frozen
from hoodoo.errors import EngineError, SchemaError
from hoodoo.hookspecs.serializer import Serializer
from hoodoo_rows.engine.frames import Framed, refuse_reuse
from hoodoo_rows.testing.contracts.serializer import SerializerContract, keyed, many_types
from hoodoo_rows.testing.metered import Metered
from hoodoo_standard.engine.meter import LocalMeter
from hoodoo_standard.serialize.packed import ArrowSerializer

pytestmark = pytest.mark.sampled(3)

_WIDTH = 32 << 10


class TestArrow(SerializerContract):
    @pytest.fixture
    def serializer(self) -> Serializer:
        return ArrowSerializer()


class TestMetered(SerializerContract):
    @pytest.fixture
    def serializer(self) -> Serializer:
        return Metered(ArrowSerializer(), LocalMeter)


@frozen
class FixedWidth:
    """A stranger's: each row padded to the same number of bytes, so its length is fixed."""

    name: str = "fixed"

    def bind(self, schema: pa.Schema, near: bool = False) -> FixedWidthMessages:
        return FixedWidthMessages(schema)

    def open(self, header: bytes) -> FixedWidthMessages:
        try:
            return FixedWidthMessages(pickle.loads(header))
        except pickle.UnpicklingError as error:
            raise EngineError("header", "is not mine.") from error


@frozen
class FixedWidthMessages(Framed):
    schema: pa.Schema

    @property
    def length(self) -> int:
        return _WIDTH

    def header(self) -> bytes:
        return pickle.dumps(self.schema)

    def serialize(self, rows: pa.RecordBatch) -> bytes:
        inner = ArrowSerializer().bind(self.schema)
        made = []
        for i in range(rows.num_rows):
            row = bytes(inner.serialize(rows.slice(i, 1)))
            if len(row) > _WIDTH - 8:
                raise SchemaError("row", "is too wide.")
            made.append((len(row).to_bytes(8, "little") + row).ljust(_WIDTH, b"\0"))
        return b"".join(made)

    def deserialize(self, message: Any, reuse: Any = None) -> pa.RecordBatch:
        refuse_reuse(reuse)
        inner = ArrowSerializer().bind(self.schema)
        data = bytes(message)
        rows = []
        for at in range(0, len(data), _WIDTH):
            size = int.from_bytes(data[at : at + 8], "little")
            rows.append(inner.deserialize(data[at + 8 : at + 8 + size]))
        table = pa.Table.from_batches(rows, self.schema).unify_dictionaries().combine_chunks()
        if rows and not table.num_columns:
            return rows[0]
        return table.to_batches()[0] if rows else _none(self.schema)


def _none(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([], f.type) for f in schema], schema=schema)


class TestStranger(SerializerContract):
    @pytest.fixture
    def serializer(self) -> Serializer:
        return FixedWidth()


def test_constants_cost_nothing_per_row() -> None:
    """`file_id` and `instant_time` of rows that have none, and whether they are index records."""
    many = keyed(5000)
    bound = ArrowSerializer().bind(many.schema, near=True)
    kept = [f for f in many.schema if not f.metadata]
    assert [f.name for f in kept] == ["record_key", "partition_path", "operation_type", "row_data"]
    alone = many.select([f.name for f in kept])
    assert len(bound.serialize(many)) == len(alone.serialize())


def test_near_messages_are_read_in_place() -> None:
    rows = keyed(5000)
    bound = ArrowSerializer().bind(rows.schema, near=True)
    message = bound.serialize(rows)
    back = bound.deserialize(message)
    for name in ("record_key", "row_data"):
        for buffer in back.column(name).buffers():
            if buffer is not None and buffer.size:
                assert message.address <= buffer.address < message.address + message.size


def test_messages_that_leave_are_compressed() -> None:
    rows = keyed(5000)
    far, near = (ArrowSerializer().bind(rows.schema, near) for near in (False, True))
    assert len(far.serialize(rows)) < len(near.serialize(rows)) // 2
    assert near.deserialize(far.serialize(rows)) == rows
    assert far.deserialize(near.serialize(rows)) == rows


def test_dictionaries_travel_without_a_schema() -> None:
    rows = many_types(60)
    bound = ArrowSerializer().bind(rows.schema, near=True)
    assert bound.prefix
    assert b"by_name" in bound.header() and b"by_name" not in bytes(bound.serialize(rows))
