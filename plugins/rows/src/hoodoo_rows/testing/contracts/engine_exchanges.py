"""What exchanges of an engine promise: rows of one part meet in one task, and are counted."""

from __future__ import annotations

import itertools

import pyarrow as pa
import pytest
from hoodoo.errors import EngineError
from hoodoo.hookspecs.engine import (
    PART,
    SLOT,
    Counted,
    Engine,
    Workspace,
)

from hoodoo_rows.engine.crossing import usual_serializer
from hoodoo_rows.model.internal_row import FIELDS
from hoodoo_rows.testing import engine_steps as steps
from hoodoo_rows.testing.contracts.engine_streams import ROWS, MakesStreams, by_key, rows
from hoodoo_rows.testing.metered import Metered


class ExchangesRows(MakesStreams):
    """Exchanges, slots and meters."""

    @pytest.mark.parametrize("parts", [1, 2, 7, 16])
    def test_exchange_part_is_the_task(self, engine: Engine, parts: int) -> None:
        stream = self.routed(engine, rows(1000), parts)
        stream = engine.map(stream, steps.Numbered(stream.schema))
        found = by_key(engine.collect(stream))
        assert found.column(PART) == found.column("task")
        assert found.select(["key", "name"]) == rows(1000)

    def test_exchange_keeps_the_schema(self, engine: Engine) -> None:
        stream = self.routed(engine, rows(10), 2)
        assert stream.schema.names == ["key", "name", PART, SLOT]
        assert engine.collect(stream).schema == stream.schema

    def test_exchange_has_all_its_partitions(self, engine: Engine) -> None:
        """Parts without a row are partitions too."""
        stream = self.routed(engine, rows(3), 8)
        found = engine.collect(engine.map(stream, steps.Count())).sort_by("task")
        assert found.column("task").to_pylist() == list(range(8))
        assert found.column("rows").to_pylist() == [1, 1, 1, 0, 0, 0, 0, 0]

    def test_exchange_of_nothing(self, engine: Engine) -> None:
        stream = self.routed(engine, rows(0), 5)
        found = engine.collect(engine.map(stream, steps.Count())).sort_by("task")
        assert found.to_pylist() == [{"task": i, "rows": 0} for i in range(5)]

    def test_exchange_of_no_tasks(self, engine: Engine) -> None:
        stream = engine.map(engine.tasks([]), steps.Ignore(steps.Route(ROWS, 1, 1).out_schema))
        found = engine.collect(engine.map(engine.exchange(stream, 3), steps.Count()))
        assert sorted(found.column("task").to_pylist()) == [0, 1, 2]

    def test_slots_are_consecutive_and_never_mixed(self, engine: Engine) -> None:
        stream = self.routed(engine, rows(5000), 3, slots=20, pieces=5)
        found = engine.collect(engine.map(stream, steps.Trace()))
        assert sum(found.column("rows").to_pylist()) == 5000
        for row in found.to_pylist():
            assert row["low"] == row["high"], "a batch with rows of two slots"
            assert row["parts"] == 1 and row["part"] == row["task"]
        for _, of_task in itertools.groupby(
            sorted(found.to_pylist(), key=lambda r: (r["task"], r["place"])), lambda r: r["task"]
        ):
            order = [row["low"] for row in of_task]
            assert order == sorted(order)

    def test_many_small_slots(self, engine: Engine) -> None:
        stream = self.routed(engine, rows(20_000), 4, slots=10_000, pieces=2)
        found = engine.collect(engine.map(stream, steps.Trace()))
        assert sum(found.column("rows").to_pylist()) == 20_000
        assert found.column("low") == found.column("high")
        assert len(set(found.column("low").to_pylist())) == 10_000

    def test_slots_of_any_int32(self, engine: Engine) -> None:
        schema = steps.Route(ROWS, 1, 1).out_schema
        slots = [5, -1, 2**31 - 1, -(2**31), 0, -1]
        table = rows(6).append_column(PART, pa.array([1] * 6, pa.int32()))
        table = table.append_column(SLOT, pa.array(slots, pa.int32())).cast(schema)
        found = engine.collect(engine.exchange(engine.source(table), 2))
        assert found.column(SLOT).to_pylist() == sorted(slots)

    def test_part_out_of_range(self, engine: Engine) -> None:
        stream = engine.map(engine.source(rows(10)), steps.Route(ROWS, 4, 1))
        with pytest.raises(EngineError):
            engine.collect(engine.exchange(stream, 3))

    def test_exchange_needs_its_columns(self, engine: Engine) -> None:
        with pytest.raises(EngineError):
            engine.collect(engine.exchange(engine.source(rows(10)), 2))

    def test_exchange_after_exchange(self, engine: Engine) -> None:
        stream = engine.map(self.routed(engine, rows(500), 5), steps.Narrow(ROWS))
        stream = engine.exchange(engine.map(stream, steps.Route(ROWS, 3, 4)), 3)
        stream = engine.map(stream, steps.Numbered(stream.schema))
        found = by_key(engine.collect(stream))
        assert found.column(PART) == found.column("task")
        assert found.select(["key", "name"]) == rows(500)

    def test_exchange_uses_the_serializer(self, engine: Engine) -> None:
        """Both ways, and what it is given are internal rows."""
        metered = Metered(steps.Backwards(), engine.meter)
        stream = engine.map(self.spread(engine, rows(300)), steps.Route(ROWS, 3, 2))
        found = engine.collect(engine.exchange(stream, 3, metered))
        assert by_key(found).select(ROWS.names) == rows(300)
        (exchange,) = metered.exchanges
        assert tuple(exchange.schema.names) == FIELDS
        assert [f.name for f in exchange.schema.field("row_data").type] == ROWS.names

    def test_exchange_of_keys_and_of_keyed_rows(self, engine: Engine) -> None:
        metered = Metered(usual_serializer(), engine.meter)
        table = rows(60)
        keys = table.column("key").cast(pa.string())
        more = table.append_column("_hoodie_record_key", keys)
        more = more.append_column("_hoodie__op", pa.array([0, 1] * 30, pa.int8()))
        stream = engine.map(self.spread(engine, more), steps.Route(more.schema, 2, 2))
        found = by_key(engine.collect(engine.exchange(stream, 2, metered)))
        assert found.select(more.schema.names) == more
        only = pa.table({"record_key": keys, PART: pa.array([1] * 60, pa.int32())})
        only = only.append_column(SLOT, pa.array([0] * 60, pa.int32()))
        found = engine.collect(engine.exchange(engine.source(only), 2, metered))
        assert found.sort_by("record_key").combine_chunks() == only.sort_by("record_key")
        kinds = [exchange.schema.field("row_data").type for exchange in metered.exchanges]
        assert [f.name for f in kinds[0]] == ROWS.names and kinds[1] == pa.null()

    def test_exchanges_are_counted(self, engine: Engine) -> None:
        metered = Metered(usual_serializer(), engine.meter)
        stream = engine.map(self.spread(engine, rows(1000)), steps.Route(ROWS, 2, 3))
        stream = engine.map(engine.exchange(stream, 2, metered), steps.Narrow(ROWS))
        stream = engine.exchange(engine.map(stream, steps.Route(ROWS, 5, 1)), 5, metered)
        assert metered.total() == Counted(), "an exchange is lazy"
        engine.collect(stream)
        first, second = (exchange.read() for exchange in metered.exchanges)
        for counted in (first, second):
            assert counted.rows == 1000
            assert counted.bytes > 1000 * 3 / 2 and counted.messages >= 5
            assert counted.serialize_seconds > 0 and counted.deserialize_seconds > 0
        assert metered.total() == first + second

    def test_only_exchanges_serialize(self, engine: Engine, workspace: Workspace) -> None:
        """Rows that are mapped, staged, joined, sent aside and collected are no internal rows."""
        metered = Metered(usual_serializer(), engine.meter)
        routed = engine.map(self.spread(engine, rows(100)), steps.Route(ROWS, 2, 3))
        exchanged = engine.exchange(routed, 2, metered)
        words = engine.side(
            pa.table({"key": pa.array(range(5), pa.int64()), "word": list("abcde")})
        )
        staged = engine.stage(
            engine.map(self.spread(engine, rows(100)), steps.Same(ROWS)), workspace
        )
        stream = engine.map(engine.union([staged, staged]), steps.Lookup(ROWS, words))
        assert engine.collect(stream).num_rows == 200
        assert metered.total() == Counted()
        engine.collect(exchanged)
        alone = metered.total()
        staged = engine.stage(engine.map(staged, steps.Same(ROWS)), workspace)
        engine.collect(staged)
        assert metered.total() == alone and alone.rows == 100

    def test_meters_start_at_nothing(self, engine: Engine) -> None:
        one, other = engine.meter(), engine.meter()
        one.add(Counted(3, 2, 1, 0.5, 0.25))
        one.add(Counted(rows=1))
        assert one.read() == Counted(4, 2, 1, 0.5, 0.25) and other.read() == Counted()
