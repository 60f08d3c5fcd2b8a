"""Names: what the columns of a table are called in a file that was written with an earlier
schema."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
from attrs import field, frozen

from hoodoo_rows.evolution.kinds import is_whole
from hoodoo_rows.model.conform import entries_of, is_list_like, map_parts, nested, parts


@frozen
class Names:
    """``stored``: the table's name of a column -> its name in the file. ``hidden``: columns of
    the file that the table has dropped. ``absent``: columns of the table that the file lacks,
    whatever has their name there. ``within``: the same of fields within a column (of structs, of
    a list's elements, of a map's values), by the table's name."""

    stored: Mapping[str, str]
    hidden: frozenset[str]
    absent: frozenset[str]
    within: Mapping[str, Names]
    table: Mapping[str, str] = field(init=False)  # the file's name -> the table's

    @table.default
    def _table(self) -> Mapping[str, str]:
        return {file: name for name, file in self.stored.items()}

    def in_file(self, columns: Iterable[str]) -> list[str]:
        """The names in the file of those of ``columns`` that it can have. Columns that no schema
        names, such as meta columns, have the same one."""
        return [self.stored.get(n, n) for n in columns if n not in self.absent]

    def in_table(self, name: str) -> str | None:
        """The table's name of a column of the file; None where the table lacks it."""
        known = self.table.get(name)
        return (
            None
            if known is None and (name in self.hidden or name in self.absent)
            else known or name
        )

    def path_in_file(self, path: str) -> str | None:
        """The same of a column, or of a field of structs: ``outer.inner``."""
        name, dot, rest = path.partition(".")
        if name in self.absent:
            return None
        inner = self.within[name].path_in_file(rest) if dot and name in self.within else rest
        return None if inner is None else f"{self.stored.get(name, name)}{dot}{inner}"

    def moves(self, name: str) -> bool:
        """Whether the column is in the file otherwise than under its own name."""
        return name in self.absent or name in self.within or self.stored.get(name, name) != name

    def fields(self, found: Iterable[pa.Field]) -> list[pa.Field]:
        """Fields of the file as the table has them."""
        named = ((self.in_table(f.name), f) for f in found)
        return [self._field(name, f) for name, f in named if name is not None]

    def _field(self, name: str, found: pa.Field) -> pa.Field:
        inner = self.within.get(name)
        return (
            found.with_name(name)
            if inner is None
            else found.with_name(name).with_type(inner.kind(found.type))
        )

    def kind(self, found: pa.DataType) -> pa.DataType:
        """A nested type of the file as the table has it: these are the names of what is within
        it."""
        if pa.types.is_struct(found):
            return pa.struct(self.fields(list(found)))
        if pa.types.is_map(found):
            return pa.map_(found.key_field, found.item_field.with_type(self.kind(found.item_type)))
        if is_list_like(found):
            return pa.list_(found.value_field.with_type(self.kind(found.value_type)))
        return found

    def columns(self, found: Sequence[pa.Field], arrays: Sequence[Any]) -> list[Any]:
        """The values of those that :meth:`fields` gives."""
        made = []
        for one, array in zip(found, arrays, strict=True):
            name = self.in_table(one.name)
            if name is not None:
                inner = self.within.get(name)
                made.append(array if inner is None else inner.values(array))
        return made

    def values(self, array: Any) -> Any:
        """Nested values of the file, with the table's names within."""
        if isinstance(array, pa.ChunkedArray):
            return pa.chunked_array([self.values(c) for c in array.chunks], self.kind(array.type))
        kind = self.kind(array.type)
        if pa.types.is_struct(array.type):
            fields = list(array.type)
            children = self.columns(fields, [array.field(i) for i in range(len(fields))])
            nulls = array.is_null() if array.null_count else None
            if not children:
                valid = None if nulls is None else array.is_valid().buffers()[1]
                return pa.Array.from_buffers(kind, len(array), [valid], array.null_count)
            return pa.StructArray.from_arrays(children, fields=list(kind), mask=nulls)
        if pa.types.is_map(array.type):
            offsets, entries, validity = map_parts(array)
            items = entries_of(kind, entries.field(0), self.values(entries.field(1)))
            return nested(array, kind, offsets, items, validity)
        if is_list_like(array.type):
            offsets, values, validity = parts(array, array.values)
            return nested(array, kind, offsets, self.values(values), validity)
        return array

    def batch(self, found: pa.RecordBatch) -> pa.RecordBatch:
        """A batch of the file as the table has it."""
        fields = list(found.schema)
        if not fields:  # the number of rows would be lost
            return found
        return pa.RecordBatch.from_arrays(
            self.columns(fields, found.columns), schema=pa.schema(self.fields(fields))
        )

    def rows(self, found: pa.Table) -> pa.Table:
        """The same of a table."""
        fields = list(found.schema)
        if not fields:
            return found
        return pa.Table.from_arrays(
            self.columns(fields, found.columns), schema=pa.schema(self.fields(fields))
        )


def names_between(file: Any, table: Any) -> Names | None:
    """The names of ``table``, a record of an internal schema, in files written with ``file``;
    None: the same. Fields are the same where their ids are."""
    file, table = _record(file), _record(table)
    if file is None or table is None:
        return None
    by_id = {f["id"]: f for f in file["fields"]}
    stored, absent, within = {}, set(), {}
    for one in table["fields"]:
        old = by_id.pop(one["id"], None)
        if old is None:
            absent.add(one["name"])
            continue
        stored[one["name"]] = old["name"]
        inner = names_between(old["type"], one["type"])
        if inner is not None:
            within[one["name"]] = inner
    hidden = frozenset(f["name"] for f in by_id.values())
    taken = {f["name"] for f in file["fields"]}
    same = all(name == old for name, old in stored.items())
    if same and not (hidden or within or absent & taken):
        return None
    return Names(stored, hidden, frozenset(absent), within)


def _record(kind: Any) -> Any:
    """The record of a type of an internal schema, also within lists and maps; None of others, and
    of logical types."""
    while isinstance(kind, dict) and kind.get("type") in ("array", "map"):
        kind = kind["element"] if kind["type"] == "array" else kind["value"]
    is_open = isinstance(kind, dict) and "fields" in kind and not is_whole(kind)
    return kind if is_open else None
