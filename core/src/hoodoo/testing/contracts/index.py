"""What every index promises: the contracts of :mod:`hoodoo.hookspecs.index` as tests.

Usage::

    class TestMine(LookupIndexContract):      # or ComputedIndexContract
        @pytest.fixture
        def index(self):
            return MyIndex(...)

    class TestMine(LearningIndexContract):    # an installed one that learns from writes
        name = "mine"

The lookup suite writes small base files by itself. It uses the embedded engine, a local store and
Parquet; answer the fixtures ``engine``, ``storage`` and ``file_format`` to run it with others. An
index that can't work with virtual keys sets ``virtual_keys = False``.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from attrs import evolve

from hoodoo.errors import CorruptTableError
from hoodoo.hookspecs.engine import Engine
from hoodoo.hookspecs.file_format import BaseFileFormat
from hoodoo.hookspecs.index import (
    KEYS_SCHEMA,
    LOCATIONS_SCHEMA,
    ROWS_SCHEMA,
    ComputedIndex,
    Index,
    IndexContext,
    LearningIndex,
    LookupIndex,
    SeesRows,
)
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.answers import plain
from hoodoo.kernel.resolve import declared_options, resolve
from hoodoo.model.filegroup import FileSlice, LogFile
from hoodoo.storage.api import Storage
from hoodoo.testing.another_process import answered
from hoodoo.testing.contracts.index_files import (
    INSTANT,
    ColumnKeys,
    Stored,
    answers_of,
    file_id,
    write_base_file,
)

Found = set[tuple[str, str, str]]
STORED: Stored = {
    ("p=1", 1): ["a", "b", "c", "k1"],
    ("p=1", 2): ["x", "y", "z", "é/b c=%:", "𝄞", "\ue000"],
    ("p=2", 3): ["a", "m", "f1:v1,f2:v2", " spaced "],
    ("p=3", 4): ["only-here"],
    ("p=3", 5): [],
}


def _picklable(index: Index) -> None:
    again = pickle.loads(pickle.dumps(index))
    assert again.is_global == index.is_global
    assert again.moves_partitions == index.moves_partitions


class LookupIndexContract:
    """Subclass, and answer the fixture ``index``."""

    virtual_keys: ClassVar[bool] = True

    @pytest.fixture
    def index(self) -> LookupIndex:
        raise NotImplementedError("override the fixture `index`")

    @pytest.fixture
    def engine(self) -> Engine:
        threads = {option.key: "2" for option in declared_options("engine", "local")}
        made: Engine = resolve("engine", "local", Settings(options=threads)).instance
        return made

    @pytest.fixture
    def storage(self, tmp_path: Path) -> Storage:
        from hoodoo.testing.directory import DirectoryStorage

        return DirectoryStorage(str(tmp_path / "table"))

    @pytest.fixture
    def file_format(self) -> BaseFileFormat:
        made: BaseFileFormat = resolve("file_format", "PARQUET").instance
        return made

    def table(
        self, engine: Engine, storage: Storage, file_format: BaseFileFormat,
        stored: Stored = STORED, virtual: bool = False,
    ) -> IndexContext:  # fmt: skip
        """A table that holds ``stored``, and a file group that has only a log file."""
        slices = [
            write_base_file(storage, file_format, path, number, keys, virtual)
            for (path, number), keys in stored.items()
        ]
        log = LogFile("p=1", file_id(99), INSTANT, 1, "0-0-0")
        slices.append(FileSlice("p=1", file_id(99), INSTANT, None, (log,)))
        generator = ColumnKeys() if virtual else None
        return IndexContext(engine, storage, slices, file_format, generator)

    def ask(
        self, index: LookupIndex, context: IndexContext, asked: Sequence[tuple[str, str]]
    ) -> list[tuple[str, str, str]]:
        """What the index answers for (key, partition path) pairs."""
        found = answers_of(index.locate, LOCATIONS_SCHEMA, context, asked)
        return [tuple(row[n] for n in LOCATIONS_SCHEMA.names) for row in found.to_pylist()]

    def expected(
        self, index: Index, asked: Sequence[tuple[str, str]], stored: Stored = STORED
    ) -> Found:
        return {
            (key, path, file_id(number))
            for (path, number), keys in stored.items()
            for key in keys
            if any(key == k and (index.is_global or path == p) for k, p in asked)
        }

    def check(
        self, index: LookupIndex, context: IndexContext, asked: Sequence[tuple[str, str]],
        stored: Stored = STORED,
    ) -> None:  # fmt: skip
        found = self.ask(index, context, asked)
        assert set(found) == self.expected(index, asked, stored)
        assert len(found) == len(set(found)), "a location is answered twice"

    def test_obeys_the_protocol(self, index: LookupIndex) -> None:
        assert isinstance(index, LookupIndex) and not isinstance(index, ComputedIndex)
        assert index.is_global or not index.moves_partitions, "only a global index moves rows"
        _picklable(index)

    def test_finds_what_is_there_and_nothing_else(
        self, index: LookupIndex, engine: Engine, storage: Storage, file_format: BaseFileFormat
    ) -> None:
        context = self.table(engine, storage, file_format)
        asked = [(k, p) for (p, _), keys in STORED.items() for k in keys]
        asked += [(k, p) for p in ("p=1", "p=2", "p=9") for k in ("missing", "aa", "z\ue000", "")]
        self.check(index, context, asked)

    def test_numbers_of_rows_are_those_of_the_files(
        self, index: LookupIndex, engine: Engine, storage: Storage, file_format: BaseFileFormat
    ) -> None:
        if not isinstance(index, SeesRows):
            return
        context = self.table(engine, storage, file_format)
        asked = [(key, path) for (path, _), keys in STORED.items() for key in (*keys, "absent")]
        seen = answers_of(index.locate_rows, ROWS_SCHEMA, context, asked)
        rows = [tuple(row.values()) for row in seen.to_pylist()]
        assert {row[:3] for row in rows} == self.expected(index, asked) and len(rows) > 5
        files = {(path, file_id(number)): keys for (path, number), keys in STORED.items()}
        for key, path, of, at in rows:
            is_there = at is None or list(files[path, of])[at : at + 1] == [key]
            assert is_there, f"locate_rows: {key!r} is not row {at} of {path}/{of}"

    def test_keys_asked_for_in_another_partition(
        self, index: LookupIndex, engine: Engine, storage: Storage, file_format: BaseFileFormat
    ) -> None:
        context = self.table(engine, storage, file_format)
        self.check(index, context, [("b", "p=2"), ("m", "p=1"), ("only-here", "new"), ("a", "p=1")])

    @pytest.mark.parametrize("key", ["a", "𝄞", "\ue000", "é/b c=%:", "f1:v1,f2:v2", "0", "zz"])
    def test_one_key(
        self,
        index: LookupIndex,
        engine: Engine,
        storage: Storage,
        file_format: BaseFileFormat,
        key: str,
    ) -> None:
        context = self.table(engine, storage, file_format)
        self.check(index, context, [(key, "p=1")])

    def test_no_keys_and_no_files(
        self, index: LookupIndex, engine: Engine, storage: Storage, file_format: BaseFileFormat
    ) -> None:
        context = self.table(engine, storage, file_format)
        assert self.ask(index, context, []) == []
        empty = IndexContext(engine, storage, (), file_format)
        assert self.ask(index, empty, [("a", "p=1")]) == []

    def test_answers_the_same_again_and_elsewhere(
        self, index: LookupIndex, engine: Engine, storage: Storage, file_format: BaseFileFormat
    ) -> None:
        context = self.table(engine, storage, file_format)
        asked = [("a", "p=1"), ("a", "p=2"), ("x", "p=1"), ("nope", "p=3")]
        other = pickle.loads(pickle.dumps(index))
        assert sorted(self.ask(other, context, asked)) == sorted(self.ask(index, context, asked))

    def test_many_files_and_keys(
        self, index: LookupIndex, engine: Engine, storage: Storage, file_format: BaseFileFormat
    ) -> None:
        keys = [f"key-{i * 7919 % 10007:05d}" for i in range(4000)]
        stored = {(f"p={n % 4}", n): keys[n * 200 : (n + 1) * 200] for n in range(20)}
        context = self.table(engine, storage, file_format, stored)
        asked = [(k, f"p={i % 4}") for i, k in enumerate(keys[::3])] + [("key", "p=0")]
        self.check(index, context, asked, stored)

    def test_keys_that_are_not_stored(
        self, index: LookupIndex, engine: Engine, storage: Storage, file_format: BaseFileFormat
    ) -> None:
        if not self.virtual_keys:
            pytest.skip("it does not work with virtual keys")
        context = self.table(engine, storage, file_format, virtual=True)
        self.check(index, context, [("a", "p=1"), ("z", "p=1"), ("m", "p=2"), ("gone", "p=1")])


class LearningIndexContract:
    """Subclass, and name the index; it is installed. ``options``: what its tables are made with."""

    name: ClassVar[str]
    SCHEMA: ClassVar[pa.Schema] = pa.schema(
        [("id", pa.string()), ("p", pa.string()), ("v", pa.int64())]
    )
    PATHS: ClassVar[Sequence[str]] = ("p0", "p1", "p2")  # all that the tests write to

    def options(self, folder: Path) -> Mapping[str, str]:
        return {}

    @pytest.fixture(params=["COPY_ON_WRITE", "MERGE_ON_READ"])
    def table(self, request: Any, tmp_path: Path) -> Any:
        """A table that has the index, and no rows."""
        from hoodoo.table.table import create

        return create(
            str(tmp_path / "t"), self.SCHEMA, record_key="id", partition_by="p", index=self.name,
            table_type=request.param, options=self.options(tmp_path),
        )  # fmt: skip

    def rows(self, places: Mapping[str, str], v: int = 0) -> pa.Table:
        """``places``: record key -> partition path."""
        columns = [list(places), list(places.values()), [v] * len(places)]
        return pa.table(columns, schema=self.SCHEMA)

    def context(self, table: Any) -> tuple[Any, IndexContext]:
        """The index as the table has it now, and what it is asked with."""
        timeline, slices = table.handle.newest_slices()
        handle, engine = table.handle, table.handle.engine(None, None)
        index = resolve("index", self.name, Settings(table.config)).instance
        made = IndexContext(engine, handle.storage, slices, handle.file_format(), timeline=timeline)
        return index, made

    def located(self, table: Any, keys: Sequence[str], archived: int = 0) -> Found:
        """What it answers for ``keys``, two at a time; where keys are unique within a partition
        path, for each of them in all paths. ``archived``: so many instants have left the active
        timeline."""
        index, context = self.context(table)
        paths = [""] if index.is_global else self.PATHS
        if archived:
            assert context.timeline is not None
            active = context.timeline.instants[archived:]
            timeline = evolve(context.timeline, instants=active, start=active[0].requested)
            context = evolve(context, timeline=timeline)
        asked = pa.table(
            {
                "record_key": [key for key in keys for _ in paths],
                "partition_path": [*paths] * len(keys),
            },
            KEYS_SCHEMA,
        )
        batches = asked.to_batches(max_chunksize=2)
        stream = context.engine.source(pa.Table.from_batches(batches, KEYS_SCHEMA))
        found = context.engine.collect(index.locate(stream, context))
        assert found.schema.equals(LOCATIONS_SCHEMA)
        rows = [tuple(row[n] for n in LOCATIONS_SCHEMA.names) for row in found.to_pylist()]
        assert len(rows) == len(set(rows)), "a location is answered twice"
        return set(rows)

    def check(self, table: Any) -> Found:
        """It says where the rows are, of every key; and its entries are these, no more."""
        _, context = self.context(table)
        known = {(s.partition_path, s.file_id) for s in context.slices}
        expected = set(
            zip(*(table.read(["id", "p"]).to_arrow()[n].to_pylist() for n in ("id", "p")))
        )
        found = self.located(table, [*(f"k{n}" for n in range(40)), "", "nowhere"])
        assert {(key, path) for key, path, _ in found} == expected
        assert {(path, file) for _, path, file in found} <= known, "a file group that there is not"
        index, context = self.context(table)
        if hasattr(index, "entries"):
            entries = context.engine.collect(index.entries(context))
            listed = [tuple(row[n] for n in LOCATIONS_SCHEMA.names) for row in entries.to_pylist()]
            assert sorted(listed) == sorted(found)
        return found

    def test_obeys_the_protocol(self, table: Any) -> None:
        index, _ = self.context(table)
        inner = plain(index)
        assert isinstance(inner, LookupIndex) and isinstance(inner, LearningIndex)
        assert index.is_global or not index.moves_partitions, "only a global index moves rows"
        _picklable(inner)

    def test_says_where_rows_are_after_each_kind_of_write(self, table: Any) -> None:
        assert self.check(table) == set()
        table.upsert(self.rows({f"k{n}": f"p{n % 3}" for n in range(20)}))
        before = self.check(table)
        assert len(before) == 20
        table.upsert(self.rows({f"k{n}": f"p{n % 3}" for n in range(10, 30)}, 1))
        assert self.check(table) >= before, "an update does not change the place of a key"
        table.delete(self.rows({"k0": "p0", "k1": "p1", "nowhere": "p1"}).select(["id", "p"]))
        self.check(table)
        table.upsert(self.rows({"k0": "p0", "k31": "p1"}, 2))  # a key that comes again
        self.check(table)
        table.insert_overwrite(self.rows({"k0": "p0", "k35": "p0"}, 3))
        self.check(table)
        table.delete_partitions("p1")
        self.check(table)

    def test_what_is_undone_is_forgotten(self, table: Any) -> None:
        table.upsert(self.rows({f"k{n}": f"p{n % 3}" for n in range(20)}))
        before = self.check(table)
        undone = table.upsert(self.rows({"k1": "p1", "k30": "p1"}, 1))
        self.check(table)
        table.rollback(undone.instant)
        assert self.check(table) == before

    def test_what_was_archived_is_known(self, table: Any) -> None:
        """Instants before the start of the active timeline are completed, although it does not show
        them."""
        table.upsert(self.rows({f"k{n}": f"p{n % 3}" for n in range(20)}))
        table.delete(self.rows({"k0": "p0"}).select(["id", "p"]))
        table.upsert(self.rows({"k30": "p1"}, 1))
        before, keys = self.check(table), [f"k{n}" for n in range(40)]
        assert self.located(table, keys, archived=1) == before
        assert self.located(table, keys, archived=2) == before

    @pytest.mark.parametrize("how", ["rollback", "restore"])
    def test_what_it_was_made_of_is_undone(self, table: Any, how: str) -> None:
        """A key that lies elsewhere before the index was rebuilt than after it lies there again."""
        index, _ = self.context(table)
        if not hasattr(index, "rebuild"):
            pytest.skip("it can't be rebuilt")
        places = {f"k{n}": f"p{n % 3}" for n in range(20)}
        first = table.upsert(self.rows(places))
        before = self.check(table)
        table.delete(self.rows({"k1": "p1"}).select(["id", "p"]))
        point = table.upsert(self.rows({"k30": "p2"}, 1))
        last = table.upsert(self.rows({"k1": "p2", "k31": "p0"}, 2))
        table.rebuild_index(self.name)
        if how == "rollback":
            table.rollback(last.instant)
            assert len(self.check(table)) == 20
            table.rollback(point.instant)
            assert len(self.check(table)) == 19
        else:
            table.restore(first.instant)
            assert self.check(table) == before
        table.upsert(self.rows({"k1": "p1"}, 3))
        assert len(self.check(table)) == 20

    def test_learns_the_same_when_it_is_told_twice(
        self, table: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A service that somebody goes on with says again what it said before."""
        index, _ = self.context(table)
        kind = type(plain(index))
        once = kind.written

        def twice(self: Any, change: Any) -> Any:
            once(self, change)
            return once(self, change)

        monkeypatch.setattr(kind, "written", twice)
        table.upsert(self.rows({f"k{n}": f"p{n % 3}" for n in range(20)}))
        table.delete(self.rows({"k0": "p0", "k1": "p1"}).select(["id", "p"]))
        assert len(self.check(table)) == 18

    def test_a_table_that_has_rows_gets_it(self, table: Any) -> None:
        index, _ = self.context(table)
        if not hasattr(index, "rebuild"):
            pytest.skip("it can't be rebuilt")
        table.upsert(self.rows({f"k{n}": f"p{n % 3}" for n in range(20)}))
        table.delete(self.rows({"k0": "p0"}).select(["id", "p"]))
        before = self.check(table)
        assert table.rebuild_index(self.name) == (self.name,)
        assert self.check(table) == before
        table.upsert(self.rows({"k0": "p0", "k1": "p1"}, 1))
        assert len(self.check(table)) == 20


