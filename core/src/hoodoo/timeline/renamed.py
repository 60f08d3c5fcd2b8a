"""Renamed columns: what schema evolution on read leaves in files under another name, which readers by name can't know."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from hoodoo.errors import UnsupportedTableError
from hoodoo.storage.api import Storage
from hoodoo.timeline.codec.bounded import reading


def refuse_renamed(storage: Storage, extra: Mapping[str, str]) -> None:
    """UnsupportedTableError where Hudi's internal schema in a commit's ``extra`` says that a column had another name,
    or that its name was another column's, in files that may still be there."""
    with reading(f"{storage.root}: the schema of Hudi's evolution on read", "not readable"):
        _refuse(storage, json.loads(extra.get("latest_schema") or "{}"))


def _refuse(storage: Storage, latest: Any) -> None:
    now = dict(_named(latest))
    ids = {name: number for number, name in now.items()}
    listed = storage.list(".hoodie/.schema") if now else ()
    found = [e.path for e in listed if e.name.endswith(".schemacommit")]
    history = json.loads(storage.get(max(found)))["schemas"] if found else []
    for number, name in (pair for before in history for pair in _named(before)):
        if now.get(number, name) != name or ids.get(name, number) != number:
            what = f"was called {name}" if now.get(number, name) != name else "took another's name"
            raise UnsupportedTableError(
                f"column {now.get(number, name)} of {storage.root}", f"{what} when older files were written (hoodie.schema.on.read.enable); files are read by names.",
                "Write the rows into a new table with Spark Hudi.",
            )  # fmt: skip


def _named(kind: Any, path: str = "") -> Iterator[tuple[int, str]]:
    """The number and the whole name of each field of an internal schema."""
    if isinstance(kind, dict):
        for field in kind.get("fields", ()):
            yield field["id"], path + field["name"]
            yield from _named(field["type"], f"{path}{field['name']}.")
        yield from _named(kind.get("element"), f"{path}element.")
        yield from _named(kind.get("value"), f"{path}value.")
