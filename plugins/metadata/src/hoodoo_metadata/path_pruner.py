"""Pruning of partition paths before anything is listed: those of the values that a filter asks for,
or those among the paths that the metadata table lists.

As with keys nothing is left out on a guess: the values are read out of the filter, and proven to be
all."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen
from hoodoo.errors import DataError, HoodooError
from hoodoo.hookspecs.pruner import PruneRequest
from hoodoo.hookspecs.registration import Settings
from hoodoo.model.filegroup import FileSlice
from hoodoo.timeline.snapshot import Snapshot
from hoodoo_rows.api import StoredFiles

from hoodoo_metadata.table.metadata_table import is_listed

# More paths than that are found as fast by looking at all.
_MOST_PATHS = 1000


@frozen
class PathPruner:
    """By partition paths, before files are known. Leaves slices to others."""

    @classmethod
    def from_settings(cls, settings: Settings) -> PathPruner:
        return cls()

    def keep(self, request: PruneRequest, slices: Sequence[FileSlice]) -> Sequence[FileSlice]:
        return slices

    def paths(self, request: PruneRequest) -> Sequence[str] | None:
        keys = request.key_generator
        if keys is None:
            return None
        asked = _asked_paths(request)
        # What was dropped since may have been in the table then.
        if asked is not None or request.as_of is not None or not is_listed(request.timeline):
            return asked
        from hoodoo_metadata.partitions.files.listing import listed_paths

        try:
            known = listed_paths(Snapshot(request.storage, request.timeline))
        except (HoodooError, FileNotFoundError):  # who lists the files says what is wrong
            return None
        return sorted(StoredFiles.matching_paths(known, request.where, request.schema, keys))


def _asked_paths(request: PruneRequest) -> Sequence[str] | None:
    """The paths of all rows that the filter can let through; None where these are not few."""
    keys = request.key_generator
    assert keys is not None
    fields = keys.partition_fields
    values = [
        StoredFiles.asked_values(request.where, request.schema, name, dates=True) for name in fields
    ]
    if not fields or None in values or math.prod(len(v or ()) for v in values) > _MOST_PATHS:
        return None
    rows = list(itertools.product(*(v for v in values if v is not None)))
    if not rows:
        return ()
    columns = [
        pa.array(column, request.schema.field(name).type)
        for name, column in zip(fields, zip(*rows, strict=True), strict=True)
    ]
    try:
        paths = keys.partition_paths(pa.record_batch(columns, names=list(fields)))
    except DataError:  # one that no row can have
        return None
    found: list[str] = pc.unique(paths).to_pylist()
    return found
