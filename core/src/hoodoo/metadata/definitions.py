"""Definitions: ``index.json``, where Hudi looks up what the indexes of a table are of."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from hoodoo.metadata.layout import COLUMN_STATS, RECORD_INDEX
from hoodoo.storage.api import Storage

PROPERTY = "hoodie.table.index.defs.path"
PATH = ".hoodie/.index_defs/index.json"


def define(storage: Storage, partitions: Sequence[str], columns: Sequence[str]) -> None:
    """Put those of ``partitions`` that Hudi has definitions of beside what is there. ``columns``: those with
    statistics."""
    found: dict[str, Any] = {}
    with suppress(FileNotFoundError, ValueError):
        found = json.loads(storage.get(PATH)).get("indexDefinitions") or {}
    if RECORD_INDEX in partitions:
        options = {"isPartitioned": "false"}
        found[RECORD_INDEX] = _definition(RECORD_INDEX, "", (), options, "V1")
    if COLUMN_STATS in partitions:
        found[COLUMN_STATS] = _definition(COLUMN_STATS, COLUMN_STATS, columns, {}, "V2")
    text = json.dumps({"indexDefinitions": found}, separators=(",", ":"))
    storage.put(PATH, text.encode())


def _definition(
    name: str, function: str, columns: Sequence[str], options: dict[str, str], version: str
) -> dict[str, Any]:
    return {
        "indexName": name,
        "indexType": name,
        "indexFunction": function,
        "sourceFields": list(columns),
        "indexOptions": options,
        "version": version,
    }
