"""Record indexes of virtual keys: kept by Hoodoo alone, known to be stale, rebuilt, and carried over."""

from __future__ import annotations

import pkgutil
import shutil
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow.compute as pc
import pytest
from hoodoo.errors import ConfigError, HoodooWarning
from hoodoo.model.meta import META_COLUMNS
from hoodoo_metadata.table.layout import is_own
from indexed_tables import create, rows

pytestmark = pytest.mark.sampled(4)

INDEXES = ("record_index", "partitioned_record_index", "growing_record_index")
TYPES = ("COPY_ON_WRITE", "MERGE_ON_READ")
PAIRS = [(index, TYPES[n % 2]) for n, index in enumerate(INDEXES)]
EACH = [(index, kind) for index in INDEXES for kind in TYPES]
ON = {"hoodie.recordkey.virtual.enabled": "true"}
FILES = "keys are looked for in the files"


@contextmanager
def by_the_index() -> Iterator[None]:
    """Nothing is looked for in the files."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", HoodooWarning)
        yield


def right(table: hoodoo.Table, stored: list[int], v: int, engine: str = "local") -> None:
    """Another writer finds the keys ``stored``, all that there are, and puts 100 + ``v``."""
    writer = hoodoo.open(table.path, engine=engine)
    commit = writer.upsert(rows([*stored, 100 + v], v))
    assert (commit.updated, commit.inserted) == (len(stored), 1)
    stored.append(100 + v)
    found = writer.read(["id"]).to_arrow().column("id").to_pylist()
    assert sorted(found) == sorted(f"k{n}" for n in stored)
    assert writer.verify().findings == ()


@contextmanager
def stranger(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Who writes keeps what Hudi keeps, and knows nothing of Hoodoo's own partitions."""
    name = "hoodoo_metadata.life.partition_state.current_partitions"
    real = pkgutil.resolve_name(name)
    with monkeypatch.context() as patch:
        patch.setattr(name, lambda *given: tuple(p for p in real(*given) if not is_own(p)))
        yield


def own(table: hoodoo.Table) -> str | None:
    return hoodoo.open(table.path).config.get("hoodoo.metadata.partitions")


# --- a table that has one from the start -------------------------------------------------------------
@pytest.mark.parametrize(("index", "kind"), EACH)
def test_a_life(tmp_path: Path, index: str, kind: str) -> None:
    table = create(tmp_path, index, table_type=kind, options=ON)
    stored = [*range(6)]
    with by_the_index():
        table.upsert(rows(stored, 1))
        right(table, stored, 2)
        table.delete(["k3"])
        stored.remove(3)
        right(table, stored, 3)
        table.bulk_insert(rows([50, 51], 3))
        stored += [50, 51]
        table.cluster()
        right(table, stored, 4)
        if kind == "MERGE_ON_READ":
            table.compact()
        hoodoo.open(table.path).compact_metadata()
        right(table, stored, 5)
        table.rollback(table.timeline().writes()[-1].requested)
        stored.remove(105)
        right(table, stored, 6)
        assert table.compare_indexes(index, "simple").same
    partitions = table.config.metadata_partitions
    assert "record_index" not in partitions and own(table)


@pytest.mark.sampled(3, among="on Spark")
@pytest.mark.spark
@pytest.mark.parametrize(("index", "kind"), [("record_index", "MERGE_ON_READ")])
def test_on_spark(tmp_path: Path, index: str, kind: str, spark: Any) -> None:
    table = create(tmp_path, index, table_type=kind, options=ON)
    stored = [*range(6)]
    table.upsert(rows(stored, 1))
    with by_the_index():
        right(table, stored, 2, "spark")
        right(table, stored, 3)
    found = table.read(["v"], where=pc.field("id") == "k103").to_spark(spark).collect()
    assert [row.v for row in found] == [3]


def test_hudis_options_make_it_too(tmp_path: Path) -> None:
    options = {**ON, "hoodie.metadata.record.level.index.enable": "true"}
    table = create(tmp_path / "t", "partitioned_record_index", options=options)
    assert own(table) == "hoodoo_virtual_partitioned_record_index"
    with pytest.raises(ConfigError, match="partitions"):
        create(tmp_path / "flat", "partitioned_record_index", options=ON, partition_by=())


def test_a_point_read_opens_the_file_that_has_the_key(tmp_path: Path) -> None:
    table = create(tmp_path, "record_index", options=ON)
    for n in range(4):
        table.bulk_insert(rows(range(n * 10, n * 10 + 10), n, "p"))
    found = hoodoo.open(table.path).read(where=pc.field("id") == "k33")
    assert len(found.plan.slices) == 1
    assert found.to_arrow().column("v").to_pylist() == [3]


