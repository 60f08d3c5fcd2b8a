"""Arrow schema <-> Avro schema text, as Spark Hudi writes and reads it.

Nested records and decimals are named the way Spark's Avro converter names them, so that text made
here is equal, byte for byte, to what Hudi puts into commits and footers for the same columns."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import pyarrow as pa

from hoodoo.errors import SchemaError
from hoodoo.model.meta import META_COLUMNS, with_meta
from hoodoo.model.schema import logical

Json = Any  # a decoded JSON value

_TO_AVRO: dict[pa.DataType, Json] = {
    pa.bool_(): "boolean",
    pa.int32(): "int",
    pa.int64(): "long",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.string(): "string",
    pa.binary(): "bytes",
    pa.date32(): {"type": "int", "logicalType": "date"},
    pa.time32("ms"): {"type": "int", "logicalType": "time-millis"},
    pa.time64("us"): {"type": "long", "logicalType": "time-micros"},
    pa.timestamp("ms", "UTC"): {"type": "long", "logicalType": "timestamp-millis"},
    pa.timestamp("us", "UTC"): {"type": "long", "logicalType": "timestamp-micros"},
    pa.timestamp("ms"): {"type": "long", "logicalType": "local-timestamp-millis"},
    pa.timestamp("us"): {"type": "long", "logicalType": "local-timestamp-micros"},
}
_PLAIN: dict[str, pa.DataType] = {v: k for k, v in _TO_AVRO.items() if isinstance(v, str)}
_LOGICAL: dict[tuple[str, str], pa.DataType] = {
    (v["type"], v["logicalType"]): k for k, v in _TO_AVRO.items() if isinstance(v, dict)
}


def record_name(table_name: str) -> tuple[str, str]:
    """Name and namespace of the table's record: Hudi masks what Avro does not allow in a name."""
    first = re.sub(r"^[^A-Za-z_]", "__", table_name)
    name = re.sub(r"[^A-Za-z0-9_]", "__", first)
    return f"{name}_record", f"hoodie.{name}"


def avro_text(schema: pa.Schema, table_name: str, meta: bool = False) -> str:
    """The Avro JSON of ``schema``, on one line; ``meta`` puts Hudi's five meta columns in front
    (where they are in ``schema`` already, they are written as Hudi writes them in any case).

    Raises SchemaError, naming the column, for a type that ``model.normalize`` of hoodoo-rows would
    have replaced or refused.
    """
    name, namespace = record_name(table_name)
    if meta:
        schema = with_meta(schema)
    fields = _fields(list(schema), f"{namespace}.{name}", "")
    for field in fields:
        if field["name"] in META_COLUMNS and "default" in field:  # Hudi documents them, emptily
            default = field.pop("default")
            field.update(doc="", default=default)
    _name_again(fields, set())
    record = {"type": "record", "name": name, "namespace": namespace, "fields": fields}
    return json.dumps(record, separators=(",", ":"), ensure_ascii=False)


def _name_again(fields: list[dict[str, Json]], seen: set[str]) -> None:
    """Logical types have names without a namespace, and Avro defines a name once."""
    for field in fields:
        union = field["type"] if isinstance(field["type"], list) else [field["type"]]
        avro = union[-1]
        if isinstance(avro, dict) and avro.get("namespace") == "":
            if avro["name"] in seen:
                field["type"] = ["null", avro["name"]] if len(union) > 1 else avro["name"]
            seen.add(avro["name"])


def _fields(fields: list[pa.Field], parent: str, path: str) -> list[dict[str, Json]]:
    """``parent`` is the full name of the record around, the namespace of all that it names."""
    made = []
    for f in fields:
        avro: dict[str, Json] = {"name": f.name}
        avro["type"] = _avro_type(f, f.name, parent, f"{path}.{f.name}" if path else f.name)
        if f.nullable:
            avro["default"] = None
        made.append(avro)
    return made


def _avro_type(field: pa.Field, name: str, parent: str, path: str) -> Json:
    kind = field.type
    avro: Json = _TO_AVRO.get(kind)
    if avro is None:
        if (own := logical.of(kind)) is not None:
            avro = {"type": "", "name": name, "namespace": parent, **own.avro(kind)}
        elif pa.types.is_decimal128(kind):
            avro = {
                "type": "fixed",
                "name": "fixed",
                "namespace": f"{parent}.{name}",
                "size": decimal_bytes(kind.precision),
                "logicalType": "decimal",
                "precision": kind.precision,
                "scale": kind.scale,
            }
        elif pa.types.is_list(kind):
            items = _avro_type(kind.value_field, name, parent, f"{path}[]")
            avro = {"type": "array", "items": items}
        elif pa.types.is_map(kind) and kind.key_type == pa.string():
            values = _avro_type(kind.item_field, name, parent, f"{path}{{}}")
            avro = {"type": "map", "values": values}
        elif pa.types.is_struct(kind):
            inner = _fields(
                [kind.field(i) for i in range(kind.num_fields)], f"{parent}.{name}", path
            )
            avro = {"type": "record", "name": name, "namespace": parent, "fields": inner}
        else:
            raise SchemaError(
                f"column {path}",
                f"Hudi tables have no type for Arrow's {kind}.",
                "Cast the column to a type of Hudi; keys of maps are strings.",
            )
    return ["null", avro] if field.nullable else avro


def decimal_bytes(precision: int) -> int:
    """Bytes of the smallest two's complement number that holds ``precision`` digits."""
    size = 1
    while 2 ** (8 * size - 1) < 10**precision:
        size += 1
    return size


