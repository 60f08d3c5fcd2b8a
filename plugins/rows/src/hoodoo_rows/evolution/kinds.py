"""Types of an internal schema, of Arrow's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from hoodoo.errors import SchemaError
from hoodoo.model.schema import logical

from hoodoo_rows.model.conform import is_list_like

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
_ELEMENTS = {pa.float32(): "FLOAT", pa.float64(): "DOUBLE", pa.int8(): "INT8"}


def _field(number: int, name: str, kind: Any, optional: bool, doc: str = "") -> dict[str, Any]:
    found = {"id": number, "name": name, "optional": optional, "type": kind}
    return {**found, "doc": doc} if doc else found


# Hudi knows these types by the ids of their fields.
_VARIANT = [
    _field(-2, "metadata", "binary", False, "Variant metadata component"),
    _field(-1, "value", "binary", False, "Variant value component"),
]


def _blob(ids: Iterator[int]) -> list[dict[str, Any]]:
    """The fields within ``reference`` get free ids. Spark Hudi 1.2 gives them 0 to 3, which other
    columns have, and can't read its table then."""
    reference = [
        _field(next(ids), "external_path", "string", False),
        _field(next(ids), "offset", "long", True),
        _field(next(ids), "length", "long", True),
        _field(next(ids), "managed", "boolean", False),
    ]
    return [
        _field(-10, "type", "string", False, "Blob storage type (INLINE | OUT_OF_LINE)"),
        _field(-11, "data", "binary", True, "Inline blob bytes"),
        _field(
            -12,
            "reference",
            {"type": "record", "fields": reference},
            True,
            "Out-of-line blob reference",
        ),
    ]


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
        return _logical(text, kind, ids, known, column)
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


def _logical(text: str, kind: pa.DataType, ids: Iterator[int], known: Any, column: str) -> Any:
    """As Hudi has its own types: one value each, whatever is within it."""
    name = text.partition("(")[0]
    if is_whole(known):
        return known
    if name == "VECTOR":
        return f"vector[{kind.list_size}, {_ELEMENTS[kind.value_type]}, FIXED_BYTES]"
    if name not in ("VARIANT", "BLOB"):
        raise SchemaError(
            f"column {column}",
            f"is a {text}, which Hudi's internal schema does not have.",
            "Leave the columns as they are, or write the rows into a new table.",
        )
    return {"type": "record", "fields": _VARIANT if name == "VARIANT" else _blob(ids)}


def is_whole(kind: Any) -> bool:
    """Whether a type of an internal schema is a record by its form alone: the ids of its fields are
    those of a logical type, the same in each column of it."""
    fields = kind.get("fields", ()) if isinstance(kind, dict) else ()
    return bool(fields) and all(f["id"] < 0 for f in fields)


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
