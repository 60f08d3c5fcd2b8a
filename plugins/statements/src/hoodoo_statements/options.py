"""Options of statements."""

from __future__ import annotations

from hoodoo.options.kinds import Size
from hoodoo.options.option import Option

SOURCE_LIMIT = Option(
    "hoodoo.merge.source.limit",
    "How large a source table.merge takes: each task holds it in memory.",
    str(1 << 30),
    kind=Size(1),
)
