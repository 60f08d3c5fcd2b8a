"""Log rows become one row for each key, from the left: against a loop in Python."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from attrs import define, field, frozen
from hoodoo.errors import PluginError
from hoodoo.hookspecs.merger import Merged
from hoodoo.model.meta import RECORD_KEY
from hoodoo_rows.merge.fold_log import Piece, fold_pieces
from hoodoo_rows.merge.meet import KeyJoin
from hoodoo_rows.merge.positions import POSITION
from hoodoo_rows.model.internal_row import DELETE, DELETE_ROW, OP, PUT
from hypothesis import given, settings
from hypothesis import strategies as st

SCHEMA = pa.schema(
    [(OP, pa.int8()), (RECORD_KEY, pa.string()), ("ts", pa.int64()), ("a", pa.string()),
     ("b", pa.int64())]
)  # fmt: skip
# A row as the tests write it: operation, key, ts, a, b.
Row = tuple[int, str, "int | None", "str | None", "int | None"]


@frozen
class Later:
    """The row that arrived later wins; the kernel's own promises about deletes are not its own."""

    merge_mode: str = "COMMIT_TIME_ORDERING"
    strategy_id: str = str(uuid.UUID(int=1))
    columns: tuple[str, ...] | None = ()

    def merge(self, older: pa.Table, newer: pa.Table) -> Merged:
        assert older.schema.equals(newer.schema)
        return Merged(newer_wins=pa.array(np.ones(newer.num_rows, bool)))


@frozen
class Higher:
    """The higher `ts` wins, null lowest; the later row if they are equal."""

    merge_mode: str = "EVENT_TIME_ORDERING"
    strategy_id: str = str(uuid.UUID(int=2))
    columns: tuple[str, ...] | None = ("ts",)

    def merge(self, older: pa.Table, newer: pa.Table) -> Merged:
        low = -(10**9)
        old, new = (pc.fill_null(t.column("ts"), low) for t in (older, newer))
        return Merged(newer_wins=pc.greater_equal(new, old).combine_chunks())


@frozen
class Adder:
    """Builds rows: `b` is the sum, `a` is both texts, the rest is the newer row's."""

    merge_mode: str = "CUSTOM"
    strategy_id: str = str(uuid.UUID(int=3))
    columns: tuple[str, ...] | None = None

    def merge(self, older: pa.Table, newer: pa.Table) -> Merged:
        made = {name: newer.column(name) for name in newer.schema.names}
        made["b"] = pc.add(pc.fill_null(older.column("b"), 0), pc.fill_null(newer.column("b"), 0))
        made["a"] = pc.binary_join_element_wise(
            pc.fill_null(older.column("a"), ""), pc.fill_null(newer.column("a"), ""), ""
        )
        made[OP] = pa.array(np.zeros(newer.num_rows, np.int8))
        return Merged(rows=pa.table(made).select(older.schema.names).cast(older.schema))


@define
class Counting:
    """How often ``inner`` was asked, and about how many pairs."""

    inner: Any
    calls: int = 0
    pairs: int = 0
    merge_mode: str = "COMMIT_TIME_ORDERING"
    strategy_id: str = str(uuid.UUID(int=4))
    columns: tuple[str, ...] | None = field(default=())

    def merge(self, older: pa.Table, newer: pa.Table) -> Merged:
        self.calls += 1
        self.pairs += newer.num_rows
        found: Merged = self.inner.merge(older, newer)
        return found


def piece(rows: Sequence[Row], *present: str) -> Piece:
    """The rows of one block; with ``present``, the columns that a partial block has."""
    columns = zip(*rows, strict=True) if rows else [[]] * len(SCHEMA)
    table = pa.table([pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)], SCHEMA)
    return Piece(table, frozenset({RECORD_KEY, *present}) if present else None)


