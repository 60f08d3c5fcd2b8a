"""Content of change data blocks: what a commit did to rows of a base file that it rewrote.

Three schemas, by how much is noted (Spark Hudi 1.2 writes the same texts): operation and key; these
and the row before; operation, instant, the rows before and after. Rows are those of the table,
without meta columns."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
from hoodoo.model.schema.avro import avro_text

from hoodoo_history.change_logs.mode import BEFORE, BEFORE_AFTER, KEYS

_OPTIONAL: list[Any] = ["null", "string"]


def change_schema(mode: str, images: pa.Schema, table_name: str) -> str:
    """The Avro schema of the blocks of a table with the columns ``images``, in plain types."""
    if mode == KEYS:
        fields = [{"name": n, "type": ["string", "null"]} for n in ("op", "record_key")]
        return _text({"type": "record", "name": "Record", "fields": fields})
    record = json.loads(avro_text(images, table_name))
    namespace = record.pop("namespace")
    before: list[Any] = ["null", {"type": "record", "name": record["name"], **record}]
    columns: dict[str, list[Any]] = {"op": _OPTIONAL}
    columns |= {"record_key": _OPTIONAL} if mode == BEFORE else {"ts_ms": _OPTIONAL}
    columns["before"] = before
    if mode == BEFORE_AFTER:
        columns["after"] = ["null", record["name"]]
    made = [{"name": n, "type": t, "doc": "", "default": None} for n, t in columns.items()]
    top = {"type": "record", "name": "CDC", "namespace": namespace, "doc": "", "fields": made}
    return _text(top)


def arrow_columns(mode: str, images: pa.Schema) -> pa.Schema:
    """The columns of batches that a change data block is written of."""
    image = pa.struct(list(images))
    fields: list[tuple[str, pa.DataType]] = [("op", pa.string())]
    if mode == KEYS:
        return pa.schema([*fields, ("record_key", pa.string())])
    if mode == BEFORE:
        return pa.schema([*fields, ("record_key", pa.string()), ("before", image)])
    return pa.schema([*fields, ("ts_ms", pa.string()), ("before", image), ("after", image)])


def _text(schema: dict[str, Any]) -> str:
    return json.dumps(schema, separators=(",", ":"), ensure_ascii=False)
