"""Alter: the schema of a table changed by hand. No file is rewritten.

Columns that are added, widened and made nullable are found by their names, in files of any age,
as Hudi lets a table's schema evolve when rows are written. For renamed, dropped and moved ones
the table gets an internal schema (:mod:`hoodoo_statements.on_read`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from attrs import evolve, frozen
from hoodoo.errors import ConfigError, SchemaError
from hoodoo.hookspecs.engine import Engine
from hoodoo.hookspecs.registration import Settings
from hoodoo.model.commit import Operation
from hoodoo.options.table import ADD_COLUMNS, FILL_COLUMNS, WIDEN_INTEGERS
from hoodoo.table import settings as tables
from hoodoo.table.handle import TableHandle
from hoodoo_rows.api import ArrivingRows, Commit, StoredFiles, Writes, WriteTarget

from hoodoo_statements.on_read import OnRead, index_of, names_of
from hoodoo_statements.text.nested import field_at, inner_fields, of_inner
from hoodoo_statements.text.scope import named, unknown_column

ALTERS = evolve(Writes.INSERT, operation=Operation.ALTER_SCHEMA)


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
        on_read = OnRead.of(rename, drop, reorder, comments, table)
        asked = Altered.of(table, add, widen, nullable, bool(on_read))
        if on_read:
            return _on_read(table, on_read, asked)
        schema = table.schema
        words = dict.fromkeys((WIDEN_INTEGERS.key, ADD_COLUMNS.key, FILL_COLUMNS.key), "true")
        altering = table.with_options(words)
        generator, config = table.key_generator(), table.config
        fixed = (*generator.record_key_fields, *generator.partition_fields)
        wanted = asked.incoming(schema, fixed)
        after = ArrivingRows.target_schema(
            schema, wanted, fixed, (), altering.options, config.ordering_fields
        )
        asked.check(schema, after, table.config.name)
        if after == schema:
            return Commit(
                "", ALTERS.action(table.config.table_type == "MERGE_ON_READ"), "alter_schema"
            )
        return Writes.write(altering, ALTERS, wanted.empty_table(), engine, None)


def _on_read(table: TableHandle, on_read: OnRead, asked: Altered) -> Commit:
    """The commit that changes names and places of columns, and what ``asked`` wants of them
    besides."""
    table.check_writable()
    on_read.check(table)
    words = dict.fromkeys((WIDEN_INTEGERS.key, ADD_COLUMNS.key, FILL_COLUMNS.key), "true")

    def change(target: WriteTarget) -> tuple[pa.Schema, Any]:
        options, generator = {**target.options, **words}, target.generator
        fixed = (*generator.record_key_fields, *generator.partition_fields)
        named = on_read.renamed(target.schema, StoredFiles.history(target.file_format))
        wanted = asked.incoming(named, fixed)
        grown = ArrivingRows.target_schema(
            named, wanted, fixed, (), options, target.config.ordering_fields
        )
        asked.check(named, grown, target.config.name)
        if len(ArrivingRows.outgrown(named, grown)):
            raise ConfigError(
                f"alter of {target.config.name}",
                "makes integers floating-point, which looks at all rows, beside other changes.",
                "Call table.alter twice.",
            )
        after = on_read.ordered(grown)
        return after, on_read.history(target, after)

    due = table.after_writes.due()
    found = Writes.schema(table.write_request(ALTERS), change)
    table.after_writes.run(due, lambda: table.engine(None, table.default_engine))
    return found


@frozen
class Altered:
    """``add``: column, or field within one after a dot, -> type; ``widen``: the same of what is
    there; ``nullable``: columns that take nulls from now on."""

    add: Mapping[str, pa.DataType]
    widen: Mapping[str, pa.DataType]
    nullable: tuple[str, ...]

    @classmethod
    def of(
        cls, table: TableHandle, add: Any, widen: Any, nullable: str | Sequence[str], more: bool
    ) -> Altered:
        added = _types(add, "add")
        widened = _types(widen, "widen")
        listed = tuple(names_of(nullable, "nullable"))
        twice = {n.lower() for n in widened} & {n.lower() for n in listed}
        if twice:
            raise ConfigError(
                f"column {min(twice)}",
                "is in widen= and in nullable=, and each is a change of its own.",
                "Call table.alter twice.",
            )
        for name, kind in widened.items():
            was = field_at(table.schema, name.split("."))
            same = pa.types.is_integer(kind) or (was is not None and was.type == kind)
            index = None if same else index_of(table, name)
            if index:  # it has texts, or bounds, of the older type
                raise SchemaError(
                    f"column {name} of table {table.config.name}",
                    f"can't become {kind}: the index {index} is of it.",
                    f'Drop the index first: table.drop_index("{index}"); make it again afterwards.',
                )
        for name in (*added, *widened):
            if name.lower().startswith("_hoodie_"):
                raise SchemaError(
                    f"column {name}",
                    "is Hudi's own: such names are not the table's.",
                    "Give it another name.",
                )
        if not (added or widened or listed or more):
            raise ConfigError(
                f"alter of {table.config.name}",
                "changes nothing.",
                'Say what: table.alter(add={"tip": "double"}, widen={"seats": "bigint"}).',
            )
        return cls(added, widened, listed)

    def incoming(self, schema: pa.Schema, fixed: Sequence[str]) -> pa.Schema:
        """What rows would have that make the table's schema so when they are written."""
        fields = list(schema)
        for name, kind in self.widen.items():
            fields = _changed(fields, name.split("."), kind, name)
        for name, kind in self.add.items():
            fields = _added(fields, name.split("."), kind, name)
        for name in self.nullable:
            column = named(schema, name)
            if column is not None and column.name in fixed:
                raise SchemaError(
                    f"column {column.name}", "is of the key or the partition path.", "Leave it out."
                )
            if field_at(schema, name.split(".")) is None:
                raise unknown_column(name, "nullable=", schema.names, "the table")
            fields = _without(fields, name.split("."), name)
        return pa.schema(fields)

    def check(self, before: pa.Schema, after: pa.Schema, table: str) -> None:
        """Raises SchemaError where the schema does not become what was asked for."""
        for name, kind in self.widen.items():
            found = field_at(after, name.split("."))
            if found is None or found.type != kind:
                was = field_at(before, name.split("."))
                raise SchemaError(
                    f"column {name} of table {table}",
                    f"is {was and was.type}, which does not become {kind}: types only grow "
                    "(int to bigint, float, double; bigint to float, double; float to double; "
                    "decimals in precision).",
                    "Add a column of that type, and fill it with table.update.",
                )


