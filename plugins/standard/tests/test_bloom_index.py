"""The bloom index: contract on all of its ways, which files it reads, and what footers may say."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from attrs import field, frozen
from hoodoo.errors import ConfigError, CorruptTableError
from hoodoo.hookspecs.engine import Engine
from hoodoo.hookspecs.index import IndexContext, LookupIndex
from hoodoo.hookspecs.registration import Settings
from hoodoo.model.meta import RECORD_KEY
from hoodoo.storage.api import Storage
from hoodoo.testing.contracts.index import LookupIndexContract
from hoodoo.testing.contracts.index_files import file_id
from hoodoo_formats import bloom as filters
from hoodoo_formats import record_keys
from hoodoo_formats.bloom import BloomOptions
from hoodoo_formats.parquet.format import ParquetFormat
from hoodoo_formats.parquet.writer import WriterOptions
from hoodoo_formats.record_keys import FILTER, FILTER_TYPE, FOOTER_KEYS, MAX_KEY, MIN_KEY
from hoodoo_standard.engine.local import LocalEngine
from hoodoo_standard.index import lookup
from hoodoo_standard.index.bloom import BloomIndex, global_from_settings
from hoodoo_standard.index.simple import SimpleIndex
from hoodoo_standard.storage.local import LocalStorage

pytestmark = pytest.mark.sampled(4)


@pytest.fixture(autouse=True)
def filters_are_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of small files, where reading all keys would be cheaper."""
    monkeypatch.setattr(lookup, "_FILTER_COST", 0)


class TestBloom(LookupIndexContract):
    @pytest.fixture
    def index(self) -> LookupIndex:
        return BloomIndex.from_settings(Settings())


class TestGlobalBloom(LookupIndexContract):
    @pytest.fixture
    def index(self) -> LookupIndex:
        return global_from_settings(Settings())


class TestBloomWithoutRanges(LookupIndexContract):
    @pytest.fixture
    def index(self) -> LookupIndex:
        return BloomIndex(ranges=False)


class TestGlobalBloomExchanged(LookupIndexContract):
    @pytest.fixture
    def index(self) -> LookupIndex:
        return BloomIndex(is_global=True, side_bytes=0)


class TestBloomOfSmallFiles(LookupIndexContract):
    """Where the filter costs more than the file."""

    @pytest.fixture
    def index(self, monkeypatch: pytest.MonkeyPatch) -> LookupIndex:
        monkeypatch.setattr(lookup, "_FILTER_COST", 2)
        return BloomIndex()


class TestBloomWithoutFilters(LookupIndexContract):
    @pytest.fixture
    def index(self) -> LookupIndex:
        return BloomIndex()

    @pytest.fixture
    def file_format(self) -> ParquetFormat:
        return ParquetFormat(WriterOptions(bloom=None))


# --- builders ---------------------------------------------------------------------------------
class Builders(LookupIndexContract):
    __test__ = False

    """The suite's builders, without its tests."""


SUITE = Builders()
Footer = dict[str, str]


@frozen
class Spy:
    """A file format that notes from which files keys were read, and how many; ``edit`` changes what a
    footer says (of the file with this path)."""

    inner: ParquetFormat = ParquetFormat()
    edit: Callable[[str, Footer], Footer] = lambda path, footer: footer
    read: dict[str, int] = field(factory=dict)

    @property
    def extension(self) -> str:
        return self.inner.extension

    def reader(self, storage: Storage, path: str) -> Any:
        return SpyReader(self, path, self.inner.reader(storage, path))

    def writer(self, *args: Any) -> Any:
        return self.inner.writer(*args)

    def groups(self) -> dict[int, int]:
        """Keys read by file group."""
        return {int(path.rpartition("/")[2][:8]): rows for path, rows in self.read.items()}


