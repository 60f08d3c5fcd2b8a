"""Base files, and other Parquet files: footer, Hudi's metadata, columns, rows."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from attrs import frozen
from hoodoo.errors import CorruptTableError
from hoodoo.hookspecs.registration import Settings
from hoodoo.storage.api import Storage, open_named
from hoodoo.timeline.names import parse_path
from hoodoo_cli.hookspecs.inspector import Inspected
from hoodoo_cli.toolkit.values import plain, rows_of

from hoodoo_formats.parquet.ranges import footer_keys
from hoodoo_formats.record_keys import FILTER, FILTER_TYPE

_MAGIC = b"PAR1"


@frozen
class ParquetInspector:
    """Implements :class:`hoodoo_cli.hookspecs.inspector.Inspector`."""

    @classmethod
    def from_settings(cls, settings: Settings) -> ParquetInspector:
        return cls()

    def accepts(self, name: str, head: bytes) -> bool:
        return head.startswith(_MAGIC) or name.endswith(".parquet")

    def inspect(self, storage: Storage, path: str, rows: int) -> Inspected:
        obj = f"file {path}"
        try:
            with open_named(storage, path, obj) as opened:
                file = pq.ParquetFile(opened)
                stored = _stored(file.metadata)
                found = _facts(path, file.metadata, stored)
                parts: dict[str, Any] = {"columns": _columns(file)}
                if rows:
                    parts["rows"] = _rows(file, rows)
        except (pa.ArrowException, OSError) as error:
            reason = " ".join(str(error).split()).rstrip(".")
            raise CorruptTableError(
                obj, f"is no Parquet file that can be read ({reason}).", "Restore it from a copy."
            ) from error
        return Inspected("Parquet file", found, parts, {"metadata": stored})


def _stored(footer: pq.FileMetaData) -> dict[str, Any]:
    """The metadata by its keys; the bloom filter is too long to be of use."""
    found: dict[str, Any] = {}
    for name, value in sorted((footer.metadata or {}).items()):
        text, label = value.decode("utf-8", "replace"), name.decode("utf-8", "replace")
        found[label] = f"{len(value):,} bytes" if label == FILTER else _json(text)
    return found


def _facts(path: str, footer: pq.FileMetaData, stored: dict[str, Any]) -> dict[str, Any]:
    base = parse_path(path)
    keys = footer_keys(footer)
    facts: dict[str, Any] = {}
    if base is not None:
        facts |= {"file group": base.file_id, "instant": base.instant}
    return facts | {
        "rows": footer.num_rows,
        "row groups": footer.num_row_groups,
        "footer bytes": footer.serialized_size,
        "written by": footer.created_by,
        "least key": keys[0] if keys else None,
        "greatest key": keys[1] if keys else None,
        "bloom filter": stored.get(FILTER_TYPE) or ("SIMPLE" if FILTER in stored else None),
        "metadata": ", ".join(stored),
    }


def _json(text: str) -> Any:
    if not text.startswith(("{", "[")):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _columns(file: pq.ParquetFile) -> list[dict[str, Any]]:
    footer, found = file.metadata, []
    for place in range(footer.num_columns):
        schema = footer.schema.column(place)
        chunks = [footer.row_group(n).column(place) for n in range(footer.num_row_groups)]
        known = [c.statistics for c in chunks if c.is_stats_set and c.statistics is not None]
        ranged = [s for s in known if s.has_min_max] if len(known) == len(chunks) else []
        whole = len(ranged) == len(chunks) and bool(chunks)
        found.append(
            {
                "column": schema.path,
                "type": _kind(schema),
                "codec": chunks[0].compression.lower() if chunks else None,
                "bytes": sum(c.total_compressed_size for c in chunks),
                "nulls": sum(s.null_count or 0 for s in known) if known else None,
                "least": _end(min, [s.min for s in ranged]) if whole else None,
                "greatest": _end(max, [s.max for s in ranged]) if whole else None,
            }
        )
    return found


def _kind(schema: Any) -> str:
    logical = str(schema.logical_type)
    return str(schema.physical_type).lower() if logical == "None" else logical.split("(")[0].lower()


def _end(choose: Any, values: list[Any]) -> Any:
    try:
        return plain(choose(values))
    except (TypeError, ValueError):
        return None


def _rows(file: pq.ParquetFile, number: int) -> list[dict[str, Any]]:
    for batch in file.iter_batches(batch_size=number):
        return rows_of(batch)
    return []
