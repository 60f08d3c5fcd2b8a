"""A plugin of dbt-duckdb: sources that are Hoodoo tables."""

from __future__ import annotations

from typing import Any

import hoodoo
import pyarrow as pa
from dbt.adapters.duckdb.plugins import BasePlugin


class Plugin(BasePlugin):
    def load(self, source_config: Any) -> pa.Table:
        """The rows of the table at ``path``; with ``as_of``, as they were then."""
        table = hoodoo.open(source_config["path"])
        return table.read(as_of=source_config.get("as_of")).to_arrow()
