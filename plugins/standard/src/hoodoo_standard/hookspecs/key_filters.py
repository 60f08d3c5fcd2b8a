"""Key filters: filters of the record keys of base files, stored where no base file need be opened
for them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, runtime_checkable

from hoodoo.hookspecs.family import Family
from hoodoo.hookspecs.file_format import StoredFilter
from hoodoo.storage.api import Storage
from hoodoo.timeline.timeline import Timeline


@runtime_checkable
class KeyFilters(Protocol):
    """Contract suite: ``hoodoo_standard.testing.key_filters``. Picklable: tasks read the
    filters."""

    def find(self, storage: Storage, timeline: Timeline) -> bytes | None:
        """Where the filters of the table in ``storage`` are, for :meth:`read`; None where it has
        none. ``timeline`` is what is known of it. Asked on the driver: a few small reads."""

    def read(self, storage: Storage, found: bytes, paths: Sequence[str]) -> Iterable[StoredFilter]:
        """Those of the base files ``paths`` that there are, in any order. A filter must not deny
        a key that its file has; a file may be left out, and is opened then. Asked in tasks."""


FAMILY = Family(
    "hoodoo_key_filters",
    """Offer filters of record keys. When: a bloom index looks keys up. Default: those in the
    footers of base files alone.

    The factory returns a :class:`KeyFilters`.""",
    (KeyFilters,),
    travels=True,
)
