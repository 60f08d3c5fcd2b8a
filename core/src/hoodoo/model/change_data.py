"""Change data capture: what a table says of the logs that note changes."""

from __future__ import annotations

# Of a write stat: path of each log -> its bytes.
STATS = "cdcStats"
SUFFIX = ".cdc"
