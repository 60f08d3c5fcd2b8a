"""Tables for the tests of commands, and how these are run."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
from hoodoo_rows.testing.tables import Maker

SCHEMA = pa.schema(
    [("id", pa.int64()), ("city", pa.string()), ("fare", pa.float64()), ("ts", pa.int64())]
)
Run = Callable[..., tuple[int, str, str]]

rows = Maker(SCHEMA, "ts", city=("oslo", "rome"), fare=lambda i: i / 2)


# Name -> what is different: type, version, options.
KINDS: dict[str, dict[str, Any]] = {
    "cow6": {"table_version": 6},
    "cow9": {},
    "mor6": {"table_type": "MERGE_ON_READ", "table_version": 6},
    "mor9": {"table_type": "MERGE_ON_READ"},
    "virtual": {"options": {"hoodie.populate.meta.fields": "false"}},
}


def create(path: Path, kind: str) -> hoodoo.Table:
    return hoodoo.create(
        str(path), SCHEMA, name="trips", record_key="id", partition_by="city", ordering="ts", **KINDS[kind]
    )  # fmt: skip


def trips(path: Path, kind: str) -> hoodoo.Table:
    """Ten rows, of which five were updated, and one was deleted."""
    table = create(path, kind)
    table.upsert(rows(range(10), 1))
    table.upsert(rows(range(5), 2))
    table.delete([9])
    return table


def said(found: tuple[int, str, str]) -> Any:
    """The JSON of a command that has worked."""
    code, out, err = found
    assert (code, err) == (0, "")
    return json.loads(out)
