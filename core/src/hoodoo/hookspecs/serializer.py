"""Serializer: internal rows (RFC-84) as the bytes that cross an exchange, and back.

A serializer is bound to the schema of a stream before anything is serialized, so the schema is
carried once for each stream: by the bound object where both ends have it, by its header where they
don't."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import pyarrow as pa

from hoodoo.hookspecs.answers import Whole, answers
from hoodoo.hookspecs.family import Family, Optional


@runtime_checkable
class BoundSerializer(Protocol):
    """A serializer of one schema. Picklable: it travels to the tasks of both sides of an exchange.

    Whoever inherits from ``Framed`` of hoodoo-rows writes serialize and deserialize only.
    """

    @property
    def schema(self) -> pa.Schema:
        """Of all batches: mostly seven fields (``model.internal_row`` of hoodoo-rows), but any will
        do. Columns that are constants of the stream may be left out of messages."""

    @property
    @answers(Whole(-1))
    def length(self) -> int:
        """Bytes of one row, where every row takes the same and a message nothing else; or -1."""

    def header(self) -> bytes:
        """What :meth:`Serializer.open` needs to know, once for each stream."""

    def serialize(self, rows: pa.RecordBatch) -> pa.Buffer:
        """One message. It can be read alone, in any order; it holds no schema."""

    def deserialize(self, message: pa.Buffer | bytes, reuse: Any = None) -> pa.RecordBatch:
        """The rows of one message; they may be views of it. PluginError if ``reuse`` is given:
        internal rows are not reused."""

    def copy(self, rows: Any, reuse: Any = None) -> Any:
        """A deep copy that shares no memory: of a batch, or of one
        ``InternalRow`` of hoodoo-rows. PluginError if ``reuse`` is given."""

    def copy_stream(self, source: Any, target: Any) -> int:
        """A stream (``engine/frames.py`` of hoodoo-rows) from one binary file to another, without
        decoding a message; how many messages there were. EngineError if the stream ends early."""

    def create(self) -> pa.RecordBatch:
        """Refused with a PluginError: there is no row of defaults."""


@runtime_checkable
class Serializer(Protocol):
    """Contract suite: ``testing.contracts.serializer`` of hoodoo-rows. Picklable."""

    @property
    def name(self) -> str:
        """The name it is registered under."""

    def bind(self, schema: pa.Schema, near: bool = False) -> BoundSerializer:
        """For streams of ``schema``. An engine binds once for each exchange, on the driver.

        ``near``: messages stay on this machine, where fewer bytes may not be worth the time.
        """

    def open(self, header: bytes) -> BoundSerializer:
        """For a stream with this header. EngineError if it is none of this serializer's."""


@runtime_checkable
class VersionedSerializer(Protocol):
    """What a serializer may have in addition."""

    @property
    @answers(Whole(1))
    def version(self) -> int:
        """Of its messages: another number where code of the number before could not read them.
        Answered by the code, as a constant of the class: what travels with the object would be the
        driver's. Each message ends with the name and this, and workers whose code has another one
        are refused before rows move."""


FAMILY = Family(
    "hoodoo_serializers",
    """Offer serializers. When: rows are exchanged. Default: ``arrow`` (hoodoo-core), or what the
    option ``hoodoo.serializer`` names. ``bulk_insert`` and ``append`` exchange nothing.

    The factory returns a :class:`Serializer`.""",
    (Serializer,),
    optional=(VersionedSerializer,),
    lacking={"version": Optional(1)},
    parts={"bound_serializer": (BoundSerializer,)},
    travels=True,
)
