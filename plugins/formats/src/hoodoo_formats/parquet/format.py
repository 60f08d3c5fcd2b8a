"""The parquet base file format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
from attrs import Factory, evolve, frozen
from hoodoo.hookspecs.file_format import BaseFileReader, BaseRanges, KnowsKeys, StoredFilter
from hoodoo.options.option import OptionSource
from hoodoo.options.table import BOOTSTRAP_BASE, FIELD_IDS
from hoodoo.storage.api import Storage

from hoodoo_formats import options as keys
from hoodoo_formats import record_keys
from hoodoo_formats.bloom import BloomFilter
from hoodoo_formats.parquet.field_ids import field_ids
from hoodoo_formats.parquet.ranges import file_ranges, footer_columns, footer_keys, read_footer
from hoodoo_formats.parquet.reader import ParquetReader
from hoodoo_formats.parquet.writer import ParquetWriter, WriterOptions
from hoodoo_formats.record_keys import KeyStats

if TYPE_CHECKING:
    from hoodoo_formats.parquet.in_place import InPlaceWriter


@frozen
class ParquetFormat:
    """Implements :class:`hoodoo.hookspecs.file_format.BaseFileFormat`."""

    options: WriterOptions = Factory(WriterOptions)
    # Base files may have the meta columns alone, as a bootstrap makes them.
    skeletons: bool = False

    @property
    def plain_parquet(self) -> bool:
        return True

    @property
    def extension(self) -> str:
        return ".parquet"

    @staticmethod
    def from_settings(settings: OptionSource) -> ParquetFormat:
        """Read Hudi's names: ``hoodie.parquet.compression.codec`` (default here: zstd),
        ``.block.size``, ``.page.size``, ``.dictionary.enabled``, ``.bloom.filter.enabled``, and the
        bloom filter's; ``hoodoo.parquet.copy.unchanged``. Raises ConfigError for a value that is
        not usable."""
        codec = keys.CODECS[settings.value(keys.CODEC)]
        return ParquetFormat(
            WriterOptions(
                table_name=settings.get("hoodie.table.name") or "",
                codec=codec,
                level=keys.LEVELS.get(codec),
                block_bytes=settings.value(keys.BLOCK_SIZE),
                page_bytes=settings.value(keys.PAGE_SIZE),
                dictionary=settings.value(keys.DICTIONARY),
                copies=settings.value(keys.COPY_UNCHANGED),
                bloom=record_keys.filter_options(settings),
                key_stats=record_keys.are_stored(settings),
                ids=field_ids(settings.get(FIELD_IDS) or "{}"),
            ),
            bool(settings.get(BOOTSTRAP_BASE)),
        )

    def reader(self, storage: Storage, path: str) -> ParquetReader:
        """Open ``path``. Raises CorruptTableError naming it if it is missing or no parquet file."""
        return ParquetReader(storage, path, self.skeletons)

    def writer(
        self,
        local: str,
        schema: pa.Schema,
        expected_rows: int | None = None,
        base: BaseFileReader | None = None,
    ) -> ParquetWriter:
        """Start a file at ``local``; it is whole after ``close``."""
        from hoodoo_formats.parquet.assembled import MOST_COLUMNS, AssembledWriter  # no read does

        # The footer of one that makes its keys is of others.
        if base is not None and not (self.options.copies and isinstance(base, KnowsKeys)):
            base = None
        keys = KeyStats.begin(self.options.bloom, expected_rows, base)
        side_by_side = self.options.threads > 1 and len(schema) < MOST_COLUMNS
        kind = AssembledWriter if side_by_side else ParquetWriter
        return kind(local, schema, self.options, keys if self.options.key_stats else None)

    def with_threads(self, threads: int) -> ParquetFormat:
        """The same, whose writers encode the columns of a file with ``threads`` threads."""
        return evolve(self, options=evolve(self.options, threads=threads))

    def in_place(
        self,
        local: str,
        schema: pa.Schema,
        expected_rows: int | None,
        base: BaseFileReader,
        constants: Mapping[str, str],
    ) -> InPlaceWriter | None:
        """Start a file at ``local`` that has most of ``base`` as it is; None where that does not
        pay."""
        from hoodoo_formats.parquet import in_place

        if not self.options.copies or not isinstance(base, ParquetReader):
            return None
        if base.chunk_bytes() < in_place.COPIED_FROM:
            return None
        return in_place.begin(local, schema, self.options, base, constants)

    def base_ranges(self, storage: Storage, path: str, columns: Sequence[str]) -> BaseRanges:
        """From the footer alone. Raises CorruptTableError naming ``path``."""
        footer = read_footer(storage, path)
        found = file_ranges(footer, columns, path.rpartition("/")[2])
        ranges = {one.column: one for one in found}
        return BaseRanges(footer.num_rows, footer_keys(footer), footer_columns(footer), ranges)

    def stored_filter(self, storage: Storage, path: str) -> StoredFilter | None:
        """That of the footer. Where it has none, all keys are read. Raises CorruptTableError naming
        ``path``."""
        with self.reader(storage, path) as reader:
            found = reader.stored_filter()
            return found or record_keys.rebuilt_filter(reader, path, self.options.bloom)

    def opened_filter(self, stored: StoredFilter) -> BloomFilter:
        return record_keys.opened_filter(stored)
