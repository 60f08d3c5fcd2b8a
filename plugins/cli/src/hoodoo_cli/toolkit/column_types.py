"""Columns as people write them, ``id bigint, city string not null``, as a pyarrow schema."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping

import pyarrow as pa
from hoodoo.errors import ConfigError

_TYPES: Mapping[str, pa.DataType] = {
    "boolean": pa.bool_(), "bool": pa.bool_(),
    "tinyint": pa.int32(), "smallint": pa.int32(), "int": pa.int32(), "integer": pa.int32(),
    "bigint": pa.int64(), "long": pa.int64(), "int32": pa.int32(), "int64": pa.int64(),
    "float": pa.float32(), "real": pa.float32(), "double": pa.float64(),
    "float32": pa.float32(), "float64": pa.float64(),
    "string": pa.string(), "varchar": pa.string(), "text": pa.string(),
    "binary": pa.binary(), "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"), "timestamp_ntz": pa.timestamp("us"),
}  # fmt: skip
_TOKEN = re.compile(r"\s*(`(?:[^`]|``)+`|\w+|[<>(),:])")


def columns_of(text: str) -> pa.Schema:
    """The schema that ``text`` spells, in the words of Spark's SQL. ConfigError for anything else."""
    return _Parser(text).schema()


class _Parser:
    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
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
        self.take(":")
        kind = self.kind()
        nullable = True
        if self.take("not"):
            if not self.take("null"):
                raise self.wrong("NOT without NULL")
            nullable = False
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
            fields = [self.field()]
            while self.take(","):
                fields.append(self.field())
            self.need(">")
            return pa.struct(fields)
        if name in ("decimal", "numeric"):
            digits = self.numbers() or [10, 0]
            precision, scale = digits if len(digits) > 1 else (digits[0], 0)
            if not 1 <= precision <= 38 or scale > precision:
                raise self.wrong(f"decimal({precision}, {scale}) has not 1 to 38 digits")
            return pa.decimal128(precision, scale)
        found = _TYPES.get(name)
        if found is None:
            near = difflib.get_close_matches(name, _TYPES, 1)
            raise self.wrong(
                f"type {name} is not known" + (f", perhaps {near[0]} is meant" if near else "")
            )
        self.numbers()  # varchar(20)
        return found

    def inner(self, count: int = 1) -> list[pa.DataType]:
        self.need("<")
        found = [self.kind()]
        while len(found) < count:
            self.need(",")
            found.append(self.kind())
        self.need(">")
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
        return ConfigError(
            f"schema {self.text!r}", f"can't be read: {what}.",
            "Write names and types: 'id bigint, city string, tags array<string>, fare decimal(9, 2)'.",
        )  # fmt: skip
