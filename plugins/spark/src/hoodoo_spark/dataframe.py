"""A scan as a DataFrame: Spark's own Parquet reader for the files that it reads rightly, Arrow
tasks for the others, the union of both where there are both."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
from attrs import evolve, frozen
from hoodoo.hookspecs.file_format import is_plain_parquet
from hoodoo.hookspecs.key_generator import record_key_columns
from hoodoo.log import get_logger
from hoodoo.model.filegroup import FileSlice
from hoodoo.storage.api import Entry, has_plain_files
from hoodoo.storage.together import together
from hoodoo_rows.api import Batches, Query, Reads, Scan, StoredFiles

from hoodoo_spark.exact_files import is_read, read_files
from hoodoo_spark.few_rows import few_rows
from hoodoo_spark.native_read import arrow_scan
from hoodoo_spark.null_keys import refused_nulls
from hoodoo_spark.relations import known
from hoodoo_spark.scan_frame import with_pruning
from hoodoo_spark.session import find, functions, is_connect, parallelism, refuse_unshared
from hoodoo_spark.types import is_not_native, spark_schema

_log = get_logger(__name__)
TASK_BYTES = 128 << 20  # of files in one Arrow task, as Spark's own reader packs them


def to_dataframe(scan: Scan | Query, spark: Any = None) -> Any:
    """``scan`` as a lazy DataFrame; rows in no particular order.

    ``spark`` defaults to the active session. The files are chosen now: later commits are not seen.
    Filters that are added to the DataFrame itself (``where``, ``filter``) leave out files that
    can't have the values asked for, as pruners know, and row groups of natively read files; the
    scan's own ``where`` does more of both, and runs in Python tasks."""
    if spark is None:
        spark = find()
    refuse_unshared(scan.source.storage)
    if not isinstance(scan, Scan):
        return _of_units(scan, spark)
    if (few := few_rows(scan, spark)) is not None:
        return few
    frame = _of_scan(scan, spark)
    # Over Connect plans are the server's: filters of the DataFrame leave out row groups alone.
    return frame if is_connect(spark) else with_pruning(frame, scan, _of_scan)


def _of_scan(scan: Scan, spark: Any) -> Any:
    columns = scan.plan.spec.columns
    if not columns:  # Spark counts the rows of no columns, but nobody can hand it such rows
        scan = _with_a_column(scan)
    split = split_slices(scan)
    schema = spark_schema(scan.schema)
    frames = _native(scan, split.native, schema, spark)
    if frames is None:
        _log.warning("spark.files.by_tasks", table=scan.plan.table, files=len(split.native))
        split, frames = Split((), scan.plan.slices), []
    if split.merged:
        tasks = _tasks(spark, sum(slice_.size for slice_ in split.merged))
        frames.append(arrow_scan(spark, Reads.payloads(split.merged, tasks), scan.step, schema))
    found = frames[0] if frames else spark.createDataFrame([], schema)
    for frame in frames[1:]:
        found = found.union(frame)
    return found if columns else found.select()


def _native(scan: Scan, slices: Sequence[FileSlice], schema: Any, spark: Any) -> list[Any] | None:
    """DataFrames of what Spark itself reads of ``slices``; None where it does not find their
    files."""
    if not slices:
        return []
    files, spec = _present(scan, slices), scan.plan.spec
    if spec.keys is not None:
        return _made(scan, files, schema, spark)
    names = tuple((file.path, file.size, file.modified) for file in files)
    shape = (_hashed(scan.schema), _hashed(scan.plan.stored), frozenset(spec.hidden))
    key = (scan.source.storage.root, names, shape)
    return known(spark, key, len(files), partial(_made, scan, files, schema, spark))


def _hashed(schema: pa.Schema) -> bytes:
    """What tells schemas apart, metadata included."""
    return schema.serialize().to_pybytes()


def _made(scan: Scan, files: Sequence[Entry], schema: Any, spark: Any) -> list[Any] | None:
    spec, stored = scan.plan.spec, scan.plan.stored
    hidden = spec.hidden
    shapes = [pa.schema([f for f in scan.schema if f.name not in hidden])]
    if spec.keys is not None and spec.keys.record_key_fields:
        names = StoredFiles.key_columns(spec.keys, stored)
        shapes.append(pa.schema([stored.field(n) for n in names]))
    wide = _with_others(shapes[0], stored, hidden)
    root = scan.source.storage.root
    found = read_files(spark, root, files, [wide, *shapes[1:]])
    if found is None and len(wide) > len(shapes[0]):
        found = read_files(spark, root, files, shapes)
    elif found is not None and len(wide) > len(shapes[0]):
        own = ("`{}`".format(name.replace("`", "``")) for name in shapes[0].names)
        found[0] = found[0].select(*own)
    if found is None:
        return None
    if len(shapes[0]) < len(schema):
        found[0] = _with_nulls(found[0], schema, hidden)
    if spec.keys is None:
        return found
    keys = [refused_nulls(frame, spec.keys, shapes[1], schema) for frame in found[1:]]
    return [found[0], *keys]


