"""What engines that find a table in a catalog can't do with it."""

from __future__ import annotations

from hoodoo.model.config import TableConfig
from hoodoo.timeline.layouts import layout_of

_FACE = "publish it as Iceberg or Delta Lake (table.publish), or create it with table_version=6"


def limits_of_athena(config: TableConfig) -> tuple[str, ...]:
    """Sentences of the readers of AWS Glue."""
    if not layout_of(config).names_completion:
        return ()
    return (
        f"Athena knows Hudi 0.14 and 0.15, and reads no table of version {config.version}: {_FACE}",
    )


def limits_of_trino(config: TableConfig) -> tuple[str, ...]:
    """Sentences of readers that are not Hudi's own."""
    found = []
    if layout_of(config).names_completion:
        found.append(f"Trino reads no Hudi table of version {config.version}: {_FACE}")
    if config.table_type == "MERGE_ON_READ":
        found.append("Trino reads the base files of a merge-on-read table, and no log files")
    return tuple(found)
