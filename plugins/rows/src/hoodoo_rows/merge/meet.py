"""Rows that arrived meet the stored rows of their keys: what a rewrite and a merging read share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from attrs import Factory, define, field, frozen
from hoodoo.hookspecs.merger import Merger
from hoodoo.model.meta import RECORD_KEY

from hoodoo_rows.merge.pairs import flat, merge_pairs, needed_columns
from hoodoo_rows.model.internal_row import OP, PUT

_AHEAD = 1 << 20  # keys that are looked up together, at least
Mask = npt.NDArray[np.bool_]
Counts = npt.NDArray[np.int64]


@frozen
class MatchResult:
    """``kept``: stored rows that stay. ``winners``: rows that replace stored ones, in the schema of
    the arrived rows; None if no key matched. ``deleted``: the number of deleted rows. ``stored``:
    all stored rows, ``lost``: positions of rows that did not stay, ``lives``: which of them have a
    winner."""

    kept: pa.RecordBatch
    winners: pa.Table | None = None
    deleted: int = 0
    stored: pa.RecordBatch | None = None
    lost: pa.Array | None = None
    lives: pa.ChunkedArray | None = None

    def replaced(self) -> tuple[pa.Table, pa.Table]:
        """The stored rows that did not stay: those that the winners replace, row by row, and those
        that were deleted. Only if ``winners`` is not None."""
        assert self.stored is not None and self.lives is not None
        lost = pa.Table.from_batches([self.stored.take(self.lost)])
        return lost.filter(self.lives), lost.filter(pc.invert(self.lives))


@define
class KeyJoin:
    """Rows, one for each key, that wait for the stored row of their key.

    ``rows`` has `_hoodie__op`, the record key and the columns of the table. ``absent``: column ->
    the rows that don't have it (partial updates); the stored row's value stays there. ``aside`` are
    columns of ``rows`` that stored rows lack and mergers don't see."""

    rows: pa.Table
    merger: Merger
    absent: Mapping[str, Mask] = Factory(dict)
    aside: frozenset[str] = frozenset()
    _seen: Mask = field(init=False)
    _keys: pa.Array = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.rows = self.rows.combine_chunks()
        self._seen = np.zeros(self.rows.num_rows, bool)
        self._keys = flat(self.rows.column(RECORD_KEY))

    def places(self, keys: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
        """Which of the rows waits for each of ``keys``; null for none. A call hashes all waiting
        keys: ask for many, as :meth:`places_ahead` does."""
        return pc.index_in(keys, value_set=self._keys)

    def places_ahead(self, keys: Iterator[pa.Array]) -> Iterator[pa.ChunkedArray]:
        """The places of ``keys``, of as many at a time as there are waiting ones, or more."""
        ahead, count = list[pa.Array](), 0
        for some in keys:
            ahead.append(some)
            count += len(some)
            if count >= max(_AHEAD, self.rows.num_rows):
                yield self.places(pa.chunked_array(ahead, pa.string()))
                ahead, count = [], 0
        if ahead:
            yield self.places(pa.chunked_array(ahead, pa.string()))

    def meet(self, stored: pa.RecordBatch, at: pa.Array) -> MatchResult:
        """``stored`` holds each key once; ``at``: the :meth:`places` of its record keys."""
        if at.null_count == len(at):
            return MatchResult(stored)
        hit, incoming = np.asarray(pc.is_valid(at)), np.asarray(at.drop_null())
        self._seen[incoming] = True
        places = np.flatnonzero(hit)
        # Mergers look at few columns of the stored rows.
        looked = {*needed_columns(self.merger, self._shown), *self.absent}
        met = stored.select([n for n in stored.schema.names if n in looked]).take(pa.array(places))
        answer = self._answer(met, incoming)
        if answer.newer_wins is None:
            return self._met(stored, hit, places, answer.rows)
        wins = np.asarray(answer.newer_wins)
        hit[places], won = wins, incoming[wins]
        if answer.rows is not None:
            return self._met(stored, hit, places[wins], answer.rows.filter(pa.array(wins)))
        winners = self._completed(_rows_at(self.rows, won), won, met, wins)
        return self._met(stored, hit, places[wins], winners)

    def replacing(
        self, stored: Iterable[pa.RecordBatch], at: pa.Array
    ) -> tuple[pa.Array, pa.Table, bool]:
        """The places of ``stored`` that get other rows, these rows, and whether they have what is
        ``absent``. ``stored`` needs the columns alone that the merger looks at; ``at`` as for
        :meth:`meet`, of all batches."""
        hit, incoming, met, start = pc.is_valid(at), np.asarray(at.drop_null()), [], 0
        self._seen[incoming] = True
        for batch in stored:
            met.append(batch.filter(hit.slice(start, batch.num_rows)))
            start += batch.num_rows
        places = pc.indices_nonzero(hit)
        answer = self._answer(pa.Table.from_batches(met), incoming)
        if answer.newer_wins is None:
            return places, answer.rows, True
        wins = flat(answer.newer_wins)
        if answer.rows is not None:
            return places.filter(wins), answer.rows.filter(wins), True
        return places.filter(wins), self.rows.take(pa.array(incoming).filter(wins)), False

    def rest(self) -> pa.Table:
        """The puts whose key matched no stored row: inserts."""
        fresh = self.rows if not self._seen.any() else self.rows.filter(pa.array(~self._seen))
        return fresh.filter(pc.equal(fresh.column(OP), PUT))

    def more(self, met: Counts, there: Counts) -> pa.Table:
        """The puts again, in the place of stored rows that were not read: a key may stand in a file
        more than once (a bulk insert does not look), and each of its rows is updated. ``there``:
        how many stored rows each waiting row has, ``met``: how many of them it has met. One that
        met none is in :meth:`rest`."""
        more = np.maximum(there - np.maximum(met, 1), 0)
        rows = self.rows.take(pa.array(np.repeat(np.arange(len(more)), more)))
        return rows.filter(pc.equal(rows.column(OP), PUT))

    @property
    def _shown(self) -> pa.Schema:
        """What mergers see of the rows."""
        return pa.schema([f for f in self.rows.schema if f.name not in self.aside])

    def _answer(self, met: pa.Table | pa.RecordBatch, incoming: npt.NDArray[Any]) -> Any:
        there = {OP, *met.schema.names}  # what is merged for a new base file has no name of a file
        columns = [n for n in needed_columns(self.merger, self._shown) if n in there]
        newer = _rows_at(self.rows.select(columns), incoming)
        puts = pa.array(np.full(len(incoming), PUT, np.int8))
        older = pa.Table.from_arrays(
            [puts if f.name == OP else met.column(f.name).cast(f.type) for f in newer.schema],
            schema=newer.schema,
        )
        return merge_pairs(older, newer, self.merger)

    def _completed(
        self, winners: pa.Table, won: npt.NDArray[Any], met: pa.RecordBatch, wins: Mask
    ) -> pa.Table:
        """What partial rows lack comes from the stored row."""
        for name, mask in self.absent.items():
            lacking = mask[won]
            if lacking.any():
                at = winners.schema.get_field_index(name)
                stored = met.column(name).filter(pa.array(wins)).cast(winners.schema.field(at).type)
                column = pc.if_else(pa.array(lacking), stored, winners.column(at))
                winners = winners.set_column(at, winners.schema.field(at), column)
        return winners

    @staticmethod
    def _met(
        stored: pa.RecordBatch, gone: Mask, lost: npt.NDArray[Any], winners: pa.Table
    ) -> MatchResult:
        lives = pc.equal(winners.column(OP), PUT)
        deleted = winners.num_rows - (pc.sum(lives).as_py() or 0)
        left = winners.filter(lives) if deleted else winners
        # By places: a filter of many columns takes half as long again.
        kept = stored.take(pa.array(np.flatnonzero(~gone)))
        return MatchResult(kept, left, deleted, stored, pa.array(lost), lives)


def _rows_at(rows: pa.Table, places: npt.NDArray[Any]) -> pa.Table:
    """The rows at ``places``; not copied where these follow each other."""
    size = len(places)
    if size and places[-1] - places[0] == size - 1 and (np.diff(places) == 1).all():
        return rows.slice(places[0], size)
    return rows.take(pa.array(places))


@define
class Places:
    """The places of a file's record keys among the waiting rows, for batch after batch.

    The keys are read ahead of the other columns, many at a time: looking up means to hash all that
    waits, and one pass over the keys costs less than doing that for every batch.
    """

    waiting: KeyJoin
    keys: Iterator[pa.Array]
    # Of the first keys, where they are known.
    _found: pa.ChunkedArray = field(factory=lambda: pa.chunked_array([], pa.int32()))
    # How many stored rows each waiting row has met.
    met: Counts = field(init=False)
    _more: Iterator[pa.ChunkedArray] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.met = np.zeros(self.waiting.rows.num_rows, np.int64)
        self._more = self.waiting.places_ahead(self.keys)

    def take(self, rows: int) -> pa.Array:
        """The places (int32, null: none) of the next ``rows`` rows."""
        while len(self._found) < rows:
            self._found = pa.chunked_array(
                [*self._found.chunks, *next(self._more).chunks], pa.int32()
            )
        taken = self._found.slice(0, rows).combine_chunks()
        self._found = self._found.slice(rows)
        np.add.at(self.met, np.asarray(taken.drop_null()), 1)
        return taken
