"""Options of statements."""

from __future__ import annotations

from hoodoo.options.kinds import Choice, Size
from hoodoo.options.option import Option

SOURCE_LIMIT = Option(
    "hoodoo.merge.source.limit",
    "How large a source table.merge takes: each task holds it in memory.",
    str(1 << 30),
    kind=Size(1),
)

OVERWRITE_MODE = Option(
    "hoodie.datasource.overwrite.mode",
    "What INSERT OVERWRITE without values of partition columns replaces: the whole table "
    "(static), or the partition paths in which rows arrive (dynamic).",
    "static",
    kind=Choice("static", "dynamic"),
)
