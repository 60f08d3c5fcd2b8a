"""All options that core reads itself. Those of what core registers (the store, the serializer)
stand with the registrations."""

from __future__ import annotations

from hoodoo.options.kinds import PluginName, Size
from hoodoo.options.option import Option
from hoodoo.options.table import TABLE_OPTIONS
from hoodoo.options.virtual import VIRTUAL_OPTIONS
from hoodoo.options.write import WRITE_OPTIONS

SMALL_FILE_LIMIT = Option(
    "hoodie.parquet.small.file.limit",
    "Inserts fill base files that have fewer bytes than this; 0: inserts fill no existing files.",
    str(100 << 20),
    kind=Size(),
)
LOG_BLOCKS = Option(
    "hoodie.logfile.data.block.format",
    "The format of blocks in new log files; every format can be read. By default parquet, but avro "
    "if an ordering column is text, or beside Lance files.",
    kind=PluginName("log_block"),
)

FILE_OPTIONS: tuple[Option, ...] = (SMALL_FILE_LIMIT, LOG_BLOCKS)


CORE_OPTIONS: tuple[Option, ...] = (*TABLE_OPTIONS, *WRITE_OPTIONS, *FILE_OPTIONS, *VIRTUAL_OPTIONS)
