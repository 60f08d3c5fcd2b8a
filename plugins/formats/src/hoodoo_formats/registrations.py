"""What hoodoo-formats offers. Factories are named, not imported, so that discovery stays cheap."""

from __future__ import annotations

from collections.abc import Iterable

from hoodoo import hookimpl
from hoodoo.hookspecs import Registration

from hoodoo_formats.options import PARQUET_OPTIONS


@hookimpl
def hoodoo_file_formats() -> Iterable[Registration]:
    return [
        Registration(
            "PARQUET",
            "hoodoo_formats.parquet.format:ParquetFormat.from_settings",
            options=PARQUET_OPTIONS,
            summary="Parquet with Hudi's footer: bloom filter and record-key range.",
        )
    ]
