"""Storage: which store answers for a URI scheme."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

from hoodoo.hookspecs.family import Family, Optional
from hoodoo.storage.api import Storage
from hoodoo.storage.together import Asked, Listed

__all__ = ["FAMILY", "Storage", "StoreTraits"]


@runtime_checkable
class StoreTraits(Protocol):
    """What a store may say besides, each member by itself."""

    @property
    def shared(self) -> bool:
        """Whether other processes see what one puts there
        (:func:`hoodoo.storage.api.is_shared`)."""

    @property
    def plain_files(self) -> bool:
        """Whether any program finds the bytes at its URI
        (:func:`hoodoo.storage.api.has_plain_files`)."""

    @property
    def at_once(self) -> int:
        """How many operations pay if they run at the same time (:mod:`hoodoo.storage.together`)."""

    def names(self, folder: str) -> list[str]:
        """The names of the objects directly in a directory, in any order; empty if there is none.
        Cheaper than a listing, as no object is looked at."""

    def sweep(self) -> None:
        """Remove what processes that are dead left in its scratch places."""

    def discard(self, paths: Sequence[str]) -> None:
        """Delete what is there of them, without saying what was. All in one operation."""

    @property
    def keeps(self) -> int:
        """How large a file may be that is kept in memory when it was opened, for who opens it
        next."""

    def recall(
        self, step: str, unchanged: Callable[[Listed], bool], first: tuple[Asked, ...]
    ) -> bool:
        """In this thread, and those that work for it, a look at the table begins. The store asks
        again, all at the same time, what the last look of this ``step`` asked (``list``, ``get``;
        if there was none, ``first``); where ``unchanged``, which is given what answers a listing of
        these, says that the table is as it was, it answers each once from that. Whether it does."""

    def forget(self) -> None:
        """The look ends."""


FAMILY = Family(
    "hoodoo_storages",
    """Offer stores. When: a table is opened or created. Default: ``file`` (hoodoo-core).

    Name and aliases are URI schemes. The factory's settings carry the option
    ``hoodoo.storage.uri``, the absolute URI of the table; it returns a
    :class:`~hoodoo.storage.api.Storage`.""",
    (Storage,),
    optional=(StoreTraits,),
    lacking={
        "shared": Optional(True),
        "plain_files": Optional(False),
        "at_once": Optional(1),
        "keeps": Optional(0),
    },
    travels=True,
)
