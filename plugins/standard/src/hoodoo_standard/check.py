"""What ``hoodoo doctor`` looks at for local files: space, permissions, and a lock file that nobody
holds."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator

from attrs import frozen
from hoodoo.hookspecs.registration import Settings
from hoodoo.model.findings import Finding, Found
from hoodoo.storage.api import Storage, has_plain_files

from hoodoo_standard import options
from hoodoo_standard.lock import owner

_LOCK = ".hoodie/lock"
_SPACE = 256 << 20  # bytes: a base file of the usual size, and another one
_FOLDERS = 1000  # partition folders that are looked at
_OLD = (
    600.0  # seconds after which a lock file of a writer that is not known is looked at with doubt
)


@frozen
class LocalCheck:
    """``path``: the folder of the lock file, where an option says it; ``expire``: minutes after
    which writers break it; 0: never."""

    path: str = ""
    expire: int = 0

    @classmethod
    def from_settings(cls, settings: Settings) -> LocalCheck:
        path = options.LOCK_PATH.given(settings.options) or ""
        return cls(path, int(settings.value(options.LOCK_EXPIRE)))

    def environment(self, engine: str | None) -> Found:
        return Found()

    def table(self, storage: Storage, probe: bool) -> Found:
        found = list(self._locks(storage))
        base = storage.root.removeprefix("file://")
        if has_plain_files(storage) and storage.root.startswith("file://") and os.path.isdir(base):
            found += [*_space(base), *_folders(storage, base)]
        return Found(tuple(found))

    def _locks(self, storage: Storage) -> Iterator[Finding]:
        if self.path:
            return  # elsewhere, and of whoever set it
        entry = storage.head(_LOCK)
        if entry is None:
            return
        try:
            holder = owner.read(storage.get(_LOCK))
        except FileNotFoundError:
            return
        free = f"Make sure that no writer is at work, then delete {storage.root}/{_LOCK}."
        minutes = max(0.0, time.time() - entry.modified) / 60
        if owner.is_gone(holder):
            pid = holder.get("pid")
            rule = (
                f"the process {pid} of this host holds it, and has ended; writers of Spark would "
                "wait for it"
            )
            yield Finding("local.lock", _LOCK, rule, free)
        elif minutes * 60 > _OLD and not 0 < self.expire < minutes:
            rule = (
                f"it was made {minutes:.0f} minutes ago; writers that need it wait until it is "
                "deleted"
            )
            yield Finding(
                "local.lock",
                _LOCK,
                rule,
                f"{free[:-1]}, or set {options.LOCK_EXPIRE.key} for all writers.",
            )


def _space(base: str) -> Iterator[Finding]:
    free = shutil.disk_usage(base).free
    if free < _SPACE:
        yield Finding(
            "local.space",
            base,
            f"only {free >> 20} MB are free, and a new base file may take 120 MB",
            "Free space on the file system, or run `hoodoo clean`, which deletes older file "
            "slices.",
        )
    if hasattr(os, "statvfs"):
        system = os.statvfs(base)
        if system.f_files and not system.f_favail:
            yield Finding(
                "local.space",
                base,
                "the file system has no free inode, so no file can be created",
                "Delete files on the file system, or make one with more inodes.",
            )


def _folders(storage: Storage, base: str) -> Iterator[Finding]:
    """Folders of the table that this user may not write."""
    folders = [entry.path for entry in storage.list() if entry.is_dir]
    if ".hoodie" not in folders:
        return  # no table
    closed = [one for one in folders[:_FOLDERS] if not _may_write(os.path.join(base, one))]
    if closed:
        more = f" and {len(closed) - 1} more folders" if len(closed) > 1 else ""
        yield Finding(
            "local.permissions",
            os.path.join(base, closed[0]),
            f"this user may not write there{more}",
            "Change the owner (chown -R) or the permissions of the table's folders, or run as "
            "their owner.",
        )


def _may_write(folder: str) -> bool:
    try:
        return os.access(folder, os.W_OK | os.X_OK, effective_ids=True)
    except NotImplementedError:
        return os.access(folder, os.W_OK | os.X_OK)