def _types(given: Any, argument: str) -> dict[str, pa.DataType]:
    if given is None:
        return {}
    from hoodoo_statements.types import arrow_type  # brings a parser of SQL

    if isinstance(given, pa.Schema):
        given = {f.name: f.type for f in given}
    elif not isinstance(given, Mapping):
        given = {f.name: f.type for f in tables.arrow_schema(given)}
    for name in given:
        if not isinstance(name, str):
            raise ConfigError(
                f"{argument}={{{name!r}: ...}}",
                "names no column.",
                'Give names: {"tip": "double"}.',
            )
    return {name: arrow_type(kind, f"{argument}={{{name!r}: ...}}") for name, kind in given.items()}


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
    if there is None:
        raise _outside(name, path[0], "is not there")
    within = inner_fields(there.type)
    if not pa.types.is_struct(there.type) and (len(path) == 2 or named(within, path[1]) is None):
        raise _outside(name, path[0], f"is {there.type}")
    inner = of_inner(there.type, _added(within, path[1:], kind, name))
    return [f.with_type(inner) if f.name == there.name else f for f in fields]


def _outside(name: str, outer: str, why: str) -> SchemaError:
    return SchemaError(
        f"column {name}",
        f"would lie in {outer}, which {why}, and no struct of the table.",
        "Name a struct; one in a list is its element, in a map its value: "
        'add={"stops.element.zone": "int"}.',
    )


def _changed(
    fields: list[pa.Field], path: Sequence[str], kind: pa.DataType, name: str
) -> list[pa.Field]:
    there = named(fields, path[0])
    if there is None:
        raise unknown_column(name, "widen=", [f.name for f in fields], "the table")
    if len(path) > 1:
        within = inner_fields(there.type)
        kind = of_inner(there.type, _changed(within, path[1:], kind, name))
    return [f.with_type(kind) if f.name == there.name else f for f in fields]


def _without(fields: list[pa.Field], path: Sequence[str], name: str) -> list[pa.Field]:
    """What rows lack takes nulls from then on."""
    there = named(fields, path[0])
    assert there is not None
    if len(path) == 1:
        return [f for f in fields if f.name != there.name]
    if not pa.types.is_struct(there.type):
        raise SchemaError(
            f"column {name}",
            f"is within {path[0]}, which is {there.type}.",
            "Name a column, or a field of a struct that is in no list or map.",
        )
    left = _without(list(there.type), path[1:], name)
    if not left:
        raise SchemaError(
            f"column {name}",
            f"is all of {there.name}, and stays as it is.",
            f"Let {there.name} be null.",
        )
    inner = pa.struct(left)
    return [f.with_type(inner) if f.name == there.name else f for f in fields]
