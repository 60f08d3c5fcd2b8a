"""Which index a table may be written with: what its own index is decides, not what it is called."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hoodoo
import pytest
from attrs import frozen
from hoodoo.errors import OptionConflictError, PluginError, UnsupportedTableError
from hoodoo.hookspecs.registration import Registration
from hoodoo.testing.distributions import installed
from hoodoo.testing.tables import change_properties
from hoodoo_standard.index.bucket import BucketIndex
from hoodoo_standard.index.simple import SimpleIndex
from indexed_tables import create, rows

pytestmark = pytest.mark.sampled(4)

GLOBAL = ("global_simple", "global_bloom", "record_index", "growing_record_index")
BUCKETS = {"hoodie.bucket.index.num.buckets": "2"}
TYPES = ("COPY_ON_WRITE", "MERGE_ON_READ")


@frozen
class Everywhere(SimpleIndex):
    """A global index of somebody else."""

    is_global: bool = True
    moves_partitions: bool = True


@frozen
class Halves(BucketIndex):
    """A computed index of somebody else."""

    buckets: int = 2
    hash_fields: tuple[str, ...] = ("id",)


@pytest.fixture
def strangers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A distribution that offers a global, a computed and another index is installed."""
    offered = [
        Registration("everywhere", lambda settings: Everywhere()),
        Registration("halves", lambda settings: Halves()),
        Registration("nearby", lambda settings: SimpleIndex(), ("com.example.Nearby",)),
    ]
    with installed("strangers", hoodoo_indexes=lambda: offered):
        yield


def ids(table: hoodoo.Table) -> list[str]:
    return sorted(table.read(["id"]).to_arrow().column("id").to_pylist())


def filled(path: Path, index: Any, **more: Any) -> hoodoo.Table:
    table = create(path, index, **more)
    table.upsert(rows([1, 2], 1, "a"))
    return table


@pytest.mark.parametrize("engine", ["local", pytest.param("spark", marks=pytest.mark.spark)])
@pytest.mark.parametrize("index", [*GLOBAL, "bucket"])
def test_fault_a4_another_index_is_refused(tmp_path: Path, index: str, engine: str) -> None:
    more: dict[str, Any] = {"options": BUCKETS} if index == "bucket" else {}
    filled(tmp_path / "t", index, **more)
    path = str(tmp_path / "t")
    for other in ("simple", "bloom", "partitioned_record_index", "bucket", "global_simple"):
        if other == index:
            continue
        with pytest.raises(OptionConflictError, match=r"contradicts the table.*switch_index"):
            hoodoo.open(path, index=other, engine=engine)
        for key in ("hoodie.index.type", "hoodie.index.class"):
            with pytest.raises(OptionConflictError, match="contradicts the table"):
                hoodoo.open(path, {key: other}, engine=engine)
    for same in ({"index": index}, {"options": {"hoodie.index.type": index.upper()}}, {}):
        assert hoodoo.open(path, **same).upsert(rows([1], 2, "a")).updated == 1  # type: ignore[arg-type]  # either
    assert ids(hoodoo.open(path)) == ["k1", "k2"]


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("index", ["everywhere", "halves"])
def test_fault_a4_indexes_of_strangers_bind_likewise(
    tmp_path: Path, strangers: None, index: str, kind: str
) -> None:
    filled(tmp_path / "t", index, table_type=kind)
    path = str(tmp_path / "t")
    for other in ("simple", "global_simple", "nearby", SimpleIndex()):
        with pytest.raises(OptionConflictError, match=r"contradicts the table"):
            hoodoo.open(path, index=other)
    table = hoodoo.open(path)
    moved = table.upsert(rows([1, 3], 2, "b"))
    assert (moved.inserted, ids(table).count("k1")) == ((2, 1) if index == "everywhere" else (2, 2))
    assert table.verify().ok


