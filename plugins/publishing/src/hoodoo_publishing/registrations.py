"""What hoodoo-publishing offers. Factories are named, not imported, so that discovery stays
cheap."""

from __future__ import annotations

from collections.abc import Iterable

from hoodoo import hookimpl
from hoodoo.hookspecs import Registration

from hoodoo_publishing import options


@hookimpl
def hoodoo_participants() -> Iterable[Registration]:
    return [
        Registration(
            "open_formats",
            "hoodoo_publishing.open_formats:OpenFormats.from_settings",
            options=options.ALL,
            summary="publishes each commit as Delta Lake and Apache Iceberg metadata",
            verbs={"publish": "hoodoo_publishing.verbs:publish"},
            given=(options.FORMATS.key,),
        )
    ]


@hookimpl
def hoodoo_actions() -> Iterable[Registration]:
    return [
        Registration(
            "renew_formats",
            "hoodoo_publishing.renewal:Renewal.from_settings",
            summary="deletes older states of the metadata of other formats",
            roles=("forgets",),
        )
    ]


@hookimpl
def hoodoo_commands() -> Iterable[Registration]:
    return [
        Registration(
            "publish",
            "hoodoo_publishing.command:publish",
            summary="Write the metadata of Delta Lake or Apache Iceberg beside a table.",
        )
    ]
