"""Known: file slices that have no row of the result, as their partition paths and pruners say."""

from __future__ import annotations

from collections.abc import Collection

import pyarrow as pa
from hoodoo.hookspecs.file_format import BaseFileFormat
from hoodoo.hookspecs.pruner import Pruner, PruneRequest, PrunesPaths
from hoodoo.hookspecs.read_source import ReadSource
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.registry import kernel
from hoodoo.kernel.resolve import make
from hoodoo.model.filegroup import FileSlice

from hoodoo_rows.placement import rows_follow_columns
from hoodoo_rows.read.prune import by_path, outside, without_rows
from hoodoo_rows.read.spec import RowSpec


def pruned(
    source: ReadSource,
    spec: RowSpec,
    stored: pa.Schema,
    slices: tuple[FileSlice, ...],
    bound: str | None,
    merged: bool = True,
) -> tuple[FileSlice, ...]:
    """What the pruners leave of ``slices``; ``spec`` has a filter. ``bound``: the requested time of
    a time travel read. ``merged``: log files count."""
    request = _request(source, spec, stored, bound, merged)
    for pruner in _pruners(source):
        if slices:
            slices = tuple(pruner.keep(request, slices))
    return slices


def asked_paths(
    source: ReadSource, spec: RowSpec, stored: pa.Schema, bound: str | None
) -> Collection[str] | None:
    """The partition paths that all rows of the result lie in, as pruners know; None: any."""
    if not by_path(source, spec) or not rows_follow_columns(source.snapshot):
        return None
    request = _request(source, spec, stored, bound)
    asked = (p.paths(request) for p in _pruners(source) if isinstance(p, PrunesPaths))
    return next((frozenset(paths) for paths in asked if paths is not None), None)


def in_paths_asked(
    source: ReadSource,
    spec: RowSpec,
    file_format: BaseFileFormat,
    slices: tuple[FileSlice, ...],
) -> tuple[FileSlice, ...]:
    """The ``slices`` whose partition path, or footer, does not say that the filter leaves all their
    rows out."""
    paths = outside(source, (s.partition_path for s in slices), spec)
    if not paths:
        return slices
    gone = [s for s in slices if s.partition_path in paths]
    if not rows_follow_columns(source.snapshot):
        gone = [*without_rows(source, file_format, spec, gone)]
    left_out = frozenset(gone)
    return tuple(s for s in slices if s not in left_out)


def _request(
    source: ReadSource, spec: RowSpec, stored: pa.Schema, bound: str | None, merged: bool = True
) -> PruneRequest:
    known = frozenset(stored.names)
    made = [f for f in spec.schema if f.name not in known]
    return PruneRequest(
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


def _pruners(source: ReadSource) -> list[Pruner]:
    """Those that look into no index come first: ``asked_first``, which a pruner may say."""
    made = [make(offer, Settings(source.config)) for offer in kernel().offers("pruner")]
    return sorted(made, key=lambda pruner: not getattr(pruner, "asked_first", False))
