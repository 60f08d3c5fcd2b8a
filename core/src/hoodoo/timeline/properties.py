"""``.hoodie/hoodie.properties``: load, create and update, each safe against a crash at any step.

A file with a right checksum is good; one without (very old tables) only where there is no backup,
as a file that a crash has cut short looks the same. A backup excludes other updates, no reader.
"""

from __future__ import annotations

import json
import time
import uuid
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any

from attrs import frozen

from hoodoo.errors import (
    CommitConflictError,
    ConfigError,
    CorruptTableError,
    HoodooError,
    NotATableError,
    StorageUnknownError,
    TableExistsError,
    UnsupportedTableError,
)
from hoodoo.model.config import TYPES, TableConfig
from hoodoo.model.table_version import VERSIONS
from hoodoo.options.table import DATABASE
from hoodoo.storage.api import Storage, get_if_there
from hoodoo.timeline import heartbeat, javaprops
from hoodoo.timeline.javaprops import CHECKSUM

PATH = ".hoodie/hoodie.properties"
BACKUP = ".hoodie/hoodie.properties.backup"
# Hadoop's local file system keeps a checksum beside each file it writes, and refuses to read a file
# that does not agree with it: whoever replaces the file has to take the checksum away.
_HADOOP_CHECKSUM = ".hoodie/.hoodie.properties.crc"
_NAME, _VERSION = "hoodie.table.name", "hoodie.table.version"
_LAYOUT = "hoodie.timeline.layout.version"
Changes = Mapping[str, "str | None"] | Callable[[TableConfig], Mapping[str, "str | None"]]
_READ_ATTEMPTS = 4  # a reader may look between two steps of an update; each try is one step later
_UPDATE_ATTEMPTS = 8  # 5 seconds
_updating: set[str] = set()  # what updates of this process are in progress


def checksum(name: str, database: str = "") -> str:
    """``hoodie.table.checksum``: CRC-32 of ``database.name`` as an unsigned decimal."""
    return str(zlib.crc32(f"{database}.{name}".encode()))


def load(storage: Storage) -> TableConfig:
    """The settings of the table at the root of ``storage``.

    Raises :class:`~hoodoo.errors.NotATableError`, :class:`~hoodoo.errors.CorruptTableError` (no
    good file) and :class:`~hoodoo.errors.UnsupportedTableError` (version or layout).
    """
    for attempt in range(_READ_ATTEMPTS):
        main = _read(storage, PATH)
        if main is not None and main.good:
            break
        backup = _read(storage, BACKUP)
        if backup is not None and backup.good:
            main = backup
            break
        if main is not None and backup is None and main.unsigned:
            break
        if main is None and backup is None:
            there = "a .hoodie directory, but no hoodie.properties in it"
            if not (found := storage.list(".hoodie")) or attempt == _READ_ATTEMPTS - 1:
                raise NotATableError(
                    storage.root,
                    f"there is {there if found else 'no .hoodie directory'}.",
                    "Check the path, or create a table there with hoodoo.create(...).",
                )
    else:
        raise CorruptTableError(
            f"{storage.root}/{PATH}",
            f"the file is truncated, or its {CHECKSUM} is wrong, and there is no valid backup.",
            "Restore the file from a copy, or correct the checksum.",
        )
    return check_supported(TableConfig(main.values), storage.root)


def check_supported(config: TableConfig, where: str) -> TableConfig:
    """``config``; UnsupportedTableError unless version and layout are a pair that Hoodoo reads."""
    version = _integer(config, _VERSION, where)
    known = VERSIONS.get(version)
    layout = _integer(config, _LAYOUT, where, default=None if known is None else known.layout)
    if known is None:
        *others, last = map(str, VERSIONS)
        raise UnsupportedTableError(
            where,
            f"table version {version}; versions {', '.join(others)} and {last} are read.",
            "Upgrade or downgrade the table with Hudi (CALL upgrade_table / downgrade_table).",
        )
    if config.table_type not in TYPES:
        raise UnsupportedTableError(
            where,
            f"its hoodie.table.type is {config.table_type!r}; {' and '.join(TYPES)} are read.",
            "Correct hoodie.properties.",
        )
    if layout != known.layout:
        raise UnsupportedTableError(
            where,
            f"table version {version} needs timeline layout {known.layout}, not {layout}.",
            f"Finish the interrupted upgrade with Hudi, or correct {_LAYOUT}.",
        )
    return config


def create(storage: Storage, config: TableConfig, now: datetime | None = None) -> TableConfig:
    """Write the file where there is none: this is what makes the table.

    Raises :class:`~hoodoo.errors.TableExistsError` (nothing changed). The checksum is put in.
    """
    check_supported(config, storage.root)
    config = _signed(config.properties)
    data = javaprops.render(config.properties, now=now)
    if storage.head(PATH) is None and storage.head(BACKUP) is None:
        storage.delete(_HADOOP_CHECKSUM)  # of a table that was here before
        try:
            if storage.put_if_absent(PATH, data):
                return config
        except StorageUnknownError:
            if get_if_there(storage, PATH) == data:
                return config
            raise
    raise there_already(storage.root)


def there_already(root: str) -> TableExistsError:
    """The error of a second table at one place."""
    fix = "Use hoodoo.open(...), or choose another path."
    return TableExistsError(root, "a table already exists here.", fix)


