"""Types of columns, which entries have as Hive's texts, taken apart."""

from __future__ import annotations

import re
from typing import Any

from attrs import frozen
from hoodoo_catalogs.hookspecs.catalog import CatalogError

_NUMBERS = re.compile(r"(\w+)\((\d+),(\d+)\)")
_UNITY = {
    "boolean": "BOOLEAN",
    "tinyint": "BYTE",
    "smallint": "SHORT",
    "int": "INT",
    "bigint": "LONG",
    "float": "FLOAT",
    "double": "DOUBLE",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "string": "STRING",
    "binary": "BINARY",
    "decimal": "DECIMAL",
    "array": "ARRAY",
    "map": "MAP",
    "struct": "STRUCT",
}
_SPARK = {"tinyint": "byte", "smallint": "short", "int": "integer", "bigint": "long"}


@frozen
class Type:
    """``name``: the word before any bracket. ``inner``: types within, each with a name, which is
    empty but of a struct. ``digits``: precision and scale of a decimal."""

    name: str
    inner: tuple[tuple[str, Type], ...] = ()
    digits: tuple[int, int] | None = None

    @classmethod
    def of(cls, text: str) -> Type:
        """CatalogError for a text that is none."""
        text = text.strip()
        if found := _NUMBERS.fullmatch(text):
            return cls(found[1], digits=(int(found[2]), int(found[3])))
        name, bracket, rest = text.partition("<")
        if not bracket:
            return cls(text)
        if not rest.endswith(">"):
            raise CatalogError(f"type {text!r}", "is no type of Hive.", "Drop the entry.")
        parts = _split(rest[:-1])
        if name != "struct":
            return cls(name, tuple(("", cls.of(part)) for part in parts))
        pairs = (part.partition(":") for part in parts)
        return cls(name, tuple((field.strip(), cls.of(kind)) for field, _, kind in pairs))

    @property
    def unity(self) -> str:
        """The name that Unity has for it."""
        return _UNITY.get(self.name, "STRING")

    def spark(self) -> Any:
        """As the JSON of Spark's schemas has it."""
        if self.name == "array":
            item = self.inner[0][1].spark()
            return {"type": "array", "elementType": item, "containsNull": True}
        if self.name == "map":
            key, value = (kind.spark() for _, kind in self.inner)
            said = {"type": "map", "keyType": key, "valueType": value}
            return {**said, "valueContainsNull": True}
        if self.name == "struct":
            return {"type": "struct", "fields": [spark_field(n, kind) for n, kind in self.inner]}
        if self.digits is not None:
            return "decimal({},{})".format(*self.digits)
        return _SPARK.get(self.name, self.name)


def spark_field(name: str, kind: Type) -> dict[str, Any]:
    """A column in the JSON of a Spark schema."""
    return {"name": name, "type": kind.spark(), "nullable": True, "metadata": {}}


def _split(text: str) -> list[str]:
    """At the commas that are in no bracket."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "<(") - (letter in ">)")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return parts
