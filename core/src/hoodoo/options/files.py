"""Options of base files and log files, in whatever format."""

from __future__ import annotations

from hoodoo.options.kinds import Choice, Number, Size, Whole
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
SMALL_FILE_LIMIT = Option(
    "hoodie.parquet.small.file.limit",
    "Base files below this many bytes take inserts; 0: none do.",
    str(100 << 20),
    kind=Size(),
)
LOG_BLOCKS = Option(
    "hoodie.logfile.data.block.format",
    "The blocks that log files are written with; both are always read. By default parquet, but avro "
    "where an ordering column is text.",
    kind=Choice("parquet", "avro"),
)

FILE_OPTIONS: tuple[Option, ...] = (SMALL_FILE_LIMIT, LOG_BLOCKS)
