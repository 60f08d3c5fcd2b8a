"""Log rows: the blocks of a slice's log files that count, as one row for each key."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from threading import Lock
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve, frozen
from hoodoo.errors import CorruptTableError, SchemaError
from hoodoo.hookspecs.file_format import BaseFileReader
from hoodoo.hookspecs.log_format import LogFileReader
from hoodoo.hookspecs.merger import delete_mark
from hoodoo.kernel.log_files import LogFiles
from hoodoo.model.filegroup import FileSlice, LogFile
from hoodoo.model.log_block import BlockKind, Damage, Header, LogBlock
from hoodoo.model.meta import IS_DELETED, META_COLUMNS, OPERATION, RECORD_KEY
from hoodoo.storage.api import Storage
from hoodoo.timeline.instants import order_key

from hoodoo_rows.merge.fold_log import Piece, fold_pieces
from hoodoo_rows.merge.meet import KeyJoin
from hoodoo_rows.merge.positions import POSITION, Numbers, base_rows, last_row
from hoodoo_rows.merge.rule import MergeRule, Visible, marked_operations
from hoodoo_rows.merge.virtual import made_deletes
from hoodoo_rows.model.internal_row import DELETE, DELETE_ROW, OP
from hoodoo_rows.write.widen import widened

# What log files have deleted: they do not change, but for one of version 6 that grows. Small ones
# are remembered, of as many files.
_KEPT_BYTES, _KEPT_FILES = 64 << 10, 1024
_NO_KEYS = pa.chunked_array([], pa.string())
_deleted: dict[tuple[str, str, int], pa.ChunkedArray | None] = {}
_lock = Lock()
_MARKS = re.compile(f'"({IS_DELETED}|{OPERATION})"')  # columns that mark rows as deleted


@frozen
class LogRows:
    """``waiting``: the merged rows; None if no block counts. ``damages``: what is wrong with the
    bytes, skipped or not. ``blocks`` and ``rows`` count what was read; ``instants``: those of the
    blocks, in the order in which they apply. ``numbers``: how many rows of the base file blocks
    name, where keys decide nevertheless."""

    waiting: KeyJoin | None = None
    damages: tuple[Damage, ...] = ()
    blocks: int = 0
    rows: int = 0
    instants: tuple[str, ...] = ()
    numbers: int = 0


def read_log_rows(
    storage: Storage,
    logs: Sequence[LogFile],
    rule: MergeRule,
    base_instant: str | None = None,
    keys: pa.Array | None = None,
    by: str = POSITION,
) -> LogRows:
    """The rows of ``logs``, which are in reading order; change data logs are passed over.

    ``base_instant``: that of the base file that they will meet. Where all blocks say which of its
    rows they are about, the rows have a column POSITION, and null for keys that the rule does not
    give. ``keys``: rows of other record keys are left out, where keys are stored; each block is
    then read for its keys, and whole where it has one of them. ``by``: what says which rows are of
    one key; keys where they have no numbers. Memory: all rows of the logs, in the columns of the
    rule.
    """
    aside = frozenset({RECORD_KEY}) - frozenset(rule.schema.names)
    with ExitStack() as stack:
        counted, damages = _blocks(stack, storage, logs, rule.logs, rule.visible)
        pieces: list[Piece] | None = None
        at = base_rows(counted, rule, base_instant)
        if at is not None and at:
            pieces = _placed_pieces(counted, rule, at, rule.gives_keys or by == RECORD_KEY)
            aside |= {POSITION}
        if pieces is None:
            by, aside = RECORD_KEY, aside - {POSITION}
            some = keys if rule.keys is None else None
            found = (_piece(reader, block, rule, keys=some) for reader, block in counted)
            pieces = [piece for piece in found if piece is not None]
    rows = sum(piece.rows.num_rows for piece in pieces)
    waiting = fold_pieces(pieces, rule.merger, aside, by) if rows else None
    instants = tuple(dict.fromkeys(block.instant for _, block in counted))
    numbers = 0
    if at and by == RECORD_KEY and POSITION in aside:
        numbers = len(np.unique(np.concatenate(at)))
    return LogRows(waiting, tuple(damages), len(counted), rows, instants, numbers)


def rows_that_meet(
    storage: Storage, slice_: FileSlice, rule: MergeRule, reader: BaseFileReader | None
) -> LogRows:
    """The rows of the logs of ``slice_``, as its base file, of ``reader``, will meet them: by the
    numbers of its rows, where all blocks say some that it has."""
    base = slice_.base_file
    met = None if base is None or reader is None else base.instant
    found = read_log_rows(storage, slice_.log_files, rule, met)
    if reader is not None and last_row(found.waiting) >= reader.num_rows:  # not rows of this file
        return read_log_rows(storage, slice_.log_files, rule)
    return found


def numbered_rows(storage: Storage, slice_: FileSlice, rule: MergeRule) -> LogRows:
    """The rows of the logs of ``slice_``, merged by keys; with the column POSITION where it names
    one row for each key, and another for each other one."""
    base = None if slice_.base_file is None else slice_.base_file.instant
    found = read_log_rows(storage, slice_.log_files, rule, base, by=RECORD_KEY)
    waiting = found.waiting
    if waiting is None or POSITION not in waiting.rows.schema.names:
        return found
    rows = waiting.rows
    if pc.count_distinct(rows.column(POSITION)).as_py() == rows.num_rows == found.numbers:
        return found
    return evolve(found, waiting=evolve(waiting, rows=rows.drop_columns([POSITION])))


def count_blocks(
    storage: Storage, logs: Sequence[LogFile], opener: LogFiles, visible: Visible
) -> int:
    """How many blocks of ``logs``, which are in reading order, count. Reads no rows."""
    with ExitStack() as stack:
        return len(_blocks(stack, storage, logs, opener, visible)[0])


def may_have_deleted(
    storage: Storage, logs: Sequence[LogFile], rule: MergeRule, keys: pa.ChunkedArray
) -> bool:
    """Whether ``logs`` may have deleted one of the record ``keys``. Reads delete blocks alone, each
    once in a process; True where rows themselves may be marked as deleted."""
    if delete_mark(rule.merger) is not None:
        return True
    for log in logs:
        gone = _deleted_by(storage, log, rule.logs)
        if gone is None:
            return True
        found = made_deletes(rule.deletes, pa.table({"record_key": gone})) if len(gone) else None
        if found is not None and pc.any(pc.is_in(keys, value_set=found.column(0))).as_py():
            return True
    return False


def _deleted_by(storage: Storage, log: LogFile, opener: LogFiles) -> pa.ChunkedArray | None:
    """The record keys that delete blocks of ``log`` name, whether the blocks count or not; None if
    its rows have a column that marks them as deleted, or may have."""
    if log.suffix:
        return _NO_KEYS
    name = (storage.root, log.path, log.size)
    with _lock:
        if name in _deleted:
            return _deleted[name]
    parts: list[pa.ChunkedArray] = [_NO_KEYS]
    found: pa.ChunkedArray | None
    with opener.reader(storage, log.path, log.size) as reader:
        blocks = list(reader.blocks)
        texts = [block.schema_text for block in blocks if block.is_data]
        if not all(texts) or any(map(_MARKS.search, texts)):
            found = None
        else:
            gone = [block for block in blocks if block.kind == BlockKind.DELETE]
            parts += [reader.deletes(block, []).column("record_key") for block in gone]
            found = pa.chunked_array(
                [chunk for part in parts for chunk in part.chunks], pa.string()
            )
    # A size of 0 is one that nobody knows: such a file may grow under the same name.
    if log.size and (found is None or found.nbytes <= _KEPT_BYTES):
        with _lock:
            _deleted[name] = found
            while len(_deleted) > _KEPT_FILES:
                del _deleted[next(iter(_deleted))]
    return found


def _blocks(
    stack: ExitStack, storage: Storage, logs: Sequence[LogFile], opener: LogFiles, visible: Visible
) -> tuple[list[tuple[LogFileReader, LogBlock]], list[Damage]]:
    """The blocks that count, in the order in which they apply."""
    readers = [
        (log, stack.enter_context(opener.reader(storage, log.path, log.size)))
        for log in logs
        if not log.suffix
    ]
    found: list[tuple[LogFileReader, LogBlock]] = []
    damages: list[Damage] = []
    for log, reader in _in_order(readers):
        named, foreign = _named(log, reader, visible)
        found += ((reader, block) for block in named)
        damages += sorted((*reader.damages, *foreign), key=lambda d: d.offset)
    return list(counting(found, visible.shows)), damages


def _in_order(readers: list[tuple[LogFile, LogFileReader]]) -> list[tuple[LogFile, LogFileReader]]:
    """Of log files whose names differ in the token alone, which several writers may have put beside
    a clustering, the blocks say whose is older."""
    if len({(log.instant, log.version) for log, _ in readers}) == len(readers):
        return readers

    def place(pair: tuple[LogFile, LogFileReader]) -> tuple[str, int, str]:
        log, reader = pair
        begins = next((block.instant for block in reader.blocks if block.instant), "")
        return order_key(log.instant), log.version, order_key(begins)

    return sorted(readers, key=place)


def _named(
    log: LogFile, reader: LogFileReader, visible: Visible
) -> tuple[list[LogBlock], list[Damage]]:
    """The blocks of ``log`` as of the instant that wrote them, and those that say another one.

    From version 8 on the file's name says it too, and the commit has named that file: a block that
    contradicts it is damaged (nothing else would show a changed digit). It is read all the same.
    """
    if visible.committed is not None:  # version 6: the name is that of the slice
        return list(reader.blocks), []
    named, damages = [], []
    for block in reader.blocks:
        if block.instant != log.instant and not block.is_rollback:
            counts = visible.counts_in(log.instant, block.instant or "")
            if counts is not None:
                named += [block] if counts else []
                continue
            reason = (
                f"its instant is {block.instant or 'missing'}, and the file's name says "
                f"{log.instant}"
            )
            damages.append(Damage(log.path, block.offset, 0, reason))
            block = evolve(block, headers={**block.headers, Header.INSTANT_TIME: log.instant})
        named.append(block)
    return named, damages


Of = TypeVar("Of")


def counting(
    found: Iterable[tuple[Of, LogBlock]], shows: Callable[[str], bool]
) -> Iterator[tuple[Of, LogBlock]]:
    """The data and delete blocks that count, in the order in which they apply.

    A rollback block takes the earlier blocks of its target away. A block made by log compaction
    stands for the blocks of the instants that it names, at the place of the last of them. Where
    none of these is there, the slice has their rows in its base file.
    """
    kept: list[tuple[Of, LogBlock]] = []
    for of, block in found:
        if block.is_rollback:
            kept = [pair for pair in kept if pair[1].instant != block.target_instant]
        elif (block.is_data or block.kind == BlockKind.DELETE) and shows(block.instant):
            kept.append((of, block))
    replaced = {instant for _, block in kept for instant in block.compacted_times}
    if not replaced:
        yield from kept
        return
    last = {block.instant: at for at, (_, block) in enumerate(kept)}

    def place(at: int) -> tuple[int, int]:
        times = [last[t] for t in kept[at][1].compacted_times if t in last]
        return (max(times, default=at), at)

    for at in sorted(range(len(kept)), key=place):
        block = kept[at][1]
        is_alone = block.compacted_times and last.keys().isdisjoint(block.compacted_times)
        if block.instant not in replaced and not is_alone:
            yield kept[at]


def _placed_pieces(
    counted: Sequence[tuple[LogFileReader, LogBlock]],
    rule: MergeRule,
    at: Sequence[Numbers],
    keyed: bool,
) -> list[Piece] | None:
    """With the column POSITION; None where a block has not as many rows as it says numbers."""
    pieces = []
    for (reader, block), numbers in zip(counted, at, strict=True):
        piece = _piece(reader, block, rule, keyed)
        if piece is None or piece.rows.num_rows != len(numbers):
            return None
        pieces.append(evolve(piece, rows=piece.rows.append_column(POSITION, pa.array(numbers))))
    return pieces


def _piece(
    reader: LogFileReader,
    block: LogBlock,
    rule: MergeRule,
    keyed: bool = True,
    keys: pa.Array | None = None,
) -> Piece | None:
    """Not ``keyed``: the record keys of rows are null. ``keys``: rows of others are left out; None
    where these are all."""
    at = None
    if block.kind == BlockKind.DELETE:
        gone = _with_keys(_deletes(reader, block, rule), reader, block)
        return Piece(gone if keys is None else gone.filter(_one_of(keys, gone)))
    if keys is not None:
        near = reader.rows_near(block, RECORD_KEY, keys.take(pc.sort_indices(keys)))
        if near is None:
            of_rows = reader.rows(block, [RECORD_KEY])
        elif len(near):
            of_rows = reader.rows_at(block, near, [RECORD_KEY])
        else:
            return None
        if RECORD_KEY in of_rows.schema.names:
            at = np.flatnonzero(_one_of(keys, _with_keys(of_rows, reader, block)))
            at = at if near is None else near[at]
            if not len(at):
                return None
    rows = _data(reader, block, rule, keyed, at)
    there = frozenset(rows.schema.names)
    batches = [widened(batch, rule.schema, reader.path) for batch in rows.to_batches()]
    table = pa.Table.from_batches(batches, rule.schema)
    columns = [marked_operations(rows, delete_mark(rule.merger)), *table.columns]
    names = [OP, *table.schema.names]
    if not keyed:
        if RECORD_KEY not in names:
            columns.append(pa.nulls(table.num_rows, pa.string()))
            names.append(RECORD_KEY)
    elif rule.keys is not None:
        keys = pa.chunked_array([rule.keys.record_keys(b) for b in batches], pa.string())
        if RECORD_KEY in names:
            columns[names.index(RECORD_KEY)] = keys
        else:
            columns.append(keys)
            names.append(RECORD_KEY)
    made = pa.Table.from_arrays(columns, names=names)
    return Piece(
        _with_keys(made, reader, block) if keyed else made,
        there | set(META_COLUMNS) if block.is_partial else None,
    )


def _one_of(keys: pa.Array, rows: pa.Table) -> pa.ChunkedArray:
    return pc.is_in(rows.column(RECORD_KEY), value_set=keys)


def _with_keys(rows: pa.Table, reader: LogFileReader, block: LogBlock) -> pa.Table:
    if rows.column(RECORD_KEY).null_count:
        raise CorruptTableError(
            f"log file {reader.path}, block at offset {block.offset}",
            "it has rows without a record key; if all rows lack it, the column's name in the "
            "schema is damaged.",
            "Restore the file from a copy, or roll back the commit that wrote it.",
        )
    return rows


def _data(
    reader: LogFileReader,
    block: LogBlock,
    rule: MergeRule,
    keyed: bool = True,
    at: Numbers | None = None,
) -> pa.Table:
    """All rows of a block, or those in the places ``at``."""
    names = [n for n in rule.schema.names if keyed or n != RECORD_KEY]
    names.append(OPERATION)
    try:
        return reader.rows(block, names) if at is None else reader.rows_at(block, at, names)
    except SchemaError as error:  # of a damaged schema, or a type that no table holds
        raise SchemaError(
            f"log file {reader.path}, block at offset {block.offset}: {error.obj}",
            error.rule,
            error.fix,
        ) from error


def _deletes(reader: LogFileReader, block: LogBlock, rule: MergeRule) -> pa.Table:
    """A row for each deleted key: its ordering values are in their columns, the others are null."""
    kinds = [rule.schema.field(name).type for name in rule.ordering]
    found = made_deletes(rule.deletes, reader.deletes(block, kinds))
    made = {
        OP: pc.if_else(
            found.column("always"), pa.scalar(DELETE, pa.int8()), pa.scalar(DELETE_ROW, pa.int8())
        ),
        RECORD_KEY: found.column("record_key"),
        **{name: found.column(f"o{i}") for i, name in enumerate(rule.ordering)},
    }
    fields = [pa.field(OP, pa.int8()), *rule.schema]
    if RECORD_KEY not in rule.schema.names:
        fields.append(pa.field(RECORD_KEY, pa.string()))
    columns = [made[f.name] if f.name in made else pa.nulls(found.num_rows, f.type) for f in fields]
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))
