"""The format: which files it makes, and what it knows of them without reading rows."""

from __future__ import annotations

import pyarrow as pa
from attrs import Factory, frozen
from hoodoo.hookspecs.file_format import BaseFileReader, KnowsKeys, MembershipFilter, StoredFilter
from hoodoo.model.meta import RECORD_KEY
from hoodoo.options.option import OptionSource
from hoodoo.storage.api import Storage
from hoodoo_formats import record_keys
from hoodoo_formats.record_keys import BloomOptions, KeyStats

from hoodoo_lance.reader import LanceReader
from hoodoo_lance.writer import LanceWriter


@frozen
class LanceFormat:
    """Implements :class:`hoodoo.hookspecs.file_format.BaseFileFormat` and ``StoresFilters``.

    It knows no ranges of columns: Lance files of this version hold none. ``bloom`` None: no bloom
    filter; ``key_stats`` False: nothing about record keys (virtual keys)."""

    bloom: BloomOptions | None = Factory(BloomOptions)
    key_stats: bool = True

    @classmethod
    def from_settings(cls, settings: OptionSource) -> LanceFormat:
        """By Hudi's names of the bloom filter. ConfigError for a value that is not usable."""
        return cls(record_keys.filter_options(settings), record_keys.are_stored(settings))

    @property
    def column_stats(self) -> bool:
        """As in Hudi 1.2: what earlier writers stored of Lance files left out all of them."""
        return False

    @property
    def extension(self) -> str:
        return ".lance"

    def reader(self, storage: Storage, path: str) -> LanceReader:
        return LanceReader(storage, path)

    def writer(
        self,
        local: str,
        schema: pa.Schema,
        expected_rows: int | None = None,
        base: BaseFileReader | None = None,
    ) -> LanceWriter:
        keys = None
        if self.key_stats and RECORD_KEY in schema.names:
            # What one says that makes its keys is of others.
            known = base if isinstance(base, KnowsKeys) else None
            keys = KeyStats.begin(self.bloom, expected_rows, known)
        return LanceWriter(local, schema, keys)

    def stored_filter(self, storage: Storage, path: str) -> StoredFilter | None:
        with self.reader(storage, path) as reader:
            found = record_keys.stored_filter(path, reader.metadata)
            return found or record_keys.rebuilt_filter(reader, path, self.bloom)

    def opened_filter(self, stored: StoredFilter) -> MembershipFilter:
        return record_keys.opened_filter(stored)
