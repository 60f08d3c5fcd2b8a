"""Calls that become methods of :class:`hoodoo.Table`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hoodoo.table.handle import TableHandle
from hoodoo.table.running import run

from hoodoo_erasure.outcome import Erased


def erase(
    table: TableHandle,
    where: Any = None,
    *,
    keys: Any = None,
    look_for: Sequence[str] | None = None,
    prove: bool | bytes = False,
    drop_savepoints: bool = False,
) -> Erased:
    """Delete rows, and all files of before that may hold them: older file slices, log files, the
    metadata table's old files. You cannot read earlier states afterwards.

    ``where`` is a condition as for ``delete``; ``keys`` are record keys as for ``delete``, also of
    rows that are deleted already. The call can be repeated after a crash, and goes on: by then, it
    needs neither.

    ``prove``: look through all files of the table for the record keys, and for the texts
    ``look_for``; the result has a report, which names keys by hashes. If it is bytes, they are a
    key that signs the report.

    Raises ConfigError if there are savepoints, unless ``drop_savepoints`` is set;
    CommitConflictError while a clustering is pending, or if other writers are too busy; and
    UnsupportedTableError for a bootstrapped table.

    >>> table.erase("id = 3", prove=True).proven
    True
    """
    found: Erased = run(
        table,
        "erase",
        where=where,
        keys=keys,
        look_for=look_for or (),
        prove=prove,
        drop_savepoints=drop_savepoints,
    )
    return found
