"""A commit with its files, and some rows: what somebody opens on the page of a table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa
from hoodoo.errors import ConfigError
from hoodoo.kernel.archived import load_archived
from hoodoo.model.commit import CommitMetadata, WriteStat
from hoodoo.model.instant import State
from hoodoo.table.table import Table
from hoodoo.timeline.timeline import Timeline

from hoodoo_cli.toolkit.values import cell, rows_of

SECRET = re.compile(r"passw|secret|token|credential|access[._-]?key|account[._-]?key", re.I)
MOST_FILES = 500
MOST_ROWS = 100
_MOST_COLUMNS = 100
_LONGEST = 200  # characters of a value


def commit_of(table: Table, timeline: Timeline, requested: str, action: str) -> dict[str, Any]:
    """The files of an instant: those that a write made, those that a plan names or a service
    deleted. ConfigError for an instant that is not there."""
    storage, config = table.handle.storage, table.handle.config
    for instant in timeline.instants:
        if (instant.requested, instant.action) == (requested, action):
            state = instant.state.value.lower()
            if instant.is_write and instant.is_completed:
                return _of_write(timeline.metadata(storage, instant), action, state)
            at = instant if instant.is_completed else instant.at(State.REQUESTED)
            return _of_service(timeline.contents(storage, at), action, state)
    for one in load_archived(storage, config):
        if (one.requested, one.action) == (requested, action):
            if one.is_write:
                return _of_write(one.metadata(), action, "archived")
            return _of_service(one.contents(), action, "archived")
    raise ConfigError(
        f"instant {requested} {action}", "is not on the timeline.", "Load the page again."
    )


def rows_shown(table: Table, limit: int, where: str) -> dict[str, Any]:
    """The first rows of the newest snapshot for which the condition is true, as texts."""
    if not 1 <= limit <= MOST_ROWS:
        raise ConfigError(
            f"limit {limit}", "is out of bounds.", f"Give a number from 1 to {MOST_ROWS}."
        )
    names = table.schema.names
    found = shown_rows(table.read(names[:_MOST_COLUMNS], where=where or None).head(limit))
    return {**found, "all_columns": len(names)}


def shown_rows(found: pa.Table) -> dict[str, Any]:
    """Rows as texts; the names of columns of a query may be there twice. ``all_columns`` are as
    many as there are, also where fewer are shown."""
    count = found.num_columns
    found = found.select(range(min(count, _MOST_COLUMNS)))
    numbered = found.rename_columns([str(number) for number in range(found.num_columns)])
    return {
        "columns": found.column_names,
        "all_columns": count,
        "numeric": [_is_number(one.type) for one in found.schema],
        "rows": [[cell(value, _LONGEST) for value in row.values()] for row in rows_of(numbered)],
    }


def _of_write(metadata: CommitMetadata, action: str, state: str) -> dict[str, Any]:
    stats = [stat for stat in metadata.stats if stat.path]
    done = metadata.figures
    rows = f"{done['rows_inserted']:,} inserted, {done['rows_updated']:,} updated"
    replaced = sum(len(ids) for ids in metadata.replaced.values())
    facts = [("Rows", f"{rows}, {done['rows_deleted']:,} deleted")]
    facts += [("Replaced", f"{replaced:,} file groups")] if replaced else []
    facts += _plain(metadata.extra.items())
    return _answer(
        metadata.operation.value.lower(), action, state, map(_file, stats), len(stats), facts
    )


def _of_service(said: Mapping[str, Any], action: str, state: str) -> dict[str, Any]:
    files = [
        _named(
            str(one.get("partitionPath") or ""), str(one.get("dataFilePath") or one.get("fileId"))
        )
        for one in said.get("operations") or ()
    ]
    for partition, deleted in (said.get("partitionMetadata") or {}).items():
        paths = deleted.get("successDeleteFiles") or deleted.get("successDeleteFile") or ()
        files += [_named(partition, str(path)) for path in paths]
    facts = _plain((key, value) for key, value in said.items() if isinstance(value, (str, int)))
    return _answer("", action, state, files, len(files), facts)


def _answer(
    operation: str,
    action: str,
    state: str,
    files: Iterable[dict[str, Any]],
    total: int,
    facts: list[tuple[str, str]],
) -> dict[str, Any]:
    shown = [one for one, _ in zip(files, range(MOST_FILES))]
    about = {"operation": operation, "action": action, "state": state}
    return {**about, "files": shown, "total": total, "facts": facts}


def _file(stat: WriteStat) -> dict[str, Any]:
    return {
        "partition": stat.partition_path,
        "file": stat.path.rpartition("/")[2],
        "rows": stat.num_writes,
        "inserted": stat.num_inserts,
        "updated": stat.num_updates,
        "deleted": stat.num_deletes,
        "unmerged": stat.unmerged,
        "bytes": stat.file_size,
    }


def _named(partition: str, path: str) -> dict[str, Any]:
    zero = dict.fromkeys(("rows", "inserted", "updated", "deleted", "unmerged", "bytes"), 0)
    return {"partition": partition, "file": path.rpartition("/")[2], **zero}


def _plain(items: Iterable[tuple[str, Any]]) -> list[tuple[str, str]]:
    """Short values; the schema is on the page, and what looks like a secret is not."""
    return [
        (key, "(hidden)" if SECRET.search(key) else cell(value, _LONGEST))
        for key, value in items
        if key != "schema" and not key.startswith("hoodoo.") and value not in ("", None)
    ][:20]


def _is_number(kind: pa.DataType) -> bool:
    t = pa.types
    return bool(t.is_integer(kind) or t.is_floating(kind) or t.is_decimal(kind))