def test_fault_a4_a_table_whose_index_is_not_installed(tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for _ in strangers.__wrapped__(patch):  # type: ignore[attr-defined]  # the fixture's function
            filled(tmp_path / "t", "everywhere")
    path = str(tmp_path / "t")
    with pytest.raises(OptionConflictError, match="EVERYWHERE"):
        hoodoo.open(path, index="simple")
    assert ids(hoodoo.open(path)) == ["k1", "k2"]
    with pytest.raises(PluginError, match=r"'EVERYWHERE'.*Install"):
        hoodoo.open(path).upsert(rows([1], 2, "b"))


@pytest.mark.parametrize("index", [Everywhere(), Halves()])
def test_fault_a4_an_object_binds_until_it_is_given_again(tmp_path: Path, index: Any) -> None:
    filled(tmp_path / "t", index)
    path = str(tmp_path / "t")
    for other in ("simple", "global_simple", SimpleIndex()):
        with pytest.raises(OptionConflictError, match=type(index).__name__):
            hoodoo.open(path, index=other)
    with pytest.raises(PluginError, match=r"index=\.\.\."):
        hoodoo.open(path).upsert(rows([1], 2, "a"))
    assert hoodoo.open(path).read().count() == 2
    assert hoodoo.open(path, index=index).upsert(rows([1], 2, "a")).updated == 1


def test_an_index_that_looks_into_files_is_each_writers_own(
    tmp_path: Path, strangers: None
) -> None:
    for index in ("simple", "bloom", "nearby", "partitioned_record_index", SimpleIndex(), None):
        path = tmp_path / (index if isinstance(index, str) else type(index).__name__)
        filled(path, index)
        for other in ("simple", "bloom", "nearby", "com.example.Nearby", SimpleIndex(side_bytes=0)):
            found = hoodoo.open(str(path), index=other).upsert(rows([1, 2], 2, "a"))
            assert (found.updated, found.inserted) == (2, 0)
        assert hoodoo.open(str(path)).upsert(rows([1], 3, "a")).updated == 1


def test_a_table_that_says_nothing_takes_the_index_that_is_named(tmp_path: Path) -> None:
    """Spark Hudi notes the index of its tables seldom."""
    filled(tmp_path / "t", None)
    path = str(tmp_path / "t")
    assert hoodoo.open(path, index="global_simple").upsert(rows([1], 2, "b")).inserted == 1
    assert ids(hoodoo.open(path)) == ["k1", "k2"]
    for key in ("hoodie.index.type", "hoodie.index.class"):
        table = hoodoo.open(path, {key: "org.apache.hudi.index.bloom.HoodieGlobalBloomIndex"})
        assert table.upsert(rows([2], 2, "b")).files
    assert ids(hoodoo.open(path)) == ["k1", "k2"]
    buckets = filled(tmp_path / "b", "bucket", options=BUCKETS)
    change_properties(buckets.handle.storage, dict.fromkeys(("hoodie.index.type", *BUCKETS)))
    found = hoodoo.open(str(tmp_path / "b"), BUCKETS, index="bucket").upsert(rows([1], 2, "a"))
    assert found.updated == 1


def test_the_index_is_said_once(tmp_path: Path) -> None:
    options = {"hoodie.index.type": "BLOOM"}
    with pytest.raises(OptionConflictError, match="[Ss]ay it once"):
        create(tmp_path / "t", "record_index", options=options)
    with pytest.raises(OptionConflictError, match="[Ss]ay it once"):
        create(tmp_path / "t", None, options={**options, "hoodie.index.class": "simple"})
    filled(tmp_path / "t", "bloom", options=options)
    with pytest.raises(OptionConflictError, match="[Ss]ay it once"):
        hoodoo.open(str(tmp_path / "t"), options, index="simple")
    with pytest.raises(PluginError, match="nosuch"):
        hoodoo.open(str(tmp_path / "t"), index="nosuch")


def test_a_writer_that_was_opened_before_the_table_changed_its_index(tmp_path: Path) -> None:
    table = filled(tmp_path / "t", None)
    path = str(tmp_path / "t")
    older, default = hoodoo.open(path, index="simple"), hoodoo.open(path)
    table.rebuild_index("record_index")
    with pytest.raises(OptionConflictError, match="contradicts the table"):
        older.upsert(rows([1], 2, "b"))
    assert default.upsert(rows([1], 2, "b")).inserted == 0
    assert ids(default) == ["k1", "k2"]


def test_a_known_index_with_settings_that_nobody_supports_still_binds(tmp_path: Path) -> None:
    """Buckets of consistent hashing are those of other engines; rows put elsewhere would be doubled there."""
    table = create(tmp_path / "t", "bucket", options=BUCKETS)
    changed = {"hoodie.index.bucket.engine": "CONSISTENT_HASHING"}
    change_properties(table.handle.storage, changed)
    with pytest.raises(UnsupportedTableError, match="COPY_ON_WRITE.*split and merged"):
        hoodoo.open(table.path, index="simple")
    with pytest.raises(UnsupportedTableError, match="COPY_ON_WRITE.*split and merged"):
        hoodoo.open(table.path).upsert(rows(range(1), 1))
