"""Layout: which file group takes an insert, and how large files get."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from attrs import frozen

from hoodoo.hookspecs.family import Family
from hoodoo.model.filegroup import FileSlice

# Role of a registration: never touches an existing file.
NEW_FILES = "only_new"


@frozen
class Slot:
    """A place for inserts: an existing file group (``file_id``) or a new one (None).

    ``weight`` is the number of rows planned for it; rows are spread over the slots of a partition
    path by a hash of their key, in proportion to the weights.
    """

    partition_path: str
    weight: int
    file_id: str | None = None


@runtime_checkable
class Layout(Protocol):
    """Contract suite: ``hoodoo.testing.contracts.layout``."""

    def plan(
        self, arrivals: Mapping[str, int], slices: Sequence[FileSlice], row_bytes: float
    ) -> tuple[Slot, ...]:
        """Places for ``arrivals`` (partition path -> rows to insert).

        ``slices`` are the latest slices of the table, ``row_bytes`` the estimated size on disk of
        one row. Every partition path of ``arrivals`` gets at least one slot with weight >= 1. The
        answer is a pure function of the arguments.
        """


FAMILY = Family(
    "hoodoo_layouts",
    """Offer layouts. When: inserts are planned. Default: ``small_file``; ``append`` never fills
    existing files.

    The factory returns a :class:`Layout`.""",
    (Layout,),
)
