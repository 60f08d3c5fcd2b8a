"""Rows of the tables that these tests serve."""

from __future__ import annotations

import pyarrow as pa

SCHEMA = pa.schema([("id", pa.int64()), ("v", pa.string()), ("ts", pa.int64())])


def rows(ids: range, ts: int) -> pa.Table:
    columns = {"id": list(ids), "v": [f"v{ts}"] * len(ids), "ts": [ts] * len(ids)}
    return pa.table(columns, schema=SCHEMA)
