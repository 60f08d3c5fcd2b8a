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
INSERT_INTO = Option(
    "hoodie.spark.sql.insert.into.operation",
    "What SQL's INSERT INTO does: insert, upsert or bulk_insert.",
    "insert",
    kind=Choice("insert", "upsert", "bulk_insert"),
)