class ComputedIndexContract:
    """Subclass, and answer the fixture ``index``."""

    @pytest.fixture
    def index(self) -> ComputedIndex:
        raise NotImplementedError("override the fixture `index`")

    @pytest.fixture
    def keys(self, index: ComputedIndex) -> pa.Array:
        odd = ["a", "é/b c=%:", "𝄞", " ", "f1:v1,f2:v2", "x" * 5000, "b:c,d"]
        return pa.array([*odd, *(f"key-{i}" for i in range(20 * index.buckets))])

    def test_obeys_the_protocol(self, index: ComputedIndex) -> None:
        assert isinstance(index, ComputedIndex) and not isinstance(index, LookupIndex)
        assert index.buckets > 0
        _picklable(index)

    def test_every_key_has_a_bucket(self, index: ComputedIndex, keys: pa.Array) -> None:
        found = index.bucket(keys)
        assert found.type == pa.int32() and found.null_count == 0 and len(found) == len(keys)
        values = np.asarray(found)
        assert values.min() >= 0 and values.max() < index.buckets
        assert len(pc.unique(found)) > index.buckets // 2, "most buckets stay empty"

    def test_answers_the_same_again_elsewhere_and_in_pieces(
        self, index: ComputedIndex, keys: pa.Array
    ) -> None:
        whole = index.bucket(keys)
        other = pickle.loads(pickle.dumps(index))
        parts = [other.bucket(keys.slice(i, 1)) for i in range(9)] + [other.bucket(keys.slice(9))]
        assert pa.concat_arrays(parts) == whole
        assert len(index.bucket(keys.slice(0, 0))) == 0
        assert answered(index, "bucket", keys, whole) == whole, (
            "another process finds other buckets"
        )

    def test_file_ids_tell_their_bucket(self, index: ComputedIndex) -> None:
        uuids = ["7e0d4263-868d-42ad-8fb3-9ccb868d42ad", "ffffffff-ffff-4fff-bfff-ffffffffffff"]
        for bucket in {0, index.buckets // 2, index.buckets - 1}:
            made = [index.file_id(bucket, uuid) for uuid in uuids]
            assert len(set(made)) == len(made)
            for one in made:
                assert index.bucket_of(one) == bucket
                assert "_" not in one and "/" not in one, "file names are split at _"

    def test_a_foreign_file_id_is_refused(self, index: ComputedIndex) -> None:
        for one in (
            "c506a8de-79be-48bd-b7ba-665e51b51533-0",
            "99999999-0000-0000-0000-0-0",
            "x",
            "",
        ):
            with pytest.raises(CorruptTableError):
                index.bucket_of(one)
