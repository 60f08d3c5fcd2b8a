"""Types of an internal schema, of Arrow's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from hoodoo.errors import SchemaError
from hoodoo.model.schema import logical
from hoodoo.model.schema.conform import is_list_like

_PLAIN = {
    pa.bool_(): "boolean",
    pa.int32(): "int",
    pa.int64(): "long",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.string(): "string",
    pa.binary(): "binary",
    pa.date32(): "date",
    pa.time64("us"): "time",
    pa.time32("ms"): "time_millis",
    pa.timestamp("us"): "local_timestamp_micros",
    pa.timestamp("ms"): "local_timestamp_millis",
}


def record(fields: Any, ids: Iterator[int], known: Any = None) -> dict[str, Any]:
    """Arrow ``fields`` as a record. Those that ``known``, a record, has by name keep their ids;
    the others get the next of ``ids``, as Hudi gives them: those of one record first, then what
    is within."""
    there = {f["name"]: f for f in (known or {}).get("fields", ())}
    numbers = [there[f.name]["id"] if f.name in there else next(ids) for f in fields]
    made = []
    for one, number in zip(fields, numbers, strict=True):
        old = there.get(one.name, {})
        kind = _kind(one.type, ids, old.get("type"), one.name)
        doc = {"doc": old["doc"]} if "doc" in old else {}
        made.append({"id": number, "name": one.name, "optional": one.nullable, "type": kind, **doc})
    return {"type": "record", "fields": made}


def _kind(kind: pa.DataType, ids: Iterator[int], known: Any, column: str) -> Any:
    t, old = pa.types, known if isinstance(known, dict) else {}
    if text := logical.text_of(kind):
        raise SchemaError(
            f"column {column}",
            f"is a {text}, which Hudi's internal schema does not have.",
            "Leave the columns as they are, or write the rows into a new table.",
        )
    if t.is_struct(kind):
        return record(list(kind), ids, old)
    if t.is_map(kind):
        key, value = (old["key_id"], old["value_id"]) if "key_id" in old else (next(ids), next(ids))
        return {
            "type": "map",
            "key_id": key,
            "key": "string",
            "value_id": value,
            "value": _kind(kind.item_type, ids, old.get("value"), column),
            "value_optional": kind.item_field.nullable,
        }
    if is_list_like(kind):
        element = old["element_id"] if "element_id" in old else next(ids)
        return {
            "type": "array",
            "element_id": element,
            "element": _kind(kind.value_type, ids, old.get("element"), column),
            "element_optional": kind.value_field.nullable,
        }
    return _plain(kind, known, column)


def _plain(kind: pa.DataType, known: Any, column: str) -> str:
    t = pa.types
    if t.is_decimal(kind):
        same = f"({kind.precision}, {kind.scale})"  # as bytes or fixed, as the table has it
        if isinstance(known, str) and known.startswith("decimal_bytes") and known.endswith(same):
            return known
        if isinstance(known, str) and known.startswith("decimal_fixed") and same in known:
            return known
        return f"decimal{same}"
    if isinstance(known, str) and known == "uuid" and t.is_string(kind):
        return known
    if t.is_fixed_size_binary(kind):
        return f"fixed[{kind.byte_width}]"
    if t.is_timestamp(kind) and kind.tz is not None:
        return "timestamp" if kind.unit == "us" else "timestamp_millis"
    found = _PLAIN.get(kind) or (known if isinstance(known, str) else None)
    if found is None:
        raise SchemaError(
            f"column {column}",
            f"is of {kind}, which Hudi's internal schema does not have.",
            "Leave the columns as they are, or write the rows into a new table.",
        )
    return found


def ids_of(kind: Any) -> Iterator[int]:
    """All ids within a type."""
    if isinstance(kind, dict):
        for one in kind.get("fields", ()):
            yield one["id"]
            yield from ids_of(one["type"])
        for name in ("element", "key", "value"):
            if f"{name}_id" in kind:
                yield kind[f"{name}_id"]
                yield from ids_of(kind[name])
