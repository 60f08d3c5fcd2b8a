"""The write operations, as data: what each one looks up, matches, replaces and skips."""

from __future__ import annotations

import enum

from attrs import evolve, frozen
from hoodoo.model.commit import Operation


class Replaces(enum.Enum):
    """Which existing file groups a write leaves behind."""

    NOTHING = "nothing"
    PARTITIONS = "the partition paths that rows arrive in"
    TABLE = "all"


@frozen
class WriteKind:
    """``looks_up``: the index is asked. ``matches``: a stored row of the same key is replaced.
    ``fills``: inserts go to small files first. ``direct``: tasks write what they read, no exchange.
    ``deletes``: every row is a delete of its key. ``begins_logs``: where the table is merged on
    read and the index knows keys in logs, new file groups begin with a log file. ``alone``: no
    other write may come in between, whatever it touches."""

    operation: Operation
    looks_up: bool = False
    matches: bool = False
    fills: bool = False
    direct: bool = False
    deletes: bool = False
    begins_logs: bool = False
    alone: bool = False
    replaces: Replaces = Replaces.NOTHING

    def action(self, merge_on_read: bool) -> str:
        """The action of such a write on the timeline."""
        if self.replaces is not Replaces.NOTHING:
            return "replacecommit"
        return "deltacommit" if merge_on_read else "commit"

    def exchanged(self) -> WriteKind:
        """The same operation where rows have to meet after all."""
        return evolve(self, direct=False)


UPSERT = WriteKind(Operation.UPSERT, looks_up=True, matches=True, fills=True, begins_logs=True)
INSERT = WriteKind(Operation.INSERT, fills=True, begins_logs=True)
INSERT_CHECKED = WriteKind(Operation.INSERT, looks_up=True, fills=True, begins_logs=True)
APPEND = WriteKind(Operation.INSERT, direct=True)
BULK_INSERT = WriteKind(Operation.BULK_INSERT, direct=True)
DELETE = WriteKind(Operation.DELETE, looks_up=True, matches=True, deletes=True)
INSERT_OVERWRITE = WriteKind(Operation.INSERT_OVERWRITE, replaces=Replaces.PARTITIONS)
INSERT_OVERWRITE_TABLE = WriteKind(Operation.INSERT_OVERWRITE_TABLE, replaces=Replaces.TABLE)
DELETE_PARTITION = WriteKind(Operation.DELETE_PARTITION, replaces=Replaces.PARTITIONS)
# Where each row lies follows from another rule afterwards; no row changes.
RELOCATE = WriteKind(Operation.CLUSTER, alone=True, replaces=Replaces.TABLE)
