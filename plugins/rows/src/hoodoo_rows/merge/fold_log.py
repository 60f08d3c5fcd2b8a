"""Rows of log blocks become one row for each key, merged from the oldest to the newest.

From the left, not in rounds of neighbours: deletes by key and puts mix here, and then the order of
merging matters. Log rows are merged among themselves before they meet the base file, as Hudi's own
readers do it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve, frozen
from hoodoo.errors import PluginError
from hoodoo.hookspecs.merger import Merger, order_of
from hoodoo.model.meta import RECORD_KEY

from hoodoo_rows.merge.meet import KeyJoin, Mask
from hoodoo_rows.merge.pairs import (
    Places,
    codes,
    folded,
    merge_pairs,
    narrow,
    needed_columns,
    turns_of,
)
from hoodoo_rows.model.internal_row import OP, PUT

# Numbers of rows are sorted where a file has so many times more rows than change.
_FAR_APART = 64


@frozen
class Piece:
    """The rows of one block. ``present``: the columns that a partial block has; None: all."""

    rows: pa.Table
    present: frozenset[str] | None = None


def fold_pieces(
    pieces: Sequence[Piece],
    merger: Merger,
    aside: frozenset[str] = frozenset(),
    by: str = RECORD_KEY,
) -> KeyJoin:
    """``pieces`` in order of arrival, all in one schema (`_hoodie__op`, record key, columns).
    ``aside``: see :class:`~hoodoo_rows.merge.meet.KeyJoin`. ``by``: the column that says which rows
    are of one key."""
    pool = pa.concat_tables([piece.rows for piece in pieces])
    partial = any(piece.present is not None for piece in pieces)
    if by == RECORD_KEY:
        groups = codes(pool.column(by))
        count = int(groups.max()) + 1 if len(groups) else 0
        if count == len(groups) and not partial:
            return KeyJoin(pool, merger, aside=aside)
        turns = turns_of(groups)
    else:
        groups, turns = _of_numbers(pool.column(by), [piece.rows.num_rows for piece in pieces])
    if partial:
        rule = order_of(merger) or merger
        found = _fold_partial(pieces, pool, groups, turns, rule, aside | {by})
        return evolve(found, aside=aside)
    pool, current = folded(pool, groups, turns, merger)
    # By number, so that the rows which meet a batch follow each other; those of keys as they came.
    current = np.sort(current) if by == RECORD_KEY else current
    return KeyJoin(pool.take(pa.array(current)), merger, aside=aside)


def _of_numbers(
    column: pa.ChunkedArray, sizes: Sequence[int]
) -> tuple[npt.NDArray[Any], list[Places]]:
    """As ``codes`` and ``turns_of`` do it of keys, of numbers of rows of a file, in pieces of
    ``sizes`` rows, each of which has a number once: codes ascend as they do. Sorts nothing, but few
    numbers of a long file."""
    at = np.asarray(column, np.int64)
    most = int(at.max(initial=-1)) + 1
    if most > _FAR_APART * (len(at) + 1):  # a mask of the file would be large beside the rows
        distinct, ranks = np.unique(at, return_inverse=True)
        groups, total = ranks.astype(np.int32), len(distinct)
    else:
        there = np.zeros(most, bool)
        there[at] = True
        groups, total = (np.cumsum(there, dtype=np.int32) - 1)[at], int(there.sum())
    count = np.zeros(total, np.int32)
    turn, start = np.zeros(len(at), np.int32), 0
    for size in sizes:
        some = groups[start : start + size]
        turn[start : start + size] = count[some]
        count[some] += 1
        start += size
    turns = [np.flatnonzero(turn == n) for n in range(int(count.max(initial=1)))]
    first = np.empty(len(count), np.int64)
    first[groups[turns[0]]] = turns[0]
    return groups, [first, *turns[1:]]


def _fold_partial(
    pieces: Sequence[Piece],
    pool: pa.Table,
    groups: npt.NDArray[Any],
    turns: list[Places],
    merger: Merger,
    aside: frozenset[str],
) -> KeyJoin:
    """Column by column: where the value of each key comes from; -1 where no row has the column.
    Those ``aside`` belong to the key, as the operation does.

    The row that wins gives the columns that it has; the loser's fill what nobody had. A delete has
    none but the ordering columns, and after it nobody has: a partial row that follows one is put
    together with the row in the base file, as Hudi's readers do.
    """
    names = [n for n in pool.schema.names if n not in {OP, RECORD_KEY, *aside}]
    piece_of = np.repeat(np.arange(len(pieces)), [piece.rows.num_rows for piece in pieces])
    has_row: dict[str, Mask] = {
        n: np.array([p.present is None or n in p.present for p in pieces])[piece_of] for n in names
    }
    deletes = np.asarray(pc.not_equal(pool.column(OP), PUT))
    ordering = set(merger.columns or ())
    for name in names:
        if name not in ordering:
            has_row[name] &= ~deletes
    op = turns[0].copy()
    sources = {n: np.where(has_row[n][op], op, -1) for n in names}
    for newer in turns[1:]:
        group = groups[newer]
        current = {n: s[group] for n, s in sources.items()}
        older = _gathered(pool, op[group], current, needed_columns(merger, pool.schema))
        answer = merge_pairs(older, narrow(pool, newer, merger), merger)
        if answer.newer_wins is None:
            raise PluginError(
                f"merger {merger.__class__.__qualname__}",
                "returns rows, but some rows in the log lack columns",
                "return newer_wins: then the kernel merges partial rows.",
            )
        wins = np.asarray(answer.newer_wins)
        anew = wins & (deletes[newer] | deletes[op[group]])
        op[group] = np.where(wins, newer, op[group])
        for name in names:
            stays = np.where(anew, -1, current[name])
            takes = has_row[name][newer] & (wins | (current[name] < 0))
            sources[name][group] = np.where(takes, newer, stays)
    rows = _gathered(pool, op, sources, pool.schema.names)
    puts = ~deletes[op]
    absent = {n: mask for n, s in sources.items() if (mask := (s < 0) & puts).any()}
    return KeyJoin(rows, merger, absent)


def _gathered(
    pool: pa.Table, op: Places, sources: dict[str, Places], names: Sequence[str]
) -> pa.Table:
    columns = []
    for name in names:
        places = sources.get(name, op)
        columns.append(pool.column(name).take(pa.array(places, mask=places < 0)))
    return pa.table(dict(zip(names, columns, strict=True)))
