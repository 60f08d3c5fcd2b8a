"""Two rows of one key become one, under the table's merger; and many rows of one key.

The kernel keeps two promises whatever the merger is: a delete by key wins over what came before it,
and what comes after it wins over the delete.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from hoodoo.errors import PluginError
from hoodoo.hookspecs.merger import Merged, Merger, order_of
from hoodoo.model.meta import RECORD_KEY

from hoodoo_rows.model.internal_row import DELETE, OP, PUT
from hoodoo_rows.model.key_hash import MANY, all_differ

Places = npt.NDArray[Any]


def merge_pairs(older: pa.Table, newer: pa.Table, merger: Merger) -> Merged:
    """Row i of ``older`` against row i of ``newer``; both have `_hoodie__op`.

    With ``rows`` in the answer, each row carries the `_hoodie__op` that it now has.
    """
    forced = pc.or_(pc.equal(older.column(OP), DELETE), pc.equal(newer.column(OP), DELETE))
    answer, wins = merger.merge(older, newer), None
    if answer.newer_wins is not None:
        _check_length(merger, len(answer.newer_wins), older.num_rows)
        if answer.newer_wins.null_count:
            raise PluginError(
                f"merger {merger.__class__.__qualname__}",
                "answered null for some pairs",
                "return true or false for each pair.",
            )
        wins = flat(pc.or_(answer.newer_wins, flat(forced)))
    rows = answer.rows
    if rows is None and wins is not None:
        return Merged(newer_wins=wins)
    if rows is None:
        raise PluginError(
            f"merger {merger.__class__.__qualname__}",
            "answered neither newer_wins nor rows",
            "return Merged(newer_wins=...) or Merged(rows=...).",
        )
    _check_length(merger, rows.num_rows, older.num_rows)
    if merger.columns is not None:
        raise PluginError(
            f"merger {merger.__class__.__qualname__}",
            "names its columns and answers rows, which lack the other ones",
            "Answer newer_wins, or let columns be None: then it gets whole rows.",
        )
    # Built rows are puts, except where the newer row is a delete or a delete came before.
    whole = flat(pc.or_(forced, pc.not_equal(newer.column(OP), PUT)))
    if pc.any(whole).as_py():
        pick = np.arange(older.num_rows) + np.where(whole, older.num_rows, 0)
        rows = pa.concat_tables([rows.select(newer.schema.names), newer]).take(pa.array(pick))
    return Merged(wins, rows)


def is_plain(merger: Merger, mode: str) -> bool:
    """Whether the row that wins by the merge mode ``mode`` is what stays, and nothing of the other
    one."""
    return merger.merge_mode == mode and merger.columns is not None


def fold(rows: pa.Table, merger: Merger) -> pa.Table:
    """One row for each record key of ``rows``, which are in order of arrival.

    Neighbours are merged in rounds (mergers are associative), so the number of merger calls grows
    with the logarithm of the largest number of duplicates; with this number of mergers that are
    not.
    """
    if rows.num_rows >= MANY and all_differ(rows.column(RECORD_KEY)):
        return rows
    groups: npt.NDArray[Any] = codes(rows.column(RECORD_KEY))
    if not len(groups) or int(groups.max()) + 1 == len(groups):
        return rows
    if order_of(merger) is not None:
        return fold_in_order(rows, groups, merger)
    current = np.argsort(groups, kind="stable")
    groups = groups[current]
    pool = rows
    while True:
        same = groups[1:] == groups[:-1]
        if not same.any():
            return pool.take(pa.array(current))
        place = np.arange(len(groups))
        first = np.maximum.accumulate(np.where(np.concatenate(([True], ~same)), place, 0))
        older = np.flatnonzero(((place - first) % 2 == 0)[:-1] & same)
        newer = older + 1
        answer = merge_pairs(
            narrow(pool, current[older], merger), narrow(pool, current[newer], merger), merger
        )
        pool, current[older] = _survivors(pool, current[older], current[newer], answer)
        keep = np.ones(len(groups), bool)
        keep[newer] = False
        current, groups = current[keep], groups[keep]


def fold_in_order(rows: pa.Table, groups: Places, merger: Merger) -> pa.Table:
    """One row for each of ``groups`` (:func:`codes` of the record keys), merged from the oldest to
    the newest."""
    pool, current = folded(rows, groups, turns_of(groups), merger)
    return pool.take(pa.array(np.sort(current)))


def folded(
    pool: pa.Table, groups: Places, turns: Sequence[Places], merger: Merger
) -> tuple[pa.Table, Places]:
    """``pool``, with rows that were built, and the place of the row that stays of each group;
    ``turns`` as of :func:`turns_of`."""
    current = turns[0]
    for newer in turns[1:]:
        at = groups[newer]
        answer = merge_pairs(narrow(pool, current[at], merger), narrow(pool, newer, merger), merger)
        pool, current[at] = _survivors(pool, current[at], newer, answer)
    return pool, current


def turns_of(groups: Places) -> list[Places]:
    """The places of each group's first row (by group), then of the second ones, and so on."""
    order, counts = np.argsort(groups, kind="stable"), np.bincount(groups)
    starts = np.concatenate(([0], np.cumsum(counts)))
    rank = np.arange(len(groups)) - starts[groups[order]]
    return [order[rank == turn] for turn in range(int(counts.max(initial=0)))] or [order]


def _survivors(
    pool: pa.Table, older: Places, newer: Places, answer: Merged
) -> tuple[pa.Table, Places]:
    """``pool`` with the rows that were built, and the places of the rows that stay of its rows
    ``older`` and ``newer``."""
    if answer.rows is not None:
        newer = np.arange(pool.num_rows, pool.num_rows + len(older))
        pool = pa.concat_tables([pool, answer.rows.select(pool.schema.names)])
    if answer.newer_wins is None:
        return pool, newer
    return pool, np.where(np.asarray(answer.newer_wins), newer, older)


def needed_columns(merger: Merger, schema: pa.Schema) -> list[str]:
    """The columns that :func:`merge_pairs` looks at."""
    columns = merger.columns
    if columns is None:
        return list(schema.names)
    return [OP, *filter(({*columns} - {OP}).__contains__, schema.names)]


def narrow(pool: pa.Table, index: npt.NDArray[Any], merger: Merger) -> pa.Table:
    """Rows of ``pool`` at the positions ``index`` (int64), with the columns that ``merger``
    needs."""
    return pool.select(needed_columns(merger, pool.schema)).take(pa.array(index))


def codes(keys: pa.ChunkedArray) -> npt.NDArray[Any]:
    """A number for each distinct key, from 0, in order of first appearance."""
    flat = keys.combine_chunks() if isinstance(keys, pa.ChunkedArray) else keys
    if isinstance(flat, pa.ChunkedArray):  # too long for one chunk
        flat = flat.cast(pa.large_string()).combine_chunks()
    return np.asarray(flat.dictionary_encode().indices)


def flat(column: Any) -> Any:
    """A column as one array."""
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _check_length(merger: Merger, got: int, wanted: int) -> None:
    if got != wanted:
        raise PluginError(
            f"merger {merger.__class__.__qualname__}",
            f"answered {got} rows for {wanted} pairs",
            "answer one row for each pair, in order.",
        )
