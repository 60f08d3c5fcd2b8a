"""The kind of an index: what a write has to know of it, as one value."""

from __future__ import annotations

from typing import Any

from attrs import frozen
from hoodoo.hookspecs.index import ComputedIndex, IndexContext, LookupIndex, PathIndex, Tees


@frozen
class IndexKind:
    """What is true of an index.

    ``looks_everywhere``: it looks keys up in the whole table, or one of the two that it stands for does.
    ``knows_logs``: it answers for keys that only log files have. ``computes``: the file group follows from the key.
    ``by_path``: it follows from the key and the partition path. ``is_two``: two indexes are asked beside each other.
    """

    looks_everywhere: bool
    knows_logs: bool
    computes: bool
    by_path: bool
    is_two: bool

    @classmethod
    def of(cls, index: Any) -> IndexKind:
        """Of an index of any Protocol of :mod:`hoodoo.hookspecs.index`. What the second of two knows does not count."""
        is_two = isinstance(index, Tees)
        each = (index, index.first, index.second) if is_two else (index,)
        answers = index.first if is_two else index
        return cls(
            looks_everywhere=any(one.is_global for one in each),
            knows_logs=bool(getattr(answers, "knows_logs", False)),
            computes=isinstance(index, ComputedIndex),
            by_path=isinstance(index, PathIndex),
            is_two=is_two,
        )


def asked_for_keys(index: LookupIndex, context: IndexContext) -> LookupIndex:
    """``index``, or the one that stands in for it as long as what it stores can't be used."""
    stands_in = getattr(index, "stands_in", None)
    return index if stands_in is None else stands_in(context) or index
