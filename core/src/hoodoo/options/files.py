"""Options of base files and log files, in whatever format."""

from __future__ import annotations

from hoodoo.options.kinds import Choice, Number, PluginName, Size, Whole
from hoodoo.options.option import Option

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
    "The blocks that log files are written with; all are always read. By default parquet, but avro "
    "where an ordering column is text.",
    kind=PluginName("log_block"),
)

FILE_OPTIONS: tuple[Option, ...] = (SMALL_FILE_LIMIT, LOG_BLOCKS)
