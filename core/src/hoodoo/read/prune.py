"""Pruning by partition: which partition paths can hold a row that the filter lets through."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
    import pyarrow.dataset as ds  # imports pandas where there is one: only filters pay

    format_ = ds.ParquetFileFormat()
    nowhere = pafs.LocalFileSystem()
    fragments = [
        format_.make_fragment(_token(path), nowhere, _promise(keys, path, schema))
        for path in dict.fromkeys(paths)
    ]
    dataset = ds.FileSystemDataset(fragments, schema, format_, nowhere)
    return {_path(fragment.path) for fragment in dataset.get_fragments(where)}


def _token(path: str) -> str:
    return "p" + path  # a fragment's path may not be empty, that of an unpartitioned table is


def _path(token: str) -> str:
    return token[1:]


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
