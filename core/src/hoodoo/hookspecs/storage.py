"""Storage: which store answers for a URI scheme."""

from __future__ import annotations

from collections.abc import Iterable

from hoodoo.hookspecs.marks import hookspec
from hoodoo.hookspecs.registration import Registration
from hoodoo.storage.api import Storage

__all__ = ["Storage", "StorageHooks"]


class StorageHooks:
    @hookspec
    def hoodoo_storages(self) -> Iterable[Registration]:
        """Offer stores. When: a table is opened or created. Default: ``file`` (hoodoo-core).

        Name and aliases are URI schemes. The factory's settings carry the option
        ``hoodoo.storage.uri``, the absolute URI of the table; it returns a
        :class:`~hoodoo.storage.api.Storage`.
        """
