"""Change data capture: what a table's properties ask of the logs that note changes (format page 4)."""

from __future__ import annotations

from hoodoo.model.config import TableConfig

ENABLED = "hoodie.table.cdc.enabled"
MODE = "hoodie.table.cdc.supplemental.logging.mode"
KEYS, BEFORE, BEFORE_AFTER = "OP_KEY_ONLY", "DATA_BEFORE", "DATA_BEFORE_AFTER"
# Of a write stat: path of each log -> its bytes.
STATS = "cdcStats"
SUFFIX = ".cdc"
# Values of the column `op`.
INSERTED, UPDATED, DELETED = "i", "u", "d"


def mode(config: TableConfig) -> str | None:
    """What the change data logs of the table hold; None for a table that has none."""
    if (config.get(ENABLED) or "").strip().lower() != "true":
        return None
    return (config.get(MODE) or BEFORE_AFTER).strip().upper()
