"""Pruning: what can hold a row that the filter lets through, given what is promised of its rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.fs as pafs

from hoodoo.hookspecs.key_generator import KeyGenerator


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
