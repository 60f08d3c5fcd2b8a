"""Read source: an open table as a read or a report sees it."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import Factory, frozen

from hoodoo.hookspecs.file_format import BaseFileFormat
from hoodoo.hookspecs.key_generator import KeyGenerator
from hoodoo.hookspecs.merger import Merger
from hoodoo.model.config import TableConfig
from hoodoo.storage.api import Storage
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import Timeline


@frozen
class ReadSource:
    """What a read needs of an open table.

    ``file_format`` and ``merger`` are None where no plugin offers the table's. ``whole`` False:
    what is lost of the table is no error, its other rows are read (for who finds out what is lost).
    ``options``: those that the table was opened with.
    """

    storage: Storage
    config: TableConfig
    timeline: Timeline
    file_format: BaseFileFormat | None
    key_generator: KeyGenerator | None = None
    merger: Merger | None = None
    whole: bool = True
    options: Mapping[str, str] = Factory(dict)

    @property
    def snapshot(self) -> Snapshot:
        """The table as the read sees it."""
        return Snapshot(self.storage, self.timeline)
