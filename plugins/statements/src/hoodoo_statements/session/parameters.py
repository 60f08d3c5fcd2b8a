"""Parameters: values of Python in the places that a statement has for them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

from hoodoo.errors import ConfigError
from sqlglot import exp


def bound(tree: Any, args: Mapping[str, Any] | Sequence[Any] | None) -> Any:
    """``tree`` with the values of ``args``: of a dict for ``:name``, of a list for each ``?``.

    A value becomes a literal of its type, so text in it is never read as SQL. Raises ConfigError
    for a parameter without a value, a value without a parameter, and a value of another type.
    """
    nodes = [node for node in tree.find_all(exp.Placeholder, bfs=False)]
    named = isinstance(args, Mapping)
    values: dict[str, Any] = {}
    if named:
        values = dict(args or {})
    elif args is not None:
        values = {str(n): value for n, value in enumerate(args, 1)}
    used, count = set[str](), 0
    for node in nodes:
        if node.this is None:
            count += 1
        name = str(count) if node.this is None else str(node.this)
        if (node.this is None) == named or name not in values:
            place = f"parameter {'?' if node.this is None else ':'}{name}"
            raise ConfigError(
                place,
                "has no value.",
                "Give one: args={...} for names such as :city, args=[...] for each ?.",
            )
        used.add(name)
        node.replace(literal(values[name], f"parameter {name}"))
    unused = sorted(set(values) - used)
    if unused:
        raise ConfigError(
            f"args {', '.join(unused)}",
            "are not in the statement.",
            "Write :name (or ? for a list) where a value belongs, outside of quotes.",
        )
    return tree


def literal(value: Any, what: str) -> Any:
    """``value`` as Spark writes a literal of its type. ConfigError for a type that has none."""
    if hasattr(value, "as_py"):  # a scalar of pyarrow
        value = value.as_py()
    if hasattr(type(value), "dtype") and hasattr(value, "item"):  # a scalar of NumPy
        value = value.item()
    if value is None:
        return exp.null()
    if isinstance(value, bool):
        return exp.Boolean(this=value)
    if isinstance(value, str):
        return exp.Literal.string(value)
    if isinstance(value, int) and -(2**63) < value < 2**63:
        number = exp.Literal.number(abs(value))
        return exp.Neg(this=number) if value < 0 else number
    if isinstance(value, float) and math.isfinite(value):
        return exp.cast(exp.Literal.string(repr(value)), "DOUBLE")
    if isinstance(value, Decimal) and value.is_finite():
        exponent = value.as_tuple().exponent
        scale = max(0, -int(exponent))
        text = f"{value:f}"
        digits = max(len(text.lstrip("-").replace(".", "").lstrip("0")), scale, 1)
        if digits <= 38:
            return exp.cast(exp.Literal.string(text), f"DECIMAL({digits}, {scale})")
    if isinstance(value, datetime):
        kind = "TIMESTAMPNTZ" if value.tzinfo is None else "TIMESTAMP"
        plain = value if value.tzinfo is None else value.astimezone(timezone.utc)
        text = plain.replace(tzinfo=None).isoformat(sep=" ")
        text += "" if value.tzinfo is None else "+00:00"
        return exp.cast(exp.Literal.string(text), kind, dialect="spark")
    if isinstance(value, date):
        return exp.cast(exp.Literal.string(value.isoformat()), "DATE")
    if isinstance(value, (list, tuple)) and value:
        inner = [literal(one, what) for one in value]
        return exp.Anonymous(this="array", expressions=inner)
    raise ConfigError(
        what,
        f"is {value!r}, for which there is no literal.",
        "Give a text, a number, a boolean, a date, a datetime, None, or a list of these.",
    )
