"""What this distribution offers. Discovery imports it in every process: nothing heavy here."""

from __future__ import annotations

from hoodoo import hookimpl
from hoodoo.hookspecs import Registration

from hoodoo_retention import options

SUMMARY = "Drop the partitions that are older than some days."


@hookimpl
def hoodoo_actions() -> list[Registration]:
    return [
        Registration(
            "retention",
            "hoodoo_retention.action:RetentionAction.from_settings",
            options=options.ALL,
            summary="partitions that are older than some days are dropped",
            check="hoodoo_retention.rule:Rule.of",
        )
    ]


@hookimpl
def hoodoo_commands() -> list[Registration]:
    return [Registration("retention", "hoodoo_retention.command:retention", summary=SUMMARY)]
