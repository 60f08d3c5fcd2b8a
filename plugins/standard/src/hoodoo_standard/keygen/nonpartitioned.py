"""Tables without partitions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from attrs import frozen
from hoodoo.errors import ConfigError
from hoodoo.hookspecs.key_generator import KeyGenerator
from hoodoo.hookspecs.registration import Settings

from hoodoo_standard.keygen.ambiguity import refuse_keys
from hoodoo_standard.keygen.auto import AutoKeyGenerator
from hoodoo_standard.keygen.partition_path import PartitionPaths
from hoodoo_standard.keygen.record_key import complex_keys, plain_keys


@frozen
class NonPartitionedKeyGenerator:
    """One key column: its value; several: ``f1:v1,f2:v2``. The partition path is empty."""

    record_key_fields: tuple[str, ...]
    logical_timestamps: bool = False
    can_be_virtual = True

    @classmethod
    def from_settings(cls, settings: Settings) -> KeyGenerator:
        keys, partitions = settings.table.record_key_fields, settings.table.partition_fields
        if partitions:
            raise ConfigError(
                "key generator NON_PARTITION",
                f"takes no partition columns, not {len(partitions)}.",
                "use SIMPLE or COMPLEX for a partitioned table.",
            )
        paths = PartitionPaths.from_settings(settings)
        return cls(keys, paths.logical_timestamps) if keys else AutoKeyGenerator(paths)

    @property
    def partition_fields(self) -> tuple[str, ...]:
        return ()

    def record_keys(self, batch: pa.RecordBatch) -> pa.Array:
        if len(self.record_key_fields) == 1:
            return plain_keys(batch, self.record_key_fields[0], self.logical_timestamps)
        return complex_keys(batch, self.record_key_fields, self.logical_timestamps)

    def refuse_ambiguous(self, batch: pa.RecordBatch) -> None:
        refuse_keys(batch, self.record_key_fields)

    def partition_paths(self, batch: pa.RecordBatch) -> pa.Array:
        return pa.repeat("", batch.num_rows)

    def partition_values(self, path: str, schema: pa.Schema) -> Mapping[str, Any] | None:
        return {}
