"""Columns with field ids, and the name mapping by which readers find them in files without ids
(Iceberg table specification, "Schemas and Data Types" and "Column Projection")."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from hoodoo.errors import SchemaError
from hoodoo.model.meta import META_COLUMNS
from hoodoo.options.table import FIELD_IDS

from hoodoo_publishing.past import Past

Field = dict[str, Any]
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
}
# In the table property of ids no column, but the last id of those that are not there any more.
LAST = ""
# What a column may become while its id stays ("Schema Evolution").
_PROMOTED = {("int", "long"), ("float", "double")}


class Ids:
    """Field ids of a table. ``known``: path of a column -> id; new ones come after ``last``.
    ``past``: what columns were called before."""

    def __init__(self, known: Mapping[str, int], last: int, past: Past | None = None) -> None:
        self.known, self.last, self.past = dict(known), last, past or Past()

    @classmethod
    def of_schemas(cls, each: Sequence[Mapping[str, int]], last: int, past: Past) -> Ids:
        """``each``: path -> id in the schemas that were published, the oldest first. A column has
        the id that the newest one says of any of its paths. Where two columns would have the same
        (a new one is called as another was until a restore), it stays with the first that had
        it."""
        paths = dict.fromkeys(path for ids in reversed(each) for path in ids)
        claims: dict[int, tuple[int, tuple[str, ...]]] = {}
        for column in {past.paths(path): None for path in paths}:
            had = [(n, ids[p]) for n, ids in enumerate(each) for p in column if p in ids]
            if not had:
                continue
            number = had[-1][1]
            first = next(n for n, own in had if own == number)
            if number not in claims or first < claims[number][0]:
                claims[number] = (first, column)
        known = {path: number for number, (_, column) in claims.items() for path in column}
        return cls(known, last, past)

    def of(self, path: str) -> int:
        if path not in self.known:
            there = (self.known[p] for p in self.past.paths(path) if p in self.known)
            number = next(there, None)
            if number is None:
                number = self.last = self.last + 1
            self.known[path] = number
        return self.known[path]

    def inner(self) -> Mapping[str, list[str]]:
        """Path of a column -> the names of what lies, or lay, right within it; those of all columns
        at the empty path."""
        found: dict[str, list[str]] = {}
        for path in dict.fromkeys((*self.known, *self.past.same)):
            outer, _, name = path.rpartition(".")
            for one in self.past.paths(outer):
                found.setdefault(one, []).append(name)
        return found


def stored_ids(properties: Mapping[str, str]) -> dict[str, int]:
    """The ids that new base files of a table with these properties have. Empty for a text that
    says none: the writer of a file names the fault."""
    try:
        return {path: int(n) for path, n in json.loads(properties.get(FIELD_IDS) or "{}").items()}
    except (ValueError, TypeError, AttributeError):
        return {}


def columns(schema: pa.Schema, ids: Ids) -> list[Field]:
    """The columns of ``schema`` with their ids. Raises SchemaError for a column without a type in
    Iceberg."""
    return _fields(list(schema), ids, "")


def _fields(fields: list[pa.Field], ids: Ids, path: str) -> list[Field]:
    own = [ids.of(f"{path}{field.name}") for field in fields]  # those of a level before those below
    return [
        {
            "id": number,
            "name": field.name,
            "required": False,
            "type": _type(field.type, ids, f"{path}{field.name}"),
        }
        for number, field in zip(own, fields, strict=True)
    ]


def _type(kind: pa.DataType, ids: Ids, path: str) -> Any:
    t = pa.types
    if t.is_struct(kind):
        return {"type": "struct", "fields": _fields(list(kind), ids, f"{path}.")}
    if t.is_list(kind):
        return {
            "type": "list",
            "element-id": ids.of(f"{path}.element"),
            "element": _type(kind.value_type, ids, f"{path}.element"),
            "element-required": False,
        }
    if t.is_map(kind):
        return {
            "type": "map",
            "key-id": ids.of(f"{path}.key"),
            "key": _type(kind.key_type, ids, f"{path}.key"),
            "value-id": ids.of(f"{path}.value"),
            "value": _type(kind.item_type, ids, f"{path}.value"),
            "value-required": False,
        }
    if t.is_decimal(kind):
        return f"decimal({kind.precision}, {kind.scale})"
    if t.is_timestamp(kind):
        return "timestamptz" if kind.tz else "timestamp"
    if kind not in _PLAIN:
        raise SchemaError(
            f"column {path}",
            f"Iceberg has no type for {kind}.",
            "Leave iceberg out of hoodoo.open.formats, or cast the column.",
        )
    return _PLAIN[kind]


def name_mapping(fields: list[Field], ids: Ids) -> list[Field]:
    """The names of all columns of the files. Meta columns are among them: readers that miss one of
    a file's columns here fail, or answer null for all."""
    for name in META_COLUMNS:
        ids.of(name)
    return _names({f["name"]: f["type"] for f in fields}, ids, "", ids.inner())


