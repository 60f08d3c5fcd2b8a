"""The options of open formats."""

from __future__ import annotations

from hoodoo.hookspecs.registration import Option
from hoodoo.options import FLAG, NAMES

FORMATS = Option(
    "hoodoo.open.formats",
    "Formats whose metadata is written beside Hudi's after each commit: delta, iceberg.",
    table_property=True,
    assumed=False,
    kind=NAMES,
)
READ_OPTIMIZED = Option(
    "hoodoo.open.read.optimized",
    "Publish a merge-on-read table as its base files, without the rows of its log files.",
    "false",
    table_property=True,
    assumed=False,
    kind=FLAG,
)
ALL = (FORMATS, READ_OPTIMIZED)
