"""What this distribution offers. Discovery imports it in every process: nothing heavy here."""

from __future__ import annotations

from hoodoo import hookimpl
from hoodoo.hookspecs import Option, Registration

KEEP_BLANKS = Option(
    "hoodoo.folded_key.keep_blanks",
    "Blanks at the ends of a key count.",
    "false",
    table_property=True,  # writers that disagree about it would not find each other's rows
)


@hookimpl
def hoodoo_key_generators() -> list[Registration]:
    return [
        Registration(
            "folded",
            "hoodoo_folded_key.generator:FoldedKey.from_settings",
            options=(KEEP_BLANKS,),
            summary="one text column, in lower case",
        )
    ]