def rows_of(waiting: KeyJoin) -> dict[str, tuple[Any, ...]]:
    """key -> operation, ts, a, b; what a row lacks is ``...``."""
    found = {}
    for at, row in enumerate(waiting.rows.to_pylist()):
        for name, lacking in waiting.absent.items():
            if lacking[at]:
                row[name] = ...
        found[row[RECORD_KEY]] = (row[OP], row["ts"], row["a"], row["b"])
    assert len(found) == waiting.rows.num_rows, "a key is there twice"
    return found


# --- one after the other ------------------------------------------------------------------------
def test_one_row_for_each_key_in_order_of_arrival() -> None:
    pieces = [
        piece([(PUT, "x", 1, "x1", 1), (PUT, "y", 1, "y1", 1)]),
        piece([(PUT, "y", 2, "y2", 2), (PUT, "z", 1, "z1", 1)]),
    ]
    found = fold_pieces(pieces, Later())
    assert rows_of(found) == {"x": (0, 1, "x1", 1), "y": (0, 2, "y2", 2), "z": (0, 1, "z1", 1)}
    assert found.rows.schema.equals(SCHEMA) and not found.absent
    assert found.rows.column(RECORD_KEY).to_pylist() == ["x", "y", "z"]


def test_the_higher_value_wins_wherever_it_stands() -> None:
    for values in ([5, 4, 3], [3, 5, 4], [4, 3, 5], [None, 5, 1]):
        pieces = [piece([(PUT, "k", v, f"v{v}", v)]) for v in values]
        assert rows_of(fold_pieces(pieces, Higher())) == {"k": (0, 5, "v5", 5)}
    tie = [piece([(PUT, "k", 5, "first", 1)]), piece([(PUT, "k", 5, "second", 2)])]
    assert rows_of(fold_pieces(tie, Higher()))["k"][2] == "second"


def test_a_delete_by_key_wins_and_what_follows_it_wins() -> None:
    """Whatever the ordering column says. Pairs of neighbours would give 9."""
    put, gone = (PUT, "k", 9, "nine", 9), (DELETE, "k", None, None, None)
    late = (PUT, "k", 1, "one", 1)
    assert rows_of(fold_pieces([piece([put]), piece([gone])], Higher()))["k"][0] == DELETE
    orders: list[list[list[Row]]] = [
        [[put], [gone], [late]],
        [[put, gone, late]],
        [[put, gone], [late]],
    ]
    for blocks in orders:
        found = fold_pieces([piece(block) for block in blocks], Higher())
        assert rows_of(found) == {"k": (PUT, 1, "one", 1)}


def test_a_marked_delete_is_compared_like_any_row() -> None:
    put, marked = (PUT, "k", 5, "five", 5), (DELETE_ROW, "k", 4, None, None)
    assert rows_of(fold_pieces([piece([put]), piece([marked])], Higher()))["k"][0] == PUT
    assert rows_of(fold_pieces([piece([marked]), piece([put])], Higher()))["k"][0] == PUT
    higher = (DELETE_ROW, "k", 6, None, None)
    found = rows_of(fold_pieces([piece([higher]), piece([put])], Higher()))
    assert found == {"k": (DELETE_ROW, 6, None, None)}


@pytest.mark.parametrize("keys", [1, 7])
def test_many_duplicates_cost_a_call_for_each_turn(keys: int) -> None:
    turns = 300
    blocks = [
        piece([(PUT, f"k{k}", turn, f"{turn}", turn) for k in range(keys)]) for turn in range(turns)
    ]
    merger = Counting(Later())
    found = rows_of(fold_pieces(blocks, merger))
    assert found == {f"k{k}": (0, 299, "299", 299) for k in range(keys)}
    assert (merger.calls, merger.pairs) == (turns - 1, keys * (turns - 1))


def test_keys_of_their_own_are_not_merged() -> None:
    merger = Counting(Later())
    found = fold_pieces([piece([(PUT, f"k{i}", 1, "", 1)]) for i in range(5)], merger)
    assert found.rows.num_rows == 5 and merger.calls == 0


