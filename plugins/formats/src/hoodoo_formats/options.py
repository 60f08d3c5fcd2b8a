"""Options of the formats."""

from __future__ import annotations

from hoodoo.options.kinds import FLAG, Choice, Number, Size, Whole
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
BLOOM_TYPE = Option(
    "hoodie.bloom.index.filter.type",
    "SIMPLE: bloom filters of one size; DYNAMIC_V0: filters that grow with their keys.",
    "DYNAMIC_V0",
    kind=Choice("SIMPLE", "DYNAMIC_V0"),
)
BLOOM_FPP = Option(
    "hoodie.index.bloom.fpp", "Rate of false positives.", "1e-09", kind=Number(above=0, below=1)
)
BLOOM_ENTRIES = Option(
    "hoodie.index.bloom.num_entries",
    "Keys that a bloom filter is made for at first; by default those that there are.",
    kind=Whole(1),
)
BLOOM_MOST = Option(
    "hoodie.bloom.index.filter.dynamic.max.entries",
    "Keys that a filter of the type DYNAMIC_V0 may grow to.",
    kind=Whole(1),
)

COPY_UNCHANGED = Option(
    "hoodoo.parquet.copy.unchanged",
    "When a base file is replaced, its columns and row groups that do not change are copied, and "
    "its bloom filter, which has deleted keys, too; false: all are made again.",
    "true",
    kind=FLAG,
)

RECORD_POSITIONS = Option(
    "hoodie.write.record.positions",
    "Blocks of log files say which rows of the base file they change, where the index has looked "
    "into that file. Readers then need no keys to merge them. Tables of version 8 and 9.",
    "true",
    kind=FLAG,
)

# Of all formats whose files have Hudi's bloom filter.
BLOOM_OPTIONS = (BLOOM_FILTER, BLOOM_TYPE, BLOOM_FPP, BLOOM_ENTRIES, BLOOM_MOST)
PARQUET_OPTIONS: tuple[Option, ...] = (
    CODEC,
    BLOCK_SIZE,
    PAGE_SIZE,
    DICTIONARY,
    *BLOOM_OPTIONS,
    COPY_UNCHANGED,
)
