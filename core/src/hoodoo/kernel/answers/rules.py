"""What can't be declared of the answers of families that have little of it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hoodoo.hookspecs.layout import Slot
from hoodoo.hookspecs.merger import Merged
from hoodoo.kernel.answers import shapes
from hoodoo.kernel.answers.declared import part, rule
from hoodoo.kernel.answers.seam import Ask, iterated
from hoodoo.kernel.answers.wrong import Wrong, says
from hoodoo.model.filegroup import FileSlice
from hoodoo.model.log_block import BlockKind
from hoodoo.model.meta import RECORD_KEY
from hoodoo.storage.api import Entry, Storage


# --- storages and locks ---------------------------------------------------------------------------
@rule("Storage.root")
def _root(answer: Any, ask: Ask) -> str:
    found = shapes.text(answer, "an absolute URI")
    if "://" not in found:
        raise Wrong(says(found), "an absolute URI")
    return found


@rule("Storage.head")
def _head(answer: Any, ask: Ask, path: str) -> Entry | None:
    wanted = f"the Entry of {path!r}, or None"
    if answer is not None:
        if not isinstance(answer, Entry) or answer.path != path:
            raise Wrong(says(answer), wanted)
        shapes.whole(answer.size, 0)
    return answer


@rule("Storage.list")
def _list(answer: Any, ask: Ask, prefix: str = "", recursive: bool = False) -> list[Entry]:
    wanted = "a list of Entry below the prefix, sorted by path, each once"
    shapes.instance(answer, list, wanted)
    start = f"{prefix.rstrip('/')}/" if prefix.strip("/") else ""
    depth, last = len(start), ""
    for entry in answer:  # as many turns as the store has made entries
        if not isinstance(entry, Entry):
            raise Wrong(f"a list with {says(entry)} in it", wanted)
        path = entry.path
        if path <= last or not path.startswith(start):
            raise Wrong(f"a list with {path!r} after {last!r}", wanted)
        if (
            entry.size < 0
            or (recursive and entry.is_dir)
            or (not recursive and "/" in path[depth:])
        ):
            raise Wrong(f"a list with {entry!r}", wanted)
        last = path
    return answer


@rule("StoreTraits.names")
def _names(answer: Any, ask: Ask, folder: str) -> list[str]:
    if not isinstance(answer, list) or not set(map(type, answer)) <= {str}:
        raise Wrong(says(answer), "a list of names")
    return answer


@rule("Storage.scratch")
def _scratch(answer: Any, ask: Ask) -> str:
    found = shapes.text(answer, "a local directory")
    if not os.path.isdir(found):
        raise Wrong(says(found), "a local directory that is there")
    return found


@rule("Lock.acquire")
def _acquire(answer: Any, ask: Ask, storage: Storage, name: str, wait: float) -> Any:
    if answer is None:
        return None
    try:
        held = part(answer, ask, "held")
        shapes.flag(answer.from_dead)
    except Exception:
        with suppress(Exception):  # nobody else would
            answer.release()
        raise
    return held


# --- mergers --------------------------------------------------------------------------------------
_EITHER = "a Merged with newer_wins, rows or both"


@rule("Merger.columns")
def _columns(answer: Any, ask: Ask) -> tuple[str, ...] | None:
    return None if answer is None else shapes.names(answer)


@rule("Merger.merge")
def _merge(answer: Any, ask: Ask, older: pa.Table, newer: pa.Table) -> Merged:
    shapes.instance(answer, Merged, _EITHER)
    wins, rows = answer.newer_wins, answer.rows
    if wins is None and rows is None:
        raise Wrong("a Merged with neither", _EITHER)
    count = older.num_rows
    if wins is not None:
        wanted = f"newer_wins of {count} booleans, none of them null"
        if not isinstance(wins, pa.Array | pa.ChunkedArray) or wins.type != pa.bool_():
            raise Wrong(f"newer_wins: {says(wins)}", wanted)
        if len(wins) != count or wins.null_count:
            raise Wrong(f"newer_wins: {says(wins)}", wanted)
    if rows is not None:
        _check_rows(rows, older)
    return answer


def _check_rows(rows: Any, older: pa.Table) -> None:
    wanted = f"rows: a pyarrow.Table of {older.num_rows} rows in the schema of older"
    if not isinstance(rows, pa.Table) or rows.num_rows != older.num_rows:
        raise Wrong(f"rows: {says(rows)}", wanted)
    if sorted(rows.schema.names) != sorted(older.schema.names):
        raise Wrong(f"rows: {says(rows)}", f"{wanted}, {older.schema.names}")
    for field in older.schema:
        made = rows.column(field.name)
        if made.type != field.type:
            raise Wrong(f"rows whose {field.name} is a {made.type}", f"{wanted}: a {field.type}")
        if not field.nullable and made.null_count:
            raise Wrong(f"rows whose {field.name} is null", f"{wanted}: it can't be null")
    if RECORD_KEY in older.schema.names:
        same = pc.equal(rows.column(RECORD_KEY), older.column(RECORD_KEY))
        if same.null_count > older.column(RECORD_KEY).null_count or not pc.all(same).as_py():
            raise Wrong("rows of other record keys", f"{wanted}, row i with the key of pair i")


# --- layouts --------------------------------------------------------------------------------------
@rule("Layout.plan")
def _plan(
    answer: Any,
    ask: Ask,
    arrivals: Mapping[str, int],
    slices: Sequence[FileSlice],
    row_bytes: float,
) -> tuple[Slot, ...]:
    slots: tuple[Slot, ...] = shapes.items(answer, Slot, "a tuple of Slot")
    # File ids are unique over the table; only those that were answered are looked up.
    named = {slot.file_id for slot in slots if slot.file_id is not None}
    known = {(s.partition_path, s.file_id) for s in slices if s.file_id in named} if named else ()
    seen: set[tuple[str, str]] = set()
    for slot in slots:
        if slot.partition_path not in arrivals:
            raise Wrong(f"a slot of {says(slot.partition_path)}", "slots of the paths of arrivals")
        shapes.whole(slot.weight, 1)
        if slot.file_id is not None:
            place = (slot.partition_path, slot.file_id)
            if place not in known or place in seen:
                raise Wrong(
                    f"the file group {slot.file_id!r} of {slot.partition_path!r}",
                    "file groups of the slices given, each once",
                )
            seen.add(place)
    without = set(arrivals).difference(slot.partition_path for slot in slots)
    if without:
        raise Wrong(f"no slot for {sorted(without)[:3]}", "one at least for each path of arrivals")
    return slots


# --- participants --------------------------------------------------------------------------------
@rule("ListsFiles.list_files")
def _entries(answer: Any, ask: Ask, storage: Any, timeline: Any, partitions: Any = None) -> Any:
    # As many turns as there are files: they are looked at where they are parsed.
    shapes.having(answer, ("__iter__",), "entries of files")
    if isinstance(answer, list) and answer and not isinstance(answer[0], Entry):
        raise Wrong(f"a list with {says(answer[0])} in it", "entries of files")
    return answer


@rule("KnowsRanges.column_ranges")
def _ranges(
    answer: Any, ask: Ask, storage: Any, timeline: Any, files: Any, columns: Sequence[str]
) -> Mapping[Any, Any]:
    wanted = "a mapping of some of the files to mappings of some of the columns to ColumnRange"
    if not isinstance(answer, Mapping) or not set(answer).issubset(files):
        raise Wrong(says(answer), wanted)
    for ranges in answer.values():
        if not isinstance(ranges, Mapping) or not set(ranges).issubset(columns):
            raise Wrong(says(ranges), wanted)
    return answer


# --- formats of log blocks ------------------------------------------------------------------------
_WITHOUT_ROWS = (BlockKind.COMMAND, BlockKind.DELETE, BlockKind.CORRUPT)


@rule("LogBlockFormat.kind")
def _kind(answer: Any, ask: Ask) -> int:
    found = shapes.whole(answer, 0)
    if found in _WITHOUT_ROWS or found >= 1 << 31:
        raise Wrong(f"the type {int(found)}", "the type of a block that holds rows")
    return found


@rule("LogBlockFormat.decode")
def _rows(
    answer: Any, ask: Ask, content: Any, schema_text: str, columns: Sequence[str] | None, obj: str
) -> pa.Table:
    shapes.instance(answer, pa.Table, "a pyarrow.Table")
    names = answer.schema.names
    if len(set(names)) < len(names) or (columns is not None and not set(names).issubset(columns)):
        raise Wrong(f"a table with {names}", "those of the columns wanted that the block has")
    return answer


@rule("DecodesSome.decode_rows")
def _some_rows(answer: Any, ask: Ask, at: Sequence[int], *decode: Any) -> pa.Table:
    if _rows(answer, ask, *decode).num_rows != len(at):
        raise Wrong(f"{answer.num_rows} rows", f"those in the {len(at)} places asked for")
    return answer


@rule("LogBlockFormat.encode")
def _content(answer: Any, ask: Ask, *given: Any) -> Iterator[bytes | pa.Buffer]:
    if not hasattr(answer, "__iter__") or isinstance(answer, str | bytes):
        raise Wrong(says(answer), "bytes and buffers, in pieces")
    return iterated(answer, ask, _piece)


def _piece(piece: Any, ask: Ask) -> bytes | pa.Buffer:
    return shapes.instance(piece, bytes | pa.Buffer, "bytes and buffers, in pieces")


# --- readers of query types -----------------------------------------------------------------------
@rule("QueryPlan.reader")
def _reader(answer: Any, ask: Ask, *args: Any) -> Any:
    return part(answer, ask, "unit_reader", ask.inner.schema)


@rule("UnitReader.rows")
def _query_rows(answer: Any, ask: Ask, *args: Any) -> Iterator[pa.RecordBatch]:
    batches = shapes.instance(answer, Iterator, "an iterator of record batches")
    return iterated(batches, ask, _unit_batch)


def _unit_batch(batch: Any, ask: Ask) -> pa.RecordBatch:
    shapes.instance(batch, pa.RecordBatch, "a pyarrow.RecordBatch")
    shapes.schema(batch.schema, ask.terms, "the schema of the plan")
    return batch
