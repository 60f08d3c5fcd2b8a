"""Bytes of others: what they become is bounded by how many they are."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hoodoo.errors import CorruptTableError, HoodooError


def corrupt(where: str, what: str) -> CorruptTableError:
    """The error for the undecodable file ``where``; ``what`` is a clause without full stop."""
    return CorruptTableError(
        where,
        f"{what}.",
        "The file is damaged: restore it from a copy, or restore the table to a savepoint.",
    )


@contextmanager
def reading(where: str, what: str) -> Iterator[None]:
    """What goes wrong inside is the fault of the bytes of ``where``: the same error. (Decoders of
    JSON and Avro let whatever bytes provoke escape.)"""
    try:
        yield
    except (HoodooError, FileNotFoundError, MemoryError):
        raise
    except Exception as error:
        raise corrupt(where, f"{what} ({type(error).__name__}: {error})") from error


_DEEPEST, _TYPES = 64, 100_000  # Hudi's own schemas are 14 types deep and have less than 200
_AROUND = 8  # so many records may be around a value and have nothing else in them


def check_bounded(avro: Any) -> None:
    """ValueError if a few bytes can be very many values of ``avro``, a decoded schema, or one
    without end: for a record that contains itself, a type whose values take no bytes (null outside
    of a union, a record without fields, a fixed of no bytes), and a schema that is too deep. None
    of Hudi's schemas is so. Other mistakes are the parser's matter."""
    _walk(avro, {}, [_TYPES], 0, 0)


def _walk(avro: Any, named: dict[str, Any], left: list[int], level: int, around: int) -> None:
    left[0] -= 1
    if level > _DEEPEST or left[0] < 0:
        raise ValueError("its schema is too deep, or a record of it contains itself")
    avro = named.get(avro.rpartition(".")[2], avro) if isinstance(avro, str) else avro
    kind = avro.get("type") if isinstance(avro, dict) else avro
    within = kind if isinstance(kind, list) else [kind] if isinstance(kind, dict) else []
    if kind in ("array", "map"):
        within, around = [avro["items" if kind == "array" else "values"]], 0
    elif kind == "record":
        named[avro["name"].rpartition(".")[2]] = avro
        within = [field["type"] for field in avro["fields"]]
        around = around + 1 if len(within) == 1 else 1
    little = (
        kind == "null"
        or (kind == "record" and not within)
        or (kind == "fixed" and not avro.get("size"))
    )
    if little or around > _AROUND:
        raise ValueError(f"its schema has a {kind} whose values take too few bytes")
    for part in within:
        if not isinstance(kind, list):
            _walk(part, named, left, level + 1, around)
        elif part != "null":
            _walk(part, named, left, level + 1, 0)


def inflate(data: bytes, window: int) -> bytes:
    """What is deflated in ``data``; ``window`` is zlib's for its kind. Raises zlib.error, and
    ValueError where it is not whole, or more than such files of Hudi and of Hoodoo are (commits
    that name 2,000 files become 3 times as long)."""
    unpacking = zlib.decompressobj(window)
    found = unpacking.decompress(data, (1 << 20) + 32 * len(data))
    if not unpacking.eof:
        raise ValueError(f"it is cut short, or holds more than {len(found)} bytes")
    return found
