"""What Hudi's tables of version 9 may say beside a merge mode. The mergers here do none of it, and
a table that says it is refused: with the mode alone, rows would be merged wrongly.

Hudi's upgrade, and new tables with one of these payload classes, store it in place of the class
(RFC-97): PostgresDebeziumAvroPayload, PartialUpdateAvroPayload,
OverwriteNonDefaultsWithLatestAvroPayload, AWSDmsAvroPayload."""

from __future__ import annotations

from hoodoo.errors import UnsupportedTableError
from hoodoo.hookspecs.registration import Settings

from hoodoo_standard.options import PARTIAL_UPDATES

PREFIX = "hoodie.record.merge.property."
LEGACY = "hoodie.table.legacy.payload.class"


def refuse(settings: Settings) -> None:
    """UnsupportedTableError where the table has a partial update mode, or properties of merging."""
    said = {
        key: value
        for key, value in settings.table.properties.items()
        if key.startswith(PREFIX)
        or (key == PARTIAL_UPDATES.key and value.strip().upper() not in ("", "NONE"))
    }
    if said:
        of_class = settings.table.get(LEGACY)
        raise UnsupportedTableError(
            f"table {settings.table.name}",
            "no installed plugin of the family merger merges rows as its properties say: "
            + ", ".join(f"{key}={value}" for key, value in sorted(said.items()))
            + (f" (of the payload class {of_class})" if of_class else ""),
            'write to it with Spark Hudi; reads work without log files (mode="read_optimized").',
        )
