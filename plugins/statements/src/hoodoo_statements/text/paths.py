"""Paths within variants: ``v:a.b[0]``, and ``$.a.b[0]`` of ``variant_get``."""

from __future__ import annotations

import re

from sqlglot import exp

_STEP = re.compile(
    r"""\.(?P<name>[^.\[\]'"\s]+)|\[(?P<place>\d+)\]|\['(?P<one>[^']*)'\]|\["(?P<two>[^"]*)"\]"""
)
Step = str | int


def steps_of(path: str) -> list[Step] | None:
    """The keys and places of a path such as ``$.a[0]['b c']``; None for what is none."""
    found: list[Step] = []
    at = 1
    if not path.startswith("$"):
        return None
    while at < len(path):
        match = _STEP.match(path, at)
        if match is None:
            return None
        name, place, one, two = match.group("name", "place", "one", "two")
        found.append(int(place) if place is not None else name or one or two or "")
        at = match.end()
    return found


def call_of(tree: exp.JSONExtract) -> exp.Anonymous:
    """``v:a.b`` as the call of ``variant_get``. A star, say, is no path that it takes."""
    path = "$"
    for part in tree.expression.expressions[1:]:
        name = str(part.this)
        if isinstance(part, exp.JSONPathSubscript):
            path += f"[{part.this if isinstance(part.this, int) else '*'}]"
        elif re.fullmatch(r"\w+", name):
            path += f".{name}"
        else:
            quote = '"' if "'" in name else "'"
            path += f"[{quote}{name}{quote}]"
    return exp.Anonymous(this="variant_get", expressions=[tree.this, exp.Literal.string(path)])
