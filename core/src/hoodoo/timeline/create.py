"""Making a table: the properties that every table of a version has, written last and if absent."""

from __future__ import annotations

from datetime import datetime
from itertools import chain

from hoodoo.errors import CorruptTableError
from hoodoo.model.config import TableConfig
from hoodoo.model.table_version import VERSIONS
from hoodoo.options.table import DROP_COLUMNS, HIVE_STYLE, URL_ENCODE
from hoodoo.storage.api import Storage
from hoodoo.timeline import properties
from hoodoo.timeline.layouts import LAYOUTS, layout_of

_COMMON = {
    "hoodie.table.type": "COPY_ON_WRITE",
    "hoodie.archivelog.folder": "archived",
    DROP_COLUMNS.key: "false",
    HIVE_STYLE.key: "false",
    URL_ENCODE.key: "false",
    # Java takes an absent zone for LOCAL, other readers for UTC: say which.
    "hoodie.table.timeline.timezone": "UTC",
}


def init_table(storage: Storage, config: TableConfig, now: datetime | None = None) -> TableConfig:
    """Make the table that ``config`` describes; the settings as written, defaults filled in.

    Needs at least name and version. The properties file makes the table; before it only an empty
    file is put, where the layout wants it, that implies directories. Raises
    :class:`~hoodoo.errors.TableExistsError`, or :class:`~hoodoo.errors.CorruptTableError` where a
    table has lost its properties.
    """
    filled = with_defaults(config)
    if storage.head(properties.PATH) or storage.head(properties.BACKUP):
        raise properties.there_already(storage.root)
    for layout in LAYOUTS.values():
        for entry in chain.from_iterable(map(storage.list, layout.folders(filled))):
            if not entry.is_dir and layout.parse_instant(entry.name):
                raise CorruptTableError(
                    f"{storage.root}/{entry.path}",
                    "there is the timeline of a table, but no hoodie.properties.",
                    "Restore hoodie.properties, or delete the whole directory first.",
                )
    for path in layout_of(filled).first_files(filled):
        storage.put_if_absent(path, b"")
    return properties.create(storage, filled, now)


def with_defaults(config: TableConfig) -> TableConfig:
    """``config`` with the properties that Hudi writes for its version; what is set stays."""
    known = VERSIONS.get(config.version)
    own = {} if known is None else known.properties
    return TableConfig({**_COMMON, **own, **config.properties})
