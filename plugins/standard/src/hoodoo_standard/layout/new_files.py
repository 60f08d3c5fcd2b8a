"""Never fill an existing file: every insert goes to new file groups, so nothing is rewritten."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import field, frozen
from hoodoo.hookspecs.layout import Slot
from hoodoo.hookspecs.registration import Settings
from hoodoo.model.filegroup import FileSlice

from hoodoo_standard.layout.small_file import SmallFileLayout


@frozen
class NewFilesLayout:
    """``sizes`` says how large files get; its small-file limit is not looked at."""

    sizes: SmallFileLayout = field(factory=SmallFileLayout)

    @classmethod
    def from_settings(cls, settings: Settings) -> NewFilesLayout:
        return cls(SmallFileLayout.from_settings(settings))

    def plan(
        self, arrivals: Mapping[str, int], slices: Sequence[FileSlice], row_bytes: float
    ) -> tuple[Slot, ...]:
        return self.sizes.plan(arrivals, (), row_bytes)
