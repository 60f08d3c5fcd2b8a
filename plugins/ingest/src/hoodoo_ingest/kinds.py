"""Kinds of values in a configuration: each returns the value, or raises ValueError, which says
the rule."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

_UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", re.IGNORECASE)


class Filled(str):
    """A text with environment variables in it, and how it is ``written``, without their values."""

    written: str


def shown(value: str) -> str:
    """How a text is shown: variables by name, for they may be secrets."""
    return value.written if isinstance(value, Filled) else value


def text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("has to be a text")
    return value


def delimiter(value: Any) -> str:
    """What separates the fields of CSV."""
    found = "\t" if value == "\\t" else value
    if not isinstance(found, str) or len(found) != 1 or found in '"\r\n' or not found.isascii():
        raise ValueError("is no delimiter")
    return found


def flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("has to be true or false")
    return value


def names(value: Any) -> list[str]:
    """A list of texts, or one text with commas."""
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list) or not all(isinstance(p, str) and p.strip() for p in parts):
        raise ValueError("has to be names: a list of texts, or a text with commas")
    return [part.strip() for part in parts]


def whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError("has to be a whole number from 1 on")
    return value


def count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError("has to be a whole number from 0 on")
    return value


def seconds(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value >= 0:
        raise ValueError("has to be a number of seconds")
    return float(value)


def size(value: Any) -> int:
    """Bytes, as a number or a text such as ``256 MB``."""
    match = _SIZE.fullmatch(str(value))
    unit = None if match is None else _UNITS.get(match[2].lower())
    if match is None or unit is None or isinstance(value, bool) or float(match[1]) * unit < 1:
        raise ValueError('has to be a size, such as "256 MB"')
    return int(float(match[1]) * unit)


def pairs(value: Any) -> dict[str, str]:
    """Options: values of any type, as text."""
    if not isinstance(value, dict) or any(isinstance(v, (dict, list)) for v in value.values()):
        raise ValueError("has to be a table of keys and values, with quotes around keys with dots")
    return {
        key: str(one).lower() if isinstance(one, bool) else str(one) for key, one in value.items()
    }


def one_of(*known: str) -> Callable[[Any], str]:
    def kind(value: Any) -> str:
        if value not in known:
            raise ValueError(f"has to be one of {', '.join(known)}")
        return str(value)

    return kind
