"""Lock: exclusion between writers beyond what the store's put-if-absent gives.

The protocols, ``Lock`` and ``Held``, are in :mod:`hoodoo.storage.lock`, beside the store that uses them.
"""

from __future__ import annotations

from collections.abc import Iterable

from hoodoo.hookspecs.marks import hookspec
from hoodoo.hookspecs.registration import Registration


class LockHooks:
    @hookspec
    def hoodoo_locks(self) -> Iterable[Registration]:
        """Offer locks. When: a table is opened with a lock, or its writers take turns. Default: none.

        Names and aliases are looked up with ``hoodie.write.lock.provider``. The factory returns a
        :class:`~hoodoo.storage.lock.Lock`.
        """
