"""What hoodoo-history offers. Imports nothing heavy: discovery reads it in every process."""

from __future__ import annotations

from collections.abc import Iterable

from hoodoo import hookimpl
from hoodoo.hookspecs import Registration


@hookimpl
def hoodoo_change_logs() -> Iterable[Registration]:
    factory = "hoodoo_history.change_logs.write:ChangeLogs.from_settings"
    return [
        Registration("OP_KEY_ONLY", factory, summary="What was done, and the record key."),
        Registration("DATA_BEFORE", factory, summary="The same, and the row before."),
        Registration(
            "DATA_BEFORE_AFTER",
            factory,
            default=True,
            summary="What was done, when, the rows before and after.",
        ),
    ]


@hookimpl
def hoodoo_query_types() -> Iterable[Registration]:
    return [
        Registration(
            "incremental",
            "hoodoo_history.incremental:Incremental.from_settings",
            summary="The rows that commits of a stretch of the timeline wrote, as they stand at "
            "its end.",
            verbs={"incremental": "hoodoo_history.verbs:incremental"},
        ),
        Registration(
            "changes",
            "hoodoo_history.changes.plan:Changes.from_settings",
            summary="What each commit did: inserted, updated and deleted rows, before and after "
            "it.",
            verbs={"changes": "hoodoo_history.verbs:changes"},
        ),
    ]


@hookimpl
def hoodoo_commands() -> Iterable[Registration]:
    return [
        Registration(
            "diff",
            "hoodoo_history.commands.diff:diff",
            summary="Show which rows were added, changed and removed between two times.",
        ),
        Registration(
            "history",
            "hoodoo_history.commands.history:history",
            summary="Show what happened to one record key: commits, files, values before and "
            "after.",
        ),
    ]
