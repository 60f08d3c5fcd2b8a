"""JSON of the version 6 timeline, printed as Jackson's pretty printer does."""

from __future__ import annotations

import json
from json.encoder import encode_basestring as _quoted
from typing import Any

from hoodoo.timeline.codec.bounded import corrupt, reading


def decode(data: bytes, where: str) -> dict[str, Any]:
    """The object in a JSON timeline file.

    Raises :class:`~hoodoo.errors.CorruptTableError` naming ``where``, the path of the file.
    """
    with reading(where, "not readable JSON"):
        found = json.loads(data)
    if not isinstance(found, dict):
        raise corrupt(where, "a JSON file of the timeline holds one object")
    return found


def encode(record: dict[str, Any]) -> bytes:
    """Return ``record`` as the JSON bytes that Jackson, Hudi's library, would write: two blanks for
    each level."""
    return _jackson(record, "").encode()


def _jackson(value: Any, indent: str) -> str:
    """Two blanks of indent, ``"key" : value``, arrays on one line, ``{ }`` for an empty object.

    The standard encoder falls back to plain Python too as soon as it indents, and is slower.
    """
    kind = type(value)
    if kind is str:
        return _quoted(value)
    if kind is int:
        return str(value)
    if kind is dict:
        if not value:
            return "{ }"
        inner = indent + "  "
        rows = [f"{inner}{_quoted(k)} : {_jackson(v, inner)}" for k, v in value.items()]
        return "{\n" + ",\n".join(rows) + f"\n{indent}}}"
    if kind is list or kind is tuple:
        return "[ " + ", ".join([_jackson(v, indent) for v in value]) + " ]" if value else "[ ]"
    return json.dumps(value)
