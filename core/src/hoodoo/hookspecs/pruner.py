"""Pruner: which files a read may leave out, without opening one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen

from hoodoo.hookspecs.answers import Some, answers
from hoodoo.hookspecs.family import Family
from hoodoo.hookspecs.key_generator import KeyGenerator
from hoodoo.model.filegroup import FileSlice
from hoodoo.storage.api import Storage
from hoodoo.timeline.timeline import Timeline


@frozen
class PruneRequest:
    """A read that has a filter. ``where``: the filter; ``schema``: the stored columns; ``columns``:
    those that the filter looks at, of which ``hidden`` hold no values in the files. ``as_of``: the
    requested time that the read is of, None for now. ``key_generator``: None where no plugin offers
    the table's. ``merged``: log files count."""

    storage: Storage
    timeline: Timeline
    where: pc.Expression
    schema: pa.Schema
    columns: tuple[str, ...]
    hidden: frozenset[str] = frozenset()
    as_of: str | None = None
    key_generator: KeyGenerator | None = None
    merged: bool = True


@runtime_checkable
class Pruner(Protocol):
    """Contract suite: ``hoodoo.testing.contracts.pruner``. Asked on the driver alone."""

    @answers(Some("slices", "slices"))
    def keep(self, request: PruneRequest, slices: Sequence[FileSlice]) -> Sequence[FileSlice]:
        """The slices of ``slices`` that may hold a row for which the filter is true; all of them if
        that is unknown. A slice that is left out on a guess is a wrong answer. CorruptTableError if
        the statistics that it uses can't be read."""


@runtime_checkable
class PrunesPaths(Protocol):
    """What a pruner may have in addition: it says where to look before anything is listed."""

    def paths(self, request: PruneRequest) -> Sequence[str] | None:
        """The partition paths that every row lies in for which the filter is true, given that its
        columns make the path of each row: asked only where all rows of the table lie so. None where
        it does not know."""


FAMILY = Family(
    "hoodoo_pruners",
    """Offer pruners. When: a read with a filter is planned, each of them is asked, about what those
    before it left. Default: none, partition paths alone are pruned.

    The factory returns a :class:`Pruner`.""",
    (Pruner,),
    optional=(PrunesPaths,),
)
