"""The serializer `pickle`: every row a Python object. The baseline that stands for Kryo."""

from __future__ import annotations

import io
import pickle
from typing import Any, ClassVar

import pyarrow as pa
from attrs import frozen
from hoodoo.hookspecs.registration import Settings
from hoodoo_rows.engine.frames import Framed, refuse_reuse

from hoodoo_standard.serialize.avro import arrow_header
from hoodoo_standard.serialize.python_values import from_python, to_python


@frozen
class PickleSerializer:
    """Implements :class:`~hoodoo.hookspecs.serializer.Serializer`."""

    name: str = "pickle"
    version: ClassVar[int] = 1

    @classmethod
    def from_settings(cls, settings: Settings) -> PickleSerializer:
        return cls()

    def bind(self, schema: pa.Schema, near: bool = False) -> PickleMessages:
        return PickleMessages(schema)

    def open(self, header: bytes) -> PickleMessages:
        return PickleMessages(arrow_header(header, self.name))


@frozen
class PickleMessages(Framed):
    """A message is the pickled number of its rows, then each row, a tuple, pickled by itself.

    Only what this process or its own workers made is read: pickles of strangers run their code.
    """

    schema: pa.Schema

    def header(self) -> bytes:
        return self.schema.serialize().to_pybytes()

    def serialize(self, rows: pa.RecordBatch) -> pa.Buffer:
        made = [pickle.dumps(rows.num_rows, 5)]
        made += [pickle.dumps(row, 5) for row in to_python(rows.to_struct_array())]
        return pa.py_buffer(b"".join(made))

    def deserialize(self, message: pa.Buffer | bytes, reuse: Any = None) -> pa.RecordBatch:
        refuse_reuse(reuse)
        source = io.BytesIO(message)
        rows = [pickle.load(source) for _ in range(pickle.load(source))]
        found = from_python(rows, pa.struct(list(self.schema)))
        if not len(self.schema):
            return pa.RecordBatch.from_struct_array(found)
        return pa.RecordBatch.from_arrays(
            [found.field(i) for i in range(len(self.schema))], schema=self.schema
        )
