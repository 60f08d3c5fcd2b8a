"""What every decoder of the timeline raises."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

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
    """What goes wrong inside is the fault of the bytes of ``where``: the same error. (Decoders of JSON and Avro let
    whatever bytes provoke escape.)"""
    try:
        yield
    except (HoodooError, FileNotFoundError, MemoryError):
        raise
    except Exception as error:
        raise corrupt(where, f"{what} ({type(error).__name__}: {error})") from error
