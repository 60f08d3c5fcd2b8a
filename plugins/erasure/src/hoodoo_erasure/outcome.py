"""What an erasure has done."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen
from hoodoo.model.brief import listed


@frozen
class Erased:
    """The outcome of ``erase``. ``deleted`` is the number of rows that this call deleted; ``keys``
    the number of record keys that are erased, with those of earlier calls that were interrupted.
    ``instants`` are the actions of this call, in their order. ``savepoints`` were dropped.

    ``report`` is the proof, a document of JSON; None without ``prove``. ``proven`` is None without
    it; True if no file has any of the keys; False if one has, or could not be read: the report says
    which."""

    deleted: int = 0
    keys: int = 0
    instants: tuple[str, ...] = field(default=(), repr=listed)
    savepoints: tuple[str, ...] = field(default=(), repr=listed)
    report: Mapping[str, Any] | None = field(default=None, repr=False)

    @property
    def proven(self) -> bool | None:
        return None if self.report is None else bool(self.report["erased"])

    @property
    def instant(self) -> str | None:
        """Empty if nothing was done; otherwise None, because it has no instant of its own."""
        return None if self.instants else ""
