"""Entries of Hive's kind, in the Hive Metastore, in AWS Glue and in other catalogs that
hoodoo-catalogs knows: they point to the metadata."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from hoodoo.errors import ConfigError, PluginError

from hoodoo_publishing.files import Head
from hoodoo_publishing.iceberg.store import pointer, version_at

if TYPE_CHECKING:
    from hoodoo_publishing.catalogs.face import Face, Seen

_POINTER, _BEFORE = "metadata_location", "previous_metadata_location"
# Readers find the log of Delta by the location of the entry.
_OTHERS = {"delta": {"table_type": "DELTA", "spark.sql.sources.provider": "delta"}}


def put(face: Face, table: Seen, head: Head) -> bool:
    """Create or replace the entry of ``face``; whether it has changed."""
    try:
        from hoodoo_catalogs.api import Described, OtherFormat
    except ImportError as error:
        raise ConfigError(
            f"catalog {face.place}",
            "needs hoodoo-catalogs, which is not installed.",
            "pip install hoodoo-publishing[catalogs].",
        ) from error

    def for_iceberg(found: Mapping[str, str] | None) -> Mapping[str, str] | None:
        before = (found or {}).get(_POINTER)
        known = None if before is None else version_at(table.storage, before)
        if before is not None and known is None:
            raise PluginError(
                f"entry {face.place}",
                f"points to {before}, which another program wrote.",
                "What it wrote there is not in the Hudi table. Drop the entry; the next commit "
                "creates it.",
            )
        if known is not None and known > head.version:
            return None
        now = {"table_type": "ICEBERG", _POINTER: pointer(head)}
        return now if before in (None, now[_POINTER]) else {**now, _BEFORE: str(before)}

    if head.detail is None:  # nothing is published yet
        return False
    said = for_iceberg if face.format == "iceberg" else lambda found: _OTHERS.get(face.format, {})
    described = Described(table.storage, table.timeline, table.given)
    return OtherFormat(face.format, face.place).put(described, said)
