"""What hoodoo-erasure offers. Factories are named, not imported, so that discovery stays cheap."""

from __future__ import annotations

from collections.abc import Iterable

from hoodoo import hookimpl
from hoodoo.hookspecs import Registration


@hookimpl
def hoodoo_actions() -> Iterable[Registration]:
    return [
        Registration(
            "erase",
            "hoodoo_erasure.action:Erase.from_settings",
            summary="rows are deleted, with all files of before that hold them",
            verbs={"erase": "hoodoo_erasure.verbs:erase"},
        )
    ]


@hookimpl
def hoodoo_commands() -> Iterable[Registration]:
    return [
        Registration(
            "erase",
            "hoodoo_erasure.command:erase",
            summary="Delete rows, and all older files that may hold them.",
        )
    ]
