"""The savepoints of a table, with their comments."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hoodoo.table.handle import TableHandle


def comments(table: TableHandle) -> dict[str, str]:
    """The comment of each completed savepoint, by the instant that it keeps."""
    timeline, found = table.timeline(), {}
    for instant in timeline.completed():
        if instant.traits.keeps:
            with suppress(FileNotFoundError):  # it has just been deleted
                said = timeline.contents(table.storage, instant)
                found[instant.requested] = str(said.get("comments") or "")
    return found
