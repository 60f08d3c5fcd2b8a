"""Key generator: record key and partition path of each row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol, runtime_checkable

import pyarrow as pa

from hoodoo.hookspecs.marks import hookspec
from hoodoo.hookspecs.registration import Registration


@runtime_checkable
class KeyGenerator(Protocol):
    """Contract suite: ``hoodoo.testing.contracts.key_generator``. Vectorized; picklable."""

    @property
    def record_key_fields(self) -> tuple[str, ...]:
        """Columns that the record key is made of."""

    @property
    def partition_fields(self) -> tuple[str, ...]:
        """Columns that the partition path is made of; empty if the table is not partitioned."""

    def record_keys(self, batch: pa.RecordBatch) -> pa.Array:
        """The record key of each row: a string array without nulls, as long as ``batch``.

        Raises NullKeyError where a key is null or empty, MissingColumnError where a column lacks.
        """

    def partition_paths(self, batch: pa.RecordBatch) -> pa.Array:
        """The partition path of each row: a string array without nulls; ``""`` if not partitioned."""

    def partition_values(self, path: str, schema: pa.Schema) -> Mapping[str, Any] | None:
        """The column values that every row of partition ``path`` has, as Python values of the
        columns' types, or None where the path doesn't tell. Readers prune with them, so a value
        that is not certain must be left out."""


class KeyGeneratorHooks:
    @hookspec
    def hoodoo_key_generators(self) -> Iterable[Registration]:
        """Offer key generators. When: a table is created or opened. Default: by the key and
        partition columns (SIMPLE, COMPLEX, NON_PARTITION).

        Names and aliases are looked up with ``hoodie.table.keygenerator.type`` and
        ``hoodie.table.keygenerator.class``. The factory returns a :class:`KeyGenerator`.
        """
