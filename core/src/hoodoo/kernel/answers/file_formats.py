"""What formats of base files and of log files answer, and the readers and writers that they
make."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from hoodoo.hookspecs.file_format import BaseRanges, ColumnBounds
from hoodoo.kernel.answers import shapes
from hoodoo.kernel.answers.declared import part, rule
from hoodoo.kernel.answers.seam import Ask, iterated, judged
from hoodoo.kernel.answers.wrong import Wrong, says
from hoodoo.model.column_range import ColumnRange


@rule("BaseFileFormat.extension")
def _extension(answer: Any, ask: Ask) -> str:
    found = shapes.text(answer, "an extension with its dot")
    if not found.startswith(".") or "/" in found or "_" in found or len(found) < 2:
        raise Wrong(says(found), "an extension with its dot, such as .parquet")
    return found


@rule("BaseFileFormat.writer")
def _writer(answer: Any, ask: Ask, local: str, *args: Any, **named: Any) -> Any:
    return part(answer, ask, "writer", local)


@rule("RewritesInPlace.in_place")
def _in_place(answer: Any, ask: Ask, local: str, *args: Any, **named: Any) -> Any:
    return None if answer is None else part(answer, ask, "in_place_writer", local)


@rule("UsesThreads.with_threads")
def _with_threads(answer: Any, ask: Ask, threads: int) -> Any:
    return part(answer, ask, ask.who.family)


@rule("LogFormat.writer")
def _log_writer(answer: Any, ask: Ask, local: str, *args: Any, **named: Any) -> Any:
    return part(answer, ask, "log_writer", local)


@rule("LogFileReader.base_rows", "LogFileReader.rows_near")
def _numbers(answer: Any, ask: Ask, *args: Any, **named: Any) -> Any:
    wanted = "an array of NumPy, int64, of numbers of at least 0 that ascend, or None"
    if answer is None:
        return None
    if not isinstance(answer, np.ndarray) or answer.dtype != np.int64 or answer.ndim != 1:
        raise Wrong(says(answer), wanted)
    if len(answer) and (answer[0] < 0 or (answer[1:] <= answer[:-1]).any()):
        raise Wrong(f"numbers that begin with {answer[:5].tolist()}", wanted)
    return answer


@rule("BaseFileReader.batches")
def _batches(
    answer: Any,
    ask: Ask,
    columns: Sequence[str] | None = None,
    where: Any = None,
    batch_rows: int | None = None,
    encoded: bool = False,
) -> Iterator[pa.RecordBatch]:
    shapes.having(answer, ("__iter__",), "an iterator of record batches")
    stored = ask.inner.schema.names
    names = frozenset(stored if columns is None else columns).intersection(stored)
    return _counted(answer, ask, names, batch_rows, encoded, where is None)


def _counted(
    found: Iterator[Any],
    ask: Ask,
    names: frozenset[str],
    batch_rows: int | None,
    encoded: bool,
    all_rows: bool,
) -> Iterator[pa.RecordBatch]:
    last: pa.Schema | None = None  # the last one that was found right
    whole, rows = ask.inner.schema, 0

    def right(batch: Any, ask: Ask) -> pa.RecordBatch:
        nonlocal last, rows
        shapes.instance(batch, pa.RecordBatch, "record batches")
        if batch_rows is not None and batch.num_rows > batch_rows:
            raise Wrong(f"a batch of {batch.num_rows} rows", f"batches of {batch_rows} at the most")
        if last is None or not batch.schema.equals(last):
            _check_columns(batch.schema, whole, names, encoded)
            last = batch.schema
        rows += batch.num_rows
        return batch

    yield from iterated(found, ask, right)
    if all_rows:
        judged(rows, ask, _all_rows)


def _check_columns(
    found: pa.Schema, whole: pa.Schema, names: frozenset[str], encoded: bool
) -> None:
    if len(found) != len(names) or set(found.names) != names:
        raise Wrong(f"a batch with {found.names}", f"batches with {sorted(names)}")
    for field in found:
        wanted, kind = whole.field(field.name).type, field.type
        if encoded and pa.types.is_dictionary(kind):
            kind = kind.value_type
        if kind != wanted:
            raise Wrong(
                f"a batch whose {field.name} is a {field.type}", f"a {wanted}, as schema says"
            )


def _all_rows(rows: int, ask: Ask) -> int:
    wanted = ask.inner.num_rows
    if rows != wanted:
        raise Wrong(f"{rows} rows", f"all {wanted} rows that num_rows counts")
    return rows


@rule("BaseFileWriter.close", "LogFileWriter.close")
def _close(answer: Any, ask: Ask) -> int:
    size = shapes.whole(answer, 0)
    local: str = ask.terms
    there = os.path.getsize(local) if os.path.exists(local) else None
    if there != size:
        raise Wrong(f"{size} bytes", f"the size of the file, which has {there}")
    return size


@rule("HasColumnRanges.column_ranges")
def _column_ranges(
    answer: Any, ask: Ask, storage: Any, path: str, columns: Sequence[str]
) -> Mapping[str, ColumnBounds]:
    wanted = "a mapping of some of the columns given to ColumnBounds"
    if not isinstance(answer, Mapping) or not set(answer).issubset(columns):
        raise Wrong(says(answer), wanted)
    for name, bounds in answer.items():
        if not isinstance(bounds, ColumnBounds):
            raise Wrong(f"{says(bounds)} for {name!r}", wanted)
        shapes.whole(bounds.nulls, 0)
        ends = [end for end in (bounds.least, bounds.greatest) if end is not None]
        if any(not isinstance(end, pa.Scalar) for end in ends) or len({e.type for e in ends}) > 1:
            raise Wrong(f"bounds {bounds!r} of {name!r}", "two Arrow scalars of the column's type")
    return answer


@rule("HasBaseRanges.base_ranges")
def _base_ranges(
    answer: Any, ask: Ask, storage: Any, path: str, columns: Sequence[str]
) -> BaseRanges:
    shapes.instance(answer, BaseRanges, "BaseRanges")
    shapes.whole(answer.rows, 0)
    _key_range(answer.keys, ask)
    found = answer.ranges
    if not isinstance(found, Mapping) or not set(found).issubset(columns):
        raise Wrong(f"ranges of {says(found)}", "ranges of some of the columns given")
    if any(not isinstance(one, ColumnRange) for one in found.values()):
        raise Wrong(f"ranges {says(found)}", "a ColumnRange for each column")
    return answer


@rule("KnowsKeys.key_range")
def _key_range(answer: Any, ask: Ask) -> tuple[str, str] | None:
    if answer is None:
        return None
    if not isinstance(answer, tuple) or [type(end) for end in answer] != [str, str]:
        raise Wrong(says(answer), "the least and the greatest record key, or None")
    return answer


@rule("FindsValues.batches_near")
def _batches_near(answer: Any, ask: Ask, column: str, values: Any) -> Iterator[pa.RecordBatch]:
    shapes.having(answer, ("__iter__",), "an iterator of record batches")
    return _counted(answer, ask, frozenset({column}), None, False, all_rows=False)