def _with_others(shape: pa.Schema, stored: pa.Schema, hidden: Container[str]) -> pa.Schema:
    """``shape`` with the other columns that the files have. Spark reads none of them, but takes the
    bytes of the files for those of all columns of a relation: so it knows that few columns are few
    bytes, and chooses joins by that."""
    there = {name.lower() for name in shape.names}
    names = [name.lower() for name in stored.names]
    if len({*names}) < len(names):  # Spark looks columns up without their case
        return shape
    others = [
        field
        for field, name in zip(stored, names)
        if name not in there and field.name not in hidden and not is_not_native(field.type)
    ]
    return pa.schema([*shape, *others])


def _with_nulls(frame: Any, schema: Any, names: Container[str]) -> Any:
    """``frame`` in the shape ``schema``, with null in the columns ``names``, whatever its files
    store."""
    F = functions(frame.sparkSession)
    return frame.select(
        *(
            F.lit(None).cast(f.dataType).alias(f.name) if f.name in names else frame[f"`{f.name}`"]
            for f in schema
        )
    )


def _present(scan: Scan, slices: Sequence[FileSlice]) -> list[Entry]:
    """The base files of ``slices`` as they are in the store. CorruptTableError for one that is
    lost, or CommitConflictError where a clean took it, since the scan was planned or since somebody
    noted that it is there."""
    storage, found = scan.source.storage, []
    asked = [partial(storage.head, s.base_file.path) for s in slices if s.base_file is not None]
    for slice_, entry in zip(slices, together(storage, *asked), strict=True):
        if entry is None and slice_.base_file is not None:
            path = slice_.base_file.path
            with Batches.explained(storage, slice_), scan.plan.file_format.reader(storage, path):
                pass
            entry = storage.head(path)  # it came back
        found.append(entry)
    return found


def _of_units(query: Query, spark: Any) -> Any:
    payloads_ = query.payloads(_tasks(spark, query.size))
    return arrow_scan(spark, payloads_, query.step, spark_schema(query.schema))


def _tasks(spark: Any, size: int) -> int:
    return max(parallelism(spark), -(-size // TASK_BYTES))


@frozen
class Split:
    """``native`` slices are left to Spark's reader, ``merged`` ones are read by Arrow tasks."""

    native: tuple[FileSlice, ...]
    merged: tuple[FileSlice, ...]


def split_slices(scan: Scan) -> Split:
    """Which slices Spark's Parquet reader gives the same rows for as ``scan``.

    Those without log files whose wanted columns have the table's types, or are missing at the top
    level: Spark fills those with null. It also widens some types, but which ones depends on its
    version. Opens the footer of one file for each instant that wrote files: a write has one schema.
    """
    storage, file_format = scan.source.storage, scan.plan.file_format
    spec, slices = scan.plan.spec, scan.plan.slices
    possible = (
        (spec.where is None or spec.again)
        and not spec.hidden.issuperset(spec.columns)  # these it does not read
        and is_plain_parquet(file_format)
        # Any other store is reached through its plugin; Spark may have no connector for it.
        and has_plain_files(storage)
        and not any(is_not_native(field.type) for field in scan.schema)
    )
    if not possible:
        return Split((), slices)
    samples: dict[str, str] = {}
    for slice_ in slices:
        if slice_.base_file is not None:
            samples.setdefault(slice_.base_file.instant, slice_.base_file.path)

    seen = pa.schema([f for f in scan.schema if f.name not in spec.hidden])

    def has_keys(file: pa.Schema) -> bool:  # a task says which column a file lacks
        keys = spec.keys
        return keys is None or set(record_key_columns(keys)) <= {*file.names}

    def fits(instant: str, path: str) -> Iterator[tuple[str, bool]]:
        with file_format.reader(storage, path) as reader:
            yield instant, has_keys(reader.schema) and reads_as(reader.schema, seen)

    asked: list[Callable[[], Iterator[tuple[str, bool]]]]
    asked = [partial(fits, instant, path) for instant, path in samples.items()]
    good = {instant for instant, fit in Batches.in_order(asked, files=8) if fit}
    native = [
        s
        for s in slices
        if s.base_file and not s.log_files and s.base_file.instant in good and is_read(s.base_file)
    ]
    chosen = {id(s) for s in native}
    return Split(tuple(native), tuple(s for s in slices if id(s) not in chosen))


def reads_as(file: pa.Schema, schema: pa.Schema) -> bool:
    """Whether Spark reads files of the schema ``file`` as ``schema`` without a change of type."""
    for field in schema:
        at = file.get_field_index(field.name)
        if at >= 0 and file.field(at).type != field.type:
            return False
    return True


def _with_a_column(scan: Scan) -> Scan:
    spec = scan.plan.spec
    if not spec.schema.names:
        spec = evolve(spec, schema=pa.schema([scan.plan.stored.field(0)]))
    spec = evolve(spec, columns=(spec.schema.names[0],))
    return evolve(scan, plan=evolve(scan.plan, spec=spec))
