"""``CALL name(...)``: reads the call, runs the procedure, filters its answer."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import sqlglot
from hoodoo.calls import nearest
from hoodoo.errors import ConfigError
from sqlglot import exp

from hoodoo_statements.query import Query, arrow_of
from hoodoo_statements.session.names import SessionNames
from hoodoo_statements.session.procedures import commits, files, indexes, services, tables
from hoodoo_statements.session.procedures.others import ELSEWHERE
from hoodoo_statements.session.procedures.procedure import Call, Procedure, Rows, name_of
from hoodoo_statements.text import of_others
from hoodoo_statements.text.dialect import DIALECT


def call(tree: exp.Command, names: SessionNames) -> pa.Table:
    """What ``CALL name(...)`` answers. ConfigError for a procedure or an argument that is not
    known."""
    text = str(getattr(tree.args.get("expression"), "name", "")).strip()
    name, values = _read(text)
    if name not in PROCEDURES:
        raise _unknown(name)
    procedure = PROCEDURES[name]
    given = _arguments(name, procedure, values)
    answer = procedure.answer(Call(name, {**procedure.defaults, **given}, names))
    wanted = given.get("filter")
    return answer if not wanted else _filtered(answer, str(wanted), name, names.spark)


def _read(text: str) -> tuple[str, list[Any]]:
    """The name and the arguments of a call."""
    try:
        # Hudi's procedures may be called system.name, as Spark's are.
        node = sqlglot.parse_one(text.removeprefix("system."), read=DIALECT)
    except sqlglot.errors.SqlglotError:
        node = None
    if not isinstance(node, exp.Anonymous):
        raise ConfigError(
            f"CALL {text}", "is no call.", "Write CALL show_commits(table => 't', limit => 5)."
        )
    return str(node.this).lower(), node.expressions


def _arguments(name: str, procedure: Procedure, values: list[Any]) -> dict[str, Any]:
    listed = procedure.listed
    known = list(listed)
    given: dict[str, Any] = {}
    for n, node in enumerate(values):
        if isinstance(node, exp.Kwarg):
            key, value = node.name.lower(), node.expression
        else:
            key, value = known[n] if n < len(known) else f"number {n + 1}", node
        if key not in known or listed[key].endswith("-"):
            takes = ", ".join(name_of(one) for one in listed.values() if not one.endswith("-"))
            raise ConfigError(
                f"argument {key} of {name}", "is not supported here.", f"It takes {takes}."
            )
        if key in given:
            raise ConfigError(f"argument {key} of {name}", "is given twice.", "Give it once.")
        given[key] = _value(name, key, value)
    for key, one in listed.items():
        if one.endswith("*") and key not in given:
            raise ConfigError(
                f"procedure {name}", f"lacks its argument {key}.", f"Write {key} => '...'."
            )
    return {key: value for key, value in given.items() if value is not None}


def _value(name: str, key: str, node: Any) -> Any:
    if isinstance(node, exp.Null):
        return None
    if isinstance(node, exp.Boolean):
        return bool(node.this)
    sign = -1 if isinstance(node, exp.Neg) else 1
    node = node.this if sign < 0 else node
    if isinstance(node, exp.Literal):
        return str(node.this) if node.is_string else sign * int(str(node.this))
    raise ConfigError(f"argument {key} of {name}", "is no literal.", "Write its value.")


def _filtered(answer: pa.Table, wanted: str, name: str, spark: Any) -> pa.Table:
    """The rows for which the condition ``wanted`` is true, as the parameter ``filter`` has it."""
    try:
        condition = sqlglot.parse_one(wanted, read=DIALECT)
    except sqlglot.errors.SqlglotError:
        raise ConfigError(
            f"argument filter of {name}",
            f"is no condition: {wanted!r}.",
            f"Name columns of the answer: {', '.join(answer.column_names)}.",
        ) from None
    tree = exp.select("*").from_("answer").where(condition)
    return arrow_of(Query({"answer": answer}, spark).run(tree))


def _unknown(name: str) -> ConfigError:
    instead = ELSEWHERE.get(name) or of_others.PROCEDURES.get(name)
    if instead:
        return ConfigError(f"procedure {name}", "is no procedure here.", instead)
    near = nearest(name, [*PROCEDURES, *ELSEWHERE])
    fix = f"Did you mean {near}? " if near else ""
    return ConfigError(
        f"procedure {name}", "is not known.", f"{fix}There are {', '.join(PROCEDURES)}."
    )


def _help(asked: Call) -> Rows:
    """What the procedures are, or what one of them takes and answers."""
    name = str(asked.get("cmd", "")).lower()
    if not name:
        return [("\n".join(PROCEDURES),)]
    if name not in PROCEDURES:
        raise _unknown(name)
    return [(PROCEDURES[name].text(),)]


PROCEDURES: dict[str, Procedure] = {
    **commits.PROCEDURES,
    **services.PROCEDURES,
    **tables.PROCEDURES,
    **files.PROCEDURES,
    **indexes.PROCEDURES,
    "help": Procedure("cmd", "result", _help),
}
