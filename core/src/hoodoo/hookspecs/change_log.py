"""Change log: what a rewrite of a base file did to each row, noted in a log of change data beside
the new file."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import pyarrow as pa

from hoodoo.hookspecs.family import Family


@runtime_checkable
class ChangeLog(Protocol):
    """The log of one rewrite, under construction in a local file. Rows have the stored columns,
    those that were there before and those that are in their place in the same order; each call
    notes some of the rewrite."""

    def inserted(self, rows: pa.Table) -> None:
        """Rows whose key was not there."""

    def updated(self, before: pa.Table, after: pa.Table) -> None:
        """Rows, and what came in their place."""

    def deleted(self, before: pa.Table) -> None:
        """Rows that were deleted."""

    def close(self) -> int:
        """The log is complete in the local file: its size in bytes."""

    def abandon(self) -> None:
        """Let the local file go, as the rewrite changed nothing or failed; after :meth:`close` it
        does nothing."""


@runtime_checkable
class ChangeLogFormat(Protocol):
    """Contract suite: ``hoodoo.testing.contracts.change_log``. Picklable: tasks begin logs."""

    def begin(self, local: str, instant: str, schema: pa.Schema) -> ChangeLog:
        """Begin a log in the file ``local`` of what the write ``instant`` does to a base file;
        ``schema``: the stored columns of the table, meta columns first."""


FAMILY = Family(
    "hoodoo_change_logs",
    """Offer contents of change data logs. When: a table is written whose properties ask for such
    logs (``hoodie.table.cdc.enabled``). Default: ``OP_KEY_ONLY``, ``DATA_BEFORE``,
    ``DATA_BEFORE_AFTER`` (hoodoo-history).

    Names are those of ``hoodie.table.cdc.supplemental.logging.mode``. The factory returns a
    :class:`ChangeLogFormat`; its settings have the table's properties.""",
    (ChangeLogFormat,),
    parts={"change_log_of_rewrite": (ChangeLog,)},
    travels=True,
)
