"""Service policy: what a process that looks after tables does to one, and when that is due."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from hoodoo.hookspecs.action import AfterWrite
from hoodoo.hookspecs.family import Family

if TYPE_CHECKING:
    from hoodoo.table.handle import TableHandle


@runtime_checkable
class ServicePolicy(Protocol):
    """Called on the driver, in a thread for each table, by the one process that leads."""

    def services(self, table: TableHandle) -> Sequence[AfterWrite]:
        """What may have to be done now, in any order: the smallest ``order`` is done first.

        Changes nothing: each ``run`` looks whether it is due, does it, and says whether it has done
        something. It may be stopped at any point by the end of the process, as any action may.
        ``table`` was opened for this round alone. Raises ConfigError for options that are wrong:
        the table is then left alone, and its state says why."""


FAMILY = Family(
    "hoodoo_service_policies",
    """Offer policies of ``hoodoo serve``. When: at each look at a table. Default: plans that nobody
    runs, and whatever may follow a write.

    Names are looked up with ``hoodoo.services.policies``. The factory returns a
    :class:`ServicePolicy`.""",
    (ServicePolicy,),
)
