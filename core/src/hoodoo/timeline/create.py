"""Making a table: the properties that every table of a version has, written last and if absent."""

from __future__ import annotations

from datetime import datetime

from hoodoo.errors import CorruptTableError, TableExistsError
from hoodoo.model.config import TableConfig
from hoodoo.options.table import DROP_COLUMNS, HIVE_STYLE, URL_ENCODE
from hoodoo.storage.api import Storage
from hoodoo.timeline import names, properties

_COMMON = {
    "hoodie.table.type": "COPY_ON_WRITE",
    "hoodie.archivelog.folder": "archived",
    DROP_COLUMNS.key: "false",
    HIVE_STYLE.key: "false",
    URL_ENCODE.key: "false",
    # Java takes an absent zone for LOCAL, other readers for UTC: say which.
    "hoodie.table.timeline.timezone": "UTC",
}
_LAYOUT_2 = {
    "hoodie.timeline.path": "timeline",
    "hoodie.timeline.history.path": "history",
}

_KEEP = ".keep"


def init_table(storage: Storage, config: TableConfig, now: datetime | None = None) -> TableConfig:
    """Make the table that ``config`` describes; the settings as written, defaults filled in.

    Needs at least name and version. The properties file makes the table; before it only an empty file
    is put that implies the directories of layout 2. Raises :class:`~hoodoo.errors.TableExistsError`, or
    :class:`~hoodoo.errors.CorruptTableError` where a table has lost its properties.
    """
    filled = with_defaults(config)
    if storage.head(properties.PATH) or storage.head(properties.BACKUP):
        raise TableExistsError(
            storage.root,
            "there is a table already.",
            "Use hoodoo.open(...), or choose another path.",
        )
    for layout, directory in (
        (1, ".hoodie"),
        (2, filled.timeline_path),
        (2, ".hoodie/timeline"),
    ):
        for entry in storage.list(directory):
            if not entry.is_dir and names.parse_instant(entry.name, layout):
                raise CorruptTableError(
                    f"{storage.root}/{entry.path}",
                    "the timeline of a table is here, but its hoodie.properties is not.",
                    "Restore hoodie.properties, or delete the whole directory first.",
                )
    if filled.layout_version > 1:
        # Java lists the timeline directory of a table without commits, and fails if there is none.
        history = filled.get("hoodie.timeline.history.path") or "history"
        storage.put_if_absent(f"{filled.timeline_path}/{history}/{_KEEP}", b"")
    return properties.create(storage, filled, now)


def with_defaults(config: TableConfig) -> TableConfig:
    """``config`` with the properties that Hudi writes for its version; what is set stays."""
    version = config.version
    defaults = dict(_COMMON)
    layout = properties.LAYOUTS.get(version)
    if layout is not None:
        defaults["hoodie.timeline.layout.version"] = str(layout)
    if layout == 2:
        defaults.update(_LAYOUT_2)
        defaults["hoodie.table.initial.version"] = str(version)
    if version >= 9:
        defaults["hoodie.table.format"] = "native"
    return TableConfig({**defaults, **config.properties})