def _names(
    there: Mapping[str, Any], ids: Ids, path: str, inner: Mapping[str, list[str]]
) -> list[Field]:
    """Of what lies within the column at ``path``, ``there`` (name -> type), with all names that
    files of any age have for it, and of what was dropped since. Iceberg's readers take no mapping
    in which a name stands for two columns: it is that of the first."""
    outer = f"{path}." if path else ""
    taken = {old for name in there for old in ids.past.names(f"{outer}{name}")}
    gone = [name for name in inner.get(path, ()) if name not in taken]
    found: list[Field] = []
    for name in dict.fromkeys([*there, *gone]):
        own = f"{outer}{name}"
        one: Field = {"field-id": ids.of(own), "names": ids.past.names(own)}
        if one["field-id"] in {other["field-id"] for other in found}:
            continue  # one of the older names of a column that was dropped
        kind = there.get(name)
        inside = {n: k for _, n, k in _below(kind)} if isinstance(kind, dict) else {}
        if below := _names(inside, ids, own, inner):
            one["fields"] = below
        found.append(one)
    owners: dict[str, int] = {}
    for one in found:
        number = one["field-id"]
        one["names"] = [name for name in one["names"] if owners.setdefault(name, number) == number]
    return found


def _below(kind: Field) -> list[tuple[int, str, Any]]:
    if kind["type"] == "struct":
        return [(f["id"], f["name"], f["type"]) for f in kind["fields"]]
    if kind["type"] == "list":
        return [(kind["element-id"], "element", kind["element"])]
    return [(kind["key-id"], "key", kind["key"]), (kind["value-id"], "value", kind["value"])]


def known_ids(fields: list[Field], path: str = "") -> dict[str, int]:
    """Path of each column, at any depth -> id."""
    found = {}
    for field in fields:
        name = f"{path}{field['name']}"
        found[name] = field["id"]
        if isinstance(field["type"], dict):
            below = [
                {"id": number, "name": own, "type": kind}
                for number, own, kind in _below(field["type"])
            ]
            found.update(known_ids(below, f"{name}."))
    return found


def leaves(fields: list[Field]) -> dict[str, tuple[int, str]]:
    """Path in the Parquet schema -> id and type, of columns without others below. Those of lists
    and maps have the names that Parquet gives to their levels."""
    return dict(_leaves([(f["id"], f["name"], f["type"]) for f in fields], ""))


def _leaves(fields: list[tuple[int, str, Any]], path: str) -> Iterator[tuple[str, tuple[int, str]]]:
    for number, name, kind in fields:
        if not isinstance(kind, dict):
            yield f"{path}{name}", (number, kind)
            continue
        level = {"list": "list.", "map": "key_value."}.get(kind["type"], "")
        yield from _leaves(_below(kind), f"{path}{name}.{level}")


def refuse_other_types(before: list[Field], now: list[Field], path: str = "") -> None:
    """Raises SchemaError for a column whose type became one that Iceberg can't read its old files
    as."""
    types = {field["id"]: field for field in before}
    for field in now:
        old = types.get(field["id"])
        if old is None or old["type"] == field["type"]:
            continue
        name, one, other = f"{path}{field['name']}", old["type"], field["type"]
        if isinstance(one, dict) and isinstance(other, dict) and one["type"] == other["type"]:
            each = [
                [{"id": i, "name": n, "type": t} for i, n, t in _below(kind)]
                for kind in (one, other)
            ]
            refuse_other_types(each[0], each[1], f"{name}.")
        elif isinstance(one, dict) or isinstance(other, dict) or not _may_become(one, other):
            raise SchemaError(
                f"column {name}",
                f"its type became {other}, and Iceberg can't read {one} as that.",
                "Rewrite the table (insert_overwrite_table) into a new one to publish it as "
                "Iceberg.",
            )


def _may_become(one: str, other: str) -> bool:
    if one.startswith("decimal(") and other.startswith("decimal("):
        (_, s), (_, r) = (map(int, d[8:-1].split(", ")) for d in (one, other))
        return r == s
    # The way back is that of a rollback, which leaves no file with the wider type.
    return (one, other) in _PROMOTED or (other, one) in _PROMOTED
