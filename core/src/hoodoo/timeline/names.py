"""Names on disk: instants, base files and log files.

What differs between table versions is in :mod:`hoodoo.timeline.layouts`.
"""

from __future__ import annotations

import re

from hoodoo.model.action import ACTIONS, named
from hoodoo.model.commit import Operation
from hoodoo.model.filegroup import BaseFile, LogFile
from hoodoo.model.instant import Instant, State

# Digits are added to instants of metadata tables of version 6: 001 to a compaction's, 010 to a
# beginning's.
_INSTANT = r"\d{14}(?:\d{3}){0,3}"
_PENDING = re.compile(rf"({_INSTANT})(?:\.([a-z]+))?\.(requested|inflight)")
_COMPLETED = re.compile(rf"({_INSTANT})(?:_({_INSTANT}))?\.([a-z]+)")
# A file id holds no "_": Hudi splits the name at it, and so do other readers.
_BASE = re.compile(rf"([^._/][^_/]*)_([0-9A-Za-z-]+)_({_INSTANT})(\.[A-Za-z0-9]+)")
# Of another program, as Apache XTable names it; last: folders of the file in its partition.
_EXTERNAL = re.compile(rf"([^/]+?(\.[A-Za-z0-9]+)?)_({_INSTANT})(_fg%3D.*)?_hudiext")
# The services whose instants are pending under another name than they complete under.
_PENDING_AS = {
    Operation.COMPACT: "compaction",
    Operation.LOG_COMPACT: "logcompaction",
    Operation.CLUSTER: "clustering",
}
_COMPLETE = frozenset(action.completes_as for action in ACTIONS.values())
PENDING = (".requested", ".inflight")  # how names of pending instants end
_LOG = re.compile(rf"\.([^/]+)_({_INSTANT})\.log\.(\d+)_(\d+-\d+-\d+)(\.cdc)?")


def completed_action(action: str) -> str:
    """The action a completed instant is filed under: ``commit`` for ``compaction``, and so on."""
    return named(action).completes_as


def pending_action(operation: Operation, completed: str) -> str:
    """The action that an instant was pending under whose commit says ``operation``, filed under
    ``completed``."""
    return _PENDING_AS.get(operation, completed)


def parse_pending(name: str) -> Instant | None:
    """The pending instant that a file of this name stands for; None for any other file."""
    match = _PENDING.fullmatch(name)
    if match is None:
        return None
    requested, action, state = match.groups()
    if action is None:
        if state == "requested":
            return None
        action = "commit"
    return Instant(requested, action, State(state.upper())) if action in ACTIONS else None


def parse_completed(name: str) -> Instant | None:
    """The same for a completed instant, with or without a completion time."""
    if (match := _COMPLETED.fullmatch(name)) is None:
        return None
    requested, completed, action = match.groups()
    return Instant(requested, action, State.COMPLETED, completed) if action in _COMPLETE else None


def parse_data_file(partition: str, name: str, size: int = 0) -> BaseFile | LogFile | None:
    """A base or log file by its name; None for a foreign one. ``size`` in bytes."""
    if name.startswith("."):
        if match := _LOG.fullmatch(name):
            file_id, instant, version, token, suffix = match.groups()
            return LogFile(partition, file_id, instant, int(version), token, suffix or "", size)
        return None
    if match := _BASE.fullmatch(name):
        file_id, token, instant, extension = match.groups()
        return BaseFile(partition, file_id, instant, token, extension, size)
    if name.endswith("_hudiext") and (match := _EXTERNAL.fullmatch(name)):
        return BaseFile(partition, match[1], match[3], "", match[4] or match[2] or "", size)
    return None


def parse_path(path: str, size: int = 0) -> BaseFile | LogFile | None:
    """Like :func:`parse_data_file`, from a path relative to the table root; None for one that
    leaves it."""
    partition, _, name = path.rpartition("/")
    leaves = ".." in path and ".." in partition.split("/")
    return None if leaves else parse_data_file(partition, name, size)
