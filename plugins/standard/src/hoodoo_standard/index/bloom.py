"""Bloom index: filters say which base files can hold an asked key, and only these are read.

Filters that are stored beside the files, as in the metadata table, are asked before a file is
opened (:mod:`~hoodoo_standard.index.stored_filters`). Of other files the footer is looked at: first
the smallest and the largest key, then the bloom filter (both by
:mod:`~hoodoo_standard.index.lookup`). Where one asked key passes, the stored keys are read as the
simple index does, and only they decide; the answers of both are the same, always."""

from __future__ import annotations

from attrs import frozen
from hoodoo.hookspecs.engine import Stream
from hoodoo.hookspecs.index import IndexContext
from hoodoo.hookspecs.registration import Settings

from hoodoo_standard.index.lookup import Sieve, located
from hoodoo_standard.index.stored_filters import StoredFilters
from hoodoo_standard.options import BLOOM_METADATA, BLOOM_MOVES, BLOOM_RANGES, SIDE_BYTES


@frozen
class BloomIndex:
    """``is_global``: keys are unique over the table. ``ranges``: the smallest and the largest key
    of a file are looked at before its filter. ``stored``: filters that are stored beside the files
    are asked instead of the footers of these. Holds no state; the filters are its data.

    Files without a filter are read as the simple index reads them, and so are all files of a table
    with virtual keys, whose footers know no keys."""

    is_global: bool = False
    moves_partitions: bool = False
    side_bytes: int = 256 << 20
    ranges: bool = True
    stored: bool = True

    @classmethod
    def from_settings(cls, settings: Settings) -> BloomIndex:
        """Raises ConfigError for values that can't be."""
        return cls(
            side_bytes=settings.value(SIDE_BYTES),
            ranges=settings.value(BLOOM_RANGES),
            stored=settings.value(BLOOM_METADATA),
        )

    def locate(self, keys: Stream, context: IndexContext) -> Stream:
        sieve = self._sieve(context)
        return located(keys, context, not self.is_global, self.side_bytes, sieve)

    def locate_rows(self, keys: Stream, context: IndexContext) -> Stream:
        sieve = self._sieve(context)
        return located(keys, context, not self.is_global, self.side_bytes, sieve, rows=True)

    def _sieve(self, context: IndexContext) -> Sieve:
        filters = context.key_generator is None
        stored = StoredFilters.of(context) if filters and self.stored else None
        return Sieve(self.ranges, filters, stored)


def global_from_settings(settings: Settings) -> BloomIndex:
    """The global form: Hudi's GLOBAL_BLOOM. Raises ConfigError as the other form does."""
    return BloomIndex(
        is_global=True,
        moves_partitions=settings.value(BLOOM_MOVES),
        side_bytes=settings.value(SIDE_BYTES),
        ranges=settings.value(BLOOM_RANGES),
        stored=settings.value(BLOOM_METADATA),
    )
