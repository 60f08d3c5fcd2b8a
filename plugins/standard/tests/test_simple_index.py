"""The simple index: contract on both of its ways, and which files it opens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from attrs import frozen
from hoodoo.errors import ConfigError
from hoodoo.hookspecs.engine import Engine, Stream, Task
from hoodoo.hookspecs.file_format import BaseFileReader, KnowsKeys, MembershipFilter
from hoodoo.hookspecs.index import ROWS_SCHEMA, IndexContext, LookupIndex
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.resolve import resolve
from hoodoo.model.filegroup import BaseFile
from hoodoo.storage.api import Storage
from hoodoo.testing.contracts.index import LookupIndexContract
from hoodoo.testing.contracts.index_files import file_id
from hoodoo.testing.directory import DirectoryStorage
from hoodoo_standard.index import lookup
from hoodoo_standard.index.plan import file_tasks, read_payload
from hoodoo_standard.index.simple import SimpleIndex, global_from_settings

pytestmark = pytest.mark.sampled(4)


class TestSimple(LookupIndexContract):
    @pytest.fixture
    def index(self) -> LookupIndex:
        return SimpleIndex.from_settings(Settings())


class TestGlobalSimple(LookupIndexContract):
    @pytest.fixture
    def index(self) -> LookupIndex:
        return global_from_settings(Settings())


class TestSimpleExchanged(LookupIndexContract):
    @pytest.fixture
    def index(self) -> LookupIndex:
        return SimpleIndex(side_bytes=0)


class TestGlobalSimpleExchanged(LookupIndexContract):
    @pytest.fixture
    def index(self) -> LookupIndex:
        return SimpleIndex(is_global=True, side_bytes=0)


class TestSimpleInSmallWindows(LookupIndexContract):
    """Every batch is matched alone, as it is in files that are larger than a window."""

    @pytest.fixture
    def index(self, monkeypatch: pytest.MonkeyPatch) -> LookupIndex:
        monkeypatch.setattr(lookup, "_WINDOW_BYTES", 0)
        return SimpleIndex()


@frozen
class OneRowBatches:
    """A reader that hands out rows one by one."""

    inner: BaseFileReader

    @property
    def schema(self) -> pa.Schema:
        return self.inner.schema

    @property
    def metadata(self) -> Mapping[str, str]:
        return self.inner.metadata

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        return self.inner.batches(columns, batch_rows=1)

    def key_range(self) -> tuple[str, str] | None:
        assert isinstance(self.inner, KnowsKeys)
        return self.inner.key_range()

    def key_filter(self) -> MembershipFilter | None:
        assert isinstance(self.inner, KnowsKeys)
        return self.inner.key_filter()

    def __enter__(self) -> OneRowBatches:
        return self

    def __exit__(self, *exc: object) -> None:
        self.inner.__exit__(*exc)


@frozen
class Spy:
    """A file format that notes whose keys are read."""

    inner: Any
    read: list[str]

    @property
    def extension(self) -> str:
        return str(self.inner.extension)

    def reader(self, storage: Storage, path: str) -> Any:
        spy, opened = self, OneRowBatches(self.inner.reader(storage, path))

        class Noting(OneRowBatches):
            def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
                spy.read.append(path)
                return super().batches(columns)

        return Noting(opened.inner)

    def writer(self, *args: Any) -> Any:
        return self.inner.writer(*args)


class Keys(LookupIndexContract):
    __test__ = False

    """The suite's builders, without its tests."""


SUITE = Keys()


@pytest.fixture
def engine() -> Engine:
    from hoodoo_standard.engine.local import LocalEngine

    return LocalEngine(2)


@pytest.fixture
def storage(tmp_path: Any) -> Storage:
    from hoodoo_standard.storage.local import LocalStorage

    return LocalStorage(str(tmp_path / "t"), durable=False)


