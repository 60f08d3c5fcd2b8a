"""Types: what people write for the type of a column, as pyarrow has it."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hoodoo.errors import ConfigError
from hoodoo.model.schema import logical
from sqlglot import exp

from hoodoo_statements.column_types import TYPES, type_of
from hoodoo_statements.text.dialect import DIALECT

_KINDS = exp.DataType.Type
_SIZED = (_KINDS.DECIMAL, _KINDS.VARCHAR, _KINDS.CHAR)
# What sqlglot writes as it was read; of others, such as UUID, it makes another type.
_PLAIN = (
    *_SIZED,
    _KINDS.BOOLEAN,
    _KINDS.TINYINT,
    _KINDS.SMALLINT,
    _KINDS.INT,
    _KINDS.BIGINT,
    _KINDS.FLOAT,
    _KINDS.DOUBLE,
    _KINDS.TEXT,
    _KINDS.BINARY,
    _KINDS.DATE,
    _KINDS.TIMESTAMP,
    _KINDS.TIMESTAMPTZ,
    _KINDS.TIMESTAMPLTZ,
    _KINDS.TIMESTAMPNTZ,
    _KINDS.ARRAY,
    _KINDS.MAP,
    _KINDS.STRUCT,
)


def arrow_type(given: Any, what: str) -> pa.DataType:
    """The type that ``given`` means: pyarrow's, a field, Spark's by name (``array<string>``), or
    one that sqlglot has read.

    Raises ConfigError for what is none, SchemaError for what is more than a type.
    """
    if isinstance(given, pa.Field):
        given = given.type
    if isinstance(given, pa.DataType):
        return given
    if isinstance(given, exp.DataType):
        return type_of(_spelt(given), what)
    if isinstance(given, str):
        text = given.strip().lower()
        if text in TYPES:
            return TYPES[text]
        try:
            return pa.type_for_alias(text)
        except ValueError:
            return type_of(given, what)
    raise ConfigError(
        f"{what} {given!r}",
        "is no type.",
        f"Give a pyarrow type, or one of {', '.join(TYPES)}, decimal(p, s), array<...>, map<..., "
        "...>, struct<name: ...>.",
    )


def _spelt(tree: Any) -> str:
    """The text of a type that sqlglot has read; of what it would change, the part that is to be
    refused."""
    if logical.named(tree.this.value.lower()) is not None:
        inner = ", ".join(part.sql(DIALECT) for part in tree.expressions)
        return f"{tree.this.value}({inner})" if inner else str(tree.this.value)
    for node in tree.find_all(exp.DataType):
        if node.this not in _PLAIN:
            kind = str(node.this.value).lower()
            return kind if logical.named(kind) is None else f"array<{kind}>"
        sizes = [part for part in node.expressions if isinstance(part, exp.DataTypeParam)]
        if sizes and node.this not in _SIZED:
            return f"{node.sql(DIALECT)}({', '.join(part.name for part in sizes)})".lower()
    return str(tree.sql(DIALECT))
