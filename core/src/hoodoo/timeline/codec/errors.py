"""What every decoder of the timeline raises."""

from __future__ import annotations

from hoodoo.errors import CorruptTableError


def corrupt(where: str, what: str) -> CorruptTableError:
    """The error for the undecodable file ``where``; ``what`` is a clause without full stop."""
    return CorruptTableError(
        where,
        f"{what}.",
        "The file is damaged: restore it from a copy, or restore the table to a savepoint.",
    )
