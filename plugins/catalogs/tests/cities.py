"""Trips in cities, of which tests make tables that are in catalogs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("City", pa.string()),
        ("n", pa.int32()),
        ("at", pa.timestamp("us", "UTC")),
    ]
)


def trips(*cities: str) -> list[dict[str, Any]]:
    """One in each, numbered from 1."""
    return [{"id": n, "City": city, "n": n, "at": None} for n, city in enumerate(cities, 1)]


def made(path: Path, options: dict[str, str], **arguments: Any) -> hoodoo.Table:
    """An empty table, ``t``, partitioned by city unless ``arguments`` of ``hoodoo.create`` say
    otherwise."""
    given: dict[str, Any] = {"name": "t", "record_key": "id", "partition_by": "City", **arguments}
    return hoodoo.create(str(path), SCHEMA, options=options, **given)
