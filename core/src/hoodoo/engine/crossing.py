"""The boundary of an exchange: flat batches outside, serialized internal rows inside."""

from __future__ import annotations

from functools import lru_cache

import pyarrow as pa
from attrs import frozen

from hoodoo.errors import EngineError
from hoodoo.hookspecs.engine import PART, SLOT
from hoodoo.hookspecs.registration import Settings
from hoodoo.hookspecs.serializer import BoundSerializer, Serializer
from hoodoo.kernel.answers import plain
from hoodoo.kernel.resolve import default_name, resolve
from hoodoo.model.row_shape import RowShape


@lru_cache(maxsize=1)
def usual_serializer() -> Serializer:
    """What packs rows where nobody has named a serializer: the default of its family. Asked on the driver."""
    name = default_name("serializer", Settings())
    found: Serializer = plain(resolve("serializer", name).instance)
    return found


@frozen
class Crossing:
    """How the batches of one stream cross. A message holds rows of one part and one slot: these two
    numbers travel with the message, not with the row. Picklable."""

    shape: RowShape
    bound: BoundSerializer

    @classmethod
    def of(
        cls, schema: pa.Schema, parts: int, serializer: Serializer | None, near: bool = False
    ) -> Crossing:
        """For a stream of ``schema`` into ``parts`` parts; the usual one if no serializer is given.

        Raises EngineError if a column to route by is not there.
        """
        for column in (PART, SLOT):
            if column not in schema.names:
                raise EngineError(
                    f"column {column}",
                    "is needed by an exchange and is not there.",
                    "Add it in the step before.",
                )
        if parts < 1:
            raise EngineError("exchange", f"has {parts} parts.", "Give at least one.")
        shape = RowShape(schema, (PART, SLOT))
        return cls(shape, (serializer or usual_serializer()).bind(shape.schema, near))

    def rows(self, flat: pa.RecordBatch) -> pa.RecordBatch:
        """Internal rows in the memory of ``flat``; slices of them are what :meth:`pack` takes."""
        return self.shape.rows(flat)

    def pack(self, rows: pa.RecordBatch) -> pa.Buffer:
        return self.bound.serialize(rows)

    def unpack(self, message: pa.Buffer, part: int, slot: int) -> pa.RecordBatch:
        """The flat batch of one message."""
        rows = self.bound.deserialize(message)
        numbers = {
            name: pa.repeat(
                pa.scalar(value, self.shape.flat_schema.field(name).type), rows.num_rows
            )
            for name, value in ((PART, part), (SLOT, slot))
        }
        return self.shape.flat(rows, numbers)
