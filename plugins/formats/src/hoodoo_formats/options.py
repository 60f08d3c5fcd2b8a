"""Options of the formats."""

from __future__ import annotations

from hoodoo.options.files import BLOOM_ENTRIES, BLOOM_FPP, BLOOM_MOST, BLOOM_TYPE, CODEC
from hoodoo.options.kinds import FLAG, Size
from hoodoo.options.option import Option

BLOCK_SIZE = Option(
    "hoodie.parquet.block.size", "Bytes of a row group.", str(120 << 20), kind=Size(1)
)
PAGE_SIZE = Option(
    "hoodie.parquet.page.size", "Bytes of a page; below 64 it is 64.", str(1 << 20), kind=Size(1)
)
DICTIONARY = Option(
    "hoodie.parquet.dictionary.enabled", "Encode with dictionaries.", "true", kind=FLAG
)
BLOOM_FILTER = Option(
    "hoodie.parquet.bloom.filter.enabled", "Put a bloom filter in the footer.", "true", kind=FLAG
)

PARQUET_OPTIONS: tuple[Option, ...] = (
    CODEC,
    BLOCK_SIZE,
    PAGE_SIZE,
    DICTIONARY,
    BLOOM_FILTER,
    BLOOM_TYPE,
    BLOOM_FPP,
    BLOOM_ENTRIES,
    BLOOM_MOST,
)
