"""Snapshot: one look at a table, which reads, writes and services share."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cached_property

import pyarrow as pa
from attrs import evolve, frozen

from hoodoo.model.config import TableConfig
from hoodoo.model.filegroup import FileSlice
from hoodoo.storage.api import Storage
from hoodoo.timeline.timeline import Timeline

Look = Callable[[Collection[str] | None], tuple[FileSlice, ...]]


@frozen
class Snapshot:
    """``config``: the properties. ``schema``: the table's own columns by ``timeline`` (no meta columns). ``look``: the
    newest slice of each file group that is part of the table by it, in the partition paths given (None: all).
    ``paths``: those that it is of."""

    storage: Storage
    config: TableConfig
    timeline: Timeline
    schema: pa.Schema
    look: Look
    paths: Collection[str] | None = None

    @cached_property
    def slices(self) -> tuple[FileSlice, ...]:
        """Those of all ``paths``. Whoever knows which ones count asks :meth:`within` first."""
        return self.look(None)

    def within(self, paths: Collection[str]) -> Snapshot:
        """The same of a table that has no other partition ``paths``."""
        found = self.look(paths) if paths else ()
        return evolve(self, look=lambda asked: found, paths=paths)
