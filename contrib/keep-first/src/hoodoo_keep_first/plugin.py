"""What this distribution offers. Discovery imports it in every process: nothing heavy here."""

from __future__ import annotations

from hoodoo import hookimpl
from hoodoo.hookspecs import Option, Registration

UNLESS_NULL = Option(
    "hoodoo.keep_first.unless_null",
    "A row whose value in this column is null gives way to one that has a value.",
    table_property=True,  # writers that disagree about it would keep different rows
)


@hookimpl
def hoodoo_mergers() -> list[Registration]:
    return [
        Registration(
            "keep_first",
            "hoodoo_keep_first.merger:KeepFirst.from_settings",
            # A table stores the id of a CUSTOM merger, not its name: the alias finds it again.
            aliases=("755b420a-d5a4-488b-a84f-dd2cfc963c80",),
            options=(UNLESS_NULL,),
            summary="the row that was written first stays",
        )
    ]
