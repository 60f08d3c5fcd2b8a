"""What hoodoo-bootstrap offers. Factories are named, not imported, so that discovery stays
cheap."""

from __future__ import annotations

from collections.abc import Iterable

from hoodoo import hookimpl
from hoodoo.hookspecs import Registration
from hoodoo.options.table import BOOTSTRAP_BASE

from hoodoo_bootstrap import options


@hookimpl
def hoodoo_file_formats() -> Iterable[Registration]:
    return [
        Registration(
            "BOOTSTRAPPED_PARQUET",
            "hoodoo_bootstrap.format:from_settings",
            summary="Parquet of a bootstrapped table: rows of some base files lie in two files.",
        )
    ]


@hookimpl
def hoodoo_participants() -> Iterable[Registration]:
    return [
        Registration(
            "bootstrap",
            "hoodoo_bootstrap.participant:BootstrapParticipant",
            options=options.OF_TABLES,
            given=(BOOTSTRAP_BASE,),
            summary="the index of a bootstrap is deleted if the bootstrap is undone",
        )
    ]


@hookimpl
def hoodoo_functions() -> Iterable[Registration]:
    return [
        Registration(
            "bootstrap",
            "hoodoo_bootstrap.run:bootstrap",
            options=options.OF_RUNS,
            summary="A table over a folder of Parquet files, which stay where they are.",
        ),
        Registration(
            "plan_bootstrap",
            "hoodoo_bootstrap.run:plan_bootstrap",
            summary="What a bootstrap would do with a folder of Parquet files, and what it costs.",
        ),
    ]


@hookimpl(optionalhook=True)
def hoodoo_commands() -> Iterable[Registration]:
    return [
        Registration(
            "bootstrap",
            "hoodoo_bootstrap.command:bootstrap",
            summary="Make a table of a folder of Parquet files without copying them.",
        )
    ]
