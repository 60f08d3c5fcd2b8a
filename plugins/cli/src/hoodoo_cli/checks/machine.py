"""The machine: open files, the folder of temporary files, the clock."""

from __future__ import annotations

import os
import platform
import shutil
import tempfile
import time
from collections.abc import Iterator

import hoodoo
from attrs import frozen
from hoodoo.hookspecs.registration import Settings
from hoodoo.model.findings import Finding, Found
from hoodoo.storage.api import Storage

# A write into many partitions has a file open for each that it spills to, and for each that it
# writes.
_OPEN_FILES = 1024
_TEMPORARY = 256 << 20  # bytes
_DAY = 86_400.0


@frozen
class MachineCheck:
    """Of this process and its host."""

    @classmethod
    def from_settings(cls, settings: Settings) -> MachineCheck:
        return cls()

    def environment(self, engine: str | None) -> Found:
        note = f"Python {platform.python_version()} on {platform.system()} {platform.machine()}"
        findings = (*_open_files(), *_temporary(), *_clock())
        return Found(findings, notes=(note, f"hoodoo-core {hoodoo.__version__}"))

    def table(self, storage: Storage, probe: bool) -> Found:
        return Found()


def _open_files() -> Iterator[Finding]:
    try:
        import resource
    except ModuleNotFoundError:  # Windows
        return
    limit, _most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= limit < _OPEN_FILES:
        yield Finding(
            "machine.open_files",
            "limit of open files",
            f"this process may open {limit} files; a write into many partitions needs more",
            "Run `ulimit -n 4096` in the shell before, or raise the limit of the service.",
        )


def _temporary() -> Iterator[Finding]:
    try:
        folder = tempfile.gettempdir()
        free = shutil.disk_usage(folder).free
    except OSError as error:
        yield Finding(
            "machine.temporary",
            "folder of temporary files",
            f"there is none that can be written: {error}",
            "Set TMPDIR to a folder that this user may write.",
        )
        return
    if free < _TEMPORARY:
        yield Finding(
            "machine.temporary",
            folder,
            f"only {free >> 20} MB are free; rows that do not fit into memory are written there",
            "Free space there, or set TMPDIR to a folder with more.",
        )


def _clock() -> Iterator[Finding]:
    """A clock before the time when this file was installed is wrong."""
    try:
        installed = os.path.getmtime(__file__)
    except OSError:  # from an archive
        return
    now = time.time()
    if now < installed - _DAY:
        said = time.strftime("%Y-%m-%d %H:%M", time.gmtime(now))
        yield Finding(
            "machine.clock",
            "clock of this host",
            f"it says {said} UTC, which is before Hoodoo was installed; instants are times",
            "Set the clock, best by NTP.",
        )
