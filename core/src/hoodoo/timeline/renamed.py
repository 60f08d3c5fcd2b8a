"""Renamed columns: what schema evolution on read leaves in files under another name, which readers by name can't know."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hoodoo.errors import UnsupportedTableError
from hoodoo.storage.api import Storage

_HISTORY = ".hoodie/.schema"


def refuse_renamed(storage: Storage, extra: Mapping[str, str]) -> None:
    """UnsupportedTableError where Hudi's internal schema in a commit's ``extra`` says that a column had another name,
    or that its name was another column's, in files that may still be there."""
    if not extra.get("latest_schema"):
        return
    now = dict(_named(json.loads(extra["latest_schema"])))
    ids = {name: number for number, name in now.items()}
    found = [e.path for e in storage.list(_HISTORY) if e.name.endswith(".schemacommit")]
    history = json.loads(storage.get(max(found)))["schemas"] if found else []
    for number, name in (pair for before in history for pair in _named(before)):
        if now.get(number, name) != name or ids.get(name, number) != number:
            what = f"was called {name}" if now.get(number, name) != name else "took another's name"
            raise UnsupportedTableError(
                f"column {now.get(number, name)} of {storage.root}",
                f"{what} when older files were written (hoodie.schema.on.read.enable); files are read by names.",
                "Write the rows into a new table with Spark Hudi.",
            )


def _named(kind: Any, path: Sequence[str] = ()) -> Iterator[tuple[int, str]]:
    """The number and the whole name of each field of an internal schema."""
    if isinstance(kind, dict):
        for field in kind.get("fields", ()):
            yield field["id"], ".".join((*path, field["name"]))
            yield from _named(field["type"], (*path, field["name"]))
        for word in ("element", "value"):
            yield from _named(kind.get(word), (*path, word))
