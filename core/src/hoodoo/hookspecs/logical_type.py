"""Logical type: a type of columns that Avro and Hudi name, and Arrow does not (VECTOR, BLOB)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import pyarrow as pa

from hoodoo.hookspecs.family import Family


@runtime_checkable
class LogicalType(Protocol):
    """Contract suite: ``testing.contracts.logical_type`` of hoodoo-rows.

    In memory, a column is of a nested Arrow type whose first child has the metadata ``hudi_type``:
    the text of the type, such as ``VECTOR(4)``. ``kind`` is always such a type of this plugin,
    ``path`` names the column in errors."""

    @property
    def name(self) -> str:
        """The name it is registered under: Avro's ``logicalType``. Texts of types begin with it."""

    def of_avro(self, avro: Mapping[str, Any], path: str) -> pa.DataType:
        """The type in memory of a column of this Avro type. SchemaError if it is not as Hudi's."""

    def avro(self, kind: pa.DataType) -> Mapping[str, Any]:
        """The Avro type of a column, not null, with names as Hudi gives them."""

    def declared(self, text: str, kind: pa.DataType, path: str) -> pa.DataType:
        """The type in memory of a new column that is of Arrow's type ``kind`` and said to be
        ``text``. SchemaError where both don't go together."""

    def stored(self, kind: pa.DataType) -> pa.DataType:
        """What Parquet files have, and Avro, of which it is the physical type."""

    def to_stored(self, array: pa.Array, kind: pa.DataType) -> pa.Array:
        """An array in the type :meth:`stored`."""

    def conform(self, array: pa.Array, kind: pa.DataType, path: str) -> pa.Array:
        """An array of any other type as ``kind``: what files store, or what arrives. SchemaError
        for what does not fit."""

    def written(self, array: pa.Array, kind: pa.DataType, path: str) -> pa.Array:
        """What is written of rows that arrive, in the type ``kind``. SchemaError where they hold
        what may not be."""

    def of_python(self, values: Sequence[Any], kind: pa.DataType, path: str) -> pa.Array:
        """An array of Python's ``values``, one for each row. SchemaError for what does not fit."""

    def shown(self, kind: pa.DataType) -> pa.DataType:
        """The type that reads give: ``kind``, or a registered extension type that is stored so."""

    def footer(self, columns: Mapping[str, pa.DataType]) -> Mapping[str, str]:
        """What footers of Parquet files say of all ``columns`` of such types, in their order."""


FAMILY = Family(
    "hoodoo_logical_types",
    """Offer logical types. When: a schema is read or declared that names one. Default: none in
    core; ``vector``, ``variant``, ``blob`` of plugins. Aliases: names of Arrow extension types.

    The factory returns a :class:`LogicalType`. Its columns are never part of keys, of partition
    paths or of the order of rows, and have no statistics.""",
    (LogicalType,),
)