@lru_cache(maxsize=16)  # a table of thousands of columns has the same text at each call
def arrow_schema(text: str | bytes, obj: str = "Avro schema") -> pa.Schema:
    """The Arrow schema of Avro JSON: a record, its unions ``["null", T]`` or ``[T, "null"]``.

    Raises SchemaError naming ``obj`` if the text is no Avro record, or naming the column whose
    type can't be held: a union of several types, a recursive record, nanoseconds.
    """
    try:
        decoded = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SchemaError(obj, f"it is not JSON ({error}).", "Restore the schema text.") from error
    if not isinstance(decoded, dict) or decoded.get("type") != "record":
        raise SchemaError(
            obj, "a table's Avro schema must be a record.", "Restore the schema text."
        )
    try:
        kind = _arrow_type(decoded, {}, str(decoded.get("namespace", "")), obj)
    # JSON of another shape than Avro's: a field without a name, say.
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise SchemaError(
            obj, f"it is not an Avro schema ({type(error).__name__}: {error}).",
            "Restore the schema text.",
        ) from error  # fmt: skip
    return pa.schema([kind.field(i) for i in range(kind.num_fields)])


def _arrow_field(name: str, avro: Json, named: dict[str, Json], space: str, path: str) -> pa.Field:
    if not isinstance(avro, list):
        return pa.field(name, _arrow_type(avro, named, space, path), nullable=False)
    kinds = [member for member in avro if member != "null"]
    if len(kinds) != 1:
        raise SchemaError(
            f"column {path}",
            f"a union of {len(kinds)} types can't be a column: {json.dumps(avro)[:200]}.",
            "Give the column one type.",
        )
    return pa.field(
        name, _arrow_type(kinds[0], named, space, path), nullable=len(kinds) < len(avro)
    )


def _arrow_type(avro: Json, named: dict[str, Json], space: str, path: str) -> pa.DataType:
    """``named`` holds the named types met so far; a record being read maps to None."""
    if isinstance(avro, str):
        if avro in _PLAIN:
            return _PLAIN[avro]
        return _known(avro, named, space, path)
    if not isinstance(avro, Mapping):
        raise _refused(avro, path)
    kind, meaning = avro.get("type"), avro.get("logicalType")
    if meaning and (own := logical.named(str(meaning))) is not None:
        found = named[str(avro.get("name", ""))] = own.of_avro(avro, path)
        return found
    # A write by Hoodoo would make a column of plain bytes, or a struct, of it.
    if kind in ("fixed", "record") and meaning not in (None, "decimal", "uuid"):
        more = f" Or install what brings this one ({logical.usual})."
        raise _refused(avro, path, more)
    if isinstance(kind, (dict, list)):  # {"type": {...}}: one wrapper too many, but legal
        return _arrow_type(kind, named, space, path)
    if kind == "array":
        return pa.list_(_arrow_field("element", avro["items"], named, space, f"{path}[]"))
    if kind == "map":
        values = _arrow_field("value", avro["values"], named, space, f"{path}{{}}")
        return pa.map_(pa.string(), values)
    if kind in ("record", "fixed", "enum"):
        return _named_type(avro, named, space, path)
    if meaning == "decimal" and kind == "bytes":
        return _decimal(avro, path)
    if meaning in ("timestamp-nanos", "local-timestamp-nanos", "duration"):
        raise _refused(avro, path)
    # A logical type that is not known (uuid, say) is, by Avro's rule, the type beneath it.
    found = _LOGICAL.get((str(kind), str(meaning)))
    return found if found is not None else _arrow_type(kind, named, space, path)


def _named_type(
    avro: Mapping[str, Json], named: dict[str, Json], space: str, path: str
) -> pa.DataType:
    name, space = _full_name(str(avro.get("name", "")), str(avro.get("namespace", space)))
    if avro["type"] == "record":
        named[name] = None
        below = "" if " " in path else f"{path}."  # the root is an object's name, not a column's
        fields = avro.get("fields", ())
        kinds = (
            _arrow_field(f["name"], f["type"], named, space, below + f["name"]) for f in fields
        )
        found: pa.DataType = pa.struct(list(kinds))
    elif avro["type"] == "enum":
        found = pa.string()
    elif avro.get("logicalType") == "decimal":
        found = _decimal(avro, path)
    else:
        found = pa.binary()
    named[name] = found
    return found


def _full_name(name: str, space: str) -> tuple[str, str]:
    if "." in name:
        return name, name.rsplit(".", 1)[0]
    return (f"{space}.{name}" if space else name), space


def _known(name: str, named: dict[str, Json], space: str, path: str) -> pa.DataType:
    full, _ = _full_name(name, space)
    full = full if full in named else name
    if full not in named:
        raise _refused(name, path)
    if named[full] is None:
        raise SchemaError(
            f"column {path}",
            f"the record {name} contains itself, so it has no Arrow type.",
            "Store the column as text or bytes.",
        )
    found: pa.DataType = named[full]
    return found


def _decimal(avro: Mapping[str, Json], path: str) -> pa.DataType:
    precision, scale = int(avro.get("precision", 0)), int(avro.get("scale", 0))
    if not 0 < precision <= 38:
        raise _refused(avro, path)
    return pa.decimal128(precision, scale)


def _refused(avro: Json, path: str, more: str = "") -> SchemaError:
    return SchemaError(
        f"column {path}",
        f"Avro's {json.dumps(avro)[:200]} is a type that Hoodoo can't store.",
        f"Use another type for the column.{more}",
    )
