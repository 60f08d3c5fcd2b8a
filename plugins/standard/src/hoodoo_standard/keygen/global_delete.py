"""Deletes by key alone, wherever the key lies.

Source: ``GlobalAvroDeleteKeyGenerator`` of Hudi 1.2. ``Table.delete`` with the key columns does the
same with the table's own generator, and with any index."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from attrs import frozen
from hoodoo.errors import ConfigError
from hoodoo.hookspecs.registration import Settings

from hoodoo_standard.keygen.ambiguity import refuse_keys
from hoodoo_standard.keygen.partition_path import PartitionPaths
from hoodoo_standard.keygen.record_key import complex_keys


@frozen
class GlobalDeleteKeyGenerator:
    """Keys ``f1:v1,f2:v2``, of one column ``f:v`` too; the partition path is empty. It only
    deletes, and needs an index that finds keys in any partition path."""

    record_key_fields: tuple[str, ...]
    logical_timestamps: bool = False
    can_be_virtual = False
    deletes_only = True

    @classmethod
    def from_settings(cls, settings: Settings) -> GlobalDeleteKeyGenerator:
        keys = settings.table.record_key_fields
        if not keys:
            raise ConfigError(
                "key generator GLOBAL_DELETE",
                "the table has no record key columns.",
                "delete partitions, or rewrite the table.",
            )
        return cls(keys, PartitionPaths.from_settings(settings, ()).logical_timestamps)

    @property
    def partition_fields(self) -> tuple[str, ...]:
        return ()

    def record_keys(self, batch: pa.RecordBatch) -> pa.Array:
        return complex_keys(batch, self.record_key_fields, self.logical_timestamps)

    def refuse_ambiguous(self, batch: pa.RecordBatch) -> None:
        refuse_keys(batch, self.record_key_fields)

    def partition_paths(self, batch: pa.RecordBatch) -> pa.Array:
        return pa.repeat("", batch.num_rows)

    def partition_values(self, path: str, schema: pa.Schema) -> Mapping[str, Any] | None:
        return None