def update(
    storage: Storage, config: TableConfig, changes: Changes, now: datetime | None = None
) -> TableConfig:
    """Change properties (None removes one) and return the new settings.

    The changes are applied to the file as it is now, and may be made of what it says; ``config``
    says which table the caller means. Steps: back the text up, look at it again, put the new one,
    read it back, delete the backup. The backup names this process, and excludes others while it
    lives. A crash at any step leaves the old or the new settings to readers, and :func:`recover` to
    the next writer. Raises CommitConflictError if others wrote.
    """
    owner = {**heartbeat.identity(), "token": uuid.uuid4().hex}
    _updating.add(owner["token"])
    try:
        for attempt in range(_UPDATE_ATTEMPTS):
            recover(storage)
            old = load(storage)
            if (old.name, old.database) != (config.name, config.database):
                raise CommitConflictError(
                    storage.root,
                    f"the table here is {old.name!r} now, not {config.name!r}.",
                    "Open the table again.",
                )
            given = changes(old) if callable(changes) else changes
            if CHECKSUM in given:
                raise ConfigError(CHECKSUM, "is computed, not set.", "Leave it out of the changes.")
            merged = {k: v for k, v in {**old.properties, **given}.items() if v is not None}
            new = check_supported(_signed(merged), storage.root)
            before = _signed(old.properties)
            backup = javaprops.render(before.properties, json.dumps(owner), now)
            if storage.put_if_absent(BACKUP, backup):
                if _signed(load(storage).properties) == before:
                    break
                storage.delete(BACKUP)  # changed before the backup could exclude others
            time.sleep(0.02 * 2**attempt)
        else:
            raise _conflict(storage)
        data = javaprops.render(new.properties, f"Updated at {javaprops.iso(now)}", now)
        storage.delete(_HADOOP_CHECKSUM)
        # In one step: who reads meanwhile finds one or the other.
        storage.put(PATH, data)
        if get_if_there(storage, PATH) != data:
            raise _conflict(storage)
        storage.delete(BACKUP)
        return new
    finally:
        _updating.discard(owner["token"])


def recovered(storage: Storage) -> TableConfig:
    """:func:`load`, after :func:`recover`."""
    if get_if_there(storage, BACKUP) is None:
        with suppress(HoodooError):  # the look has to be repeated after a recovery
            return load(storage)
    recover(storage)
    return load(storage)


def recover(storage: Storage) -> bool:
    """Finish or undo an interrupted :func:`update`; True if there was one whose process ended."""
    backup = _read(storage, BACKUP)
    if backup is None or _is_alive(storage, backup):
        return False
    main = _read(storage, PATH)
    if main is None or not main.good:
        if not backup.good:
            raise CorruptTableError(
                f"{storage.root}/{BACKUP}",
                "both hoodie.properties and its backup are damaged.",
                "Restore hoodie.properties from a copy and delete the backup.",
            )
        storage.delete(PATH)
        storage.delete(_HADOOP_CHECKSUM)
        made = storage.put_if_absent(PATH, backup.data)
        if not made or get_if_there(storage, PATH) != backup.data:
            raise _conflict(storage)
    storage.delete(BACKUP)
    return True


def _is_alive(storage: Storage, backup: _File) -> bool:
    """Whether the update that has put ``backup`` may be in progress."""
    owner = backup.owner
    if owner.get("process") == heartbeat.identity()["process"]:
        return owner.get("token") in _updating
    entry = storage.head(BACKUP) if owner else None
    return entry is not None and heartbeat.may_live(storage, owner, entry)


@frozen
class _File:
    """One properties file as read: ``good`` = right checksum, ``unsigned`` = whole, but has
    none."""

    data: bytes
    values: Mapping[str, str]

    @property
    def owner(self) -> dict[str, Any]:
        """Which process has put a backup; empty where it does not say."""
        return heartbeat.decode(self.data.partition(b"\n")[0].removeprefix(b"#"))

    @property
    def good(self) -> bool:
        """Whether the file is whole: its checksum is right for the table name and database."""
        name = self.values.get(_NAME)
        if not name or _VERSION not in self.values:
            return False
        expected = checksum(name, self.values.get(DATABASE.key, ""))
        return self.values.get(CHECKSUM) == expected

    @property
    def unsigned(self) -> bool:
        """Whether the file is whole as far as one can see, and has no checksum."""
        # Java ends every line: without that end the last value may be cut short.
        whole = self.data.endswith((b"\n", b"\r"))
        return whole and CHECKSUM not in self.values and bool(self.values.get(_NAME))


def _read(storage: Storage, path: str) -> _File | None:
    data = get_if_there(storage, path)
    return None if data is None else _File(data, javaprops.parse(data))


def _signed(values: Mapping[str, str]) -> TableConfig:
    name, database = values.get(_NAME, ""), values.get(DATABASE.key, "")
    if not name:
        raise ConfigError(_NAME, "a table needs a name.", "Set it.")
    rest = {k: v for k, v in values.items() if k != CHECKSUM}
    return TableConfig({**rest, CHECKSUM: checksum(name, database)})


def _integer(config: TableConfig, key: str, where: str, default: int | None = None) -> int:
    text = (config.get(key) or "").strip()
    if not text and default is not None:
        return default
    if text.isascii() and text.isdigit():
        return int(text)
    raise UnsupportedTableError(
        f"{where}: {key}",
        f"{text!r} is not a number." if text else "is missing.",
        "Correct hoodie.properties.",
    )


def _conflict(storage: Storage) -> CommitConflictError:
    backup = _read(storage, BACKUP)
    host = None if backup is None else backup.owner.get("host")
    fix = "Try again; writers of one table need a common lock provider."
    if host not in (None, heartbeat.identity()["host"]):
        wait = heartbeat.INTERVAL * heartbeat.TOLERABLE_MISSES
        fix = f"Try again. If its process on {host} died, others wait {wait:.0f} seconds at most."
    rule = "another writer changed it at the same time."
    return CommitConflictError(f"{storage.root}/{PATH}", rule, fix)
