"""The open formats by name."""

from __future__ import annotations

from collections.abc import Iterable

from hoodoo.errors import ConfigError

from hoodoo_publishing.delta.log import DeltaLog
from hoodoo_publishing.iceberg.metadata import IcebergMetadata
from hoodoo_publishing.manifest import FileList
from hoodoo_publishing.sync import Format

FORMATS: dict[str, type[Format]] = {
    "delta": DeltaLog,
    "iceberg": IcebergMetadata,
    "manifest": FileList,
}


def named(names: Iterable[str]) -> list[Format]:
    """The formats ``names``. Raises ConfigError for others."""
    found: dict[str, Format] = {}
    for name in names:
        form = FORMATS.get(name.strip().lower())
        if form is None:
            raise ConfigError(
                f"hoodoo.open.formats: {name}",
                "no open format has this name.",
                f"Use {' or '.join(sorted(FORMATS))}.",
            )
        found[name.strip().lower()] = form()
    return list(found.values())
