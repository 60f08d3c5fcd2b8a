"""Keys that are the values of columns, one after the other: RFC-21's columns and concatenator.

Hudi has no such key generator: its readers read the rows of such a table, its writers refuse it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen
from hoodoo.errors import ConfigError, DataError, NullKeyError
from hoodoo.hookspecs.key_generator import KeyGenerator
from hoodoo.hookspecs.registration import Settings
from hoodoo.options.virtual import CONCATENATOR

from hoodoo_standard.keygen.auto import AutoKeyGenerator
from hoodoo_standard.keygen.partition_path import PartitionPaths
from hoodoo_standard.keygen.paths import ByPaths
from hoodoo_standard.keygen.record_key import plain_keys


@frozen
class ConcatenatedKeyGenerator(ByPaths):
    """Keys ``v1<concatenator>v2``; the path is made of all partition columns, if there are any."""

    record_key_fields: tuple[str, ...]
    paths: PartitionPaths
    concatenator: str = "_"
    can_be_virtual = True

    @classmethod
    def from_settings(cls, settings: Settings) -> KeyGenerator:
        keys, paths = settings.table.record_key_fields, PartitionPaths.from_settings(settings)
        if not keys:
            return AutoKeyGenerator(paths)
        concatenator = settings.given(CONCATENATOR) or "_"
        if concatenator.strip() != concatenator:
            raise ConfigError(
                f"option {CONCATENATOR.key}={concatenator!r}",
                "has spaces at its ends, which properties do not keep.",
                "use other characters.",
            )
        return cls(keys, paths, concatenator)

    def record_keys(self, batch: pa.RecordBatch) -> pa.Array:
        """NullKeyError where a value is null or empty; DataError where one holds the concatenator,
        as other rows could have the same key then."""
        texts = self._texts(batch)
        for field, text in zip(self.record_key_fields[:-1], texts, strict=False):
            # Where it overlaps itself, it may also begin in the value and end behind it.
            whole = pc.binary_join_element_wise(text, self.concatenator, "")
            at = pc.find_substring(whole, self.concatenator)
            if pc.any(pc.less(at, pc.binary_length(text))).as_py():
                raise DataError(
                    f"key column {field!r}",
                    f"has values with {self.concatenator!r} in them, which stands between the "
                    "columns of "
                    "a key: two rows could have the same one.",
                    f"use another {CONCATENATOR.key} when the table is created.",
                )
        return (
            texts[0] if len(texts) == 1 else pc.binary_join_element_wise(*texts, self.concatenator)
        )

    def _texts(self, batch: pa.RecordBatch) -> list[pa.StringArray]:
        """The values as texts. NullKeyError names all columns where one is null or empty."""
        texts: list[pa.StringArray] = []
        wrong: dict[str, NullKeyError] = {}
        for field in self.record_key_fields:
            try:
                texts.append(plain_keys(batch, field, self.paths.logical_timestamps))
            except NullKeyError as error:
                wrong[field] = error
        for first in wrong.values():
            names = ", ".join(map(repr, wrong))
            raise NullKeyError(f"record key, column {names}", first.rule, first.fix)
        return texts

    def partition_paths(self, batch: pa.RecordBatch) -> pa.Array:
        if not self.paths.fields:
            return pa.repeat("", batch.num_rows)
        return self.paths.paths(batch)

    def partition_values(self, path: str, schema: pa.Schema) -> Mapping[str, Any] | None:
        return self.paths.values(path, schema) if self.paths.fields else {}
