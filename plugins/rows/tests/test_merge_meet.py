"""Waiting rows meet stored rows: who is kept, who wins, who is gone, who is left over."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from attrs import define, frozen
from hoodoo.hookspecs.merger import Merged
from hoodoo.model.meta import RECORD_KEY
from hoodoo_rows.merge.meet import KeyJoin
from hoodoo_rows.model.internal_row import DELETE, DELETE_ROW, OP, PUT
from hypothesis import given, settings
from hypothesis import strategies as st

STORED = pa.schema([(RECORD_KEY, pa.string()), ("ts", pa.int64()), ("a", pa.string())])
WAITING = pa.schema([(OP, pa.int8()), *STORED])


@frozen
class Higher:
    """The higher `ts` wins; the later row if they are equal."""

    merge_mode: str = "EVENT_TIME_ORDERING"
    strategy_id: str = str(uuid.UUID(int=2))
    columns: tuple[str, ...] | None = ("ts",)

    def merge(self, older: pa.Table, newer: pa.Table) -> Merged:
        assert older.schema.equals(newer.schema)
        old, new = (pc.fill_null(t["ts"], -1) for t in (older, newer))
        return Merged(newer_wins=pc.greater_equal(new, old).combine_chunks())


@define
class Both:
    """Builds rows of both texts, and remembers which columns it saw."""

    merge_mode: str = "CUSTOM"
    strategy_id: str = str(uuid.UUID(int=3))
    columns: tuple[str, ...] | None = None
    seen: tuple[str, ...] = ()

    def merge(self, older: pa.Table, newer: pa.Table) -> Merged:
        self.seen = tuple(older.schema.names)
        texts = pc.binary_join_element_wise(older["a"], newer["a"], "+")
        at = newer.schema.get_field_index("a")
        return Merged(rows=newer.set_column(at, newer.schema.field(at), texts))


def stored(rows: Sequence[tuple[Any, ...]], schema: pa.Schema = STORED) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    return pa.record_batch([pa.array(c, f.type) for c, f in zip(columns, schema)], schema=schema)


def waiting(rows: Sequence[tuple[Any, ...]], merger: Any = None, **more: Any) -> KeyJoin:
    table = pa.Table.from_batches([stored(rows, WAITING)])
    return KeyJoin(table, merger or Higher(), **more)


def met(held: KeyJoin, batch: pa.RecordBatch) -> tuple[list[Any], list[Any], int]:
    """(keys kept, rows that win without their operation, number of deleted)."""
    answer = held.meet(batch, held.places(batch.column(RECORD_KEY)))
    winners = [] if answer.winners is None else answer.winners.to_pylist()
    assert all(row[OP] == PUT for row in winners)
    shown = [(row[RECORD_KEY], row["ts"], row["a"]) for row in winners]
    return answer.kept.column(RECORD_KEY).to_pylist(), shown, answer.deleted


def rest(held: KeyJoin) -> list[str]:
    found: list[str] = held.rest().column(RECORD_KEY).to_pylist()
    return found


def test_winners_losers_and_strangers() -> None:
    held = waiting([(PUT, "x", 6, "new"), (PUT, "y", 4, "late"), (PUT, "z", 1, "only here")])
    batch = stored([("x", 5, "old"), ("w", 5, "alone"), ("y", 5, "stays")])
    assert met(held, batch) == (["w", "y"], [("x", 6, "new")], 0)
    assert rest(held) == ["z"]


def test_a_batch_that_nobody_waits_for_is_handed_back() -> None:
    held = waiting([(PUT, "x", 6, "new")])
    batch = stored([("v", 5, "old"), ("w", 5, "old")])
    answer = held.meet(batch, held.places(batch.column(RECORD_KEY)))
    assert answer.kept is batch and answer.winners is None and answer.deleted == 0
    assert rest(held) == ["x"]


def test_deletes_take_stored_rows_along_and_are_never_inserts() -> None:
    held = waiting([(DELETE, "x", None, None), (DELETE_ROW, "y", 6, None), (DELETE_ROW, "z", 4, None),
                    (DELETE, "nobody", None, None), (DELETE_ROW, "none", 9, None)])  # fmt: skip
    batch = stored([("x", 5, "a"), ("y", 5, "a"), ("z", 5, "a")])
    assert met(held, batch) == (["z"], [], 2)
    assert rest(held) == []


def test_one_that_lost_is_no_insert() -> None:
    held = waiting([(PUT, "x", 4, "late")])
    assert met(held, stored([("x", 5, "old")])) == (["x"], [], 0)
    assert rest(held) == []


def test_batch_after_batch() -> None:
    held = waiting([(PUT, f"k{i}", 6, "new") for i in range(9)])
    for start in (0, 3):
        batch = stored([(f"k{i}", 5, "old") for i in range(start, start + 3)])
        assert met(held, batch)[1] == [(f"k{i}", 6, "new") for i in range(start, start + 3)]
    assert rest(held) == ["k6", "k7", "k8"]
    assert held.rest().equals(held.rest()), "asking twice gives the same"


def test_places_say_who_waits_for_a_key() -> None:
    held = waiting([(PUT, "x", 1, ""), (PUT, "y", 1, "")])
    asked = pa.chunked_array([["y", "w"], [], ["x"]], pa.string())
    assert held.places(asked).to_pylist() == [1, None, 0]


@pytest.mark.parametrize("wins", [True, False])
def test_absent_columns_are_those_of_the_stored_row(wins: bool) -> None:
    ts = 6 if wins else 4
    absent = {"a": np.array([True, False])}
    held = waiting([(PUT, "x", ts, None), (PUT, "y", ts, None)], absent=absent)
    kept, winners, gone = met(held, stored([("y", 5, "stored y"), ("x", 5, "stored x")]))
    assert gone == 0
    if wins:
        assert sorted(winners) == [("x", 6, "stored x"), ("y", 6, None)]
    else:
        assert kept == ["y", "x"] and not winners


def test_absent_columns_of_some_of_the_winners() -> None:
    """The masks speak of the waiting rows, and only some of them are met, in another order."""
    absent = {"a": np.array([False, True, False, True])}
    held = waiting([(PUT, k, t, None) for k, t in zip("wxyz", (6, 4, 6, 6))], absent=absent)
    batch = stored([(k, 5, f"stored {k}") for k in "zvxw"])
    assert met(held, batch) == (["v", "x"], [("z", 6, "stored z"), ("w", 6, None)], 0)
    assert rest(held) == ["y"]


def test_built_rows_take_the_place_of_stored_ones() -> None:
    held = waiting([(PUT, "x", 6, "new"), (DELETE_ROW, "y", 1, ""), (PUT, "z", 1, "z")], Both())
    batch = stored([("x", 5, "old"), ("w", 5, "w"), ("y", 5, "old")])
    assert met(held, batch) == (["w"], [("x", 6, "old+new")], 1)
    assert rest(held) == ["z"]


@pytest.mark.parametrize("merger", [Higher(), Both()], ids=["chosen", "built"])
def test_rows_in_the_places_of_stored_ones(merger: Any) -> None:
    """From batches that have only what the merger looks at; those that lost have no place."""
    held = waiting([(PUT, "x", 6, "new"), (PUT, "y", 4, "late"), (PUT, "z", 1, "z")], merger)
    whole = [stored([("w", 5, "w"), ("y", 5, "old")]), stored([("v", 5, "v"), ("x", 5, "old")])]
    needed = [b.select(["ts"]) for b in whole] if merger.columns else whole
    at = held.places(pa.array(["w", "y", "v", "x"]))
    places, rows, complete = held.replacing(needed, at)
    if merger.columns:
        assert (places.to_pylist(), rows["a"].to_pylist(), complete) == ([3], ["new"], False)
    else:
        built = ["old+late", "old+new"]
        assert (places.to_pylist(), rows["a"].to_pylist(), complete) == ([1, 3], built, True)
    assert rest(held) == ["z"]


def test_columns_aside_are_not_the_mergers_business() -> None:
    merger = Both()
    table = pa.Table.from_batches([stored([(PUT, "x", 6, "new")], WAITING)])
    held = KeyJoin(table, merger, aside=frozenset({RECORD_KEY}))
    batch = stored([(5, "old")], pa.schema([STORED.field("ts"), STORED.field("a")]))
    answer = held.meet(batch, held.places(pa.array(["x"])))
    assert merger.seen == (OP, "ts", "a")
    assert answer.winners is not None and answer.winners.column("a").to_pylist() == ["old+new"]
    assert answer.kept.num_rows == 0


def test_stored_columns_of_a_narrower_type_are_compared_in_the_tables() -> None:
    held = waiting([(PUT, "x", 6, "new"), (PUT, "y", 2**40, "new")])
    narrow = pa.schema([STORED.field(0), ("ts", pa.int32()), STORED.field(2)])
    batch = stored([("x", 7, "stays"), ("y", 7, "old")], narrow)
    assert met(held, batch) == (["x"], [("y", 2**40, "new")], 0)


KEYS = st.text("abcdefgh", min_size=1, max_size=1)
ROWS = st.tuples(st.integers(0, 3), st.sampled_from([None, "p", "q"]))


@given(
    st.dictionaries(KEYS, st.tuples(st.sampled_from([PUT, PUT, DELETE, DELETE_ROW]), ROWS), min_size=1),
    st.dictionaries(KEYS, ROWS),
    st.integers(1, 4),
)  # fmt: skip
@settings(max_examples=100, deadline=None)
def test_as_a_dictionary_does_it(
    arrived: dict[str, tuple[int, tuple[int, str | None]]],
    there: dict[str, tuple[int, str | None]],
    size: int,
) -> None:
    expected = dict(there)
    for key, (op, row) in arrived.items():
        if key in there and op != DELETE and row[0] < there[key][0]:
            continue
        if op == PUT:
            expected[key] = row
        else:
            expected.pop(key, None)
    held = waiting([(op, key, *row) for key, (op, row) in arrived.items()])
    found: dict[str, tuple[int, str | None]] = {}
    rows = [(key, *row) for key, row in there.items()]
    gone = 0
    for start in range(0, len(rows), size):
        batch = stored(rows[start : start + size])
        kept, winners, deleted = met(held, batch)
        gone += deleted
        found |= {key: there[key] for key in kept} | {key: (ts, a) for key, ts, a in winners}
    inserts = held.rest().to_pylist()
    assert not any(row[RECORD_KEY] in found or row[OP] != PUT for row in inserts)
    found |= {row[RECORD_KEY]: (row["ts"], row["a"]) for row in inserts}
    assert found == expected
    assert gone == sum(key not in expected for key in there)
