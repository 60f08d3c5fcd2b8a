"""Options of the formats."""

from __future__ import annotations

from hoodoo.options.files import BLOOM_ENTRIES, BLOOM_FPP, BLOOM_MOST, BLOOM_TYPE
from hoodoo.options.kinds import FLAG, Choice, Size
from hoodoo.options.option import Option

CODEC = Option(
    "hoodie.parquet.compression.codec",
    "How base files are compressed.",
    "zstd",
    kind=Choice(
        "zstd", "snappy", "gzip", "lz4", "lz4_raw", "brotli", "uncompressed", none="uncompressed"
    ),
)
# Hudi's names (parquet-mr's CompressionCodecName) -> pyarrow's; levels where speed is worth it.
CODECS = {
    "gzip": "gzip",
    "snappy": "snappy",
    "zstd": "zstd",
    "lz4_raw": "lz4",
    "lz4": "lz4",  # pyarrow writes LZ4_RAW; the framed LZ4 of old parquet-mr is gone everywhere
    "brotli": "brotli",
    "uncompressed": "none",
}
LEVELS = {"zstd": 1}
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
