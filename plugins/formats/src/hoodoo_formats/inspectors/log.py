"""Log files: their blocks, headers, damages, and the first rows and deletes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen
from hoodoo.errors import HoodooError
from hoodoo.hookspecs.log_format import LogFileReader
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.log_files import log_files
from hoodoo.model.log_block import MAGIC, BlockKind, Header, LogBlock, kind_name
from hoodoo.storage.api import Storage
from hoodoo.timeline.names import parse_path
from hoodoo_cli.hookspecs.inspector import Inspected
from hoodoo_cli.toolkit.values import rows_of

_WITHOUT_ROWS = (BlockKind.COMMAND, BlockKind.CORRUPT, BlockKind.HFILE)


@frozen
class LogInspector:
    """Implements :class:`hoodoo_cli.hookspecs.inspector.Inspector`."""

    @classmethod
    def from_settings(cls, settings: Settings) -> LogInspector:
        return cls()

    def accepts(self, name: str, head: bytes) -> bool:
        return head.startswith(MAGIC) or (name.startswith(".") and ".log." in name)

    def inspect(self, storage: Storage, path: str, rows: int) -> Inspected:
        log = parse_path(path)
        with log_files().reader(storage, path) as reader:
            blocks, damages = reader.blocks, reader.damages
            shown: list[Mapping[str, Any]] = []
            figures = [
                _block(reader, number, block, rows, shown) for number, block in enumerate(blocks)
            ]
        facts: dict[str, Any] = {}
        if log is not None:
            facts = {"file group": log.file_id, "instant": log.instant}
        facts |= {"blocks": len(blocks), "bytes": sum(block.size for block in blocks)}
        parts: dict[str, Any] = {"blocks": figures}
        schemas = dict.fromkeys(block.schema_text for block in blocks if block.schema_text)
        if schemas:
            parts["schemas"] = [{"schema": text} for text in schemas]
        if damages:
            parts["damages"] = [{"damage": str(damage)} for damage in damages]
        if shown:
            parts["rows"] = shown
        return Inspected("log file", facts, parts)


def _block(
    reader: LogFileReader, number: int, block: LogBlock, most: int, shown: list[Mapping[str, Any]]
) -> dict[str, Any]:
    """The figures of a block; its rows are added to ``shown``, up to ``most`` of them."""
    found: dict[str, Any] = {
        "block": number,
        "kind": kind_name(block.kind).lower(),
        "offset": block.offset,
        "bytes": block.size,
        "rows": None,
        "headers": _headers(block),
    }
    if block.kind in _WITHOUT_ROWS:
        return found
    try:
        rows = reader.deletes(block, ()) if block.kind == BlockKind.DELETE else reader.rows(block)
    except HoodooError as error:
        return {**found, "error": error.rule.rstrip(".")}
    found["rows"] = rows.num_rows
    for row in rows_of(rows.slice(0, max(0, most - len(shown)))):
        shown.append({"block": number, **row})
    return found


def _headers(block: LogBlock) -> dict[str, str]:
    """By name, without the schema, which is shown apart."""
    known = {member.value: member.name.lower() for member in Header}
    return {
        known.get(key, f"header_{key}"): value
        for key, value in block.headers.items()
        if key != Header.SCHEMA
    }
