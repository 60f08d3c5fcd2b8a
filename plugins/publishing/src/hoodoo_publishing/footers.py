"""What Parquet footers say of base files: rows, and for each column its nulls and bounds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from attrs import frozen
from hoodoo.model.filegroup import BaseFile
from hoodoo.storage.api import Storage
from hoodoo.storage.together import side_by_side

_WAITING = 64 << 20  # bytes of footers that wait
_FLOATING = ("FLOAT", "DOUBLE")  # footers leave NaN out: no format says their bounds


@frozen
class Column:
    """One leaf column. ``nulls``: None if not known. ``least`` and ``most``: None if not known, or
    without values. ``physical``: its type in the file."""

    values: int
    nulls: int | None
    compressed: int
    least: Any = None
    most: Any = None
    physical: str = ""


@frozen
class Footer:
    """``rows``; ``columns``: path in the Parquet schema -> column; ``offsets``: the byte where each
    row group begins."""

    rows: int
    columns: Mapping[str, Column]
    offsets: tuple[int, ...]


def footers(
    storage: Storage, files: Iterable[BaseFile], known: dict[str, Footer]
) -> dict[str, Footer]:
    """Those of ``files``, by path; they are added to ``known``, and not read if they are there.
    Raises FileNotFoundError if one of them is not there any more."""
    each = [file for file in files if file.path not in known]
    calls = ((partial(_footer, storage, file.path), 1 << 16) for file in each)
    for file, read in zip(each, side_by_side(storage, calls, _WAITING), strict=True):
        known[file.path] = read
    return known


def _footer(storage: Storage, path: str) -> Footer:
    with storage.open(path) as source:
        metadata = pq.read_metadata(source)
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    columns = {}
    for number in range(metadata.num_columns if groups else 0):
        chunks = [group.column(number) for group in groups]
        columns[chunks[0].path_in_schema] = _column(chunks)
    offsets = (group.column(0) for group in groups)
    starts = (c.dictionary_page_offset or c.data_page_offset for c in offsets)
    return Footer(metadata.num_rows, columns, tuple(starts))


def _column(chunks: list[Any]) -> Column:
    values = sum(chunk.num_values for chunk in chunks)
    size = sum(chunk.total_compressed_size for chunk in chunks)
    each = [chunk.statistics for chunk in chunks]
    if any(found is None or found.null_count is None for found in each):
        return Column(values, None, size)
    nulls = sum(found.null_count for found in each)
    physical = chunks[0].physical_type
    if physical in _FLOATING:
        return Column(values, nulls, size)
    bounded = [
        found
        for found, chunk in zip(each, chunks, strict=True)
        if found.null_count != chunk.num_values
    ]
    if not bounded or not all(found.has_min_max for found in bounded):
        return Column(values, nulls, size)
    try:
        least, most = min(f.min for f in bounded), max(f.max for f in bounded)
    except (
        ValueError,
        OverflowError,
        TypeError,
        pa.ArrowException,
    ):  # a year after 9999, for example
        return Column(values, nulls, size)
    return Column(values, nulls, size, least, most, physical)


def longer(text: str, most: int) -> str | None:
    """A text of at most ``most`` characters that is not less than ``text``; None if there is
    none."""
    if len(text) <= most:
        return text
    for at in range(most - 1, -1, -1):
        # The characters from D800 on to DFFF are none.
        following = 0xE000 if ord(text[at]) == 0xD7FF else ord(text[at]) + 1
        if following <= 0x10FFFF:
            return text[:at] + chr(following)
    return None
