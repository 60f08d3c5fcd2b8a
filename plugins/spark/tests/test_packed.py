"""Packed rows, without a JVM."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hoodoo.errors import DataError, EngineError
from hoodoo.hookspecs.engine import PART, SLOT
from hoodoo_rows.engine.crossing import Crossing, usual_serializer
from hoodoo_spark.pack import PackResult, PackRouted
from hoodoo_spark.packed import ERROR, SORT, Arrived, by_part, error_json, error_row
from hypothesis import given, settings
from hypothesis import strategies as st

SCHEMA = pa.schema([("n", pa.int64()), ("s", pa.string()), (PART, pa.int32()), (SLOT, pa.int32())])
CROSSING = Crossing.of(SCHEMA, 4, None)
BOUND = usual_serializer().bind(SCHEMA)


def result(message: pa.Buffer, part: int, slot: int) -> pa.RecordBatch:
    return BOUND.deserialize(message)


def table(rows: list[tuple[str, int, int]]) -> pa.Table:
    found = [{"n": n, "s": s, PART: p, SLOT: t} for n, (s, p, t) in enumerate(rows)]
    return pa.Table.from_pylist(found, SCHEMA)


def shuffled(packed: list[pa.RecordBatch], size: int = 5) -> list[pa.RecordBatch]:
    """What Spark makes of packed rows, in one task: sorted, nulls first, in batches of ``size``."""
    whole = pa.Table.from_batches(packed, packed[0].schema)
    keys = [(name, "ascending", "at_start") for name in SORT]
    try:
        order = whole.sort_by(keys)
    except (TypeError, ValueError):
        order = whole.sort_by([(name, "ascending") for name in SORT])
    return order.to_batches(max_chunksize=size)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(st.text(max_size=9), st.integers(0, 3), st.integers(-2, 2)), max_size=80),
    st.integers(1, 40),
    st.sampled_from([64, 128, 1024]),
)
def test_there_and_back(rows: list[tuple[str, int, int]], step: int, piece: int) -> None:
    given_rows = table(rows)
    end = PackRouted(CROSSING, piece, np.arange(4, dtype=np.int32))
    packed: list[pa.RecordBatch] = []
    batches = given_rows.to_batches(max_chunksize=step)
    for origin, batch in enumerate(batches):  # each batch comes from a task of its own
        packed += end(iter([batch]), origin)
    if not packed:
        assert not rows
        return
    assert all(len(x) <= piece for b in packed for x in b.column("payload").to_pylist())
    found = []
    for part, part_batches in by_part(iter(shuffled(packed)), CROSSING.unpack):
        last = None
        for batch in part_batches:
            assert batch.schema == SCHEMA
            assert set(batch.column(PART).to_pylist()) == {part}
            slots = batch.column(SLOT).unique().to_pylist()
            assert len(slots) == 1 and (last is None or slots[0] >= last)
            last = slots[0]
            found.append(batch)
    back = pa.Table.from_batches(found, SCHEMA).sort_by("n").combine_chunks()
    assert back == given_rows.combine_chunks()


def test_wide_messages_are_cut() -> None:
    noise = np.random.default_rng(1).bytes(1 << 20).hex()
    given_rows = table([(noise, 0, 0)])
    end = PackRouted(CROSSING, 65536, np.arange(1, dtype=np.int32))
    packed = list(end(iter(given_rows.to_batches()), 0))
    assert sum(b.num_rows for b in packed) > 8
    ((_, batches),) = [(p, list(b)) for p, b in by_part(iter(packed), CROSSING.unpack)]
    assert pa.Table.from_batches(batches) == given_rows


def test_order_is_kept_for_the_driver() -> None:
    given_rows = table([(str(i), 3 - i % 4, 0) for i in range(100)])
    packed = PackResult(BOUND, 64)(iter(given_rows.to_batches(max_chunksize=9)), 5)
    ((_, batches),) = [(p, list(b)) for p, b in by_part(packed, result)]
    assert pa.Table.from_batches(batches).combine_chunks() == given_rows.combine_chunks()


def test_errors_come_before_rows_of_their_part() -> None:
    end = PackRouted(CROSSING, 1024, np.arange(2, dtype=np.int32))
    packed = list(end(iter(table([("a", 0, -5), ("b", 1, 0)]).to_batches()), 0))
    text = error_json(DataError("x", "y", "z"))
    assert len(text) % 8 == 0
    found = {}
    for part, batches in by_part(iter(shuffled([*packed, error_row(0, 9, text)])), CROSSING.unpack):
        try:
            found[part] = sum(b.num_rows for b in batches)
        except Arrived as error:
            assert error.payload == text
            found[part] = -1
    assert found == {0: -1, 1: 1}
    assert ERROR in shuffled([error_row(0, 9, text)])[0].column("kind").to_pylist()


@pytest.mark.parametrize(("part", "wanted"), [(-1, "part -1"), (2, "part 2")])
def test_parts_that_are_none(part: int, wanted: str) -> None:
    end = PackRouted(CROSSING, 1024, np.arange(2, dtype=np.int32))
    with pytest.raises(EngineError, match=wanted):
        list(end(iter(table([("a", part, 0)]).to_batches()), 0))


def test_rows_without_a_slot() -> None:
    rows = table([("a", 0, 0)]).set_column(3, SCHEMA.field(SLOT), pa.nulls(1, pa.int32()))
    end = PackRouted(CROSSING, 1024, np.arange(2, dtype=np.int32))
    with pytest.raises(EngineError, match="_hoodie__slot"):
        list(end(iter(rows.to_batches()), 0))


def test_pieces_that_end_early() -> None:
    """Must not be taken for a shorter message."""
    end = PackResult(usual_serializer().bind(SCHEMA, near=True), 64)
    packed = pa.Table.from_batches(end(iter(table([("a" * 500, 0, 0)]).to_batches()), 0))
    cut = packed.slice(0, packed.num_rows - 1)
    with pytest.raises(RuntimeError, match="end early"):
        [list(batches) for _, batches in by_part(iter(cut.to_batches()), result)]
