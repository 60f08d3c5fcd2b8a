"""The key generator itself: Arrow in, Arrow out; it knows nothing of tables, files or Spark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from hoodoo.errors import ConfigError, MissingColumnError, NullKeyError
from hoodoo.hookspecs import Settings


@dataclass(frozen=True)
class FoldedKey:
    """The key is one text column in lower case, without blanks at its ends; there are no
    partitions."""

    column: str
    keep_blanks: bool = False
    can_be_virtual: bool = True  # the column tells the key again

    @classmethod
    def from_settings(cls, settings: Settings) -> FoldedKey:
        keys, partitions = settings.table.record_key_fields, settings.table.partition_fields
        if len(keys) != 1 or partitions:
            raise ConfigError(
                "key generator folded",
                f"takes one record key column and no partition columns, not {len(keys)} and "
                f"{len(partitions)}.",
                "Use COMPLEX for several columns.",
            )
        return cls(keys[0], settings.get("hoodoo.folded_key.keep_blanks") == "true")

    @property
    def record_key_fields(self) -> tuple[str, ...]:
        return (self.column,)

    @property
    def partition_fields(self) -> tuple[str, ...]:
        return ()

    def record_keys(self, batch: pa.RecordBatch) -> pa.Array:
        if self.column not in batch.schema.names:
            raise MissingColumnError(f"column {self.column}", "is not in the data.", "Add it.")
        text = pc.utf8_lower(batch.column(self.column).cast(pa.string()))
        keys = text if self.keep_blanks else pc.utf8_trim_whitespace(text)
        if keys.null_count or pc.any(pc.equal(keys, "")).as_py():
            raise NullKeyError(
                f"column {self.column}", "has rows that are null or blank.", "Leave these rows out."
            )
        return keys

    def partition_paths(self, batch: pa.RecordBatch) -> pa.Array:
        return pa.repeat("", batch.num_rows)

    def partition_values(self, path: str, schema: pa.Schema) -> Mapping[str, Any] | None:
        return {}
