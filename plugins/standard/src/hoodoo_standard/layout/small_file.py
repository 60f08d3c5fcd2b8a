"""Fill small base files first, then new ones: Hudi's UpsertPartitioner.

Only slices without log files are filled: the base file under pending log records is left to
compaction. A partition path's files are taken smallest first, ties by file id.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

from attrs import frozen
from hoodoo.hookspecs.layout import Slot
from hoodoo.hookspecs.registration import Settings
from hoodoo.model.filegroup import BaseFile, FileSlice
from hoodoo.options.core import SMALL_FILE_LIMIT

from hoodoo_standard import options


@frozen
class SmallFileLayout:
    """Sizes are bytes; ``row_bytes_guess`` stands in where the caller knows no row size."""

    small_file_limit: int = SMALL_FILE_LIMIT.initial
    max_file_size: int = options.MAX_FILE_SIZE.initial
    row_bytes_guess: int = options.RECORD_SIZE.initial

    @classmethod
    def from_settings(cls, settings: Settings) -> SmallFileLayout:
        return cls(
            settings.value(SMALL_FILE_LIMIT),
            settings.value(options.MAX_FILE_SIZE),
            settings.value(options.RECORD_SIZE),
        )

    def plan(
        self, arrivals: Mapping[str, int], slices: Sequence[FileSlice], row_bytes: float
    ) -> tuple[Slot, ...]:
        size = row_bytes if row_bytes > 0 else float(self.row_bytes_guess)
        small = self._small_files(slices)
        slots: list[Slot] = []
        for path in sorted(arrivals):
            rows = arrivals[path]
            for base in small.get(path, ()):
                room = int((self.max_file_size - base.size) / size)
                taken = min(room, rows)
                if taken > 0:
                    slots.append(Slot(path, taken, base.file_id))
                    rows -= taken
            if rows > 0:
                slots.extend(new_slots(path, rows, self.max_file_size, size))
            elif arrivals[path] <= 0:
                slots.append(Slot(path, 1))
        return tuple(slots)

    def _small_files(self, slices: Sequence[FileSlice]) -> dict[str, list[BaseFile]]:
        found: dict[str, list[BaseFile]] = defaultdict(list)
        for piece in slices:
            base = piece.base_file
            # A size of 0 is an unknown one: such a file may be of any size.
            if base and not piece.row_logs and 0 < base.size < self.small_file_limit:
                found[piece.partition_path].append(base)
        for files in found.values():
            files.sort(key=lambda base: (base.size, base.file_id))
        return found


def new_slots(path: str, rows: int, max_file_size: int, row_bytes: float) -> list[Slot]:
    """New file groups for ``rows`` rows, evenly filled; weights add up to ``rows``."""
    per_file = max(1, int(max_file_size / row_bytes))
    count = math.ceil(rows / per_file)
    each, more = divmod(rows, count)
    return [Slot(path, each + (1 if i < more else 0)) for i in range(count)]
