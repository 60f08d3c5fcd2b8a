"""Known: file slices that have no row of the result, as pruners know. Opens no data file."""

from __future__ import annotations

import pyarrow as pa

from hoodoo.hookspecs.pruner import Pruner, PruneRequest
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.registry import kernel
from hoodoo.kernel.resolve import make
from hoodoo.model.filegroup import FileSlice
from hoodoo.read.source import ReadSource
from hoodoo.read.spec import RowSpec


def pruned(
    source: ReadSource,
    spec: RowSpec,
    stored: pa.Schema,
    slices: tuple[FileSlice, ...],
    bound: str | None,
    merged: bool = True,
) -> tuple[FileSlice, ...]:
    """What the pruners leave of ``slices``; ``spec`` has a filter. ``bound``: the read is as of then. ``merged``: log files count."""
    made = [f for f in spec.schema if f.name not in stored.names]
    request = PruneRequest(
        source.storage,
        source.timeline,
        spec.where,
        pa.schema([*stored, *made]),
        tuple(spec.where_columns),
        frozenset(spec.hidden),
        bound,
        source.key_generator,
        merged,
    )
    for offer in kernel().offers("pruner"):
        if slices:
            pruner: Pruner = make(offer, Settings(source.config))
            slices = tuple(pruner.keep(request, slices))
    return slices
