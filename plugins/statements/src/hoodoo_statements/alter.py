"""Alter: columns added, widened and made nullable by hand, as Hudi lets a table's schema evolve when rows are written.

Readers find columns by their names, in files of any age. What needs to know which name a column had when a file was
written (renaming, dropping, other places) is in Hudi its internal schema, which is not written here: it is refused.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
from attrs import evolve, frozen
from hoodoo.errors import ConfigError, SchemaError
from hoodoo.hookspecs.engine import Engine
from hoodoo.hookspecs.registration import Settings
from hoodoo.model.commit import Operation
from hoodoo.options.table import WIDEN_INTEGERS
from hoodoo.table import settings as tables
from hoodoo.table.handle import TableHandle
from hoodoo.table.writes import write
from hoodoo.write.commit import Commit
from hoodoo.write.operation import INSERT
from hoodoo.write.prepare import target_schema

from hoodoo_statements.text.scope import named, unknown_column

ALTERS = evolve(INSERT, operation=Operation.ALTER_SCHEMA)
_TYPES = {
    "boolean": pa.bool_(), "int": pa.int32(), "integer": pa.int32(), "long": pa.int64(), "bigint": pa.int64(),
    "float": pa.float32(), "real": pa.float32(), "double": pa.float64(), "string": pa.string(),
    "binary": pa.binary(), "date": pa.date32(), "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"), "time": pa.time64("us"),
}  # fmt: skip
_DECIMAL = re.compile(r"(?:decimal|numeric)\s*\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\)")


@frozen
class AlterAction:
    """The table's schema gets columns and wider types; no row changes."""

    @classmethod
    def from_settings(cls, settings: Settings) -> AlterAction:
        return cls()

    def run(
        self,
        table: TableHandle,
        *,
        add: Any = None,
        widen: Mapping[str, Any] | None = None,
        nullable: str | Sequence[str] = (),
        rename: Mapping[str, str] | None = None,
        drop: str | Sequence[str] = (),
        reorder: str | Sequence[str] = (),
        comments: Mapping[str, str] | None = None,
        engine: str | Engine | None = None,
    ) -> Commit:
        _refuse_on_read(table, rename, drop, reorder, comments)
        asked = Altered.of(table, add, widen, nullable)
        schema = table.schema
        grown = {**table.options, WIDEN_INTEGERS.key: "true"}
        generator, config = table.key_generator(), table.config
        fixed = (*generator.record_key_fields, *generator.partition_fields)
        wanted = asked.incoming(schema, fixed)
        after = target_schema(schema, wanted, fixed, (), grown, config.ordering_fields)
        asked.check(schema, after, table.config.name)
        if after == schema:
            return Commit(
                "", ALTERS.action(table.config.table_type == "MERGE_ON_READ"), "alter_schema"
            )
        widening = copy.copy(table)
        widening.options = grown
        return write(widening, ALTERS, wanted.empty_table(), engine, None)


@frozen
class Altered:
    """``add``: column, or field of a struct after a dot, -> type; ``widen``: the same of what is there; ``nullable``:
    columns that take nulls from now on."""

    add: Mapping[str, pa.DataType]
    widen: Mapping[str, pa.DataType]
    nullable: tuple[str, ...]

    @classmethod
    def of(cls, table: TableHandle, add: Any, widen: Any, nullable: str | Sequence[str]) -> Altered:
        added = _types(add, "add")
        widened = _types(widen, "widen")
        listed = (nullable,) if isinstance(nullable, str) else tuple(nullable)
        for name in (*added, *widened):
            if name.lower().startswith("_hoodie_"):
                raise SchemaError(
                    f"column {name}", "is Hudi's own: such names are not the table's.", "Give it another name."
                )  # fmt: skip
        if not (added or widened or listed):
            raise ConfigError(
                f"alter of {table.config.name}", "changes nothing.",
                'Say what: table.alter(add={"tip": "double"}, widen={"seats": "bigint"}).',
            )  # fmt: skip
        return cls(added, widened, listed)

    def incoming(self, schema: pa.Schema, fixed: Sequence[str]) -> pa.Schema:
        """What rows would have that make the table's schema so when they are written."""
        fields = list(schema)
        for name in self.nullable:
            column = named(schema, name)
            if column is None:
                raise unknown_column(name, "nullable=", schema.names, "the table")
            if column.name in fixed:
                raise SchemaError(
                    f"column {column.name}", "is of the key or the partition path.", "Leave it out."
                )
        for name, kind in self.widen.items():
            fields = _changed(fields, name.split("."), kind, name)
        for name, kind in self.add.items():
            fields = _added(fields, name.split("."), kind, name)
        gone = {name.lower() for name in self.nullable}
        return pa.schema([f for f in fields if f.name.lower() not in gone])

    def check(self, before: pa.Schema, after: pa.Schema, table: str) -> None:
        """Raises SchemaError where the schema does not become what was asked for."""
        for name, kind in self.widen.items():
            found = _find(after, name.split("."))
            if found is None or found.type != kind:
                was = _find(before, name.split("."))
                raise SchemaError(
                    f"column {name} of table {table}", f"is {was and was.type}, which does not become {kind}: types only grow "
                    "(int to bigint, float, double; bigint to float, double; float to double; decimals in precision).",
                    "Add a column of that type, and fill it with table.update.",
                )  # fmt: skip


