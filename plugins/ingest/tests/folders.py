"""Folders of files that are fed into a table, and what the table has then."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import hoodoo

Rows = list[dict[str, Any]]


def config(folder: Path, **sections: Mapping[str, Any]) -> dict[str, Any]:
    """Of the files in ``folder``/in and the table ``folder``/t; more keys for each section."""
    known: dict[str, dict[str, Any]] = {
        "source": {"kind": "files", "path": str(folder / "in")},
        "table": {"path": str(folder / "t"), "record_key": "id"},
    }
    for name, more in sections.items():
        known[name] = {**known.get(name, {}), **more}
    return known


def put(
    folder: Path, name: str, rows: Iterable[Mapping[str, Any]], at: float | None = None
) -> Path:
    """A file of JSON lines below ``folder``/in, modified ``at`` this time."""
    return put_text(folder, name, "".join(json.dumps(row) + "\n" for row in rows), at)


def put_text(folder: Path, name: str, text: str, at: float | None = None) -> Path:
    path = folder / "in" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    if at is not None:
        os.utime(path, (at, at))
    return path


def fed(known: Mapping[str, Any], **how: Any) -> list[Any]:
    return list(hoodoo.ingest(known, **how))


def ids(folder: Path) -> list[int]:
    """The keys of all rows: twice if a row is there twice."""
    table = hoodoo.open(str(folder / "t"))
    return sorted(table.read(columns=["id"]).to_arrow()["id"].to_pylist())


def writes(folder: Path) -> int:
    return len(hoodoo.open(str(folder / "t")).timeline().writes())
