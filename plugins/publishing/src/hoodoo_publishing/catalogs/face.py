"""A face of a table: one format in one catalog."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen
from hoodoo.storage.api import Storage
from hoodoo.timeline.timeline import Timeline


@frozen
class Face:
    """A table as ``format`` at ``place``: a catalog, and the name there."""

    format: str
    place: str

    def __str__(self) -> str:
        return f"{self.format}={self.place}"


@frozen
class Seen:
    """One look at the table, and the options of this call."""

    storage: Storage
    timeline: Timeline
    given: Mapping[str, str]
