"""Serializer: internal rows (RFC-84) as the bytes that cross an exchange, and back.

A serializer is bound to the schema of a stream before anything is serialized, so each stream
contains the schema once: in the bound object if both ends have it, else in the header."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import pyarrow as pa

from hoodoo.hookspecs.answers import Whole, answers
from hoodoo.hookspecs.family import Family, Optional


@runtime_checkable
class BoundSerializer(Protocol):
    """A serializer of one schema. Picklable: it travels to the tasks of both sides of an exchange.

    A subclass of ``Framed`` of hoodoo-rows needs only serialize and deserialize.
    """

    @property
    def schema(self) -> pa.Schema:
        """The schema of all batches: usually seven fields (``model.internal_row`` of hoodoo-rows).
        Messages may leave out columns that are constant in the stream."""

    @property
    @answers(Whole(-1))
    def length(self) -> int:
        """Bytes of one row if all rows have the same size and messages only rows; else -1."""

    def header(self) -> bytes:
        """The bytes that :meth:`Serializer.open` needs, once for each stream."""

    def serialize(self, rows: pa.RecordBatch) -> pa.Buffer:
        """One message. It can be read alone, in any order; it contains no schema."""

    def deserialize(self, message: pa.Buffer | bytes, reuse: Any = None) -> pa.RecordBatch:
        """The rows of one message; they may be views of it. PluginError if ``reuse`` is given:
        internal rows are not reused."""

    def copy(self, rows: Any, reuse: Any = None) -> Any:
        """A deep copy of a batch, or of one ``InternalRow`` of hoodoo-rows. Raises PluginError if
        ``reuse`` is given."""

    def copy_stream(self, source: Any, target: Any) -> int:
        """Copy a stream (``engine/frames.py`` of hoodoo-rows) from one binary file to another,
        without decoding, and return the number of messages. EngineError if it ends early."""

    def create(self) -> pa.RecordBatch:
        """Always raises PluginError: there is no row of defaults."""


@runtime_checkable
class Serializer(Protocol):
    """Contract suite: ``testing.contracts.serializer`` of hoodoo-rows. Picklable."""

    @property
    def name(self) -> str:
        """The name it is registered under."""

    def bind(self, schema: pa.Schema, near: bool = False) -> BoundSerializer:
        """A serializer of streams of ``schema``. An engine binds once for each exchange, on the
        driver.

        ``near``: messages stay on this machine, where fewer bytes may not be worth the time.
        """

    def open(self, header: bytes) -> BoundSerializer:
        """A serializer of a stream with this header. EngineError for a foreign header."""


@runtime_checkable
class VersionedSerializer(Protocol):
    """A member that a serializer may have in addition."""

    @property
    @answers(Whole(1))
    def version(self) -> int:
        """The version of its messages: it rises if older code can't read them. A constant of the
        class, as an attribute of the object would bring the driver's number to the workers. Each
        message ends with the name and the version, and workers with another version are refused
        before rows move."""


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
