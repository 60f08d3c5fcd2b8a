"""Check: what ``hoodoo doctor`` looks at, in the environment and of a table."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from hoodoo.hookspecs.family import Family
from hoodoo.model.findings import Found
from hoodoo.storage.api import Storage


@runtime_checkable
class Check(Protocol):
    """Looks for the faults of one part, and changes nothing. Takes seconds at most."""

    def environment(self, engine: str | None) -> Found:
        """What is wrong with this machine and what is installed. ``engine``: the name of the engine
        that the user wants to use; None: the user has not said it.

        Each finding names in ``fix`` what to do, in one sentence. ``notes``: facts that help to
        understand the findings, such as versions."""

    def table(self, storage: Storage, probe: bool) -> Found:
        """What is wrong with the table, or with the way to it. Whether there is one is not known:
        the properties may be damaged. ``probe``: small files may be written below
        ``.hoodie/.hoodoo`` to see whether that works, and are deleted again.

        May raise errors of :mod:`hoodoo.errors`: each is reported as a finding.
        """


FAMILY = Family(
    "hoodoo_checks",
    """Offer checks. When: ``hoodoo doctor`` runs. Default: those of hoodoo-cli, hoodoo-standard,
    hoodoo-metadata and hoodoo-spark.

    The factory returns a :class:`Check`; its settings have the options of the command.""",
    (Check,),
)
