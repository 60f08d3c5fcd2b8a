"""Assignments: what SET and INSERT (...) VALUES (...) give to columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hoodoo.errors import ConfigError
from sqlglot import exp

from hoodoo_statements.text.dialect import DIALECT


def refuse_but(star: Any, instead: str) -> None:
    """``* EXCEPT (a)`` is not all columns."""
    if any(star.args.values()):
        raise ConfigError(
            f"clause {star.sql(DIALECT)}", "is not known here.", f"Name the columns: {instead}."
        )


def refuse_twice(names: Sequence[str]) -> None:
    for n, name in enumerate(names):
        if name in names[:n]:
            raise ConfigError(f"column {name!r}", "is assigned twice.", "Assign it once.")


def assignments(nodes: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for node in nodes:
        if not isinstance(node, exp.EQ) or not isinstance(node.this, exp.Column):
            raise ConfigError(
                f"assignment {node.sql(DIALECT)}",
                "is not column = expression.",
                "Write SET column = expression; all columns of other rows: MERGE INTO t USING s ON "
                "t.id = s.id WHEN MATCHED THEN UPDATE SET *.",
            )
        name = ".".join(part.name for part in node.this.parts)
        refuse_twice([*found, name])
        found[name] = or_default(node.expression)
    return found


def or_default(value: Any) -> Any:
    """DEFAULT is NULL: no table of Hudi stores another default."""
    plain = isinstance(value, exp.Var) or (isinstance(value, exp.Column) and not value.table)
    quoted = isinstance(value, exp.Column) and value.this.args.get("quoted")
    return exp.Null() if plain and not quoted and value.name.upper() == "DEFAULT" else value
