"""Verify: record keys occur once, and the meta columns say what is true.

Memory: the record keys of one partition; where keys are unique in the whole table, eight bytes for
each of its keys besides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import field, frozen
from hoodoo.errors import HoodooError
from hoodoo.hookspecs.file_format import (
    BaseFileFormat,
    MembershipFilter,
    key_filter,
    key_range,
)
from hoodoo.hookspecs.participant import KeysCheck
from hoodoo.hookspecs.read_source import ReadSource
from hoodoo.model.filegroup import BaseFile, FileSlice
from hoodoo.model.findings import Checked, Finding, Found, Progress
from hoodoo.model.meta import COMMIT_TIME, FILE_NAME, PARTITION_PATH, RECORD_KEY
from hoodoo.timeline.instants import order_key
from hoodoo_rows.api import Batches, Reads, ScanPlan, StoredFiles

from hoodoo_cli.reports.verify import doubles
from hoodoo_cli.reports.verify.files import DataFile, Instants

_AT_ONCE = 4
_REWRITE = "rewrite the rows of the file group with an upsert."


@frozen
class _Keys:
    """The keys of one slice (strings), and what is wrong with its base file."""

    slice: FileSlice
    keys: pa.ChunkedArray = field(factory=lambda: pa.chunked_array([], pa.string()))
    findings: tuple[Finding, ...] = ()


def check_keys(
    source: ReadSource,
    instants: Instants,
    in_table: bool,
    progress: Progress,
    locations: Sequence[KeysCheck],
) -> Found:
    """Read keys and meta columns of the newest slices. ``in_table``: a key occurs once in the whole
    table, not only in its partition path (a global index). ``locations`` compare them with what
    participants say of keys."""
    config = source.config
    if not source.timeline.writes():
        return Found()
    if not config.record_key_fields:
        return Found(skipped=("record keys: the table has none",))
    if not config.populate_meta_fields and source.key_generator is None:
        reason = f"record keys: they are virtual, and no plugin offers {config.key_generator}"
        return Found(skipped=(reason,))
    try:
        # Rows that another writer's log files name may be others than those of their keys.
        plan = Reads.by_keys(Reads.plan(source, columns=doubles.columns(source)))
        file_format = StoredFiles.format(source)
    except HoodooError as error:
        finding = Finding("read.failed", error.obj, error.rule.rstrip("."), error.fix)
        return Found((finding,), skipped=("record keys: the table can't be read",))
    read = partial(_read, source, plan, file_format, instants)
    return _check(source, plan, read, in_table, progress, locations)


def _check(
    source: ReadSource,
    plan: ScanPlan,
    read: Callable[[FileSlice], Iterator[_Keys]],
    in_table: bool,
    progress: Progress,
    locations: Sequence[KeysCheck],
) -> Found:
    findings: list[Finding] = []
    todo = [partial(read, s) for s in plan.slices]
    rows = done = partitions = 0
    hashes: list[doubles.Hashes] = []
    told: list[Finding | str] = []
    each = Batches.in_order(todo, _AT_ONCE)
    for partition, group in groupby(each, key=lambda k: k.slice.partition_path):
        partitions += 1
        found: list[_Keys] = []
        for one in group:
            done += 1
            progress("keys", done, len(todo))
            findings += one.findings
            found.append(one)
            for check in locations:
                check.see(one.slice, one.keys)
        rows += sum(len(one.keys) for one in found)
        if doubled := doubles.repeated(doubles.joined(one.keys for one in found)):
            slices = [one.slice for one in found]
            told += doubles.in_partition(source, plan, partition, slices, doubled)
        if in_table:
            hashes.append(doubles.hashed(pc.unique(doubles.joined(one.keys for one in found))))
    if in_table and partitions > 1:
        suspect = doubles.common(hashes)
        told += doubles.in_table(source, plan, suspect)
    for check in locations:
        told += check.findings()
    findings += (one for one in told if isinstance(one, Finding))
    notes = tuple(one for one in told if isinstance(one, str))
    return Found(tuple(findings), Checked(partitions=partitions, keys=rows), notes=notes)


def _read(
    source: ReadSource,
    plan: ScanPlan,
    file_format: BaseFileFormat,
    instants: Instants,
    slice_: FileSlice,
) -> Iterator[_Keys]:
    """The keys of the slice's merged rows. The base file is looked at by itself, too."""
    findings: list[Finding] = []
    base = slice_.base_file
    stored = source.config.populate_meta_fields
    try:
        keys: list[pa.Array] = []
        if stored and base is not None:
            keys, findings = _base(source, file_format, instants, base)
        if slice_.log_files or not stored:
            keys = [key for key, _ in doubles.rows(source, plan, slice_)]
    except HoodooError as error:
        files: list[DataFile] = [*slice_.log_files, *([base] if base is not None else [])]
        if all(source.storage.head(file.path) for file in files):  # else cleaned away meanwhile
            rule = f"its rows can't be read: {error.obj}: {error.rule.rstrip('.')}"
            findings.append(Finding("read.failed", files[-1].path, rule, error.fix))
        yield _Keys(slice_, findings=tuple(findings))
        return
    yield _Keys(slice_, pa.chunked_array(keys, pa.string()), tuple(findings))


