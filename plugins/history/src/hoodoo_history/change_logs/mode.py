"""What logs of change data hold, by the table's properties."""

from __future__ import annotations

from hoodoo.model.config import TableConfig
from hoodoo.options.table import CDC, CDC_MODE

KEYS, BEFORE, BEFORE_AFTER = "OP_KEY_ONLY", "DATA_BEFORE", "DATA_BEFORE_AFTER"
# Values of the column `op`.
INSERTED, UPDATED, DELETED = "i", "u", "d"


def mode(config: TableConfig) -> str | None:
    """What the change data logs of the table hold; None for a table that has none."""
    if not CDC.stored(config.properties):
        return None
    return (config.get(CDC_MODE.key) or BEFORE_AFTER).strip().upper()
