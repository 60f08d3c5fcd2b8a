"""What ``hoodoo inspect`` shows of HFiles: trailer, file info, block index, entries. Only
hoodoo-cli imports it."""

from __future__ import annotations

from typing import Any

from attrs import frozen
from hoodoo.errors import HoodooError
from hoodoo.hookspecs.registration import Settings
from hoodoo.storage.api import Storage
from hoodoo.timeline.names import parse_path
from hoodoo_cli.hookspecs.inspector import Inspected
from hoodoo_cli.toolkit.values import plain

from hoodoo_metadata.hfile.format import DATA, LAST_KEY, content
from hoodoo_metadata.hfile.layout import layout_of
from hoodoo_metadata.hfile.reader import HFile
from hoodoo_metadata.hfile.window import FileWindow
from hoodoo_metadata.table.schema import decode_row

_BLOCKS = 50  # of the index that are shown


@frozen
class HFileInspector:
    """Implements :class:`hoodoo_cli.hookspecs.inspector.Inspector`."""

    @classmethod
    def from_settings(cls, settings: Settings) -> HFileInspector:
        return cls()

    def accepts(self, name: str, head: bytes) -> bool:
        return name.endswith(".hfile") or head.startswith(DATA)

    def inspect(self, storage: Storage, path: str, rows: int) -> Inspected:
        window = FileWindow.of(storage, path)
        layout, file = layout_of(window), HFile.open(window)
        base = parse_path(path)
        schema = file.info.get("schema", b"").decode("utf-8", "replace") or None
        info = {name: _info(name, value) for name, value in layout.info.items()}
        facts: dict[str, Any] = {}
        if base is not None:
            facts = {"file group": base.file_id, "instant": base.instant}
        facts |= {
            "entries": layout.entries,
            "data blocks": file.blocks,
            "index levels": layout.levels,
            "codec": layout.codec.name.lower(),
            "bytes": window.size,
            "load on open": layout.end,
            "meta blocks": {name: size for name, (_, size) in layout.meta.items()},
            "file info": {name: value for name, value in info.items() if name != "schema"},
        }
        index = layout.index
        blocks = [
            {
                "block": number,
                "offset": int(offset),
                "bytes": int(size),
                "first key": _text(key.as_py()),
            }
            for number, (offset, size, key) in enumerate(
                zip(
                    index.offsets[:_BLOCKS],
                    index.sizes[:_BLOCKS],
                    index.keys[:_BLOCKS],
                    strict=True,
                )
            )
        ]
        parts: dict[str, Any] = {"index": blocks}
        if rows:
            parts["entries"] = _entries(file, schema, rows)
        return Inspected("HFile", facts, parts, {"file info": info})


def _entries(file: HFile, schema: str | None, most: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for batch in file.scan():
        for entry in batch.slice(0, most - len(found)).to_pylist():
            found.append({"key": _text(entry["key"]), "value": _value(entry["value"], schema)})
        if len(found) >= most:
            break
    return found


def _value(value: bytes, schema: str | None) -> Any:
    """The row that the value holds; its text, or base64, where it holds none."""
    if schema is not None:
        try:
            row = decode_row(value, schema)
            return plain({name: part for name, part in row.items() if part is not None})
        except HoodooError:
            pass
    return _text(value)


def _info(name: str, value: bytes) -> Any:
    """A value of the file info: a key, a number, or text."""
    if name == LAST_KEY and len(value) > 2:
        return _text(content(value))
    if len(value) in (4, 8) and value[:1] == b"\0":
        return int.from_bytes(value, "big", signed=True)
    return _text(value)


def _text(value: bytes) -> Any:
    try:
        text = value.decode("utf-8")
    except UnicodeDecodeError:
        return plain(value)
    return text if text.isprintable() else plain(value)
