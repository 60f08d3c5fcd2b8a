"""What hoodoo-versions offers. Factories are named, not imported, so that discovery stays cheap."""

from __future__ import annotations

from collections.abc import Iterable

from hoodoo import hookimpl
from hoodoo.hookspecs import Registration


@hookimpl
def hoodoo_actions() -> Iterable[Registration]:
    return [
        Registration(
            "change_version",
            "hoodoo_versions.action:ChangeVersion.from_settings",
            summary="the table gets another table version of Hudi",
            verbs={name: f"hoodoo_versions.verbs:{name}" for name in ("upgrade", "downgrade")},
        )
    ]


@hookimpl
def hoodoo_commands() -> Iterable[Registration]:
    return [
        Registration(
            "upgrade",
            "hoodoo_versions.commands:upgrade",
            summary="Give a table a newer table version of Hudi.",
        ),
        Registration(
            "downgrade",
            "hoodoo_versions.commands:downgrade",
            summary="Give a table an older table version of Hudi.",
        ),
    ]
