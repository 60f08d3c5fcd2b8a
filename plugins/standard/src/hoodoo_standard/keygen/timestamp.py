"""One record key column, one partition column that holds times."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
from attrs import frozen
from hoodoo.errors import ConfigError
from hoodoo.hookspecs.key_generator import KeyGenerator
from hoodoo.hookspecs.registration import Settings

from hoodoo_standard.keygen.auto import AutoKeyGenerator
from hoodoo_standard.keygen.paths import ByPaths, Paths, noted
from hoodoo_standard.keygen.record_key import plain_keys
from hoodoo_standard.keygen.timestamp_path import time_paths
from hoodoo_standard.options import VIRTUAL_BY_HOODOO


@frozen
class TimestampKeyGenerator(ByPaths):
    """The key is the value of one column; the path is the formatted time of another.

    Hudi refuses it for virtual keys, though its record keys are plain; so does it here without an
    option."""

    record_key_field: str
    paths: Paths
    can_be_virtual: bool = False

    @classmethod
    def from_settings(cls, settings: Settings) -> KeyGenerator:
        keys, partitions = settings.table.record_key_fields, settings.table.partition_fields
        if len(keys) > 1 or len(partitions) != 1:
            raise ConfigError(
                "key generator TIMESTAMP",
                f"takes one record key column and one partition column, not {len(keys)} and "
                f"{len(partitions)}.",
                'use another one for several columns: key_generator="custom", '
                'partition_by=["city:SIMPLE", "ts:TIMESTAMP"].',
            )
        paths = time_paths(settings, partitions[0])
        virtual = settings.value(VIRTUAL_BY_HOODOO)
        return cls(keys[0], paths, virtual) if keys else AutoKeyGenerator(paths)

    @property
    def record_key_fields(self) -> tuple[str, ...]:
        return (self.record_key_field,)

    def record_keys(self, batch: pa.RecordBatch) -> pa.Array:
        return plain_keys(batch, self.record_key_field, self.paths.logical_timestamps)

    def table_properties(self) -> Mapping[str, str]:
        return noted(self.paths)
