"""Turning what a user hands over into partitions of Arrow batches."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from hoodoo.errors import DataError
from hoodoo.kernel.answers import excused
from hoodoo.kernel.registry import kernel
from hoodoo.storage.uri import local_path, split

if TYPE_CHECKING:  # pyarrow.dataset imports pandas where there is one: only who has a dataset pays
    import pyarrow.dataset as ds

Partition = Callable[[], Iterator[pa.RecordBatch]]

# Below this many bytes a table isn't worth cutting into several partitions.
PARTITION_BYTES = 32 << 20


def as_arrow(data: Any) -> pa.Table | pa.RecordBatchReader | ds.Dataset:
    """``data`` as one of the three Arrow shapes that engines read.

    A generator of record batches is read once, as they come. Raises DataError for what neither is
    Arrow nor speaks ``__arrow_c_stream__``, nor is known to a plugin, and the errors of plugins."""
    if isinstance(data, (pa.Table, pa.RecordBatchReader)) or _is_dataset(data):
        return data
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    known = known_data(data, None)
    if known is not data:
        return known
    if hasattr(data, "__arrow_c_stream__"):
        try:
            with excused():
                return pa.RecordBatchReader.from_stream(data)
        except pa.ArrowInvalid as error:  # a stream of one column
            raise not_arrow(data) from error
    first = next(data, None) if isinstance(data, Iterator) else None
    if isinstance(first, (pa.RecordBatch, pa.Table)):
        streams = map(pa.RecordBatchReader.from_stream, chain([first], data))
        return pa.RecordBatchReader.from_batches(first.schema, chain.from_iterable(streams))
    raise not_arrow(data)


def known_data(data: Any, schema: pa.Schema | None, keys: Sequence[str] | None = None) -> Any:
    """``data`` in Arrow where a plugin knows it, for a table of ``schema``; else as it is. Raises
    the errors of plugins. ``keys``: the columns of the record key, where plain values are keys."""
    for _plugin, implementation in kernel().implementations("hoodoo_arrow_data"):
        found = implementation.function(data, schema, keys)
        if found is not None:
            return found
    return data


def partitions(data: pa.Table | pa.RecordBatchReader | ds.Dataset, wanted: int) -> list[Partition]:
    """At most about ``wanted`` partitions of similar size; the rows of ``data`` in order."""
    if isinstance(data, pa.Table):
        return _table_partitions(data, wanted)
    is_stream = isinstance(data, pa.RecordBatchReader)
    found = [lambda: iter(data)] if is_stream else _dataset_partitions(data, wanted)
    return [_excused(part) for part in found]


def _excused(part: Partition) -> Partition:
    def read() -> Iterator[pa.RecordBatch]:
        with excused():
            yield from part()

    return read


def _table_partitions(table: pa.Table, wanted: int) -> list[Partition]:
    count = max(1, min(wanted, table.nbytes // PARTITION_BYTES, table.num_rows))
    step = -(-table.num_rows // count) if table.num_rows else 0

    def part(number: int) -> Partition:
        def read() -> Iterator[pa.RecordBatch]:
            yield from table.slice(number * step, step).to_batches(max_chunksize=1 << 17)

        return read

    return [part(number) for number in range(count)]


def _dataset_partitions(dataset: ds.Dataset, wanted: int) -> list[Partition]:
    try:
        pieces = [piece for fragment in dataset.get_fragments() for piece in _split(fragment)]
    except (ValueError, TypeError):  # with a filter, or merged: only itself knows its rows
        return [lambda: dataset.to_batches(batch_size=1 << 17, use_threads=False)]
    groups: list[list[Any]] = [[] for _ in range(max(1, min(wanted, len(pieces))))]
    for number, piece in enumerate(pieces):  # contiguous runs keep the order of the rows
        groups[number * len(groups) // max(1, len(pieces))].append(piece)

    def part(group: list[Any]) -> Partition:
        def read() -> Iterator[pa.RecordBatch]:
            for piece in group:
                yield from piece.to_batches(
                    schema=dataset.schema, batch_size=1 << 17, use_threads=False
                )

        return read

    return [part(group) for group in groups]


def _is_dataset(data: Any) -> bool:
    found = sys.modules.get("pyarrow.dataset")  # who has a dataset has imported it
    return found is not None and isinstance(data, found.Dataset)


def _split(fragment: Any) -> list[Any]:
    import pyarrow.dataset as ds

    if isinstance(fragment, ds.ParquetFileFragment) and fragment.num_row_groups > 1:
        return list(fragment.split_by_row_group())
    return [fragment]


_USUAL = (
    "give a pyarrow Table, Dataset or RecordBatchReader, an object with __arrow_c_stream__ "
    "(polars, duckdb, pandas), a list of dictionaries, or a Spark DataFrame."
)


def overlap(one: str | os.PathLike[str], other: str | os.PathLike[str]) -> bool:
    """Whether one of two paths is the other or lies within it, by links and other spellings,
    too."""
    places = []
    for path in (one, other):
        scheme, rest = split(path)
        if scheme in ("", "file"):
            places.append(os.path.realpath(local_path(path)).rstrip("/") + "/")
        else:
            offer = kernel().find("storage", scheme)  # s3a is s3
            parts = [part for part in rest.split("/") if part]
            places.append("/".join([f"{offer.name if offer else scheme}:", *parts, ""]))
    return places[0].startswith(places[1]) or places[1].startswith(places[0])


def not_arrow(data: Any) -> DataError:
    """The error for ``data``."""
    rule, fix = _what(data)
    kind = type(data)
    name = (
        kind.__qualname__
        if kind.__module__ == "builtins"
        else f"{kind.__module__}.{kind.__qualname__}"
    )
    return DataError(f"data of type {name}", rule, fix)


def _what(data: Any) -> tuple[str, str]:
    library, name = type(data).__module__.partition(".")[0], type(data).__name__
    if library == "pyspark":
        return "is data of Spark, and no installed engine reads it.", 'pip install "hoodoo[spark]".'
    if name == "Series":
        return "is a single column.", "give a frame: data.to_frame()."
    if isinstance(data, (pa.Array, pa.ChunkedArray)):
        return "is a single column.", 'give a table: pyarrow.table({"name": data}).'
    if isinstance(data, (str, os.PathLike)):
        return (
            "is a path.",
            "give pyarrow.dataset.dataset(path), which is read while it is written.",
        )
    if isinstance(data, Iterator):
        return (
            "is an iterator, so its columns are not known.",
            "give list(data) if its items are dictionaries, or "
            "pyarrow.RecordBatchReader.from_batches(schema, data) if they are record batches.",
        )
    if isinstance(data[0] if isinstance(data, list) and data else data, Mapping):
        return "is Python's own, and no installed plugin reads it.", "pip install hoodoo-frames."
    if isinstance(data, (list, tuple)) and data:
        if isinstance(data[0], pa.RecordBatch):
            return "is a list of record batches.", "give pyarrow.Table.from_batches(data)."
        if isinstance(data[0], pa.Table):
            return "is a list of tables.", "give pyarrow.concat_tables(data)."
        return (
            f"is a list of {type(data[0]).__name__}, which names no columns.",
            "give a list of dictionaries, one for each row, or a dictionary of columns.",
        )
    if isinstance(data, (list, tuple)):
        return (
            "is empty, so its columns are not known.",
            "give a pyarrow Table: schema.empty_table() has columns and no rows.",
        )
    if data is None:
        return "is no data.", _USUAL
    for method in ("to_arrow", "to_pyarrow", "to_pandas"):
        if callable(getattr(data, method, None)):
            return "is not Arrow.", f"give data.{method}()."
    return "is not Arrow.", _USUAL
