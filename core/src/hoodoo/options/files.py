"""Options of base files and log files, in whatever format."""

from __future__ import annotations

from hoodoo.options.kinds import PluginName, Size
from hoodoo.options.option import Option

SMALL_FILE_LIMIT = Option(
    "hoodie.parquet.small.file.limit",
    "Inserts fill base files that have fewer bytes than this; 0: inserts fill no existing files.",
    str(100 << 20),
    kind=Size(),
)
LOG_BLOCKS = Option(
    "hoodie.logfile.data.block.format",
    "The format of blocks in new log files; every format can be read. By default parquet, but avro if an ordering column is text.",
    kind=PluginName("log_block"),
)

FILE_OPTIONS: tuple[Option, ...] = (SMALL_FILE_LIMIT, LOG_BLOCKS)