def _base(
    source: ReadSource, file_format: BaseFileFormat, instants: Instants, base: BaseFile
) -> tuple[list[pa.Array], list[Finding]]:
    """The keys of a base file, and whether its meta columns and its footer are right."""
    said: dict[str, set[str | None]] = {COMMIT_TIME: set(), PARTITION_PATH: set(), FILE_NAME: set()}
    keys: list[pa.Array] = []
    denied: list[str] = []
    nulls = 0
    with file_format.reader(source.storage, base.path) as reader:
        ends, known = key_range(reader), key_filter(reader)
        for batch in reader.batches([*said, RECORD_KEY], encoded=True):
            for name in said:
                if name in batch.schema.names:
                    said[name] |= set(pc.unique(batch.column(name)).to_pylist())
            if RECORD_KEY not in batch.schema.names:
                nulls += batch.num_rows
                continue
            column = batch.column(RECORD_KEY)
            nulls += column.null_count
            column = column.drop_null()
            keys.append(column)
            if len(column):
                denied += _denied(column, ends, known)[: doubles.SHOWN].to_pylist()
    return keys, list(_about(base, said, nulls, denied, instants))


def _denied(
    keys: pa.Array, ends: tuple[str, str] | None, known: MembershipFilter | None
) -> pa.Array:
    """Those of ``keys`` that the file says it lacks."""
    lacks = pa.array(np.zeros(len(keys), bool))
    # Writers compare in the order of bytes or in Java's, which agree on bounds without rare
    # characters.
    if ends is not None and all(char < "\ue000" for end in ends for char in end):
        low, high = ends
        lacks = pc.or_(pc.less(keys, low), pc.greater(keys, high))
    if known is not None:
        lacks = pc.or_(lacks, pc.invert(known.might_contain(keys)))
    return keys.filter(lacks)


def _about(
    base: BaseFile,
    said: dict[str, set[str | None]],
    nulls: int,
    denied: list[str],
    instants: Instants,
) -> Iterator[Finding]:
    if nulls:
        rule = f"{nulls} of its rows have no record key"
        yield Finding(
            "key.null", base.path, rule, "delete the file group's rows, and write them again."
        )
    if denied:
        rule = (
            f"its footer denies record keys that it has, for example {doubles.some(denied)}; "
            "writers then insert them again"
        )
        yield Finding("key.filter", base.path, rule, _REWRITE)
    for kind, column, right in (
        ("meta.file_name", FILE_NAME, base.name),
        ("meta.partition_path", PARTITION_PATH, base.partition_path),
    ):
        wrong = said[column] - {right}
        if wrong:
            rule = f"{column} is {doubles.some(wrong)} in some rows, and {right!r} is right"
            yield Finding(kind, base.path, rule, _REWRITE)
    limit = order_key(base.instant)
    wrong = {
        time
        for time in said[COMMIT_TIME]
        if time is None or order_key(time) > limit or not instants.is_committed(time)
    }
    if wrong:
        rule = (
            f"{COMMIT_TIME} is {doubles.some(wrong)} in some rows, no committed instant up to "
            f"{base.instant}"
        )
        yield Finding("meta.commit_time", base.path, rule, _REWRITE)