def test_columns_aside_are_passed_on() -> None:
    found = fold_pieces([piece([(PUT, "k", 1, "a", 1)] * 2)], Later(), frozenset({"b"}))
    assert found.aside == {"b"} and rows_of(found) == {"k": (0, 1, "a", 1)}


# --- mergers that build rows ----------------------------------------------------------------------
def test_built_rows_are_merged_on() -> None:
    blocks = [piece([(PUT, "k", 1, "a", 1), (PUT, "l", 1, "x", 10)]), piece([(PUT, "k", 2, "b", 2)]),
              piece([(PUT, "k", 3, "c", 4)])]  # fmt: skip
    assert rows_of(fold_pieces(blocks, Adder())) == {"k": (0, 3, "abc", 7), "l": (0, 1, "x", 10)}


def test_nothing_is_built_over_a_delete() -> None:
    gone = (DELETE, "k", None, None, None)
    puts: list[Row] = [(PUT, "k", i, "abc"[i], 1 << i) for i in range(3)]
    assert rows_of(fold_pieces([piece([puts[0], gone])], Adder()))["k"][0] == DELETE
    found = rows_of(fold_pieces([piece([puts[0], gone, puts[1], puts[2]])], Adder()))
    assert found == {"k": (0, 2, "bc", 6)}
    marked = (DELETE_ROW, "k", 9, None, None)
    found = rows_of(fold_pieces([piece([puts[0], marked])], Adder()))
    assert found == {"k": (DELETE_ROW, 9, None, None)}


@pytest.mark.parametrize(
    "bad",
    [
        Merged(),
        Merged(newer_wins=pa.array([True, False])),
        Merged(newer_wins=pa.array([None], pa.bool_())),
        Merged(rows=piece([]).rows),
    ],
    ids=["nothing", "too many", "null", "too few"],
)
def test_a_merger_that_breaks_its_contract_is_named(bad: Merged) -> None:
    class Broken(Later):
        def merge(self, older: pa.Table, newer: pa.Table) -> Merged:
            return bad

    with pytest.raises(PluginError, match="Broken"):
        fold_pieces([piece([(PUT, "k", 1, "a", 1)] * 2)], Broken())


# --- partial rows ---------------------------------------------------------------------------------
def test_the_winner_gives_what_it_has_and_the_loser_fills() -> None:
    blocks = [
        piece([(PUT, "k", 5, "five", None), (PUT, "l", 5, "five", None)], "ts", "a"),
        piece([(PUT, "k", 6, None, 6), (PUT, "l", 4, None, 4)], "ts", "b"),
    ]
    found = rows_of(fold_pieces(blocks, Higher()))
    assert found == {"k": (0, 6, "five", 6), "l": (0, 5, "five", 4)}


def test_what_nobody_has_is_absent() -> None:
    blocks = [piece([(PUT, "k", 5, "five", None), (PUT, "l", 5, None, None)], "ts", "a"),
              piece([(PUT, "l", 6, "six", 6)])]  # fmt: skip
    found = rows_of(fold_pieces(blocks, Higher()))
    assert found == {"k": (0, 5, "five", ...), "l": (0, 6, "six", 6)}


def test_a_null_that_was_written_is_not_absent() -> None:
    blocks = [piece([(PUT, "k", 5, "five", 5)]), piece([(PUT, "k", 6, None, None)], "ts", "a")]
    assert rows_of(fold_pieces(blocks, Higher())) == {"k": (0, 6, None, 5)}


def test_after_a_delete_nobody_has_a_column() -> None:
    """A partial row after a delete is put together with the row in the base file."""
    for gone in ((DELETE, "k", None, None, None), (DELETE_ROW, "k", 6, None, None)):
        blocks = [piece([(PUT, "k", 5, "five", 5)]), piece([gone]),
                  piece([(PUT, "k", 7, "seven", None)], "ts", "a")]  # fmt: skip
        assert rows_of(fold_pieces(blocks, Higher())) == {"k": (0, 7, "seven", ...)}
    found = fold_pieces([piece([(PUT, "k", 7, "x", None)], "ts", "a"), piece([gone])], Later())
    assert rows_of(found)["k"][0] == DELETE_ROW and not found.absent


