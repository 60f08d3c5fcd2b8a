"""What every engine promises: the contract of :class:`hoodoo.hookspecs.engine.Engine` as tests.

Usage::

    class TestMine(EngineContract):
        @pytest.fixture
        def engine(self):
            return MyEngine()

        @pytest.fixture
        def workspace(self, tmp_path):
            return Workspace(DirectoryStorage(str(tmp_path / "table")), "stage")

``workspace`` is empty, a new one for each test. The engine may be shared by all tests.
"""

from __future__ import annotations

import pickle
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hoodoo.errors import DataError, HoodooError
from hoodoo.hookspecs.engine import (
    PART,
    Engine,
    KnowsStorage,
    Stream,
    Workspace,
    spread,
)
from hoodoo.testing.samples import nested

from hoodoo_rows.testing import engine_steps as steps
from hoodoo_rows.testing.contracts.engine_exchanges import ExchangesRows
from hoodoo_rows.testing.contracts.engine_streams import ROWS, by_key, rows


class EngineContract(ExchangesRows):
    # --- the object -------------------------------------------------------------------------------
    def test_is_an_engine(self, engine: Engine) -> None:
        assert isinstance(engine, Engine)
        assert engine.name and engine.parallelism >= 1

    def test_accepts_no_arrow(self, engine: Engine) -> None:
        """Arrow is what every engine reads; ``accepts`` is for what only one does."""
        assert not engine.accepts(rows(1))
        assert not engine.accepts(None)

    def test_check_without_plugins(self, engine: Engine) -> None:
        engine.check([])

    # --- sources ----------------------------------------------------------------------------------
    def test_source_table(self, engine: Engine) -> None:
        stream = engine.source(rows(1000))
        assert stream.schema == ROWS
        assert engine.collect(stream).combine_chunks() == rows(1000)

    def test_source_reader(self, engine: Engine) -> None:
        reader = rows(1000).to_reader(max_chunksize=10)
        assert engine.collect(engine.source(reader)).combine_chunks() == rows(1000)

    def test_source_capsule(self, engine: Engine) -> None:
        """Anything that speaks the Arrow PyCapsule protocol."""

        class Foreign:
            def __arrow_c_stream__(self, requested_schema: object = None) -> object:
                return rows(10).__arrow_c_stream__(requested_schema)

        assert engine.collect(engine.source(Foreign())).combine_chunks() == rows(10)

    def test_source_dataset(self, engine: Engine, tmp_path: Path) -> None:
        for i in range(3):
            pq.write_table(rows(100, i * 100), tmp_path / f"{i}.parquet", row_group_size=30)
        import pyarrow.dataset as ds  # here, as it imports pandas where there is one

        dataset = ds.dataset(str(tmp_path), format="parquet")
        found = engine.collect(engine.source(dataset))
        assert found.schema == ROWS
        assert by_key(found) == rows(300)

    def test_source_filtered_dataset(self, engine: Engine, tmp_path: Path) -> None:
        """The filter of a dataset is not lost."""
        pq.write_table(rows(100), tmp_path / "0.parquet")
        import pyarrow.dataset as ds  # here, as it imports pandas where there is one

        dataset = ds.dataset(str(tmp_path), format="parquet").filter(pc.field("key") >= 90)
        assert by_key(engine.collect(engine.source(dataset))) == rows(10, 90)

    def test_source_unknown(self, engine: Engine) -> None:
        with pytest.raises(DataError):
            engine.source(object())

    def test_source_large(self, engine: Engine) -> None:
        table = rows(1_000_000)
        found = engine.collect(engine.map(engine.source(table), steps.Count()))
        assert sum(found.column("rows").to_pylist()) == 1_000_000

    # --- tasks and map ----------------------------------------------------------------------------
    def test_tasks(self, engine: Engine) -> None:
        payloads = [f"payload {i}".encode() for i in range(9)]
        stream = engine.tasks(payloads)
        assert stream.schema == pa.schema([("payload", pa.binary())])
        found = engine.collect(engine.map(stream, steps.Upper()))
        assert found.to_pylist() == [{"text": f"PAYLOAD {i}", "task": i} for i in range(9)]

    def test_no_tasks(self, engine: Engine) -> None:
        found = engine.collect(engine.map(engine.tasks([]), steps.Upper()))
        assert found.num_rows == 0 and found.schema == steps.Upper().out_schema

    def test_tasks_of_all_bytes(self, engine: Engine) -> None:
        payloads = [b"", bytes(range(256)), b"\x00" * 100_000]
        assert engine.collect(engine.tasks(payloads)).column("payload").to_pylist() == payloads

    def test_map_is_lazy(self, engine: Engine, tmp_path: Path) -> None:
        engine.map(engine.source(rows(10)), steps.Same(ROWS, str(tmp_path)))
        assert not list(tmp_path.iterdir())

    def test_map_keeps_the_declared_schema_by_name(self, engine: Engine) -> None:
        """Columns that a step returns in another order, or in a type that casts, are put right."""
        stream = engine.map(engine.source(rows(100)), steps.Reversed(ROWS))
        stream = engine.map(stream, steps.Reversed(ROWS))
        assert stream.schema == ROWS
        assert engine.collect(stream).combine_chunks() == rows(100)

    def test_map_without_a_declared_column(self, engine: Engine) -> None:
        stream = engine.map(engine.source(rows(10)), steps.Drop(ROWS, "name"))
        with pytest.raises(HoodooError) as caught:
            engine.collect(stream)
        assert "name" in str(caught.value)

    def test_map_that_reads_nothing(self, engine: Engine) -> None:
        stream = engine.map(self.spread(engine, rows(50_000)), steps.Ignore(ROWS))
        assert engine.collect(stream).num_rows == 0

    def test_a_step_runs_on_every_partition(self, engine: Engine) -> None:
        found = engine.collect(engine.map(self.spread(engine, rows(40)), steps.Count()))
        assert sum(found.column("rows").to_pylist()) == 40
        assert len(set(found.column("task").to_pylist())) == found.num_rows

    def test_collect_evaluates_once(self, engine: Engine, tmp_path: Path) -> None:
        stream = engine.map(self.spread(engine, rows(40)), steps.Same(ROWS, str(tmp_path)))
        stream = engine.map(stream, steps.Route(ROWS, 2, 2))
        engine.collect(engine.map(engine.exchange(stream, 2), steps.Count()))
        marks = Counter(path.name.split("-")[0] for path in tmp_path.iterdir())
        assert set(marks.values()) == {1} and len(marks) >= 4

    # --- exchange ---------------------------------------------------------------------------------

    # --- serializers ------------------------------------------------------------------------------

    # --- the table's storage ----------------------------------------------------------------------
    def test_works_for_a_storage(self, engine: Engine, workspace: Workspace) -> None:
        """An engine that gets the table's storage works as before, and refuses a store that its
        tasks would find empty, if they run in other processes. It deletes its files when nobody
        reads them."""
        if not isinstance(engine, KnowsStorage):
            return
        found = self.routed(engine.on(workspace.storage), rows(100), 3)
        assert engine.collect(found).num_rows == 100

    def test_spreads_a_table_that_its_driver_does_not_hold(
        self, engine: Engine, workspace: Workspace
    ) -> None:
        """Each task sees all rows of the stream, as ``made`` makes them; without the member, of
        what is collected."""
        source = engine.map(self.spread(engine, rows(100)), steps.Same(ROWS))
        words = spread(engine, source, workspace, steps.words)
        found = engine.collect(
            engine.map(self.spread(engine, rows(100), 3), steps.Lookup(ROWS, words))
        )
        assert sorted(found.column("word").to_pylist()) == sorted(f"word {n}" for n in range(100))
        assert words.table().num_rows == 100 and len(pickle.dumps(words)) < 10_000

    # --- what survives a crossing -----------------------------------------------------------------
    def test_nested_types_survive(self, engine: Engine, workspace: Workspace) -> None:
        table = nested(50)
        stream = self.spread(engine, table, 3)
        stream = engine.map(stream, steps.Route(table.schema, 2, 2))
        stream = engine.stage(engine.exchange(stream, 2), workspace)
        found = by_key(engine.collect(stream)).select(table.schema.names)
        assert found.schema == table.schema
        assert found.to_pylist() == table.to_pylist()

    def test_dictionaries_survive(self, engine: Engine, workspace: Workspace) -> None:
        words = pa.array(["a", "b", None, "a"] * 10).dictionary_encode()
        table = pa.table({"key": pa.array(range(40), pa.int64()), "word": words})
        stream = engine.map(self.spread(engine, table, 3), steps.Route(table.schema, 2, 5))
        found = engine.collect(engine.stage(engine.exchange(stream, 2), workspace))
        found = by_key(found)
        assert found.column("word").to_pylist() == table.column("word").to_pylist()
        assert found.schema.field("word").type == words.type

    def test_wide_rows(self, engine: Engine) -> None:
        """Rows of 8 MiB."""
        texts = [chr(ord("a") + i) * (8 << 20) for i in range(6)]
        table = pa.table({"key": pa.array(range(6), pa.int64()), "name": texts}, schema=ROWS)
        stream = self.routed(engine, table, 2, slots=3, pieces=2)
        found = by_key(engine.collect(stream))
        assert found.column("name").to_pylist() == texts

    # --- stage ------------------------------------------------------------------------------------
    def test_stage_evaluates_once(
        self, engine: Engine, workspace: Workspace, tmp_path: Path
    ) -> None:
        marks = tmp_path / "marks"
        marks.mkdir()
        stream = engine.map(self.spread(engine, rows(100)), steps.Same(ROWS, str(marks)))
        staged = engine.stage(stream, workspace)
        made = len(list(marks.iterdir()))
        assert made >= 1, "stage did not evaluate"
        for _ in range(3):
            assert by_key(engine.collect(staged)) == rows(100)
        found = engine.collect(engine.map(staged, steps.Count()))
        assert sum(found.column("rows").to_pylist()) == 100
        names = Counter(path.name.split("-")[0] for path in marks.iterdir())
        assert set(names.values()) == {1} and sum(names.values()) == made

    def test_stage_keeps_partitions_and_order(self, engine: Engine, workspace: Workspace) -> None:
        """Empty ones too; slots stay consecutive, batches unmixed."""
        staged = engine.stage(self.routed(engine, rows(60), 7, slots=9), workspace)
        found = engine.collect(engine.map(staged, steps.Trace()))
        assert found.column("task") == found.column("part")
        assert found.column("low") == found.column("high")
        counts = engine.collect(engine.map(staged, steps.Count())).sort_by("task")
        assert counts.column("task").to_pylist() == list(range(7))

    def test_stage_of_nothing(self, engine: Engine, workspace: Workspace) -> None:
        staged = engine.stage(self.routed(engine, rows(0), 3), workspace)
        found = engine.collect(engine.map(staged, steps.Count())).sort_by("task")
        assert found.to_pylist() == [{"task": i, "rows": 0} for i in range(3)]
        staged = engine.stage(engine.tasks([]), workspace)
        assert engine.collect(staged).num_rows == 0

    def test_two_stages_in_one_workspace(self, engine: Engine, workspace: Workspace) -> None:
        first = engine.stage(engine.source(rows(10)), workspace)
        second = engine.stage(engine.source(rows(10, 10)), workspace)
        assert by_key(engine.collect(engine.union([first, second]))) == rows(20)

    # --- union ------------------------------------------------------------------------------------
    def test_union_keeps_all_partitions(self, engine: Engine, workspace: Workspace) -> None:
        """Task numbers after the union are distinct, in the order of the streams; steps before it
        keep their own."""
        exchanged = self.routed(engine, rows(30), 3)
        exchanged = engine.map(exchanged, steps.Numbered(exchanged.schema, "before"))
        again = self.routed(engine, rows(40, 30), 4)
        again = engine.stage(engine.map(again, steps.Numbered(again.schema, "before")), workspace)
        stream = engine.union([exchanged, again])
        stream = engine.map(stream, steps.Numbered(stream.schema, "after"))
        found = by_key(engine.collect(stream))
        assert found.select(["key", "name"]) == rows(70)
        assert found.column("before") == found.column(PART)
        numbers = zip(found.column("key").to_pylist(), found.column("after").to_pylist())
        assert all(after == (key % 3 if key < 30 else 3 + key % 4) for key, after in numbers)

    def test_union_of_a_stream_with_itself(self, engine: Engine, workspace: Workspace) -> None:
        staged = engine.stage(engine.source(rows(10)), workspace)
        found = engine.collect(engine.union([staged, staged, staged]))
        assert Counter(found.column("key").to_pylist()) == {key: 3 for key in range(10)}

    def test_union_with_nothing(self, engine: Engine) -> None:
        stream = engine.union([engine.source(rows(0)), engine.source(rows(10))])
        assert by_key(engine.collect(stream)) == rows(10)

    def test_union_feeds_one_exchange(self, engine: Engine) -> None:
        tagged = engine.map(self.routed(engine, rows(100), 3), steps.Narrow(ROWS))
        stream = engine.union([tagged, engine.source(rows(100, 100))])
        stream = engine.exchange(engine.map(stream, steps.Route(ROWS, 5, 2)), 5)
        stream = engine.map(stream, steps.Numbered(stream.schema))
        found = by_key(engine.collect(stream))
        assert found.column(PART) == found.column("task")
        assert found.select(["key", "name"]) == rows(200)

    # --- side -------------------------------------------------------------------------------------
    def test_side(self, engine: Engine) -> None:
        words = pa.table({"key": pa.array(range(5), pa.int64()), "word": list("abcde")})
        handle = engine.side(words)
        assert handle.table() == words
        stream = self.spread(engine, rows(8))
        stream = engine.map(stream, steps.Lookup(ROWS, handle))
        found = by_key(engine.collect(stream))
        assert found.column("word").to_pylist() == [*"abcde", None, None, None]

    # --- errors -----------------------------------------------------------------------------------
    def refusing(self, engine: Engine, kind: type[Exception]) -> Stream:
        return engine.map(self.spread(engine, rows(100)), steps.Refuse(ROWS, 70, kind))

    def test_errors_keep_their_class(self, engine: Engine) -> None:
        with pytest.raises(DataError) as caught:
            engine.collect(self.refusing(engine, DataError))
        error = caught.value
        assert type(error) is DataError
        assert (error.obj, error.rule, error.fix) == ("key 70", "is not wanted.", "Leave it out.")

    def test_errors_of_stage(self, engine: Engine, workspace: Workspace) -> None:
        with pytest.raises(DataError):
            engine.stage(self.refusing(engine, DataError), workspace)

    def test_errors_before_exchanges(self, engine: Engine, workspace: Workspace) -> None:
        """Through two exchanges, and from the part that is not the first."""
        stream = engine.map(self.refusing(engine, DataError), steps.Route(ROWS, 3, 3))
        stream = engine.map(engine.exchange(stream, 3), steps.Narrow(ROWS))
        stream = engine.exchange(engine.map(stream, steps.Route(ROWS, 4, 2)), 4)
        with pytest.raises(DataError, match="key 70"):
            engine.collect(engine.map(stream, steps.Count()))

    def test_errors_of_many_tasks_are_one(self, engine: Engine) -> None:
        table = rows(8).set_column(0, ROWS.field("key"), pa.array([70] * 8, pa.int64()))
        stream = engine.map(self.spread(engine, table), steps.Refuse(ROWS, 70))
        with pytest.raises(DataError, match="key 70"):
            engine.collect(stream)

    def test_other_exceptions_are_not_lost(self, engine: Engine) -> None:
        with pytest.raises(Exception, match="key 70"):
            engine.collect(self.refusing(engine, KeyError))

    def test_the_engine_works_after_errors(self, engine: Engine) -> None:
        with pytest.raises(DataError):
            engine.collect(self.refusing(engine, DataError))
        assert engine.collect(engine.source(rows(10))).num_rows == 10

    # --- steps travel -----------------------------------------------------------------------------
    def test_steps_of_the_suite_pickle(self) -> None:
        """A suite whose steps can't travel would prove nothing for engines with workers."""
        step = steps.Route(ROWS, 2, 2)
        assert pickle.loads(pickle.dumps(step)) == step
