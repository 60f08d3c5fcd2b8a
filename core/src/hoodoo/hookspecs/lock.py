"""Lock: exclusion between writers beyond what the store's put-if-absent gives.

The protocols, ``Lock`` and ``Held``, are in :mod:`hoodoo.storage.lock`, beside the store that uses
them."""

from __future__ import annotations

from hoodoo.hookspecs.family import Family
from hoodoo.storage.lock import Held, Lock

FAMILY = Family(
    "hoodoo_locks",
    """Offer locks. When: a table is opened with a lock, or its writers take turns. Default: none.

    Names and aliases are looked up with ``hoodie.write.lock.provider``. The factory returns a
    :class:`~hoodoo.storage.lock.Lock`.""",
    (Lock,),
    parts={"held": (Held,)},
)
