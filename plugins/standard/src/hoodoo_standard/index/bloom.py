"""Bloom index: the footers of base files say which of them can hold an asked key, and only these are read.

What each footer has is looked at where the file is matched: first the smallest and the largest key, then
the bloom filter (both by :mod:`~hoodoo_standard.index.sieve`). Where one asked key passes, the stored keys
are read as the simple index does, and only they decide; the answers of both are the same, always.
"""

from __future__ import annotations

from attrs import frozen
from hoodoo.errors import ConfigError
from hoodoo.hookspecs.engine import Stream
from hoodoo.hookspecs.index import IndexContext
from hoodoo.hookspecs.registration import Settings

from hoodoo_standard.index.lookup import located
from hoodoo_standard.index.sieve import Sieve
from hoodoo_standard.options import BLOOM_METADATA, BLOOM_MOVES, BLOOM_RANGES, SIDE_BYTES


@frozen
class BloomIndex:
    """``is_global``: keys are unique over the table. ``ranges``: the smallest and the largest key of a
    file are looked at before its filter. Holds no state; the footers are its data.

    Files without a filter are read as the simple index reads them, and so are all files of a table with
    virtual keys, whose footers know no keys.
    """

    is_global: bool = False
    moves_partitions: bool = False
    side_bytes: int = 256 << 20
    ranges: bool = True

    @classmethod
    def from_settings(cls, settings: Settings) -> BloomIndex:
        """Raises ConfigError for values that can't be, and where filters of the metadata table are
        asked for."""
        _only_footers(settings)
        return cls(side_bytes=settings.value(SIDE_BYTES), ranges=settings.value(BLOOM_RANGES))

    def locate(self, keys: Stream, context: IndexContext) -> Stream:
        sieve = Sieve(self.ranges, filters=context.key_generator is None)
        return located(keys, context, not self.is_global, self.side_bytes, sieve)


def global_from_settings(settings: Settings) -> BloomIndex:
    """The global form: Hudi's GLOBAL_BLOOM. Raises ConfigError as the other form does."""
    _only_footers(settings)
    return BloomIndex(
        is_global=True,
        moves_partitions=settings.value(BLOOM_MOVES),
        side_bytes=settings.value(SIDE_BYTES),
        ranges=settings.value(BLOOM_RANGES),
    )


def _only_footers(settings: Settings) -> None:
    if settings.value(BLOOM_METADATA):
        raise ConfigError(
            f"option {BLOOM_METADATA.key}",
            "Hoodoo keeps no bloom filters in the metadata table; it reads those in the footers.",
            "Leave the option out, or set it to false.",
        )
