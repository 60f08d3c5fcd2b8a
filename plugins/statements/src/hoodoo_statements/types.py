"""Types: what people write for the type of a column, as pyarrow has it."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import sqlglot
from hoodoo.errors import ConfigError
from sqlglot import exp

from hoodoo_statements.text.dialect import DIALECT

_TYPES = {
    "boolean": pa.bool_(), "int": pa.int32(), "integer": pa.int32(), "long": pa.int64(), "bigint": pa.int64(),
    "float": pa.float32(), "real": pa.float32(), "double": pa.float64(), "string": pa.string(),
    "binary": pa.binary(), "date": pa.date32(), "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"), "time": pa.time64("us"),
}  # fmt: skip
_KINDS = exp.DataType.Type


def arrow_type(given: Any, what: str) -> pa.DataType:
    """The type that ``given`` means: pyarrow's, a field, Spark's by name (``array<string>``), or one that sqlglot has read.

    Raises ConfigError for what is none.
    """
    if isinstance(given, pa.Field):
        given = given.type
    if isinstance(given, pa.DataType):
        return given
    if isinstance(given, exp.DataType):
        return _read(given, what)
    if isinstance(given, str):
        text = given.strip().lower()
        if text in _TYPES:
            return _TYPES[text]
        try:
            return pa.type_for_alias(text)
        except ValueError:
            pass
        try:
            tree = exp.DataType.build(given, dialect=DIALECT)
        except sqlglot.errors.SqlglotError:
            tree = None
        if tree is not None:
            return _read(tree, what)
    raise _no_type(given, what)


def _read(tree: Any, what: str) -> pa.DataType:
    kind, inner = tree.this, tree.expressions
    if kind == _KINDS.ARRAY and len(inner) == 1:
        return pa.list_(_read(inner[0], what))
    if kind == _KINDS.MAP and len(inner) == 2:
        return pa.map_(_read(inner[0], what), _read(inner[1], what))
    if kind == _KINDS.STRUCT and inner and all(isinstance(i, exp.ColumnDef) for i in inner):
        return pa.struct([(field.name, _read(field.kind, what)) for field in inner])
    if kind == _KINDS.DECIMAL:
        digits = [int(part.name) for part in inner]
        try:
            return pa.decimal128(*(digits or [10, 0]))
        except ValueError:
            pass
    text = tree.sql(DIALECT)
    found = _TYPES.get(text.lower())
    if found is None:
        raise _no_type(text, what)
    return found


def _no_type(given: Any, what: str) -> ConfigError:
    return ConfigError(
        f"{what} {given!r}", "is no type.",
        f"Give a pyarrow type, or one of {', '.join(_TYPES)}, decimal(p, s), array<...>, map<..., ...>, struct<name: ...>.",
    )  # fmt: skip
