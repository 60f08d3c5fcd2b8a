"""ALTER TABLE, as Spark spells it -> the arguments of ``table.alter``."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa
from attrs import field, frozen
from hoodoo.errors import ConfigError, SchemaError
from sqlglot import exp

from hoodoo_statements.text.dialect import DIALECT
from hoodoo_statements.text.nested import field_at, inner_fields
from hoodoo_statements.text.scope import unknown_column
from hoodoo_statements.types import arrow_type

_KNOWN = (
    "It takes ADD COLUMNS, RENAME COLUMN ... TO, DROP COLUMNS, and ALTER COLUMN ... TYPE, "
    "DROP NOT NULL, FIRST and AFTER."
)
_NAME = r"(?:`[^`]+`|\w+)(?:\s*\.\s*(?:`[^`]+`|\w+))*"
# What sqlglot leaves as text: fields within columns, and places.
_OF_COLUMN = re.compile(
    rf"\s*TABLE\s+(?P<table>{_NAME})\s+(?:ALTER|CHANGE)\s+(?:COLUMN\s+)?(?P<column>{_NAME})\s+"
    r"(?:(?:SET\s+DATA\s+)?TYPE\s+(?P<type>.+)"
    r"|(?P<null>DROP\s+NOT\s+NULL)|(?P<must>SET\s+NOT\s+NULL)"
    rf"|COMMENT\s+(?P<comment>['\"].*)|(?P<place>FIRST|AFTER\s+{_NAME}))\s*",
    re.I | re.S,
)


def altered_table(tree: Any) -> Any:
    """The name of the table that an ALTER TABLE changes; None where ``tree`` is no such statement.
    ConfigError for one that is not understood."""
    if isinstance(tree, exp.Alter) and tree.args.get("kind") == "TABLE":
        return tree.this
    found = _of_column(tree)
    if found is not None:
        return exp.to_table(found["table"], dialect=DIALECT)
    if isinstance(tree, exp.Command) and _text(tree).upper().startswith("TABLE "):
        raise ConfigError(f"ALTER {_text(tree)}", "is not understood.", _KNOWN)
    return None


def arguments(tree: Any, schema: pa.Schema) -> dict[str, Any]:
    """What ``table.alter`` is called with. Raises ConfigError, SchemaError for what it could not do
    either."""
    asked = Asked(schema)
    found = _of_column(tree)
    if found is not None:
        path = ".".join(_parts(exp.to_column(found["column"], dialect=DIALECT)))
        asked.changed(path, found["type"], found["comment"], found["null"], found["must"])
        if found["place"]:
            asked.placed(path, found["place"])
        return asked.arguments()
    for action in tree.args["actions"]:
        if isinstance(action, exp.Schema):
            for column in action.expressions:
                asked.added(column)
        elif isinstance(action, exp.ColumnDef):
            asked.added(action)
        elif isinstance(action, exp.RenameColumn):
            asked.rename[_path(action.this)] = _path(action.args["to"])
        elif isinstance(action, exp.Drop) and str(action.args.get("kind")).startswith("COLUMN"):
            for name in action.args["tables"]:
                listed = name.expressions if isinstance(name, exp.Schema) else [name]
                asked.drop.extend(_path(one) for one in listed)
        elif isinstance(action, exp.AlterColumn):
            asked.altered(action)
        else:
            raise _unknown(action)
    return asked.arguments()


@frozen
class Asked:
    """What a statement asks for, as ``table.alter`` has it. ``schema``: of the table as it is."""

    schema: pa.Schema
    add: dict[str, Any] = field(factory=dict)
    widen: dict[str, Any] = field(factory=dict)
    nullable: list[str] = field(factory=list)
    rename: dict[str, str] = field(factory=dict)
    drop: list[str] = field(factory=list)
    reorder: list[str] = field(factory=list)
    comments: dict[str, str] = field(factory=dict)

    def arguments(self) -> dict[str, Any]:
        names = ("add", "widen", "nullable", "rename", "drop", "reorder", "comments")
        return {name: getattr(self, name) for name in names if getattr(self, name)}

    def added(self, column: Any) -> None:
        name = _path(column.this)
        what = f"column {name} of ADD COLUMNS"
        there = field_at(self.schema, name.split("."))
        if column.args.get("exists") and there is not None:
            self.widen[name] = there.type  # it is so already
            return
        if column.args.get("kind") is None:
            raise ConfigError(what, "has no type.", f"Give one: ADD COLUMNS ({name} BIGINT).")
        if column.args.get("position") is not None:
            raise SchemaError(
                what,
                "would get a place: new columns come last.",
                "Leave FIRST and AFTER out, and read columns in your order.",
            )
        for constraint in column.args.get("constraints") or ():
            kind = constraint.kind
            if isinstance(kind, exp.NotNullColumnConstraint) and kind.args.get("allow_null"):
                continue
            raise constrained(what, kind)
        self.add[name] = arrow_type(column.kind, what)

    def placed(self, path: str, place: str) -> None:
        """``FIRST``, or ``AFTER`` another column that lies in the same."""
        outer = path.split(".")[:-1]
        inside = field_at(self.schema, outer) if outer else None
        beside = list(self.schema) if inside is None else inner_fields(inside.type)
        name, prefix = path.split(".")[-1], "".join(f"{part}." for part in outer)
        names = [f.name for f in beside if f.name.lower() != name.lower()]
        ahead = []
        if place.upper() != "FIRST":
            after = _parts(exp.to_column(place.split(None, 1)[1], dialect=DIALECT))[-1]
            lower = [n.lower() for n in names]
            if after.lower() not in lower:
                raise unknown_column(prefix + after, "AFTER", names, "the table")
            ahead = names[: lower.index(after.lower()) + 1]
        self.reorder.extend(f"{prefix}{n}" for n in (*ahead, name))

    def altered(self, action: Any) -> None:
        name, to = _path(action.this), action.args.get("rename_to")
        if to is not None and _path(to).lower() != name.lower():
            self.rename[name] = _path(to)
        null = action.args.get("allow_null")
        comment, kind = action.args.get("comment"), action.args.get("dtype")
        if kind is None and not comment and null is None and to is None:
            raise _unknown(action)
        text = comment.name if comment else None
        self.changed(name, kind, text, null is True, null is False)

    def changed(self, name: str, kind: Any, comment: Any, null: Any, must: Any) -> None:
        if kind is not None:
            self.widen[name] = arrow_type(kind, f"column {name} of ALTER COLUMN")
        if comment:
            self.comments[name] = comment
        if null:
            self.nullable.append(name)
        if must:
            raise SchemaError(
                f"column {name}",
                "can't be made NOT NULL: rows that are there may have nulls, and nobody would "
                "look.",
                "Check rows before they are written.",
            )


def constrained(what: str, kind: Any) -> SchemaError:
    """The error for a column with a constraint that tables don't store."""
    if isinstance(kind, exp.NotNullColumnConstraint):
        return SchemaError(
            what,
            "would be NOT NULL, and rows from before have no value for it.",
            "Leave NOT NULL out.",
        )
    if isinstance(kind, exp.CommentColumnConstraint):
        return SchemaError(
            what,
            "has a comment: comments on columns are not stored.",
            "Leave it out; keep it in a catalog.",
        )
    if isinstance(kind, exp.DefaultColumnConstraint):
        return SchemaError(
            what,
            "has a default, which is not stored: rows from before are null.",
            "Leave it out, and UPDATE the table.",
        )
    return SchemaError(what, f"has {kind.sql(DIALECT)}, which is not stored.", "Leave it out.")


def _unknown(action: Any) -> ConfigError:
    if isinstance(action, exp.DropPartition):
        fix = 'Give its path: table.delete_partitions(["oslo"]); or DELETE FROM t WHERE ...'
    elif isinstance(action, exp.AlterSet):
        fix = f"Options of writers are given to hoodoo.open(path, options). {_KNOWN}"
    else:
        fix = _KNOWN
    return ConfigError(f"ALTER TABLE ... {action.sql(DIALECT)}", "is not known here.", fix)


def _of_column(tree: Any) -> re.Match[str] | None:
    return _OF_COLUMN.fullmatch(_text(tree)) if isinstance(tree, exp.Command) else None


def _text(command: Any) -> str:
    """What follows ALTER, where sqlglot read no more than that; else nothing."""
    rest = command.args.get("expression")
    text = rest.name if isinstance(rest, exp.Expression) else str(rest)
    return text.strip() if str(command.this).upper() == "ALTER" else ""


def _path(node: Any) -> str:
    return ".".join(_parts(node))


def _parts(node: Any) -> list[str]:
    if isinstance(node, exp.Dot):
        return [*_parts(node.this), *_parts(node.expression)]
    if isinstance(node, exp.Column):
        return [part.name for part in node.parts]
    return [node.name]
