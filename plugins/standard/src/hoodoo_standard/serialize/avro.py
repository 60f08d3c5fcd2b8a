"""The serializer `avro`: every row a generic record, as before RFC-84. The baseline."""

from __future__ import annotations

import io
from typing import Any, ClassVar

import fastavro
import pyarrow as pa
from attrs import field, frozen
from hoodoo.errors import EngineError, SchemaError
from hoodoo.hookspecs.registration import Settings
from hoodoo_rows.engine.frames import Framed, refuse_reuse

from hoodoo_standard.serialize.python_values import from_python, stored_type, to_python

_FLAT = {
    pa.bool_(): "boolean",
    pa.int8(): "int",
    pa.int16(): "int",
    pa.int32(): "int",
    pa.uint8(): "int",
    pa.uint16(): "int",
    pa.uint32(): "long",
    pa.int64(): "long",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.string(): "string",
    pa.large_string(): "string",
    pa.binary(): "bytes",
    pa.large_binary(): "bytes",
    pa.null(): "null",
}


@frozen
class AvroSerializer:
    """Implements :class:`~hoodoo.hookspecs.serializer.Serializer`."""

    name: str = "avro"
    version: ClassVar[int] = 1

    @classmethod
    def from_settings(cls, settings: Settings) -> AvroSerializer:
        return cls()

    def bind(self, schema: pa.Schema, near: bool = False) -> AvroMessages:
        """Raises SchemaError for a type that no Avro record can hold."""
        return AvroMessages(schema)

    def open(self, header: bytes) -> AvroMessages:
        return AvroMessages(arrow_header(header, self.name))


def arrow_header(header: bytes, name: str) -> pa.Schema:
    """The Arrow schema in a header. Avro's own would not say it all: `int` is five types of
    Arrow's."""
    try:
        return pa.ipc.read_schema(pa.py_buffer(header))
    except (pa.ArrowException, OSError) as error:
        raise EngineError(
            "header of a stream",
            f"is not one of the serializer {name} ({error}).",
            "Read it with the serializer that wrote it.",
        ) from error


@frozen
class AvroMessages(Framed):
    """A message is the Avro of its rows, one after another, behind their number."""

    schema: pa.Schema
    avro: Any = field(init=False, repr=False, eq=False)

    @avro.default
    def _avro(self) -> Any:
        return parsed(self.schema)

    def __getstate__(self) -> pa.Schema:
        return self.schema

    def __setstate__(self, schema: pa.Schema) -> None:
        self.__init__(schema)  # type: ignore[misc]

    def header(self) -> bytes:
        return self.schema.serialize().to_pybytes()

    def serialize(self, rows: pa.RecordBatch) -> pa.Buffer:
        out = io.BytesIO()
        fastavro.schemaless_writer(out, "long", rows.num_rows)
        for record in to_python(rows.to_struct_array(), records=True):
            fastavro.schemaless_writer(out, self.avro, record)
        return pa.py_buffer(out.getvalue())

    def deserialize(self, message: pa.Buffer | bytes, reuse: Any = None) -> pa.RecordBatch:
        refuse_reuse(reuse)
        source = io.BytesIO(message)
        count: Any = fastavro.schemaless_reader(source, "long", None)
        records: Any = [fastavro.schemaless_reader(source, self.avro, None) for _ in range(count)]
        columns = [
            from_python([record[f.name] for record in records], f.type, records=True)
            for f in self.schema
        ]
        if not columns:
            return pa.RecordBatch.from_struct_array(pa.array([{}] * count, pa.struct([])))
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)


def parsed(schema: pa.Schema) -> Any:
    """The Avro record that holds rows of ``schema``."""
    return fastavro.parse_schema(_Named().record(list(schema)))


class _Named:
    """Makes Avro types. Each record has a name of its own."""

    def __init__(self) -> None:
        self.count = 0

    def record(self, columns: list[pa.Field]) -> dict[str, Any]:
        self.count += 1
        name = f"r{self.count}"
        fields = [{"name": f.name, "type": self.maybe_null(f)} for f in columns]
        return {"type": "record", "name": name, "fields": fields}

    def maybe_null(self, column: pa.Field) -> Any:
        avro = self.of(column.type)
        return ["null", avro] if column.nullable and avro != "null" else avro

    def of(self, kind: pa.DataType) -> Any:
        if isinstance(kind, pa.BaseExtensionType):
            return self.of(kind.storage_type)
        if kind in _FLAT:
            return _FLAT[kind]
        stored = stored_type(kind)
        if stored is not None:
            return self.of(stored)
        if pa.types.is_struct(kind):
            return self.record([kind.field(i) for i in range(kind.num_fields)])
        if pa.types.is_map(kind):
            pair = [kind.key_field.with_name("key"), kind.item_field.with_name("value")]
            return {"type": "array", "items": self.record(pair)}
        lists = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
        if any(is_one(kind) for is_one in lists):
            return {"type": "array", "items": self.maybe_null(kind.value_field)}
        if pa.types.is_fixed_size_binary(kind):
            return "bytes"
        raise SchemaError(
            f"type {kind}", "has no Avro to be serialized as.", "Use the serializer arrow."
        )
