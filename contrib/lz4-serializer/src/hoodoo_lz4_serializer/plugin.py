"""What this distribution offers. Discovery imports it in every process: nothing heavy here."""

from __future__ import annotations

from hoodoo import hookimpl
from hoodoo.hookspecs import Registration


@hookimpl
def hoodoo_serializers() -> list[Registration]:
    return [
        Registration(
            "arrow_lz4",
            "hoodoo_lz4_serializer.messages:Lz4Serializer.from_settings",
            summary="Arrow IPC compressed with LZ4, on every engine",
        )
    ]
