"""The door: what Arrow data of any origin becomes before the first row is looked at.

polars, duckdb, pandas and Spark bring views, dictionaries, large types, nanoseconds and small
integers. :func:`normalise_schema` says once what each column becomes, or why it can't be stored;
:mod:`hoodoo_rows.model.conform` then brings the batches into that schema.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import lru_cache

import pyarrow as pa
from hoodoo.errors import SchemaError
from hoodoo.model.meta import IS_DELETED, META_COLUMNS, OPERATION
from hoodoo.model.schema import logical
from hoodoo.options import table

from hoodoo_rows.model.conform import conform, is_list_like, is_uuid

__all__ = ["conform", "normalise_schema", "plain_schema", "without_index"]

_INDEX_LEVEL = re.compile(r"__index_level_\d+__")

Leaf = Callable[[pa.DataType, str], pa.DataType]

# Arrow's extension types whose values are those of their storage; bool8 becomes boolean, a UUID its
# text. Others mean more than that.
_AS_STORED = ("arrow.json", "arrow.fixed_shape_tensor")
_EXTENSION = b"ARROW:extension:name"  # of a field whose type nobody has registered


def normalise_schema(schema: pa.Schema, options: Mapping[str, str]) -> pa.Schema:
    """The schema that a table stores for rows that arrive in ``schema``.

    Hudi's meta columns are dropped, every field becomes nullable, metadata goes. Views, large
    types, dictionaries and runs become plain text, bytes and lists; timestamps become microseconds
    in UTC, those without a zone stay so (unless ``hoodoo.naive.timestamps`` says UTC), in
    milliseconds where they are; integers that Avro lacks the next larger one it has. Raises
    SchemaError for names and types that can't be stored.
    """
    return _normalised(schema.serialize().to_pybytes(), bool(table.NAIVE_TIMESTAMPS.given(options)))


@lru_cache(maxsize=16)  # each step of a write asks, and a table may have thousands of columns
def _normalised(text: bytes, utc: bool) -> pa.Schema:
    schema = pa.ipc.read_schema(pa.py_buffer(text))
    fields = [f for f in schema if f.name not in META_COLUMNS]
    _check_names([f.name for f in fields], "")
    _check_marks(fields)

    def leaf(kind: pa.DataType, path: str) -> pa.DataType:
        return _stored_leaf(kind, path, utc)

    return _schema(fields, leaf, check=True)


def without_index(schema: pa.Schema, kept: Collection[str] = ()) -> pa.Schema:
    """``schema`` without the columns that pandas makes, and says so, of an index that has no name:
    the numbers that rows had before a frame was filtered say nothing of them. ``kept`` columns
    stay."""
    said = json.loads((schema.metadata or {}).get(b"pandas", b"{}")).get("index_columns", ())
    index = {n for n in said if isinstance(n, str) and _INDEX_LEVEL.fullmatch(n)}.difference(kept)
    return pa.schema([field for field in schema if field.name not in index]) if index else schema


# In the metadata of a field: what brought it knows that it holds nulls alone.
NO_VALUES = b"hoodoo.no.values"


def known_type(field: pa.Field, kind: pa.DataType) -> pa.DataType:
    """The type of ``field``, which arrives for a column of ``kind``, at any depth that of the
    column where its own says nothing (nulls alone, a struct without fields) or is one that no table
    has (uint64, wider decimals): what fits is cast then. SchemaError for UUIDs in place of bytes,
    which would be those of their texts."""
    t, found = pa.types, field.type
    wide = t.is_decimal(found) and not (t.is_decimal128(found) and found.scale >= 0)
    if t.is_null(found) or NO_VALUES in (field.metadata or ()) or logical.text_of(kind):
        return kind
    if is_uuid(found) and t.is_binary(kind):
        raise SchemaError(
            f"column {field.name}",
            "is binary in the table, and UUIDs came, which are stored as text.",
            "Write their bytes, cast to fixed_size_binary[16], or add a column of text.",
        )
    if (t.is_decimal(kind) and (wide or t.is_uint64(found))) or (
        t.is_integer(kind) and t.is_uint64(found)
    ):
        return kind

    def inner(child: pa.Field, known: pa.DataType) -> pa.Field:
        return child.with_type(known_type(child, known))

    if t.is_struct(found) and t.is_struct(kind):
        there = {f.name: f.type for f in kind}
        return (
            pa.struct([inner(f, there.get(f.name, f.type)) for f in found]) if len(found) else kind
        )
    if is_list_like(found) and t.is_list(kind):
        return pa.list_(inner(found.value_field, kind.value_type))
    if t.is_map(found) and t.is_map(kind):
        return pa.map_(
            inner(found.key_field, kind.key_type), inner(found.item_field, kind.item_type)
        )
    return found


def legal_name(name: str) -> bool:
    """Whether a column of Hudi can have it: what Avro in Java takes, letters of all alphabets."""
    plain = name.replace("_", "a")  # a pair of surrogates is no letter there
    return (
        not name[:1].isdecimal()
        and bool(name)
        and all((c.isalpha() or c.isdecimal()) and c <= "\uffff" for c in plain)
    )


def plain_schema(schema: pa.Schema, check: bool = False) -> pa.Schema:
    """``schema`` in the one form that Hoodoo's own batches have, whatever the types: no views,
    large types or dictionaries, all nullable, no metadata. Refuses nothing, unless ``check``: then
    SchemaError for what would be another thing in that form."""
    # That of a file is of its own: with it, a schema is never the one before.
    return _plain(schema.remove_metadata().serialize().to_pybytes(), check)


@lru_cache(maxsize=16)
def _plain(text: bytes, check: bool) -> pa.Schema:
    schema = pa.ipc.read_schema(pa.py_buffer(text))
    return _schema(schema, lambda kind, _path: kind, check)


def _schema(fields: Iterable[pa.Field], leaf: Leaf, check: bool) -> pa.Schema:
    found: list[pa.Field] = []
    known: dict[int, pa.DataType] = {}  # thousands of columns have few types
    for field in fields:
        kind = field.type
        becomes = None if field.metadata else known.get(kind.id)
        becomes = becomes or _type(field, field.name, leaf, check)
        if kind.id in _BARE:
            known[kind.id] = becomes
        found.append(pa.field(field.name, becomes))
    return pa.schema(found)


def _check_names(names: Iterable[str], parent: str) -> None:
    seen: dict[str, str] = {}
    for name in names:
        path = f"{parent}.{name}" if parent else name
        if not legal_name(name):
            raise SchemaError(
                f"column {path!r}",
                "the name of a Hudi column has letters, digits and _ only, and does not start with "
                "a digit.",
                f"Rename it, for example to {re.sub(r'[^A-Za-z0-9_]', '_', '_' + name)!r}.",
            )
        if not parent and name.startswith("_hoodie_") and name not in (IS_DELETED, OPERATION):
            raise SchemaError(
                f"column {path!r}",
                "names that start with _hoodie_ are reserved for Hudi's own columns.",
                f"Rename it; only {IS_DELETED} and {OPERATION} have a meaning in incoming rows.",
            )
        if name.lower() in seen:
            other = f"there is a column {seen[name.lower()]!r} too, and Spark does not tell upper "
            raise SchemaError(
                f"column {path!r}",
                "is there twice." if name in seen.values() else f"{other}from lower case.",
                "Rename or drop one of them.",
            )
        seen[name.lower()] = name


def _check_marks(fields: Iterable[pa.Field]) -> None:
    for field in fields:
        if field.name == IS_DELETED and not pa.types.is_boolean(field.type):
            raise SchemaError(
                f"column {IS_DELETED!r}",
                f"this column marks deleted rows, and must be boolean, not {field.type}.",
                "Cast it to boolean, or rename it.",
            )


def _type(field: pa.Field, path: str, leaf: Leaf, check: bool) -> pa.DataType:
    kind = field.type
    extension = (field.metadata or {}).get(_EXTENSION, b"").decode()
    if isinstance(kind, pa.BaseExtensionType):
        extension, kind = kind.extension_name, kind.storage_type
    if (own := logical.declared(field.with_type(kind), extension, path)) is not None:
        return own
    if extension == "arrow.bool8":
        return pa.bool_()
    if is_uuid(field.type) and (text := leaf(field.type, path)) != field.type:
        return text
    if extension and check and extension not in _AS_STORED:
        raise SchemaError(
            f"column {path}",
            f"is of Arrow's extension type {extension}, which Hudi tables lack: readers would get "
            f"its {kind} alone.",
            f"Write its values as text, or its storage, cast to {kind}, if that says enough.",
        )
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return _type(pa.field(path, kind.value_type), path, leaf, check)
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind):
        return pa.binary()
    if is_list_like(kind):
        return pa.list_(pa.field("element", _type(kind.value_field, f"{path}[]", leaf, check)))
    if pa.types.is_map(kind):
        key = _type(kind.key_field, f"{path}{{key}}", leaf, check)
        if check and key != pa.string():
            raise SchemaError(
                f"column {path}",
                f"keys of a map are strings, not {key}.",
                "Cast the keys to string.",
            )
        return pa.map_(key, pa.field("value", _type(kind.item_field, f"{path}{{}}", leaf, check)))
    if pa.types.is_struct(kind):
        fields = [kind.field(i) for i in range(kind.num_fields)]
        if check:
            if not fields:
                raise SchemaError(
                    f"column {path}", "a struct needs at least one field.", "Drop the column."
                )
            _check_names([f.name for f in fields], path)
        return pa.struct([(f.name, _type(f, f"{path}.{f.name}", leaf, check)) for f in fields])
    return leaf(kind, path)


_BECOMES: dict[pa.DataType, pa.DataType] = {
    **{same: same for same in (pa.bool_(), pa.int32(), pa.int64(), pa.float32(), pa.float64())},
    **{same: same for same in (pa.string(), pa.binary(), pa.date32())},
    **{small: pa.int32() for small in (pa.int8(), pa.int16(), pa.uint8(), pa.uint16())},
    pa.uint32(): pa.int64(),
    pa.float16(): pa.float32(),
    pa.date64(): pa.date32(),
    pa.time32("s"): pa.time32("ms"),
    pa.time32("ms"): pa.time32("ms"),
    pa.time64("us"): pa.time64("us"),
    pa.time64("ns"): pa.time64("us"),
}
_BARE = frozenset(kind.id for kind in _BECOMES if not pa.types.is_time(kind))  # without parameters
_FIXES = {
    "uint64": "Cast it to int64, or to decimal128(20, 0) if values pass 2**63.",
    "null": "Give it a type, or drop it.",
    "duration": "Cast it to int64, in the unit you want.",
    "decimal": "Cast it to a decimal of at most 38 digits and a scale of 0 or more, or to string.",
    "month_day_nano_interval": "Write months, days and nanoseconds as three integers.",
    "union": "Write a struct with a field for each type, or text.",
}

_FAMILIES: dict[str, Callable[[pa.DataType], bool]] = {
    "duration": pa.types.is_duration,
    "decimal": pa.types.is_decimal,
    "union": pa.types.is_union,
}


def _stored_leaf(kind: pa.DataType, path: str, utc: bool) -> pa.DataType:
    found = pa.string() if is_uuid(kind) else _BECOMES.get(kind)
    if found is not None:
        return found
    if pa.types.is_fixed_size_binary(kind) and not pa.types.is_decimal(kind):
        return pa.binary()
    if pa.types.is_decimal(kind) and 0 < kind.precision <= 38 and 0 <= kind.scale <= kind.precision:
        return pa.decimal128(kind.precision, kind.scale)
    if pa.types.is_timestamp(kind):
        if kind.tz is None and not utc:
            return pa.timestamp("ms" if kind.unit == "ms" else "us")
        return pa.timestamp("us", "UTC")
    name = next((name for name, is_one in _FAMILIES.items() if is_one(kind)), str(kind))
    raise SchemaError(
        f"column {path}",
        f"Hudi tables have no type for Arrow's {kind}.",
        _FIXES.get(name, "Cast it to a type of Hudi, or drop it."),
    )
