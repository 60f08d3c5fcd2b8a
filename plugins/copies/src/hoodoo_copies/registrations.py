"""What hoodoo-copies offers. Factories are named, not imported, so that discovery stays cheap."""

from __future__ import annotations

from collections.abc import Iterable

from hoodoo import hookimpl
from hoodoo.hookspecs import Registration


@hookimpl
def hoodoo_actions() -> Iterable[Registration]:
    return [
        Registration(
            "backup",
            "hoodoo_copies.actions:Backup.from_settings",
            summary="the table is copied to another place, as far as it has changed",
            verbs={"backup": "hoodoo_copies.verbs:backup"},
        ),
        Registration(
            "clone",
            "hoodoo_copies.actions:Clone.from_settings",
            summary="a new table gets the rows of this one",
            verbs={"clone": "hoodoo_copies.verbs:clone"},
        ),
        Registration(
            "tag",
            "hoodoo_copies.actions:Tags.from_settings",
            summary="a state of the table has a name, and stays",
            verbs={name: f"hoodoo_copies.verbs:{name}" for name in ("tag", "tags", "untag")},
        ),
    ]


@hookimpl
def hoodoo_functions() -> Iterable[Registration]:
    return [
        Registration(
            "restore_backup",
            "hoodoo_copies.restore:restore_backup",
            summary="A new table, made of a backup.",
        )
    ]


@hookimpl
def hoodoo_commands() -> Iterable[Registration]:
    return [
        Registration(
            "backup",
            "hoodoo_copies.commands:backup",
            summary="Copy a table to another place.",
        ),
        Registration(
            "restore-backup",
            "hoodoo_copies.commands:restore_backup",
            summary="Make a new table of a backup.",
        ),
        Registration(
            "tag",
            "hoodoo_copies.commands:tag",
            summary="Give a write a name that --as-of takes, list the names, or delete one.",
        ),
    ]
