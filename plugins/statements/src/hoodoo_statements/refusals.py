"""Refusals: changes of columns that need Hudi's schema evolution on read, and what can be done in their place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
from hoodoo.errors import ConfigError, SchemaError
from hoodoo.table.handle import TableHandle

from hoodoo_statements.text.nested import field_at
from hoodoo_statements.text.scope import unknown_column

_WHY = (
    "files name their columns, and what a column was called when a file was written would be in Hudi's internal "
    "schema (hoodie.schema.on.read.enable), which Hoodoo does not write."
)
_ANEW = "Write the rows into a new table that has it so: hoodoo.create(...), then .bulk_insert(table.read())."


def refuse_on_read(
    table: TableHandle,
    rename: Mapping[str, str] | None,
    drop: str | Sequence[str],
    reorder: str | Sequence[str],
    comments: Mapping[str, str] | None,
) -> None:
    """Raises SchemaError where any of these is asked for, ConfigError where it is said otherwise than by names."""
    where = f"table {table.config.name}"
    if rename:
        _check_mapping("rename", rename, 'rename={"old": "new"}', "what becomes what")
        old, new = next(iter(rename.items()))
        _find(table, old, "rename=")
        raise SchemaError(
            f"column {old} of {where}", f"can't be renamed: {_WHY}", _renamed(table, old, str(new))
        )
    if drop:
        name = names_of(drop, "drop")[0]
        column = _find(table, name, "drop=")
        raise SchemaError(
            f"column {name} of {where}", f"can't be dropped: {_WHY}", _dropped(table, name, column)
        )
    if reorder:
        for name in names_of(reorder, "reorder"):
            _find(table, name, "reorder=")
        raise SchemaError(
            f"the order of columns of {where}",
            f"can't be changed: {_WHY}",
            "Read them in your order: table.read([...]).",
        )
    if comments:
        _check_mapping("comments", comments, 'comments={"fare": "..."}', "which column has which")
        for name in comments:
            _find(table, name, "comments=")
        raise SchemaError(
            f"comments on columns of {where}", "are not stored.", "Store them in a catalog."
        )


def _renamed(table: TableHandle, old: str, new: str) -> str:
    if _is_needed(table, old):
        return _ANEW
    outer, dot, _ = old.rpartition(".")
    added = f"{outer}{dot}{new.rpartition('.')[2]}"
    fill = f'table.update({{"{added}": "{old}"}})'
    if dot:
        top = old.partition(".")[0]
        fill = f'table.update({{"{top}": "named_struct(...)"}}) with all fields of {top}'
    return f'Add a column and fill it: table.alter(add={{"{added}": ...}}), then {fill}.'


def _dropped(table: TableHandle, name: str, column: pa.Field) -> str:
    if _is_needed(table, name):
        return _ANEW
    steps = ["Read the others: table.read([...])"]
    if "." not in name:
        steps.append("" if column.nullable else f'let it be null: table.alter(nullable="{name}")')
        steps.append(f'set it to null: table.update({{"{name}": None}})')
    return "; ".join(step for step in steps if step) + "; or write them into a new table."


def _is_needed(table: TableHandle, name: str) -> bool:
    """Whether the key, the path or the order of rows is made of the column, or of a field within it."""
    generator = table.key_generator()
    fixed = (*generator.record_key_fields, *generator.partition_fields)
    needed = [field.lower() for field in (*fixed, *table.config.ordering_fields)]
    return any(field == name.lower() or field.startswith(f"{name.lower()}.") for field in needed)


def _find(table: TableHandle, name: str, argument: str) -> pa.Field:
    found = field_at(table.schema, name.split("."))
    if found is None:
        raise unknown_column(name, argument, table.schema.names, "the table")
    return found


def names_of(given: str | Sequence[str], argument: str) -> list[str]:
    """The columns that ``given`` names. Raises ConfigError."""
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, (list, tuple)) or not all(isinstance(n, str) for n in names):
        raise ConfigError(
            f"{argument}= of type {type(given).__name__}", "does not name columns.",
            f'Give names: table.alter({argument}=["a", "b"]).',
        )  # fmt: skip
    return list(names)


def _check_mapping(argument: str, given: object, shown: str, what: str) -> None:
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        raise ConfigError(
            f"{argument}= of type {type(given).__name__}", f"does not say {what}.",
            f"Give a dictionary: table.alter({shown}).",
        )  # fmt: skip
