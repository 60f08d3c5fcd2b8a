"""Hudi's log format: the file that blocks lie in."""

from __future__ import annotations

from attrs import frozen
from hoodoo.hookspecs.log_format import LogBlockFormats
from hoodoo.hookspecs.registration import Settings
from hoodoo.storage.api import Storage

from hoodoo_formats.log.reader import LogReader
from hoodoo_formats.log.writer import LogWriter
from hoodoo_formats.options import RECORD_POSITIONS


@frozen
class HudiLog:
    """Implements :class:`hoodoo.hookspecs.log_format.LogFormat`. ``notes_rows``: blocks are to say
    which rows of a base file they change, where a writer knows it."""

    notes_rows: bool = True

    @classmethod
    def from_settings(cls, settings: Settings) -> HudiLog:
        return cls(settings.value(RECORD_POSITIONS))

    def reader(
        self, storage: Storage, path: str, size: int | None, blocks: LogBlockFormats
    ) -> LogReader:
        return LogReader(storage, path, size, blocks)

    def writer(self, local: str, blocks: LogBlockFormats) -> LogWriter:
        return LogWriter(local, blocks)
