"""Tables without partitions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from attrs import frozen
from hoodoo.errors import ConfigError
from hoodoo.hookspecs.registration import Settings

from hoodoo_standard.keygen.partition_path import PartitionPaths
from hoodoo_standard.keygen.record_key import complex_keys, plain_keys


@frozen
class NonPartitionedKeyGenerator:
    """One key column: its value; several: ``f1:v1,f2:v2``. The partition path is empty."""

    record_key_fields: tuple[str, ...]
    logical_timestamps: bool = False

    @classmethod
    def from_settings(cls, settings: Settings) -> NonPartitionedKeyGenerator:
        keys, partitions = settings.table.record_key_fields, settings.table.partition_fields
        if not keys or partitions:
            raise ConfigError(
                "key generator NON_PARTITION",
                f"takes record key columns and no partition columns, not {len(keys)} and "
                f"{len(partitions)}.",
                "use SIMPLE or COMPLEX for a partitioned table.",
            )
        return cls(keys, PartitionPaths.from_settings(settings).logical_timestamps)

    @property
    def partition_fields(self) -> tuple[str, ...]:
        return ()

    def record_keys(self, batch: pa.RecordBatch) -> pa.Array:
        if len(self.record_key_fields) == 1:
            return plain_keys(batch, self.record_key_fields[0], self.logical_timestamps)
        return complex_keys(batch, self.record_key_fields, self.logical_timestamps)

    def partition_paths(self, batch: pa.RecordBatch) -> pa.Array:
        return pa.repeat("", batch.num_rows)

    def partition_values(self, path: str, schema: pa.Schema) -> Mapping[str, Any] | None:
        return {}