@pytest.fixture
def spy() -> Spy:
    from hoodoo_formats.parquet.format import ParquetFormat

    return Spy(ParquetFormat(), [])


def test_files_that_cannot_hold_a_key_are_not_read(
    engine: Engine, storage: Storage, spy: Spy
) -> None:
    stored = {
        ("p=1", 1): ["b", "d"],
        ("p=1", 2): ["m", "p"],
        ("p=1", 3): ["\ue000", "𝄞"],  # bounds that prune nothing
        ("p=2", 4): ["b", "d"],
    }
    context = SUITE.table(engine, storage, spy, stored)
    SUITE.check(SimpleIndex(), context, [("c", "p=1"), ("d", "p=1"), ("zz", "p=1")], stored)
    assert {path.split("_")[0] for path in spy.read} == {
        f"p=1/{file_id(1)}", f"p=1/{file_id(3)}"
    }  # fmt: skip


def test_a_key_that_one_file_holds_twice_is_answered_once(
    engine: Engine, storage: Storage, spy: Spy, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = {("p", 1): ["a", "b", "a"], ("p", 2): ["b"]}
    context = SUITE.table(engine, storage, spy, stored)
    for window in (0, 1 << 20):
        monkeypatch.setattr(lookup, "_WINDOW_BYTES", window)
        for index in (SimpleIndex(), SimpleIndex(side_bytes=0)):
            SUITE.check(index, context, [("a", "p"), ("b", "p")], stored)


def test_files_are_spread_over_few_tasks_by_size(engine: Engine) -> None:
    files = [BaseFile("p", file_id(i), "1", "0", size=i * 1000) for i in range(50)]
    stream: Any = file_tasks(engine, files)
    groups = [read_payload(part()) for part in stream.parts]
    assert len(groups) == 6  # three for each of the two threads
    assert sorted(f.file_id for g in groups for f in g) == [f.file_id for f in files]
    assert all(g for g in groups)
    assert len(list(file_tasks(engine, []).parts)) == 1  # type: ignore[attr-defined]


def test_no_files_no_rows(engine: Engine) -> None:
    side = engine.side(
        lookup.asked_table(pa.table({"record_key": ["a"], "partition_path": ["p"]}), True)
    )
    step = lookup.MatchKeys(side, None, True)  # type: ignore[arg-type]
    assert list(step(iter([]), Task())) == []


def test_settings() -> None:
    off = {"hoodie.simple.index.update.partition.path": "false"}
    assert global_from_settings(Settings()) == SimpleIndex(True, True)
    assert global_from_settings(Settings(options=off)) == SimpleIndex(True, False)
    key = "hoodoo.index.simple.side.bytes"
    assert SimpleIndex.from_settings(Settings(options={key: "5"})) == SimpleIndex(side_bytes=5)
    with pytest.raises(ConfigError, match="number of bytes"):
        SimpleIndex.from_settings(Settings(options={key: "5 miles"}))


class _OffByOne(SimpleIndex):
    """Numbers of rows from 1: the contract of indexes sees it."""

    def locate_rows(self, keys: Stream, context: IndexContext) -> Stream:
        return context.engine.map(super().locate_rows(keys, context), _Next())


@frozen
class _Next:
    out_schema: pa.Schema = ROWS_SCHEMA

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch.set_column(3, "position", pc.add(batch.column("position"), 1))


def test_numbers_of_rows_that_are_wrong_are_caught(tmp_path: Path) -> None:
    check = TestSimple().test_numbers_of_rows_are_those_of_the_files
    engine, file_format = (
        resolve(*of).instance for of in (("engine", "local"), ("file_format", "PARQUET"))
    )
    check(SimpleIndex(), engine, DirectoryStorage(str(tmp_path / "right")), file_format)
    with pytest.raises(AssertionError, match=r"locate_rows: '.*' is not row \d of p="):
        check(_OffByOne(), engine, DirectoryStorage(str(tmp_path / "wrong")), file_format)
