"""Definitions: ``index.json``, where Hudi looks up what the indexes of a table are of."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from hoodoo.storage.api import Storage

from hoodoo_metadata.layout import COLUMN_STATS, RECORD_INDEX, VIRTUAL_PATH_INDEX

PROPERTY = "hoodie.table.index.defs.path"
_PARTITIONED = "isPartitioned"
PATH = ".hoodie/.index_defs/index.json"


def is_partitioned(storage: Storage, partition: str = RECORD_INDEX) -> bool:
    """Whether the record index in ``partition`` has file groups for each partition path. One read at the most."""
    if partition != RECORD_INDEX:
        return partition == VIRTUAL_PATH_INDEX
    told = _told(storage).get(RECORD_INDEX) or {}
    return str((told.get("indexOptions") or {}).get(_PARTITIONED, "")).lower() == "true"


def _told(storage: Storage) -> dict[str, Any]:
    with suppress(FileNotFoundError, ValueError):
        return dict(json.loads(storage.get(PATH)).get("indexDefinitions") or {})
    return {}


def define(
    storage: Storage, partitions: Sequence[str], columns: Sequence[str], partitioned: bool
) -> None:
    """Put those of ``partitions`` that Hudi has definitions of beside what is there. ``columns``: those with
    statistics; ``partitioned``: the record index is."""
    found = _told(storage)
    if RECORD_INDEX in partitions:
        options = {_PARTITIONED: "true" if partitioned else "false"}
        found[RECORD_INDEX] = _definition(RECORD_INDEX, "", (), options, "V1")
    if COLUMN_STATS in partitions:
        found[COLUMN_STATS] = _definition(COLUMN_STATS, COLUMN_STATS, columns, {}, "V2")
    text = json.dumps({"indexDefinitions": found}, separators=(",", ":"))
    storage.put(PATH, text.encode())


def define_secondary(storage: Storage, partition: str, column: str) -> None:
    """Put the definition of a secondary index beside what is there."""
    found = _told(storage)
    found[partition] = {
        **_definition(partition, "identity", (column,), {}, "V2"),
        "indexType": "secondary_index",
    }
    text = json.dumps({"indexDefinitions": found}, separators=(",", ":"))
    storage.put(PATH, text.encode())


def undefine(storage: Storage, partitions: Sequence[str]) -> None:
    """Take those of ``partitions`` away that there are."""
    found = _told(storage)
    left = {name: one for name, one in found.items() if name not in partitions}
    if left != found:
        text = json.dumps({"indexDefinitions": left}, separators=(",", ":"))
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
