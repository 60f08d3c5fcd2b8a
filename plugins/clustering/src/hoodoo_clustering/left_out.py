"""Left out: the file slices that a plan of a clustering does not rewrite, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from hoodoo_clustering import options as keys

PENDING = "a clustering or a compaction is pending for them"
WITH_LOGS = f"they have log files, or nothing else ({keys.WITH_LOGS.key} takes them in)"
TOO_OLD = f"they are as old as {keys.EARLIEST.key} says, or older"
SORTED = "a clustering has laid them out like this, and nobody has written to them since"
NO_USE = "a rewrite would not make fewer files, and would not change the order of rows"
NOT_CHOSEN = "the plan has no use for them"
NEXT_TIME = f"one plan has no more groups ({keys.GROUPS.key}): cluster again"


def too_large(limit: int) -> str:
    return f"they have {limit} bytes or more ({keys.SMALL.key} above it takes them in)"


def sentences(reasons: Iterable[str]) -> tuple[str, ...]:
    """One sentence for each reason: it is given once for each slice that is left out for it."""
    counted: Mapping[str, int] = Counter(reasons)
    return tuple(
        f"{count} file slice{'' if count == 1 else 's'} left alone: {reason}."
        for reason, count in counted.items()
    )
