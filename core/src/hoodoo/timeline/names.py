"""Names on disk: instants (format page 2.2), base files (3.1) and log files (4.1)."""

from __future__ import annotations

import re

from hoodoo.errors import HoodooError
from hoodoo.model.filegroup import BaseFile, LogFile
from hoodoo.model.instant import Instant, State

# What a table service is called while pending, and the action its completion appears as.
COMPLETES_AS = {
    "compaction": "commit",
    "logcompaction": "deltacommit",
    "clustering": "replacecommit",
}
ACTIONS = frozenset(
    {
        "commit",
        "deltacommit",
        "replacecommit",
        "compaction",
        "logcompaction",
        "clustering",
        "clean",
        "rollback",
        "restore",
        "savepoint",
        "indexing",
        "schemacommit",
    }
)
_INSTANT = r"\d{14}(?:\d{3})?"
_PENDING = re.compile(rf"({_INSTANT})(?:\.([a-z]+))?\.(requested|inflight)")
_COMPLETED = re.compile(rf"({_INSTANT})(?:_({_INSTANT}))?\.([a-z]+)")
# A file id holds no "_": Hudi splits the name at it, and so do other readers.
_BASE = re.compile(rf"([^._/][^_/]*)_([0-9A-Za-z-]+)_({_INSTANT})(\.[A-Za-z0-9]+)")
_LOG = re.compile(rf"\.([^/]+)_({_INSTANT})\.log\.(\d+)_(\d+-\d+-\d+)(\.cdc)?")


def completed_action(action: str) -> str:
    """The action a completed instant is filed under: ``commit`` for ``compaction``, and so on."""
    return COMPLETES_AS.get(action, action)


def parse_instant(name: str, layout: int) -> Instant | None:
    """The instant that a file of the active timeline stands for; None for any other file.

    ``layout`` is the timeline layout, 1 (table version 6) or 2 (8, 9). The action is as the name
    says it: a completed compaction is a ``commit``.
    """
    if match := _PENDING.fullmatch(name):
        requested, action, state = match.groups()
        if action is None:
            if state == "requested":
                return None
            action = "commit"
        if action not in ACTIONS:
            return None
        return Instant(requested, action, State(state.upper()))
    if match := _COMPLETED.fullmatch(name):
        requested, completed, action = match.groups()
        if action not in ACTIONS or action in COMPLETES_AS or (completed is None) != (layout == 1):
            return None
        return Instant(requested, action, State.COMPLETED, completed)
    return None


def instant_file_name(instant: Instant, layout: int) -> str:
    """The inverse of :func:`parse_instant`.

    On layout 1 a pending clustering is filed as ``replacecommit``. Raises
    :class:`~hoodoo.errors.HoodooError` for a completed instant of layout 2 without completion time.
    """
    action = instant.action
    if instant.state is State.COMPLETED:
        action = completed_action(action)
        if layout == 1:
            return f"{instant.requested}.{action}"
        if instant.completed is None:
            raise HoodooError(
                f"instant {instant}",
                "on timeline layout 2 the name of a completed instant holds its completion time.",
                "Set Instant.completed.",
            )
        return f"{instant.requested}_{instant.completed}.{action}"
    if layout == 1 and action == "clustering":
        action = "replacecommit"
    if instant.state is State.INFLIGHT and action == "commit":
        return f"{instant.requested}.inflight"
    return f"{instant.requested}.{action}.{instant.state.value.lower()}"


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
    return None


def parse_path(path: str, size: int = 0) -> BaseFile | LogFile | None:
    """Like :func:`parse_data_file`, from a path relative to the table root."""
    partition, _, name = path.rpartition("/")
    return parse_data_file(partition, name, size)
