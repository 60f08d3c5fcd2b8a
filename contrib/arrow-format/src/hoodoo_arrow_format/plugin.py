"""What this distribution offers. Discovery imports it in every process: nothing heavy here."""

from __future__ import annotations

from hoodoo import hookimpl
from hoodoo.hookspecs import Option, Registration

COMPRESSION = Option(
    "hoodoo.arrow_format.compression", "How columns are compressed: zstd, lz4 or none.", "zstd"
)


@hookimpl
def hoodoo_file_formats() -> list[Registration]:
    return [
        Registration(
            "ARROW",
            "hoodoo_arrow_format.format:ArrowFormat.from_settings",
            options=(COMPRESSION,),
            summary="Arrow IPC files with ranges of columns and a filter of keys",
        )
    ]
