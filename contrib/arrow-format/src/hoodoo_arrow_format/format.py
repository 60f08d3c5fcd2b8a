"""The format: which files it makes, and what it knows of them without reading rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
from attrs import frozen
from hoodoo.errors import ConfigError
from hoodoo.hookspecs import Settings
from hoodoo.hookspecs.file_format import BaseFileReader, ColumnBounds
from hoodoo.storage.api import Storage

from hoodoo_arrow_format.reader import ArrowReader
from hoodoo_arrow_format.writer import ArrowWriter

_COMPRESSIONS = {"zstd": "zstd", "lz4": "lz4", "none": None}


@frozen
class ArrowFormat:
    """Implements :class:`hoodoo.hookspecs.file_format.BaseFileFormat` and ``HasColumnRanges``."""

    compression: str | None = "zstd"

    @classmethod
    def from_settings(cls, settings: Settings) -> ArrowFormat:
        """ConfigError for a compression that there isn't."""
        named = (settings.get("hoodoo.arrow_format.compression") or "zstd").lower()
        if named not in _COMPRESSIONS:
            raise ConfigError(
                f"option hoodoo.arrow_format.compression={named}",
                "is no compression of Arrow files.",
                f"Name one of {', '.join(_COMPRESSIONS)}.",
            )
        return cls(_COMPRESSIONS[named])

    @property
    def extension(self) -> str:
        return ".arrow"

    def reader(self, storage: Storage, path: str) -> ArrowReader:
        return ArrowReader(storage, path)

    def writer(
        self,
        local: str,
        schema: pa.Schema,
        expected_rows: int | None = None,
        base: BaseFileReader | None = None,
    ) -> ArrowWriter:
        return ArrowWriter(local, schema, self.compression)

    def column_ranges(
        self, storage: Storage, path: str, columns: Sequence[str]
    ) -> Mapping[str, ColumnBounds]:
        with self.reader(storage, path) as reader:
            known = reader.ranges()
        return {name: known[name] for name in columns if name in known}
