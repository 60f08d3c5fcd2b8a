"""Paths within variants: ``v:a.b[0]``, and ``$.a.b[0]`` of ``variant_get``."""

from __future__ import annotations

import re

from hoodoo.errors import SchemaError
from sqlglot import exp

_STEP = re.compile(
    r"""\.(?P<name>[^.\[\]'"\s]+)|\[(?P<position>\d+)\]"""
    r"""|\['(?P<single>[^']*)'\]|\["(?P<double>[^"]*)"\]"""
)
Step = str | int


def steps_of(path: str) -> list[Step] | None:
    """The keys and positions of a path such as ``$.a[0]['b c']``; None if it is not one."""
    found: list[Step] = []
    at = 1
    if not path.startswith("$"):
        return None
    while at < len(path):
        match = _STEP.match(path, at)
        if match is None:
            return None
        name, position, single, double = match.group("name", "position", "single", "double")
        # A key in quotes may be empty.
        found.append(name or single or double or "" if position is None else int(position))
        at = match.end()
    return found


def call_of(tree: exp.JSONExtract) -> exp.Anonymous:
    """``v:a.b`` as the call of ``variant_get``, which refuses paths with ``*``.

    Raises SchemaError for a key that has both quotes, as a path can't name it."""
    path = "$"
    for part in tree.expression.expressions[1:]:  # the first one is the root, ``$``
        name = str(part.this)
        if isinstance(part, exp.JSONPathSubscript):
            path += f"[{part.this if isinstance(part.this, int) else '*'}]"
        elif re.fullmatch(r"\w+", name):
            path += f".{name}"
        elif "'" in name and '"' in name:
            raise SchemaError(
                f"the key {name} in the path of a variant",
                "has both quotes, and a path can't name such a key.",
                "Read the variant without it, and take the key in Python.",
            )
        else:
            quote = '"' if "'" in name else "'"
            path += f"[{quote}{name}{quote}]"
    return exp.Anonymous(this="variant_get", expressions=[tree.this, exp.Literal.string(path)])