@frozen
class SpyReader:
    spy: Spy
    path: str
    inner: Any

    @property
    def num_rows(self) -> int:
        return int(self.inner.num_rows)

    @property
    def schema(self) -> pa.Schema:
        return self.inner.schema

    @property
    def metadata(self) -> Mapping[str, str]:
        return self.spy.edit(self.path, dict(self.inner.metadata))

    def key_range(self) -> tuple[str, str] | None:
        return record_keys.key_range(self.metadata)

    def key_filter(self) -> Any:
        return record_keys.key_filter(self.metadata, f"base file {self.path}")

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        return self._noted(self.inner.batches(columns))

    def batches_near(self, column: str, values: Any) -> Iterator[pa.RecordBatch]:
        return self._noted(self.inner.batches_near(column, values))

    def _noted(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        self.spy.read.setdefault(self.path, 0)
        for batch in batches:
            self.spy.read[self.path] += batch.num_rows
            yield batch

    def __enter__(self) -> SpyReader:
        return self

    def __exit__(self, *exc: object) -> None:
        self.inner.__exit__(*exc)


@pytest.fixture
def engine() -> Engine:
    return LocalEngine(2)


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    return LocalStorage(str(tmp_path / "t"), durable=False)


def without(*keys: str) -> Callable[[str, Footer], Footer]:
    return lambda path, footer: {k: v for k, v in footer.items() if k not in keys}


STORED = {
    ("p", 1): ["a", "c", "e"],
    ("p", 2): ["b", "d", "f"],
    ("p", 3): ["x", "z"],
    ("q", 4): ["b", "d", "f"],
}


# --- which files are read -----------------------------------------------------------------------
@pytest.mark.parametrize("kind", [filters.DYNAMIC, filters.SIMPLE])
@pytest.mark.parametrize("ranges", [True, False])
def test_only_files_that_have_the_key_are_read(
    engine: Engine, storage: Storage, kind: str, ranges: bool
) -> None:
    spy = Spy(ParquetFormat(WriterOptions(bloom=BloomOptions(kind))))
    context = SUITE.table(engine, storage, spy, STORED)
    index = BloomIndex(ranges=ranges)
    SUITE.check(index, context, [("d", "p"), ("cc", "p"), ("y", "p"), ("zz", "p")], STORED)
    assert spy.groups() == {2: 3}
    SUITE.check(SimpleIndex(), context, [("d", "p"), ("cc", "p"), ("y", "p")], STORED)
    assert spy.groups() == {1: 3, 2: 6, 3: 2}  # as the simple index reads them


def test_the_global_form_asks_all_partitions(engine: Engine, storage: Storage) -> None:
    spy = Spy()
    context = SUITE.table(engine, storage, spy, STORED)
    SUITE.check(BloomIndex(is_global=True), context, [("d", "elsewhere"), ("zz", "p")], STORED)
    assert spy.groups() == {2: 3, 4: 3}


def test_ranges_spare_the_filter(engine: Engine, storage: Storage) -> None:
    """A filter that can't be read is an error only where it is asked: it says that it was not."""
    broken = Spy(edit=lambda path, footer: {**footer, FILTER: "no filter"})
    context = SUITE.table(engine, storage, broken, STORED)
    SUITE.check(BloomIndex(), context, [("m", "p"), ("0", "p"), ("zz", "p")], STORED)
    with pytest.raises(CorruptTableError):
        SUITE.ask(BloomIndex(ranges=False), context, [("m", "p")])


def test_a_filter_is_not_asked_for_more_keys_than_are_worth_it(
    engine: Engine, storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lookup, "_FILTER_COST", 2)
    spy = Spy()
    stored = {("p", 1): [f"k{i:03d}" for i in range(100)]}
    context = SUITE.table(engine, storage, spy, stored)
    absent = [(f"k{i:03d}x", "p") for i in range(90)]
    SUITE.check(BloomIndex(), context, absent[:50], stored)
    assert spy.groups() == {}
    SUITE.check(BloomIndex(), context, absent[:51], stored)
    assert spy.groups() == {1: 100}


def test_row_groups_that_cannot_have_the_key_are_not_read(engine: Engine, storage: Storage) -> None:
    spy = Spy(ParquetFormat(WriterOptions(block_bytes=20_000)))
    keys = [f"key-{i:06d}" for i in range(5000)]
    stored = {("p", 1): keys, ("p", 2): keys[::-1]}
    context = SUITE.table(engine, storage, spy, stored)
    SUITE.check(BloomIndex(), context, [(keys[700], "p"), (keys[4000], "p")], stored)
    assert all(0 < rows < 2500 for rows in spy.groups().values()) and len(spy.read) == 2


def test_row_groups_of_which_nothing_is_known_are_read(tmp_path: Path, storage: Storage) -> None:
    keys = [None if i < 10 else f"key-{i:06d}" for i in range(40)]
    table = pa.table({RECORD_KEY: pa.array(keys, pa.string()), "v": range(40)})
    near = pa.chunked_array([["key-000015", "key-000033"], ["key-000034"]])
    rows = {}
    for known in (True, False):
        local = str(tmp_path / "x")
        pq.write_table(table, local, row_group_size=10, write_statistics=known)
        storage.put_file_if_absent(f"{known}.parquet", local)
        with ParquetFormat().reader(storage, f"{known}.parquet") as reader:
            batches = list(reader.batches_near(RECORD_KEY, near))
            assert all(b.schema.names == [RECORD_KEY] for b in batches)
            rows[known] = [k for b in batches for k in b.column(0).to_pylist()]
            assert sum(b.num_rows for b in reader.batches_near("none", near)) == 40
    assert rows == {True: [*keys[:20], *keys[30:]], False: keys}


# --- what footers may say -----------------------------------------------------------------------
@pytest.mark.parametrize("lacking", [(FILTER, FILTER_TYPE), tuple(FOOTER_KEYS)])
def test_files_without_a_filter_are_read(
    engine: Engine, storage: Storage, lacking: tuple[str, ...]
) -> None:
    spy = Spy(edit=without(*lacking))
    context = SUITE.table(engine, storage, spy, STORED)
    SUITE.check(BloomIndex(), context, [("d", "p"), ("cc", "p")], STORED)
    assert {1, 2} <= set(spy.groups())


def test_a_filter_without_a_range_is_asked(engine: Engine, storage: Storage) -> None:
    spy = Spy(edit=without(MIN_KEY, MAX_KEY))
    context = SUITE.table(engine, storage, spy, STORED)
    SUITE.check(BloomIndex(), context, [("d", "p"), ("cc", "p")], STORED)
    assert spy.groups() == {2: 3}


def test_a_filter_without_a_type_is_a_simple_one(engine: Engine, storage: Storage) -> None:
    """Hudi names the type of dynamic filters only."""
    spy = Spy(
        ParquetFormat(WriterOptions(bloom=BloomOptions(filters.SIMPLE))), without(FILTER_TYPE)
    )
    context = SUITE.table(engine, storage, spy, STORED)
    SUITE.check(BloomIndex(), context, [("d", "p"), ("cc", "p")], STORED)
    assert spy.groups() == {2: 3}


def test_false_positives_and_keys_that_were_deleted(engine: Engine, storage: Storage) -> None:
    """A filter that a rewrite carried over still knows the keys of deleted rows."""
    stale = filters.build(pa.array(["a", "b", "c", "d", "e", "f", "cc"])).decode()
    spy = Spy(edit=lambda path, footer: {**footer, FILTER: stale})
    context = SUITE.table(engine, storage, spy, STORED)
    SUITE.check(BloomIndex(), context, [("d", "p"), ("cc", "p"), ("ee", "p")], STORED)
    assert spy.groups() == {1: 3, 2: 3}


@pytest.mark.parametrize("text", ["", "no filter", "AAAA", "/////wAAAB4BACd9Hg=="])
@pytest.mark.parametrize("kind", [filters.DYNAMIC, filters.SIMPLE, None])
def test_a_corrupt_filter_names_its_file(
    engine: Engine, storage: Storage, text: str, kind: str | None
) -> None:
    def edit(path: str, footer: Footer) -> Footer:
        if file_id(2) not in path:
            return footer
        typed = {} if kind is None else {FILTER_TYPE: kind}
        return {**without(FILTER_TYPE)(path, footer), FILTER: text, **typed}

    context = SUITE.table(engine, storage, Spy(edit=edit), STORED)
    with pytest.raises(CorruptTableError, match=f"base file p/{file_id(2)}"):
        SUITE.ask(BloomIndex(), context, [("cc", "p")])


def test_virtual_keys_need_no_filter(engine: Engine, storage: Storage) -> None:
    """Footers of files from before keys were virtual say nothing of keys that are made now."""
    spy = Spy(edit=lambda path, footer: {**footer, FILTER: "not asked"})
    context = SUITE.table(engine, storage, spy, STORED, virtual=True)
    assert isinstance(context, IndexContext) and context.key_generator is not None
    SUITE.check(BloomIndex(), context, [("d", "p"), ("cc", "p")], STORED)


# --- settings -----------------------------------------------------------------------------------
def test_settings() -> None:
    def given(**options: str) -> Settings:
        names = {
            "ranges": "prune.by.ranges",
            "moves": "update.partition.path",
            "meta": "use.metadata",
        }
        return Settings(options={f"hoodie.bloom.index.{names[k]}": v for k, v in options.items()})

    assert BloomIndex.from_settings(Settings()) == BloomIndex()
    assert global_from_settings(Settings()) == BloomIndex(True, True)
    assert global_from_settings(given(moves="False")) == BloomIndex(True, False)
    assert BloomIndex.from_settings(given(ranges="false")) == BloomIndex(ranges=False)
    assert global_from_settings(given(ranges="false")).ranges is False
    assert BloomIndex.from_settings(given(meta="false")) == BloomIndex(stored=False)
    bytes_ = {"hoodoo.index.simple.side.bytes": "5"}
    assert BloomIndex.from_settings(Settings(options=bytes_)) == BloomIndex(side_bytes=5)
    for make in (BloomIndex.from_settings, global_from_settings):
        with pytest.raises(ConfigError, match="true or false"):
            make(given(ranges="perhaps"))
