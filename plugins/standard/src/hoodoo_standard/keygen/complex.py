"""Several record key columns, several partition columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from attrs import frozen
from hoodoo.errors import ConfigError
from hoodoo.hookspecs.registration import Settings

from hoodoo_standard.keygen.partition_path import PartitionPaths
from hoodoo_standard.keygen.record_key import complex_keys, plain_keys
from hoodoo_standard.options import COMPLEX_ENCODING


@frozen
class ComplexKeyGenerator:
    """Keys ``f1:v1,f2:v2``; the path is made of all partition columns, joined by ``/``.

    A key of one column is ``f:v`` too, or the bare value with ``bare_single``.
    """

    record_key_fields: tuple[str, ...]
    paths: PartitionPaths
    bare_single: bool = False

    @classmethod
    def from_settings(cls, settings: Settings) -> ComplexKeyGenerator:
        keys = settings.table.record_key_fields
        if not keys:
            raise ConfigError(
                "key generator COMPLEX", "the table has no record key columns.",
                "name them when the table is created: record_key=[...].",
            )  # fmt: skip
        bare = (settings.get(COMPLEX_ENCODING.key) or "").lower() == "true"
        if bare and settings.table.version >= 9:
            raise ConfigError(
                f"option {COMPLEX_ENCODING.key}",
                "is for table versions up to 8; version 9 writes column:value.",
                "leave it out.",
            )
        return cls(keys, PartitionPaths.from_settings(settings), bare)

    @property
    def partition_fields(self) -> tuple[str, ...]:
        return self.paths.fields

    def record_keys(self, batch: pa.RecordBatch) -> pa.Array:
        if self.bare_single and len(self.record_key_fields) == 1:
            return plain_keys(batch, self.record_key_fields[0], self.paths.logical_timestamps)
        return complex_keys(batch, self.record_key_fields, self.paths.logical_timestamps)

    def partition_paths(self, batch: pa.RecordBatch) -> pa.Array:
        return self.paths.paths(batch)

    def partition_values(self, path: str, schema: pa.Schema) -> Mapping[str, Any] | None:
        return self.paths.values(path, schema)