# --- others write -------------------------------------------------------------------------------------
@pytest.mark.parametrize(("index", "kind"), EACH)
def test_stale_after_others_wrote(
    tmp_path: Path, index: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = create(tmp_path, index, table_type=kind, options=ON)
    stored = [*range(6)]
    table.upsert(rows(stored, 1))
    with stranger(monkeypatch):
        hoodoo.open(table.path).upsert(rows([5, 7, 8], 2))
    stored += [7, 8]
    for v in (3, 4):  # nor does what Hoodoo writes meanwhile hide it
        with pytest.warns(HoodooWarning, match=FILES):
            right(table, stored, v)
        hoodoo.open(table.path).append(rows([20 + v], v))
        stored.append(20 + v)
    assert hoodoo.open(table.path).read(where=pc.field("id") == "k7").count() == 1
    made = hoodoo.open(table.path).rebuild_index(index)
    assert len(made) == 1 and is_own(made[0])
    with by_the_index():
        right(table, stored, 5)


@pytest.mark.parametrize(("index", "kind"), PAIRS)
def test_stale_though_the_others_are_archived(
    tmp_path: Path, index: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep = {
        "hoodie.keep.min.commits": "2", "hoodie.keep.max.commits": "3",
        "hoodie.clean.commits.retained": "1",
    }  # fmt: skip
    table = create(tmp_path, index, table_type=kind, options=ON)
    stored = [*range(6)]
    table.upsert(rows(stored, 1))
    with stranger(monkeypatch):
        strange = hoodoo.open(table.path).upsert(rows([5, 7, 8], 2)).instant
    stored += [7, 8]
    for n in range(8):
        writer = hoodoo.open(table.path, keep)
        writer.append(rows([20 + n], 1))
        writer.clean()
        writer.archive()
        stored.append(20 + n)
    assert strange not in {i.requested for i in hoodoo.open(table.path).timeline().writes()}
    with pytest.warns(HoodooWarning, match=FILES):
        right(table, stored, 3)


@pytest.mark.parametrize(("index", "kind"), PAIRS)
def test_fresh_though_its_making_is_archived(tmp_path: Path, index: str, kind: str) -> None:
    """Others archive indexing actions, and leave the newest commits of before."""
    table = create(tmp_path, None, table_type=kind, options=ON)
    stored = [*range(6)]
    table.upsert(rows(stored, 1))
    table.switch_index(index)
    made = list((tmp_path / ".hoodie/timeline").glob("*.indexing*"))
    assert made
    for path in made:
        path.unlink()
    with by_the_index():
        right(table, stored, 2)


def test_gone_with_the_metadata_table(tmp_path: Path) -> None:
    """Spark Hudi deletes the folder where its options say that there is to be no metadata table."""
    table = create(tmp_path, "record_index", options=ON)
    stored = [*range(6)]
    table.upsert(rows(stored, 1))
    shutil.rmtree(tmp_path / ".hoodie/metadata/hoodoo_virtual_record_index")
    for v in (2, 3):
        with pytest.warns(HoodooWarning, match="taken away"):
            right(table, stored, v)
    table.rebuild_index("record_index")
    with by_the_index():
        right(table, stored, 4)


# --- an existing table ---------------------------------------------------------------------------------
@pytest.mark.parametrize(("index", "kind"), EACH)
def test_it_goes_on_with_virtual_keys_and_on_the_way_back(
    tmp_path: Path, index: str, kind: str
) -> None:
    table = create(tmp_path, index, table_type=kind)
    stored = [*range(6)]
    table.upsert(rows(stored, 1))
    older = hoodoo.open(table.path)
    with by_the_index():
        table.enable_virtual_keys(kept=META_COLUMNS)
        assert not (tmp_path / ".hoodie/metadata/record_index").exists()
        right(older, stored, 2)
        table.rewrite_keys()
        right(older, stored, 3)
        if kind == "MERGE_ON_READ":
            table.compact()
        table.rewrite_keys(virtual=False)
        right(older, stored, 4)
    if index == "growing_record_index":
        assert own(table) == "hoodoo_record_index"
    else:
        assert own(table) is None
        assert "record_index" in hoodoo.open(table.path).config.metadata_partitions
        assert not list((tmp_path / ".hoodie/metadata").glob("hoodoo_*"))


def test_one_beside_another_index_goes_on_too(tmp_path: Path) -> None:
    table = create(tmp_path, "global_bloom")
    stored = [*range(6)]
    table.upsert(rows(stored, 1))
    table.rebuild_index("record_index")
    with by_the_index():
        table.enable_virtual_keys()
        right(table, stored, 2)
        assert table.compare_indexes("record_index", "simple").same
