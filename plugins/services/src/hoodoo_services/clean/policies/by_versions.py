"""A policy that keeps the newest slices of each file group.

Source: ``org.apache.hudi.table.action.clean.CleanPlanner`` of Hudi 1.2.
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen
from hoodoo.hookspecs.registration import Settings
from hoodoo.model.filegroup import FileSlice
from hoodoo.model.instant import Instant

from hoodoo_services import options
from hoodoo_services.hookspecs.cleaning import Aged, History


@frozen
class ByVersions:
    """The newest ``retained`` slices of each group stay; a group that was replaced goes as a
    whole."""

    retained: int = 3
    policy = "KEEP_LATEST_FILE_VERSIONS"
    by_writes = False

    @classmethod
    def from_settings(cls, settings: Settings) -> ByVersions:
        return cls(settings.value(options.VERSIONS_RETAINED))

    def earliest(self, history: History) -> Instant | None:
        return None

    def surplus(self, aged: Aged, earliest: str | None) -> Sequence[FileSlice]:
        if aged.replaced_by is not None:
            return aged.group.slices
        return aged.group.slices[self.retained :]