def test_partial_rows_and_built_rows_do_not_go_together() -> None:
    blocks = [piece([(PUT, "k", 1, "a", 1)]), piece([(PUT, "k", 2, "b", None)], "ts", "a")]
    with pytest.raises(PluginError, match=r"Adder.*lack columns"):
        fold_pieces(blocks, Adder())


# --- against a loop -------------------------------------------------------------------------------
def looped(blocks: Sequence[Piece], merger: Any) -> dict[str, tuple[Any, ...]]:
    """One row after the other; a column that a row lacks is ``...``."""
    kept: dict[str, list[Any]] = {}
    for block in blocks:
        for row in block.rows.to_pylist():
            key, op = row[RECORD_KEY], row[OP]
            has = {n: block.present is None or n in block.present for n in ("ts", "a", "b")}
            gone = op != PUT
            newer = [op, *(row[n] if has[n] and (not gone or n == "ts") else ...
                           for n in ("ts", "a", "b"))]  # fmt: skip
            older = kept.get(key)
            if older is None:
                kept[key] = newer
                continue
            kept[key] = pair(older, newer, merger)
    return {key: _shown(row) for key, row in kept.items()}


def pair(older: list[Any], newer: list[Any], merger: Any) -> list[Any]:
    if isinstance(merger, Adder):
        if newer[0] != PUT or older[0] == DELETE:
            return newer
        text, number = (older[2], older[3]) if older[0] == PUT else (None, None)
        return [PUT, newer[1], (text or "") + (newer[2] or ""), (number or 0) + (newer[3] or 0)]
    wins = isinstance(merger, Later) or DELETE in (older[0], newer[0])
    low = -(10**9)
    wins = wins or (low if newer[1] is None else newer[1]) >= (
        low if older[1] is None else older[1]
    )
    winner, loser = (newer, older) if wins else (older, newer)
    if not wins:  # a row that lost to a delete fills nothing that a reader would see
        return [winner[0], *_filled(winner, loser)] if winner[0] == PUT else winner
    if older[0] != PUT or newer[0] != PUT:
        return newer
    return [winner[0], *_filled(winner, loser)]


def _filled(winner: list[Any], loser: list[Any]) -> list[Any]:
    """The loser's columns where the winner has none; a delete has none but the ordering column."""
    pairs = zip(winner[1:], loser[1:], strict=True)
    return [theirs if ours is ... and loser[0] == PUT else ours for ours, theirs in pairs]


def _shown(row: list[Any]) -> tuple[Any, ...]:
    """Of a delete nobody reads more than its operation."""
    return tuple(row) if row[0] == PUT else (row[0],)


OPS = st.sampled_from([PUT, PUT, PUT, DELETE, DELETE_ROW])
KEYS = st.sampled_from(["k", "l", "m", "é", ""])
NUMBERS = st.none() | st.integers(-2, 3)


@st.composite
def blocks(draw: st.DrawFn, partial: bool) -> list[Piece]:
    made = []
    for _ in range(draw(st.integers(1, 6))):
        present = (
            draw(st.sets(st.sampled_from(["a", "b"]))) if partial and draw(st.booleans()) else None
        )
        rows: list[Row] = []
        for op, key, ts in draw(st.lists(st.tuples(OPS, KEYS, NUMBERS), min_size=1, max_size=8)):
            if op == DELETE and present is None:
                rows.append((op, key, None, None, None))
                continue
            op = PUT if op == DELETE else op  # deletes by key are in blocks of their own
            text = draw(st.sampled_from([None, "p", "q"])) if op == PUT else None
            number = draw(NUMBERS) if op == PUT else None
            rows.append((op, key, ts, text, number))
        if present is not None:
            rows = [(op, key, ts, a if "a" in present else None, b if "b" in present else None)
                    for op, key, ts, a, b in rows]  # fmt: skip
        made.append(piece(rows, "ts", *present) if present is not None else piece(rows))
    return made