def _refuse_on_read(
    table: TableHandle,
    rename: Mapping[str, str] | None,
    drop: str | Sequence[str],
    reorder: str | Sequence[str],
    comments: Mapping[str, str] | None,
) -> None:
    where = f"table {table.config.name}"
    why = (
        "files name their columns, and what a column was called when a file was written would be in Hudi's internal "
        "schema (hoodie.schema.on.read.enable), which Hoodoo does not write."
    )
    if rename and not isinstance(rename, Mapping):
        raise ConfigError(
            f"rename= of type {type(rename).__name__}",
            "does not say what becomes what.",
            'Give a dictionary: table.alter(rename={"old": "new"}).',
        )
    if rename:
        old, new = next(iter(rename.items()))
        raise SchemaError(
            f"column {old} of {where}", f"can't be renamed: {why}",
            f'Add a column and fill it: table.alter(add={{"{new}": ...}}); table.update({{"{new}": "{old}"}}).',
        )  # fmt: skip
    if drop:
        names = [drop] if isinstance(drop, str) else list(drop)
        raise SchemaError(
            f"column {names[0]} of {where}", f"can't be dropped: {why}",
            f'Read the others, set it to null (table.update({{"{names[0]}": None}})), or write them into a new table.',
        )  # fmt: skip
    if reorder:
        raise SchemaError(
            f"the order of columns of {where}",
            f"can't be changed: {why}",
            "Read them in your order: table.read([...]).",
        )
    if comments:
        raise SchemaError(
            f"comments on columns of {where}", "are not kept.", "Keep them in a catalog."
        )


def _types(given: Any, argument: str) -> dict[str, pa.DataType]:
    if given is None:
        return {}
    if isinstance(given, pa.Schema):
        given = {f.name: f.type for f in given}
    elif not isinstance(given, Mapping):
        given = {f.name: f.type for f in tables.arrow_schema(given)}
    return {name: _type(kind, f"{argument}={{{name!r}: ...}}") for name, kind in given.items()}


def _type(given: Any, what: str) -> pa.DataType:
    if isinstance(given, pa.Field):
        given = given.type
    if isinstance(given, pa.DataType):
        return given
    if isinstance(given, str):
        text = given.strip().lower()
        decimal = _DECIMAL.fullmatch(text)
        if decimal is not None:
            return pa.decimal128(int(decimal[1]), int(decimal[2] or 0))
        if text in _TYPES:
            return _TYPES[text]
        try:
            return pa.type_for_alias(text)
        except ValueError:
            pass
    raise ConfigError(
        f"{what} {given!r}",
        "is no type.",
        f"Give a pyarrow type, or one of {', '.join(_TYPES)}, decimal(p, s).",
    )


def _find(fields: Iterable[pa.Field], path: Sequence[str]) -> pa.Field | None:
    found = named(fields, path[0])
    if found is None or len(path) == 1:
        return found
    return _find(list(found.type), path[1:]) if pa.types.is_struct(found.type) else None


def _added(
    fields: list[pa.Field], path: Sequence[str], kind: pa.DataType, name: str
) -> list[pa.Field]:
    there = named(fields, path[0])
    if len(path) == 1:
        if there is not None:
            raise SchemaError(
                f"column {name}",
                f"is there already, as {there.name} {there.type}.",
                "Give it another name.",
            )
        return [*fields, pa.field(path[0], kind)]
    if there is None or not pa.types.is_struct(there.type):
        raise SchemaError(
            f"column {name}",
            f"would lie in {path[0]}, which is no struct of the table.",
            "Name a struct.",
        )
    inner = pa.struct(_added(list(there.type), path[1:], kind, name))
    return [f.with_type(inner) if f.name == there.name else f for f in fields]


def _changed(
    fields: list[pa.Field], path: Sequence[str], kind: pa.DataType, name: str
) -> list[pa.Field]:
    there = named(fields, path[0])
    if there is None:
        raise unknown_column(name, "widen=", [f.name for f in fields], "the table")
    if len(path) > 1:
        if not pa.types.is_struct(there.type):
            raise SchemaError(
                f"column {name}", f"would lie in {path[0]}, which is no struct.", "Name a struct."
            )
        kind = pa.struct(_changed(list(there.type), path[1:], kind, name))
    return [f.with_type(kind) if f.name == there.name else f for f in fields]
