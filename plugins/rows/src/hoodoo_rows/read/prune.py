"""Pruning: what can hold a row that the filter lets through, given what is promised of its rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from hoodoo.hookspecs.file_format import BaseFileFormat
from hoodoo.hookspecs.key_generator import KeyGenerator
from hoodoo.hookspecs.read_source import ReadSource
from hoodoo.model.filegroup import FileSlice

from hoodoo_rows.read.open import pruned_rows
from hoodoo_rows.read.prefetch import in_order
from hoodoo_rows.read.source import check_extension
from hoodoo_rows.read.spec import RowSpec

# Footers that are looked at before a read begins, where paths prove nothing; and how many at a
# time.
_MOST_FOOTERS = 64
_AT_ONCE = 8


def by_path(source: ReadSource, spec: RowSpec) -> bool:
    """Whether the filter looks at what partition paths are made of."""
    keys = source.key_generator
    fields = set() if keys is None else set(keys.partition_fields)
    return spec.where is not None and not fields.isdisjoint(spec.where_columns)


def outside(source: ReadSource, paths: Iterable[str], spec: RowSpec) -> frozenset[str]:
    """Those of ``paths`` of which the key generator says that no row whose columns make them is let
    through by the filter. What else may lie there is another question."""
    keys = source.key_generator
    if spec.where is None or keys is None or not by_path(source, spec):
        return frozenset()
    known = frozenset(paths)
    return known - matching_paths(known, spec.where, spec.schema, keys)


def without_rows(
    source: ReadSource, file_format: BaseFileFormat, spec: RowSpec, slices: Sequence[FileSlice]
) -> frozenset[FileSlice]:
    """Those of ``slices`` whose footers say that no row is let through by the filter; where there
    are many, none: whoever reads them looks at their footers, too. Merged rows have no footer."""
    bases = [s for s in slices if s.base_file is not None and not s.log_files]
    if len(bases) > _MOST_FOOTERS:
        return frozenset()

    def look(slice_: FileSlice) -> Iterator[FileSlice]:
        check_extension(slice_, file_format)
        if not pruned_rows(source.storage, file_format, spec, slice_)[1]:
            yield slice_

    return frozenset(in_order([partial(look, s) for s in bases], _AT_ONCE))


def matching_paths(
    paths: Iterable[str], where: pc.Expression, schema: pa.Schema, keys: KeyGenerator
) -> set[str]:
    """Those of ``paths`` for which ``where`` can be true, given what each path says of its rows.

    ``schema``: at least the columns of the filter. Opens no file: a dataset of fragments that
    carry only a partition expression answers which of them satisfy a filter (Arrow's own
    simplification, so null and type rules are those of the filter itself).
    """
    known = list(dict.fromkeys(paths))
    promises = [_promise(keys, path, schema) for path in known]
    return {known[n] for n in satisfiable(promises, where, schema)}


def satisfiable(
    promises: Sequence[pc.Expression], where: pc.Expression, schema: pa.Schema
) -> list[int]:
    """The places of those ``promises`` beside which ``where`` can be true."""
    import pyarrow.dataset as ds  # imports pandas where there is one: only filters pay
    import pyarrow.fs as pafs  # and the clients of all stores

    format_ = ds.ParquetFileFormat()
    nowhere = pafs.LocalFileSystem()
    fragments = [
        format_.make_fragment(f"p{n}", nowhere, promise) for n, promise in enumerate(promises)
    ]
    dataset = ds.FileSystemDataset(fragments, schema, format_, nowhere)
    return [int(fragment.path[1:]) for fragment in dataset.get_fragments(where)]


def _promise(keys: KeyGenerator, path: str, schema: pa.Schema) -> pc.Expression:
    """What holds for every row below ``path``, as an expression."""
    values: Mapping[str, Any] = keys.partition_values(path, schema) or {}
    promise: pc.Expression | None = None
    for name, value in values.items():
        if name not in schema.names:
            continue
        column = pc.field(name)
        if value is None:
            part = column.is_null()
        else:
            part = column == pa.scalar(value, schema.field(name).type)
        promise = part if promise is None else promise & part
    return pc.scalar(True) if promise is None else promise
