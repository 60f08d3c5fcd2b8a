"""Log files: the format of a table's log files, with the formats of blocks that are installed."""

from __future__ import annotations

from typing import Any

from attrs import frozen

from hoodoo.errors import PluginError
from hoodoo.hookspecs.log_format import LogBlockFormats, LogFileReader, LogFileWriter, LogFormat
from hoodoo.kernel.registry import kernel
from hoodoo.kernel.resolve import resolve
from hoodoo.model.config import TableConfig
from hoodoo.options.table import LOG_FORMAT
from hoodoo.storage.api import Storage


@frozen
class _Missing:
    """For tables that have no log files: nothing is wrong until one is opened."""

    error: PluginError

    def reader(
        self, storage: Storage, path: str, size: int | None, blocks: LogBlockFormats
    ) -> LogFileReader:
        """Raise the PluginError that names the missing log format."""
        raise self.error

    def writer(self, local: str, blocks: LogBlockFormats) -> LogFileWriter:
        """Raise the PluginError that names the missing log format."""
        raise self.error


@frozen
class LogFiles:
    """``blocks``: the formats of blocks by their kinds; these and the format, of this ``name``, in
    their default settings. Steps take it along."""

    format: LogFormat
    blocks: LogBlockFormats
    name: str = LOG_FORMAT.initial

    def reader(self, storage: Storage, path: str, size: int | None = None) -> LogFileReader:
        """``path``, of which ``size`` bytes count (None or 0: all). CorruptTableError if it is
        missing."""
        return self.format.reader(storage, path, size or None, self.blocks)

    def writer(self, local: str) -> LogFileWriter:
        """Return a writer of the new local file ``local``. Close it before the file is put into the
        table."""
        return self.format.writer(local, self.blocks)

    def __reduce__(self) -> tuple[Any, ...]:
        return _arrived, (self.format, dict(self.blocks), self.name)


# The last ones that were made, by the name of the format, and of what: a reader of a log file makes
# none again.
_made: dict[str, tuple[tuple[Any, ...], LogFiles]] = {}
# In a process that discovers no plugins, a worker: those that its steps have brought.
_brought: dict[str, LogFiles] = {}


def log_files(config: TableConfig | None = None) -> LogFiles:
    """Those of the table, or of a table that does not say its format. In a task: those that steps
    have brought, as a worker looks for no plugins. Of a format that nobody offers no file can be
    opened: PluginError then."""
    name = LOG_FORMAT.initial if config is None else config.log_file_format
    if name in _brought and not kernel.cache_info().currsize:
        return _brought[name]
    registry = kernel()
    offers = registry.offers("log_block")
    named = (registry.find("log_format", name), *offers)
    of = (registry, *(offer.registration.factory for offer in named if offer is not None))
    if name in _made and _made[name][0] == of:
        return _made[name][1]
    found: LogFormat
    try:
        found = resolve("log_format", name, using=registry).instance
    except PluginError as error:
        found = _Missing(error)
    blocks: dict[int, Any] = {}
    for offer in offers:
        one = resolve("log_block", offer.name, using=registry).instance
        blocks.setdefault(int(one.kind), one)
    made = LogFiles(found, blocks, name)
    _made[name] = of, made
    return made


def _arrived(format_: LogFormat, blocks: LogBlockFormats, name: str) -> LogFiles:
    made = LogFiles(format_, blocks, name)
    _brought[name] = made
    return made