@pytest.mark.sampled(1, among="long")
@pytest.mark.parametrize("merger", [Later(), Higher(), Adder()], ids=lambda m: type(m).__name__)
@given(blocks(partial=False))
@settings(max_examples=60, deadline=None)
def test_as_a_loop_does_it(merger: Any, pieces: list[Piece]) -> None:
    found = rows_of(fold_pieces(pieces, merger))
    assert {key: _shown(list(row)) for key, row in found.items()} == looped(pieces, merger)


@pytest.mark.sampled(1, among="long")
@pytest.mark.parametrize("merger", [Later(), Higher()], ids=lambda m: type(m).__name__)
@given(blocks(partial=True))
@settings(max_examples=80, deadline=None)
def test_partial_rows_as_a_loop_does_it(merger: Any, pieces: list[Piece]) -> None:
    found = fold_pieces(pieces, merger)
    shown = {key: _shown(list(row)) for key, row in rows_of(found).items()}
    assert shown == looped(pieces, merger)
    gone = np.asarray(pc.not_equal(found.rows.column(OP), PUT))
    assert not any((lacking & gone).any() for lacking in found.absent.values())


NUMBER_OF = {"k": 7, "l": 0, "m": 3, "é": 90, "": 4}


def numbered(pieces: list[Piece]) -> list[Piece]:
    """With the numbers of the keys' rows; of each key the last row of a block."""
    found = []
    for one in pieces:
        last = {row[RECORD_KEY]: row for row in one.rows.to_pylist()}
        rows = pa.Table.from_pylist(list(last.values()), SCHEMA)
        numbers = pa.array([NUMBER_OF[key] for key in last], pa.int64())
        found.append(Piece(rows.append_column(POSITION, numbers), one.present))
    return found


@pytest.mark.sampled(1, among="long")
@pytest.mark.parametrize("by", [RECORD_KEY, POSITION])
@pytest.mark.parametrize("merger", [Later(), Higher()], ids=lambda m: type(m).__name__)
@given(blocks(partial=True))
@settings(max_examples=80, deadline=None)
def test_numbers_of_rows_are_as_good_as_keys(merger: Any, by: str, pieces: list[Piece]) -> None:
    """They come in the order of the file; where keys decide, they stay with their keys."""
    placed = numbered(pieces)
    found = fold_pieces(placed, merger, frozenset({POSITION}), by)
    shown = {key: _shown(list(row)) for key, row in rows_of(found).items()}
    assert shown == looped([Piece(p.rows.select(SCHEMA.names), p.present) for p in placed], merger)
    keys, numbers = (found.rows.column(name).to_pylist() for name in (RECORD_KEY, POSITION))
    assert numbers == [NUMBER_OF[key] for key in keys]
    assert by == RECORD_KEY or numbers == sorted(numbers)


@pytest.mark.parametrize("far", [1, 1 << 40])
def test_numbers_of_rows_take_memory_by_the_rows(far: int) -> None:
    """Whatever the numbers: those of a long file, or damaged ones."""
    blocks = [(0, 3, 7), (3, 8), (0, 7)]
    pieces = []
    for turn, numbers in enumerate(blocks):
        rows = [(PUT, f"k{n}", turn, f"v{turn}", n) for n in numbers]
        at = pa.array([n * far for n in numbers], pa.int64())
        made = piece(rows)
        pieces.append(Piece(made.rows.append_column(POSITION, at), made.present))
    found = fold_pieces(pieces, Later(), frozenset({POSITION}), POSITION).rows
    assert found["b"].to_pylist() == [0, 3, 7, 8]
    assert found["a"].to_pylist() == ["v2", "v1", "v2", "v1"]
