"""What this distribution offers. Discovery imports it in every process: nothing heavy here."""

from __future__ import annotations

from hoodoo import hookimpl
from hoodoo.hookspecs import Registration
from hoodoo_formats.options import BLOOM_OPTIONS


@hookimpl
def hoodoo_file_formats() -> list[Registration]:
    return [
        Registration(
            "LANCE",
            "hoodoo_lance.format:LanceFormat.from_settings",
            options=BLOOM_OPTIONS,
            summary="Lance files with a bloom filter and the range of record keys, as in Hudi 1.2.",
        )
    ]
