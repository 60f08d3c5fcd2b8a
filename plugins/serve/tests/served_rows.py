"""Rows of the tables that these tests serve."""

from __future__ import annotations

import pyarrow as pa
from hoodoo_rows.testing.tables import Maker

SCHEMA = pa.schema([("id", pa.int64()), ("v", pa.string()), ("ts", pa.int64())])

rows = Maker(SCHEMA, "ts", v=lambda i, ts: f"v{ts}")
