"""One record key column, one partition column."""

from __future__ import annotations

import pyarrow as pa
from attrs import frozen
from hoodoo.errors import ConfigError
from hoodoo.hookspecs.key_generator import KeyGenerator
from hoodoo.hookspecs.registration import Settings

from hoodoo_standard.keygen.auto import AutoKeyGenerator
from hoodoo_standard.keygen.partition_path import PartitionPaths
from hoodoo_standard.keygen.paths import ByPaths
from hoodoo_standard.keygen.record_key import plain_keys


@frozen
class SimpleKeyGenerator(ByPaths):
    """The key is the value of one column; the path is made of one partition column."""

    record_key_field: str
    paths: PartitionPaths
    can_be_virtual = True

    @classmethod
    def from_settings(cls, settings: Settings) -> KeyGenerator:
        keys, partitions = settings.table.record_key_fields, settings.table.partition_fields
        if len(keys) > 1 or len(partitions) != 1:
            raise ConfigError(
                "key generator SIMPLE",
                f"takes one record key column and one partition column, not {len(keys)} and "
                f"{len(partitions)}.",
                "use COMPLEX for several columns, NON_PARTITION for no partition column.",
            )
        paths = PartitionPaths.from_settings(settings)
        return cls(keys[0], paths) if keys else AutoKeyGenerator(paths)

    @property
    def record_key_fields(self) -> tuple[str, ...]:
        return (self.record_key_field,)

    def record_keys(self, batch: pa.RecordBatch) -> pa.Array:
        return plain_keys(batch, self.record_key_field, self.paths.logical_timestamps)
