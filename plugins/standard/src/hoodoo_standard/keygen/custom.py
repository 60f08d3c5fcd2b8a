"""Several partition columns, each with its own way to become a directory.

Source: ``CustomAvroKeyGenerator`` of Hudi 1.2. Table versions 8 and 9 have ``column:TYPE`` in
``hoodie.table.partition.fields``; version 6 has the names alone (``SparkKeyGenUtils``), so that the
types are an option of each writer there, or a property of Hoodoo's own. No partition column at all
gives the empty path, as Hudi's generator does where its spec is empty; Spark's DataFrame writer
takes an empty spec for a missing one, and refuses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen
from hoodoo.errors import ConfigError
from hoodoo.hookspecs.key_generator import KeyGenerator
from hoodoo.hookspecs.registration import Settings
from hoodoo.model.config import partition_spec

from hoodoo_standard.keygen.ambiguity import refuse_keys, refuse_slashes
from hoodoo_standard.keygen.auto import AutoKeyGenerator
from hoodoo_standard.keygen.partition_path import PartitionPaths
from hoodoo_standard.keygen.paths import ByPaths, Paths, UnsaidPaths, noted
from hoodoo_standard.keygen.record_key import complex_keys, plain_keys
from hoodoo_standard.keygen.timestamp_path import time_paths
from hoodoo_standard.options import PARTITION_TYPES, SLASH_DATES, VIRTUAL_BY_HOODOO

WRITER_FIELDS = "hoodie.datasource.write.partitionpath.field"
_TYPES = ("SIMPLE", "TIMESTAMP")


@frozen
class CustomPaths:
    """The paths of all columns, joined by ``/``."""

    parts: tuple[Paths, ...]
    logical_timestamps: bool = False

    @classmethod
    def from_settings(cls, settings: Settings) -> CustomPaths:
        """ConfigError for a column with an unknown type."""
        spec, fields = _spec(settings), settings.table.partition_fields
        logical = PartitionPaths.from_settings(settings, ()).logical_timestamps
        if spec is None:
            reason = ConfigError(
                f"partition columns {', '.join(fields)}",
                "of the key generator CUSTOM have no types, and paths follow from them.",
                f"give the option {WRITER_FIELDS} with all columns, e.g. city:SIMPLE,ts:TIMESTAMP.",
            )
            return cls((UnsaidPaths(fields, reason),), logical)
        return cls(tuple(_part(settings, name, kind) for name, kind in spec), logical)

    @property
    def fields(self) -> tuple[str, ...]:
        return tuple(name for part in self.parts for name in part.fields)

    @property
    def levels(self) -> int:
        return sum(part.levels for part in self.parts)

    def properties(self) -> Mapping[str, str]:
        made: dict[str, str] = {}
        for part in self.parts:
            made.update(noted(part))
        return made

    def paths(self, batch: pa.RecordBatch) -> pa.StringArray:
        if not self.parts:
            return pa.repeat("", batch.num_rows)
        parts = [part.paths(batch) for part in self.parts]
        return pc.binary_join_element_wise(*parts, "/").cast(pa.string())

    def refuse_ambiguous(self, batch: pa.RecordBatch) -> None:
        """Of TIMESTAMP columns the number of directories is known."""
        plain = [part for part in self.parts if isinstance(part, PartitionPaths)]
        for part in plain:
            part.refuse_ambiguous(batch)
        if plain and not plain[0].url_encode:
            fields = [name for part in plain for name in part.fields]
            refuse_slashes(batch, fields, plain[0].hive_style)

    def values(self, path: str, schema: pa.Schema) -> Mapping[str, Any] | None:
        """Those of SIMPLE columns, whose places in the path are known."""
        levels = path.split("/") if self.parts else []
        if len(levels) != self.levels:
            return None
        found: dict[str, Any] = {}
        at = 0
        for part in self.parts:
            own = "/".join(levels[at : at + part.levels])
            at += part.levels
            found.update(part.values(own, schema) or {})
        return found


@frozen
class CustomKeyGenerator(ByPaths):
    """The key of one column is its value, of several ``f1:v1,f2:v2``; paths are
    :class:`CustomPaths`. Virtual keys can have it by an option alone: Hudi refuses it for them."""

    record_key_fields: tuple[str, ...]
    paths: CustomPaths
    can_be_virtual: bool = False

    @classmethod
    def from_settings(cls, settings: Settings) -> KeyGenerator:
        paths = CustomPaths.from_settings(settings)
        keys = settings.table.record_key_fields
        virtual = settings.value(VIRTUAL_BY_HOODOO)
        return cls(keys, paths, virtual) if keys else AutoKeyGenerator(paths)

    def record_keys(self, batch: pa.RecordBatch) -> pa.Array:
        if len(self.record_key_fields) == 1:
            return plain_keys(batch, self.record_key_fields[0], self.paths.logical_timestamps)
        return complex_keys(batch, self.record_key_fields, self.paths.logical_timestamps)

    def refuse_ambiguous(self, batch: pa.RecordBatch) -> None:
        refuse_keys(batch, self.record_key_fields)
        self.paths.refuse_ambiguous(batch)

    def table_properties(self) -> Mapping[str, str]:
        return self.paths.properties()


def _spec(settings: Settings) -> tuple[tuple[str, str], ...] | None:
    """(column, type) of each partition column; None: nobody says the types."""
    table = settings.table
    told = [table.get("hoodie.table.partition.fields"), table.get(PARTITION_TYPES.key)]
    told += [settings.get(key) for key in (PARTITION_TYPES.key, WRITER_FIELDS)]
    for text in told:
        spec = partition_spec(text)
        if tuple(name for name, _kind in spec) != table.partition_fields:
            continue
        if all(kind is not None for _name, kind in spec):
            strange = [kind for _name, kind in spec if str(kind).upper() not in _TYPES]
            if strange:
                raise ConfigError(
                    f"partition columns {text}",
                    f"type {strange[0]} is not one of {', '.join(_TYPES)}.",
                    'say e.g. partition_by=["city:SIMPLE", "ts:TIMESTAMP"].',
                )
            return tuple((name, str(kind).upper()) for name, kind in spec)
    return None


def _part(settings: Settings, name: str, kind: str) -> Paths:
    if kind == "TIMESTAMP":
        return time_paths(settings, name)
    paths = PartitionPaths.from_settings(settings, (name,))
    if paths.slash_dates:
        raise ConfigError(
            f"option {SLASH_DATES.key}",
            "goes with SIMPLE and COMPLEX.",
            "leave it out, or say column:TIMESTAMP with an output format of yyyy/MM/dd.",
        )
    return paths
