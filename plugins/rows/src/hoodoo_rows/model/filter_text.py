"""Filters as text. Arrow cuts long values in the middle, also in the middle of a character, and
then ``str`` of the expression fails: bytes that are no character are shown as a replacement."""

from __future__ import annotations

from typing import Any

import pyarrow.compute as pc


def text_of(where: pc.Expression) -> str:
    """A filter as people read it; long values are cut, so two filters may have one text."""
    try:
        return str(where)
    except UnicodeDecodeError as exc:
        return bytes(exc.object).decode(errors="replace")


def whole(where: pc.Expression | None) -> Any:
    """What is equal for equal filters alone: Arrow's own form, in which no value is cut.
    Expressions have no equality of their own: ``==`` makes a new expression."""
    return None if where is None else where.__reduce__()[1][0].to_pybytes()
