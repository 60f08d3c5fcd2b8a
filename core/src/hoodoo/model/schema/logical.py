"""Columns of logical types: a vector, say, whose bytes in files mean more than bytes.

A plugin brings each (:mod:`hoodoo.hookspecs.logical_type`). In memory such a column is of a nested
Arrow type, whose first child says in its metadata what it is: so the type keeps it wherever it
goes, and all that works with Arrow works with the column. Files store it as another type, which
readers give as it is: ``conform_array`` of hoodoo-rows makes what is in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

MARK = b"hudi_type"  # Hudi's own name: metadata of the first child, and of a field that is declared
# The type that is offered under a name, or None, and how to get the usual ones. The kernel sets
# both: what is here knows no plugins.
named: Callable[[str], Any] = lambda name: None  # noqa: E731
usual = ""


def text_of(kind: pa.DataType) -> str:
    """What Hudi calls the logical type ``kind``, such as VECTOR(4); empty: it is none."""
    first = kind.field(0).metadata if kind.num_fields else None
    return first.get(MARK, b"").decode() if first else ""


def of(kind: pa.DataType) -> Any:
    """Who knows the type ``kind``; None if it is no logical type, or nobody offers it."""
    text = text_of(kind)
    return named(text.partition("(")[0]) if text else None


def declared(field: pa.Field, extension: str, path: str) -> pa.DataType | None:
    """The logical type of ``field``, as its type, metadata or Arrow ``extension`` says."""
    text = text_of(field.type) or (field.metadata or {}).get(MARK, b"").decode() or extension
    own = named(text.partition("(")[0].strip()) if text else None
    return None if own is None else own.declared(text, field.type, path)
