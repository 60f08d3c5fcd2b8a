"""Definitions: ``index.json``, where Hudi looks up what the indexes of a table are of."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from hoodoo.model.config import TableConfig
from hoodoo.storage.api import Storage, names_in

from hoodoo_metadata.partitions.expression.definition import Expression
from hoodoo_metadata.partitions.secondary.rows import secondaries
from hoodoo_metadata.table.layout import COLUMN_STATS, PARTITIONED, RECORD_INDEX, VIRTUAL_PATH_INDEX
from hoodoo_metadata.table.metadata_table import FOLDER

PROPERTY = "hoodie.table.index.defs.path"
_PARTITIONED = "isPartitioned"
PATH = ".hoodie/.index_defs/index.json"
# A file of a record index that is not partitioned.
_OF_ALL_PATHS = re.compile(r"record-index-\d{4}-0_")


def is_partitioned(
    storage: Storage, partition: str = RECORD_INDEX, config: TableConfig | None = None
) -> bool:
    """Whether the record index in ``partition`` has file groups for each partition path. One read
    at the most.

    Where no definition says so, as it was cut off while it was put, the names of the file groups
    do, and where there are none, the index that ``config`` notes; without ``config`` it is a global
    one."""
    if partition != RECORD_INDEX:
        return partition == VIRTUAL_PATH_INDEX
    found = defined(storage).get(RECORD_INDEX)
    if found is not None:
        return str((found.get("indexOptions") or {}).get(_PARTITIONED, "")).lower() == "true"
    if config is None:
        return False
    groups = [n for n in names_in(storage, f"{FOLDER}/{RECORD_INDEX}") if not n.startswith(".")]
    if groups:
        return not any(_OF_ALL_PATHS.match(name) for name in groups)
    return (config.index_name or "").lower() == PARTITIONED


def defined(storage: Storage) -> dict[str, Any]:
    """Partition -> what its index is defined as; empty where nothing can be read."""
    with suppress(FileNotFoundError, RecursionError, TypeError, ValueError, AttributeError):
        return dict(json.loads(storage.get(PATH)).get("indexDefinitions") or {})
    return {}


def define(
    storage: Storage,
    config: TableConfig,
    partitions: Sequence[str],
    columns: Sequence[str],
    partitioned: bool,
) -> None:
    """Put those of ``partitions`` that Hudi has definitions of beside what is there. ``columns``:
    those with statistics; ``partitioned``: the record index is."""
    found = defined(storage)
    if RECORD_INDEX in partitions:
        options = {_PARTITIONED: "true" if partitioned else "false"}
        found[RECORD_INDEX] = _definition(RECORD_INDEX, "", (), options, "V1")
    if COLUMN_STATS in partitions:
        found[COLUMN_STATS] = _definition(COLUMN_STATS, COLUMN_STATS, columns, {}, _version(config))
    for partition, column in secondaries(config).items():
        if partition in partitions:  # made again, in another version perhaps
            found[partition] = _secondary(config, partition, column)
    _store(storage, found)


def define_secondary(storage: Storage, config: TableConfig, partition: str, column: str) -> None:
    """Put the definition of a secondary index beside what is there."""
    found = defined(storage)
    found[partition] = _secondary(config, partition, column)
    _store(storage, found)


def of_one_column(config: TableConfig, one: Any, partition: str) -> str | None:
    """The column that the index ``partition`` is of, which is defined as ``one``; None for a
    definition of another version, or of several columns."""
    with suppress(AttributeError, KeyError, TypeError, ValueError):
        (column,) = one["sourceFields"]
        if one.get("version", "V1") == _version(config) and not set(",:") & {*partition, *column}:
            return str(column)
    return None


def made_again(storage: Storage, kept: Mapping[str, str]) -> list[str]:
    """Those of ``kept``, partition -> column, that another engine has dropped and made again of
    another column: properties of Hoodoo's it leaves as they are."""
    found = defined(storage) if kept else {}
    return [p for p, c in kept.items() if p in found and found[p].get("sourceFields") != [c]]


def is_secondary_of(config: TableConfig, one: Any, partition: str, column: str) -> bool:
    """Whether ``one`` defines a secondary index as Hudi does."""
    same = _secondary(config, partition, column)
    return all(one.get(name) == same[name] for name in ("indexName", "indexType", "indexFunction"))


def define_expression(
    storage: Storage, config: TableConfig, partition: str, expression: Expression
) -> None:
    """Put the definition of an index of an expression beside what is there."""
    made = _definition(
        partition,
        expression.function,
        (expression.column,),
        dict(expression.options),
        _version(config),
    )
    found = {**defined(storage), partition: {**made, "indexType": expression.stored}}
    _store(storage, found)


def undefine(storage: Storage, partitions: Sequence[str]) -> None:
    """Take those of ``partitions`` away that there are."""
    found = defined(storage)
    left = {name: one for name, one in found.items() if name not in partitions}
    if left != found:
        _store(storage, left)


def _store(storage: Storage, definitions: Mapping[str, Any]) -> None:
    text = json.dumps({"indexDefinitions": definitions}, separators=(",", ":"))
    storage.put(PATH, text.encode())


def _version(config: TableConfig) -> str:
    return "V2" if config.traits.has_second_indexes else "V1"


def _secondary(config: TableConfig, partition: str, column: str) -> dict[str, Any]:
    made = _definition(partition, "identity", (column,), {}, _version(config))
    return {**made, "indexType": "secondary_index"}


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
