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

from hoodoo_rows.engine.row_shape import RowShape


@lru_cache(maxsize=1)
def usual_serializer() -> Serializer:
    """What packs rows where nobody has named a serializer: the default of its family. Asked on the
    driver."""
    name = default_name("serializer", Settings())
    found: Serializer = plain(resolve("serializer", name).instance)
    return found


def message_format(serializer: Serializer) -> str:
    """The name of ``serializer`` and, by the code of this process, the version of its messages."""
    return f"{serializer.name}/{getattr(serializer, 'version', 1)}"


@frozen
class Crossing:
    """How the batches of one stream cross. A message holds rows of one part and one slot: these two
    numbers travel with the message, not with the row; behind it stands :func:`message_format`.
    Picklable."""

    shape: RowShape
    bound: BoundSerializer
    serializer: Serializer
    agreed: str  # the driver's format

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
                    "is missing, and an exchange needs it.",
                    "Let the step before the exchange add it.",
                )
        if parts < 1:
            raise EngineError("exchange", f"has {parts} parts.", "Give at least one.")
        shape = RowShape(schema, (PART, SLOT))
        made = serializer or usual_serializer()
        return cls(shape, made.bind(shape.schema, near), made, message_format(made))

    def rows(self, flat: pa.RecordBatch) -> pa.RecordBatch:
        """Internal rows in the memory of ``flat``; slices of them are what :meth:`pack` takes."""
        return self.shape.rows(flat)

    def pack(self, rows: pa.RecordBatch) -> tuple[pa.Buffer, bytes]:
        """A message and what has to stand behind it. EngineError where this worker's format is not
        the driver's."""
        self._check(self.agreed)
        end = self.agreed.encode()
        return self.bound.serialize(rows), end + bytes([len(end)])

    def unpack(self, message: pa.Buffer, part: int, slot: int) -> pa.RecordBatch:
        """The flat batch of one message and its end. EngineError where it is of another format than
        this worker's."""
        last = message.size - 1
        end = message.slice(last - message.slice(last).to_pybytes()[0])
        self._check(end.to_pybytes()[:-1].decode(errors="replace"))
        rows = self.bound.deserialize(message.slice(0, message.size - end.size))
        numbers = {
            name: pa.repeat(
                pa.scalar(value, self.shape.flat_schema.field(name).type), rows.num_rows
            )
            for name, value in ((PART, part), (SLOT, slot))
        }
        return self.shape.flat(rows, numbers)

    def _check(self, found: str) -> None:
        mine = message_format(self.serializer)
        if found != mine:
            raise EngineError(
                f"rows packed as {found}",
                f"can't cross to or from a process whose serializer is {mine}.",
                "Install the same version of the distribution that offers the serializer on the "
                "driver and on all workers.",
            )
