"""``.hoodie/hoodie.properties``: load, create and update, each safe against a crash at any step.

A file with a right checksum is good; one without a checksum (very
old tables) is taken for good only where no backup exists, because a file cut short by a crash looks
the same. Writers of the same table exclude each other with the table's lock; readers need none.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime

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
from hoodoo.timeline import javaprops
from hoodoo.timeline.javaprops import CHECKSUM

PATH = ".hoodie/hoodie.properties"
BACKUP = ".hoodie/hoodie.properties.backup"
# Hadoop's local file system keeps a checksum beside each file it writes, and refuses to read a file
# that does not agree with it: whoever replaces the file has to take the checksum away.
_HADOOP_CHECKSUM = ".hoodie/.hoodie.properties.crc"
_NAME, _VERSION = "hoodie.table.name", "hoodie.table.version"
_LAYOUT = "hoodie.timeline.layout.version"
Changes = Mapping[str, "str | None"]
_READ_ATTEMPTS = 4  # a reader may look between two steps of an update; each try is one step later


def checksum(name: str, database: str = "") -> str:
    """``hoodie.table.checksum``: CRC-32 of ``database.name`` as an unsigned decimal."""
    return str(zlib.crc32(f"{database}.{name}".encode()))


def load(storage: Storage) -> TableConfig:
    """The settings of the table at the root of ``storage``.

    Raises :class:`~hoodoo.errors.NotATableError`, :class:`~hoodoo.errors.CorruptTableError` (no
    good file) and :class:`~hoodoo.errors.UnsupportedTableError` (version or layout).
    """
    for _ in range(_READ_ATTEMPTS):
        main = _read(storage, PATH)
        if main is not None and main.good:
            break
        backup = _read(storage, BACKUP)
        if backup is not None and backup.good:
            main = backup
            break
        if main is not None and backup is None and main.unsigned:
            break
        if main is None and backup is None and not storage.list(".hoodie"):
            raise NotATableError(
                storage.root,
                "there is no .hoodie directory.",
                "Check the path, or create a table there with hoodoo.create(...).",
            )
    else:
        if main is None and backup is None:
            raise NotATableError(
                storage.root,
                "there is a .hoodie directory, but no hoodie.properties in it.",
                "Check the path, or create a table there with hoodoo.create(...).",
            )
        raise CorruptTableError(
            f"{storage.root}/{PATH}",
            f"the file is truncated, or its {CHECKSUM} is wrong, and there is no valid backup.",
            "Restore the file from a copy, or correct the checksum.",
        )
    config = TableConfig(main.values)
    check_supported(config, storage.root)
    return config


def check_supported(config: TableConfig, where: str) -> None:
    """Raise UnsupportedTableError unless version and layout are a pair that Hoodoo reads."""
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
    storage: Storage,
    config: TableConfig,
    changes: Changes | Callable[[TableConfig], Changes],
    now: datetime | None = None,
) -> TableConfig:
    """Change properties (None removes one) and return the new settings. Needs the table's lock.

    The changes are applied to the file as it is now, and may be made of what it says; ``config``
    says which table the caller means. Steps: back the text up, look at it again, put the new one,
    read it back, delete the backup. A crash at any of them leaves the old or the new settings to
    readers, and :func:`recover` to the next writer. Raises CommitConflictError if others wrote.
    """
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
    new = _signed({k: v for k, v in {**old.properties, **given}.items() if v is not None})
    check_supported(new, storage.root)
    data = javaprops.render(new.properties, f"Updated at {javaprops.iso(now)}", now)
    before = _signed(old.properties)
    if not storage.put_if_absent(BACKUP, javaprops.render(before.properties, now=now)):
        raise _conflict(storage)
    if _signed(load(storage).properties) != before:
        # Somebody changed it before the backup could exclude others.
        storage.delete(BACKUP)
        return update(storage, config, changes, now)
    storage.delete(_HADOOP_CHECKSUM)
    # In one step: who reads meanwhile finds one or the other, and a writer that takes the backup
    # for one that was left behind does no harm.
    storage.put(PATH, data)
    if get_if_there(storage, PATH) != data:
        raise _conflict(storage)
    storage.delete(BACKUP)
    return new


def recovered(storage: Storage) -> TableConfig:
    """:func:`load`, after :func:`recover`. Needs the table's lock."""
    if get_if_there(storage, BACKUP) is None:
        with suppress(HoodooError):  # the look has to be repeated after a recovery
            return load(storage)
    recover(storage)
    return load(storage)


def recover(storage: Storage) -> bool:
    """Finish or undo an interrupted :func:`update`; True if there was one. Needs the table's
    lock."""
    backup = _read(storage, BACKUP)
    if backup is None:
        return False
    main = _read(storage, PATH)
    if main is None or not main.good:
        if not backup.good:
            raise CorruptTableError(
                f"{storage.root}/{BACKUP}",
                "both hoodie.properties and its backup are damaged.",
                "Restore hoodie.properties from a copy and delete the backup.",
            )
        _remove(storage)
        if (
            not storage.put_if_absent(PATH, backup.data)
            or get_if_there(storage, PATH) != backup.data
        ):
            raise _conflict(storage)
    storage.delete(BACKUP)
    return True


@frozen
class _File:
    """One properties file as read: ``good`` = right checksum, ``unsigned`` = whole, but has
    none."""

    data: bytes
    values: Mapping[str, str]

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


def _remove(storage: Storage) -> None:
    storage.delete(PATH)
    storage.delete(_HADOOP_CHECKSUM)


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
    return CommitConflictError(
        f"{storage.root}/{PATH}",
        "another writer changed it at the same time.",
        "Try again; writers of one table need a common lock provider.",
    )
