"""Writes of a table, and commits of files that an action has made."""

from __future__ import annotations

from typing import TypeAlias

from hoodoo_rows import of_table, plan_bounds, writes
from hoodoo_rows.write import changes, commit, conflicts, operation, run


class Writes:
    """Commits. ``write`` writes rows, ``of_request`` those of a request; ``files``, ``replace``,
    ``schema`` and ``drop_partitions`` commit what the caller makes for a
    :class:`~hoodoo_rows.write.request.WriteRequest`, and repeat it after a conflict.
    For actions that publish by themselves: ``begin_joined``, who takes part in it, and
    ``taken_files_conflict``, what it means that a file is missing."""

    UPSERT, INSERT, DELETE = operation.UPSERT, operation.INSERT, operation.DELETE
    DELETE_PARTITION, BULK_INSERT = operation.DELETE_PARTITION, operation.BULK_INSERT
    RELOCATE = operation.RELOCATE
    Kind = operation.WriteKind
    TakesNoPart: TypeAlias = of_table.TakesNoPart
    write = staticmethod(writes.write)
    delete = staticmethod(writes.delete)
    of_request = staticmethod(run.run)
    files = staticmethod(run.commit_files)
    replace = staticmethod(run.replace_files)
    schema = staticmethod(run.commit_schema)
    drop_partitions = staticmethod(run.drop_partitions)
    begin_joined = staticmethod(commit.begin_joined)
    taken_files_conflict = staticmethod(conflicts.taken_files_conflict)
    change_of = staticmethod(changes.change_of)
    plugins = staticmethod(of_table.load_plugins)
    without_bounds = staticmethod(plan_bounds.without_bounds)
