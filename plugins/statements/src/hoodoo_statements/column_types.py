"""Columns and their types as people write them, ``id bigint, city string not null``, in pyarrow's
terms: the one parser of such texts. What it does not know it refuses, and leaves nothing out."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from hoodoo.errors import ConfigError, SchemaError
from hoodoo.model.schema import logical

TYPES: Mapping[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "bool": pa.bool_(),
    "tinyint": pa.int32(),
    "smallint": pa.int32(),
    "int": pa.int32(),
    "integer": pa.int32(),
    "bigint": pa.int64(),
    "long": pa.int64(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "float": pa.float32(),
    "real": pa.float32(),
    "double": pa.float64(),
    "float32": pa.float32(),
    "float64": pa.float64(),
    "string": pa.string(),
    "varchar": pa.string(),
    "char": pa.string(),
    "text": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "time": pa.time64("us"),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ltz": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}
_TOKEN = re.compile(r"\s*(`(?:[^`]|``)+`|\w+|[<>(),:]|'[^']*'|\S)")
_LENGTHS = ("varchar", "char")  # texts of any length are stored
# What may follow a type in SQL, and is no part of it -> why not, what to do.
_MORE = {
    "not": ("would be NOT NULL, and rows from before have no value for it.", "Leave NOT NULL out."),
    "default": (
        "has a default, which is not stored: rows from before are null.",
        "Leave it out, and update the table: table.update, or UPDATE.",
    ),
    "comment": (
        "has a comment: comments on columns are not stored.",
        "Leave it out; store it in a catalog.",
    ),
}


def columns_of(text: str) -> pa.Schema:
    """The schema that ``text`` spells, in the words of Spark's SQL. ConfigError for anything
    else."""
    return _Parser(text, "schema").schema()


def columns_of_dict(given: Mapping[str, Any]) -> pa.Schema | None:
    """The schema of a dict of columns and types, each a text or a pyarrow type; None for one that
    is data. Raises as :func:`columns_of`."""
    if not all(isinstance(kind, (str, pa.DataType)) for kind in given.values()):
        return None
    fields = []
    for name, kind in given.items():
        if isinstance(kind, str):
            parser = _Parser(kind, f"column {name!r} of type")
            kind = parser.kind()
            nullable = not parser.take("not") or not parser.take("null")
            if parser.at < len(parser.tokens):
                raise parser.wrong(f"{parser.tokens[parser.at]!r} is not expected")
            fields.append(pa.field(name, kind, nullable))
        else:
            fields.append(pa.field(name, kind))
    if not fields:
        raise ConfigError(
            "schema {}",
            "has no columns.",
            'Write names and types: {"id": "bigint", "city": "string"}.',
        )
    return pa.schema(fields)


def type_of(text: str, what: str) -> pa.DataType:
    """The type that ``text`` spells, of a column that comes to a table: ``what`` calls it in
    errors. SchemaError for NOT NULL, a default and a comment, which tables don't store of columns;
    ConfigError for anything else that is no type."""
    parser = _Parser(text, what)
    kind = parser.kind()
    if parser.at < len(parser.tokens):
        found = parser.tokens[parser.at]
        if found.lower() in _MORE:
            raise SchemaError(what, *_MORE[found.lower()])
        raise parser.wrong(
            f"{found!r} is not expected after {' '.join(parser.tokens[: parser.at])}"
        )
    if parser.not_null:
        raise SchemaError(what, *_MORE["not"])
    return kind


class _Parser:
    def __init__(self, text: str, what: str) -> None:
        self.text, self.what, self.at = text, what, 0
        # The path of the one whose type it is, in how many others that is, and in how many lists.
        self.column, self.depth, self.lists = "", 0, 0
        self.not_null = False
        self.tokens: list[str] = []
        place, end = 0, len(text.rstrip())
        while place < end:
            found = _TOKEN.match(text, place)
            if found is None:
                raise self.wrong(f"{text[place:].strip()[:10]!r} is not expected")
            self.tokens.append(found[1])
            place = found.end()

    def schema(self) -> pa.Schema:
        fields = [self.field()]
        while self.take(","):
            fields.append(self.field())
        if self.at < len(self.tokens):
            raise self.wrong(f"{self.tokens[self.at]!r} is not expected")
        return pa.schema(fields)

    def field(self) -> pa.Field:
        name = self.word("the name of a column").replace("``", "`")
        outer = self.column
        self.column = f"{outer}.{name}" if self.depth else name
        self.take(":")
        kind = self.kind()
        self.column = outer
        nullable = True
        if self.take("not"):
            if not self.take("null"):
                raise self.wrong("NOT without NULL")
            nullable, self.not_null = False, True
        return pa.field(name, kind, nullable)

    def kind(self) -> pa.DataType:
        name = self.word("a type").lower()
        if name == "array":
            return pa.list_(self.inner()[0])
        if name == "map":
            key, value = self.inner(2)
            return pa.map_(key, value)
        if name == "struct":
            self.need("<")
            self.depth += 1
            fields = [self.field()]
            while self.take(","):
                fields.append(self.field())
            self.need(">")
            self.depth -= 1
            return pa.struct(fields)
        if name in ("decimal", "numeric"):
            digits = self.numbers() or [10, 0]
            precision, scale = digits if len(digits) > 1 else (digits[0], 0)
            if not 1 <= precision <= 38 or scale > precision:
                raise self.wrong(f"decimal({precision}, {scale}) has not 1 to 38 digits")
            return pa.decimal128(precision, scale)
        found = TYPES.get(name)
        if found is None and (own := logical.named(name)) is not None:
            return own.declared(self.sized(name), pa.null(), self.column + "[]" * self.lists)
        if found is None:
            near = difflib.get_close_matches(name, TYPES, 1)
            raise self.wrong(
                f"type {name} is not known" + (f", perhaps {near[0]} is meant" if near else "")
            )
        if name in _LENGTHS:
            self.numbers()
        return found

    def sized(self, name: str) -> str:
        """The type ``name`` with what stands in brackets behind it, as Hudi writes it."""
        words: list[str] = []
        if self.take("("):
            words.append(self.word("a size"))
            while self.take(","):
                words.append(self.word("the type of elements"))
            self.need(")")
        return f"{name}({', '.join(words)})".upper() if words else name.upper()

    def inner(self, count: int = 1) -> list[pa.DataType]:
        self.need("<")
        self.depth, self.lists = self.depth + 1, self.lists + 1
        found = [self.kind()]
        while len(found) < count:
            self.need(",")
            found.append(self.kind())
        self.need(">")
        self.depth, self.lists = self.depth - 1, self.lists - 1
        return found

    def numbers(self) -> list[int]:
        found: list[int] = []
        if self.take("("):
            found.append(self.number())
            if self.take(","):
                found.append(self.number())
            self.need(")")
        return found

    def number(self) -> int:
        word = self.word("a number")
        if not word.isdecimal():
            raise self.wrong(f"{word!r} is no number")
        return int(word)

    def take(self, wanted: str) -> bool:
        if self.at < len(self.tokens) and self.tokens[self.at].lower() == wanted:
            self.at += 1
            return True
        return False

    def need(self, wanted: str) -> None:
        if not self.take(wanted):
            raise self.wrong(f"{wanted!r} is missing")

    def word(self, what: str) -> str:
        if self.at >= len(self.tokens) or self.tokens[self.at] in "<>(),:":
            raise self.wrong(f"{what} is missing")
        self.at += 1
        return self.tokens[self.at - 1].strip("`")

    def wrong(self, what: str) -> ConfigError:
        fix = (
            "Write names and types: 'id bigint, city string, tags array<string>, fare decimal(9, "
            "2)'."
        )
        if self.what != "schema":
            fix = (
                f"Give a pyarrow type, or one of {', '.join(TYPES)}, decimal(p, s), array<...>, "
                "map<..., ...>, struct<name: ...>."
            )
        return ConfigError(f"{self.what} {self.text!r}", f"can't be read: {what}.", fix)
