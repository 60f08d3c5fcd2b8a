"""Options of base files and log files, in whatever format."""

from __future__ import annotations

from hoodoo.options.kinds import PluginName, Size
from hoodoo.options.option import Option

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
