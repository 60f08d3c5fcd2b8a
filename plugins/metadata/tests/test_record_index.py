"""The record index, through the public API: buckets, locations, moves, growth, comparison, point reads."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hoodoo.errors import ConfigError, CorruptTableError, HoodooWarning, OptionConflictError
from hoodoo.hookspecs.index import LOCATIONS_SCHEMA
from hoodoo_metadata.partitions.record_index.index import Bucket, RecordIndex
from hoodoo_metadata.table.layout import GROWING_INDEX
from hoodoo_metadata.table.slice import layers
from hoodoo_standard.storage.local import LocalStorage
from indexed_tables import Asked, create, lying, rows, told

pytestmark = pytest.mark.sampled(4)

TYPES = ("COPY_ON_WRITE", "MERGE_ON_READ")
MOVES = {"hoodie.record.index.update.partition.path": "true"}


def index_of(path: Path, **how: str) -> RecordIndex:
    table = hoodoo.open(str(path))
    return RecordIndex.open(LocalStorage(str(path)), table.timeline(), **how)


class _WithoutK7:
    """Step: the rows of all keys but one."""

    out_schema = LOCATIONS_SCHEMA

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Any) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch.filter(pc.not_equal(batch.column("record_key"), "k7"))


def keys_of(table: hoodoo.Table) -> set[str]:
    return set(table.read(["id"]).to_arrow().column("id").to_pylist())


# --- buckets -------------------------------------------------------------------------------------
def test_a_bucket_answers_for_its_own_keys(tmp_path: Path) -> None:
    table = create(tmp_path / "t")
    table.upsert(rows(range(60), 1))
    where = lying(tmp_path / "t")
    index = index_of(tmp_path / "t")
    assert len(index.buckets) == 10
    found: dict[str, tuple[str, str]] = {}
    for slices in index.buckets:
        bucket = Bucket(index.storage, slices)
        for row in bucket.get_record_locations(pa.array(sorted(where))).to_pylist():
            assert row["record_key"] not in found  # a key has one bucket
            found[row["record_key"]] = (row["partition_path"], row["file_id"])
    assert found == where


@pytest.mark.parametrize("partition_by", ["part", ()])
def test_each_batch_makes_an_hfile(tmp_path: Path, partition_by: object) -> None:
    """One in a log file of its own, in each bucket that gets keys; buckets are as many as ever."""
    table = create(tmp_path / "t", partition_by=partition_by)
    for batch in range(3):
        table.upsert(rows(range(batch * 60, batch * 60 + 60), 1))
    index = index_of(tmp_path / "t")
    assert len(index.buckets) == 10
    for (slice_,) in index.buckets:
        assert len(slice_.log_files) == 3
        found = layers(index.storage, slice_)
        assert len(found) == len(slice_.log_files) + (slice_.base_file is not None)
        assert all(layer.hfile is not None for layer in found)
    where = lying(tmp_path / "t")
    assert len(where) == 180 and told(tmp_path / "t", where) == where


@pytest.mark.parametrize("how", ["auto", "seek", "scan"])
def test_seeking_and_scanning_find_the_same(tmp_path: Path, how: str) -> None:
    table = create(tmp_path / "t")
    table.upsert(rows(range(40), 1))
    table.compact_metadata()
    table.upsert(rows(range(30, 60), 2))
    where = lying(tmp_path / "t")
    assert told(tmp_path / "t", [*where, "nowhere"], how=how) == where


def test_rfc_options_choose_how(tmp_path: Path) -> None:
    create(tmp_path / "t").upsert(rows(range(10), 1))
    chooses, seeks = (
        "record.level.index.dynamically.choose.scan.vs.seek",
        "record.level.index.do.random.lookups",
    )
    for options, how in (
        ({}, "auto"),
        ({chooses: "false"}, "seek"),
        ({chooses: "false", seeks: "false"}, "scan"),
        ({seeks: "false"}, "auto"),
    ):
        table = hoodoo.open(str(tmp_path / "t"), options)
        assert table.handle.plugins().index.how == how
        assert table.upsert(rows(range(5), 2)).updated == 5


# --- locations -----------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("moves", [False, True])
def test_a_key_that_comes_with_another_path(tmp_path: Path, kind: str, moves: bool) -> None:
    table = create(tmp_path / "t", table_type=kind, options=MOVES if moves else None)
    table.upsert(rows(range(9), 1))
    table.upsert(rows([3], 2, "elsewhere"))
    assert told(tmp_path / "t", ["k3"])["k3"][0] == ("elsewhere" if moves else "p0")
    table.upsert(rows([3], 3, "elsewhere"))
    assert len(keys_of(table)) == table.read().to_arrow().num_rows == 9
    assert table.verify().findings == ()


@pytest.mark.parametrize("kind", TYPES)
def test_deleted_and_inserted_again(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "t"
    table = create(path, table_type=kind)
    table.upsert(rows(range(9), 1))
    table.delete(["k1", "k4"])
    assert set(told(path, lying(path) | {"k1": ("", "")})) == keys_of(table)
    table.compact_metadata()  # tombstones are resolved
    assert set(told(path, ["k1", "k4", "k5"])) == {"k5"}
    assert table.upsert(rows([1], 5)).inserted == 1
    assert set(told(path, ["k1", "k4"])) == {"k1"}
    assert table.upsert(rows([1], 6)).updated == 1


def test_compaction_forgets_what_is_deleted(tmp_path: Path) -> None:
    path = tmp_path / "t"
    table = create(path)
    table.upsert(rows(range(50), 1))
    table.delete([f"k{n}" for n in range(40)])
    table.compact_metadata()
    index = index_of(path)
    from hoodoo_metadata.table.slice import layers

    entries = [
        layer.hfile.entry_count for s in index.buckets for layer in layers(index.storage, s[0])
    ]
    assert sum(entries) == 10


def test_as_of_an_instant_and_of_a_range(tmp_path: Path) -> None:
    path = tmp_path / "t"
    table = create(path)
    first = table.upsert(rows(range(5), 1)).instant
    second = table.upsert(rows(range(3, 8), 2)).instant
    third = table.delete(["k0", "k7"]).instant
    asked = [f"k{n}" for n in range(9)]
    assert set(told(path, asked, as_of=first)) == {f"k{n}" for n in range(5)}
    assert set(told(path, asked, as_of=second)) == {f"k{n}" for n in range(8)}
    assert set(told(path, asked)) == {f"k{n}" for n in range(1, 7)}
    changed = table.location_changes(first).to_arrow().to_pylist()
    gone = {row["record_key"] for row in changed if row["file_id"] is None}
    assert (gone, {r["record_key"] for r in changed}) == ({"k0", "k7"}, {"k0", "k5", "k6", "k7"})
    assert {row["instant"] for row in changed} == {second, third}
    until = table.location_changes(first, second).to_arrow().to_pylist()
    assert {row["record_key"] for row in until} == {"k5", "k6", "k7"}
    assert table.location_changes(third).to_arrow().num_rows == 0


def test_an_entry_that_leads_nowhere_is_an_error(tmp_path: Path) -> None:
    import shutil

    path = tmp_path / "t"
    table = create(path)
    table.upsert(rows(range(5), 1))
    shutil.copytree(path / ".hoodie/metadata/record_index", tmp_path / "old")
    table.insert_overwrite_table(rows(range(5), 2))
    shutil.rmtree(path / ".hoodie/metadata/record_index")
    shutil.copytree(tmp_path / "old", path / ".hoodie/metadata/record_index")
    with pytest.raises(CorruptTableError, match="rebuild-index"):
        table.upsert(rows(range(5), 3))
    table.rebuild_index("record_index")
    assert table.upsert(rows(range(5), 3)).updated == 5


# --- partitioned -----------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", TYPES)
def test_partitioned_a_key_may_lie_in_each_path(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "t"
    table = create(path, "partitioned_record_index", table_type=kind)
    assert table.upsert(rows([1, 2], 1, "a")).inserted == 2
    assert table.upsert(rows([1, 3], 2, "b-_%/c")).inserted == 2
    assert table.upsert(rows([1, 2, 3], 3, "a")).updated == 2
    assert table.read().to_arrow().num_rows == 5
    names = {
        p.name.split("-0000-0")[0]
        for p in (path / ".hoodie/metadata/record_index").glob(".record*")
    }
    assert names == {".record-index-a", ".record-index-b%2D%5F%25%2Fc"}
    defined = json.loads((path / ".hoodie/.index_defs/index.json").read_text())
    assert defined["indexDefinitions"]["record_index"]["indexOptions"] == {"isPartitioned": "true"}
    assert table.verify().findings == ()
    table.delete_partitions("a")
    assert table.upsert(rows([1], 4, "a")).inserted == 1
    table.rebuild_index("record_index")
    assert table.upsert(rows([1], 5, "a")).updated == 1
    assert table.verify().findings == ()


def test_the_two_kinds_are_told_apart(tmp_path: Path) -> None:
    options = {"hoodie.metadata.global.record.level.index.enable": "true"}
    create(tmp_path / "t", None, options=options).upsert(rows(range(3), 1))
    other = hoodoo.open(str(tmp_path / "t"), {"hoodie.index.type": "RECORD_LEVEL_INDEX"})
    with pytest.raises(ConfigError, match="global"):
        other.upsert(rows(range(3), 2))
    with pytest.raises(ConfigError, match="partitions"):
        create(tmp_path / "flat", "partitioned_record_index", partition_by=())


# --- growing ---------------------------------------------------------------------------------------
SMALL = {
    "hoodoo.index.buckets": "2",
    "hoodoo.index.bucket.cap": "10",
    "hoodie.metadata.compact.max.delta.commits": "3",
}


@pytest.mark.parametrize("hashed", ["java", "mixed"])
def test_a_full_bucket_is_sealed_and_another_group_takes_what_comes(
    tmp_path: Path, hashed: str
) -> None:
    path = tmp_path / "t"
    table = create(path, "growing_record_index", options={**SMALL, "hoodoo.index.hash": hashed})
    for first in range(0, 100, 10):
        table.upsert(rows(range(first, first + 10), 1))
    folder = path / ".hoodie/metadata" / GROWING_INDEX
    groups = {p.name.lstrip(".").split("_")[0] for p in folder.glob("*hoodoo-record-index-*")}
    groups |= {p.name.lstrip(".").split("_")[0] for p in folder.glob(".hoodoo-record-index-*")}
    assert len(groups) > 4, groups
    assert table.config.metadata_partitions == ()  # Hudi does not come to know of it
    where = lying(path)
    assert told(path, where, partition=GROWING_INDEX) == where
    table.delete([f"k{n}" for n in range(0, 100, 7)])
    table.upsert(rows(range(0, 100, 14), 2))
    for _ in range(3):
        table.compact_metadata()
        where = lying(path)
        asked = [f"k{n}" for n in (*range(101), 500)]
        assert told(path, asked, partition=GROWING_INDEX) == where
        table.upsert(rows([500], 1))
    assert table.compare_indexes("growing_record_index", "global_simple").same


def test_growing_refuses_what_strangers_wrote(tmp_path: Path) -> None:
    path = tmp_path / "t"
    table = create(path, "growing_record_index", options=SMALL)
    table.upsert(rows(range(5), 1))
    completed = sorted((path / ".hoodie/timeline").glob("*.commit"))[-1]
    completed.write_bytes(
        completed.read_bytes().replace(b"hoodoo.metadata.kept", b"hoodoo.metadata.lost")
    )
    with pytest.raises(CorruptTableError, match="rebuild_index"):
        hoodoo.open(str(path)).upsert(rows(range(5), 2))
    table.rebuild_index("growing_record_index")
    assert hoodoo.open(str(path)).upsert(rows(range(5), 2)).updated == 5


# --- from other indexes, and beside them --------------------------------------------------------------
@pytest.mark.parametrize("source", ["simple", "global_simple", "bloom", "global_bloom"])
def test_what_the_other_index_says_is_what_it_has(
    tmp_path: Path, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one is asked, and the rows are not: what it does not know is not there."""
    path = tmp_path / "t"
    table = create(path, source)
    table.upsert(rows(range(30), 1))
    kind = type(table.handle.plugins().index)
    asked, locate = [], kind.locate

    def forgetful(index: Any, *given: Any) -> Any:
        asked.append(index)
        return given[1].engine.map(locate(index, *given), _WithoutK7())

    monkeypatch.setattr(kind, "locate", forgetful)
    table.rebuild_index("record_index", source=source)
    assert asked
    where = lying(path)
    del where["k7"]
    assert told(path, [*where, "k7"]) == where


@pytest.mark.parametrize("write", ["bulk_insert", "append"])
@pytest.mark.parametrize(
    "index", ["record_index", "growing_record_index", "global_simple", "bloom"]
)
def test_rows_that_are_only_added_ask_no_index(
    tmp_path: Path, index: str, write: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = create(tmp_path / "t", index)

    def refuse(*_given: Any) -> Any:
        raise AssertionError("the index is asked")

    monkeypatch.setattr(type(table.handle.plugins().index), "locate", refuse)
    for batch in range(2):
        getattr(table, write)(rows(range(batch * 10, batch * 10 + 10), 1))
    assert table.read().count() == 20
    with pytest.raises(AssertionError, match="is asked"):  # as it is by other writes
        table.upsert(rows([1], 2))


@pytest.mark.parametrize("source", [None, "global_simple", "global_bloom"])
def test_built_from_what_another_index_says(tmp_path: Path, source: str | None) -> None:
    path = tmp_path / "t"
    table = create(path, "global_simple", table_type="MERGE_ON_READ")
    table.upsert(rows(range(30), 1))
    table.upsert(rows(range(20, 40), 2))
    table.rebuild_index("record_index", source=source)
    where = lying(path)
    assert told(path, where) == where
    assert table.verify().findings == ()


def test_two_indexes_are_compared(tmp_path: Path) -> None:
    path = tmp_path / "t"
    table = create(path)
    first = table.upsert(rows(range(20), 1)).instant
    table.upsert(rows(range(15, 25), 2))
    for other in ("simple", "global_simple", "bloom", "global_bloom"):
        found = table.compare_indexes("record_index", other)
        assert found.same
        assert found.found == (25, 25)
    assert table.compare_indexes("record_index", "global_bloom", since=first).found == (10, 10)
    stale(path, table)
    differ = table.compare_indexes("record_index", "global_simple")
    assert not differ.same
    assert differ.found == (25, 28)
    assert {(r["record_key"], r["found_by"]) for r in differ.differences.to_pylist()} == {
        (f"k{n}", 1) for n in range(40, 43)
    }


def stale(path: Path, table: hoodoo.Table) -> None:
    """Three keys come into the table, and not into its record index."""
    instant = table.upsert(rows(range(40, 43), 3)).instant
    for log in (path / ".hoodie/metadata/record_index").glob(f".*_{instant}.log.*"):
        log.unlink()


def test_the_tee_asks_both_and_goes_by_the_first(tmp_path: Path) -> None:
    path = tmp_path / "t"
    table = create(path)
    table.upsert(rows(range(25), 1))
    tee = {"hoodie.index.type": "tee", "hoodoo.index.tee": "global_simple,record_index"}
    both = hoodoo.open(str(path), tee)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert both.upsert(rows(range(20, 30), 2)).updated == 5
    assert told(path, ["k29"]) == {"k29": lying(path)["k29"]}  # the record index is kept meanwhile
    table.rebuild_index("record_index")
    stale(path, table)
    with pytest.warns(HoodooWarning, match="differ in 3 places"):
        assert both.upsert(rows(range(38, 43), 4)).updated == 3
    with pytest.raises(OptionConflictError, match="is global"):
        hoodoo.open(str(path), {**tee, "hoodoo.index.tee": "simple,record_index"})


# --- point reads -------------------------------------------------------------------------------------
INDEXES = ("record_index", "partitioned_record_index", "growing_record_index")


@pytest.mark.parametrize("index", INDEXES)
@pytest.mark.parametrize("kind", TYPES)
def test_a_point_read_opens_the_file_that_has_the_key(
    tmp_path: Path, kind: str, index: str
) -> None:
    path = tmp_path / "t"
    table = create(path, index, table_type=kind)
    for n in range(6):
        table.bulk_insert(rows(range(n * 10, n * 10 + 10), n, "p"))
    table.upsert(rows([33], 50, "p"))
    reader = hoodoo.open(str(path))
    reader.handle.storage = asked = Asked(LocalStorage(str(path)))  # type: ignore[assignment]  # a store
    scan = reader.read(where=pc.field("id") == "k33")
    assert scan.to_arrow().column("v").to_pylist() == [50]
    data = {name for name in asked.opened if not name.startswith(".hoodie")}
    assert len({name.lstrip("p/.").split("_")[0] for name in data}) == 1, data
    few = reader.read(where=pc.field("id").isin(["k1", "k2", "k55", "no"]) & (pc.field("v") >= 0))
    assert len(few.plan.slices) == 2
    assert few.to_arrow().num_rows == 3
    assert reader.read(where=pc.field("id") == "no").plan.slices == ()


@pytest.mark.parametrize(
    "where",
    [
        pc.field("id") > "k33",
        (pc.field("id") == "k33") | (pc.field("v") == 4),
        ~(pc.field("id") == "k33"),
        pc.field("id") == pc.field("part"),
    ],
)
def test_what_is_not_certain_is_read_whole(tmp_path: Path, where: pc.Expression) -> None:
    table = create(tmp_path / "t", options={"hoodie.metadata.index.column.stats.enable": "false"})
    for n in range(6):
        table.bulk_insert(rows(range(n * 10, n * 10 + 10), n, "p"))
    scan = table.read(where=where)
    assert len(scan.plan.slices) == 6
    plain = hoodoo.open(str(tmp_path / "t"), {"hoodie.metadata.enable": "false"})
    assert scan.to_arrow().num_rows == plain.read(where=where).to_arrow().num_rows


@pytest.mark.parametrize("index", INDEXES)
def test_a_point_read_of_older_moments(tmp_path: Path, index: str) -> None:
    options = {
        "hoodie.clean.automatic": "false",
        "hoodie.metadata.index.column.stats.enable": "false",
    }
    if index == "growing_record_index":
        options |= {"hoodoo.index.buckets": "2", "hoodoo.index.bucket.cap": "8"}
    table = create(tmp_path / "t", index, options=options)
    first = table.upsert(rows(range(20), 1)).instant
    table.delete(["k3"])
    where = pc.field("id").isin(["k3", "k4"])
    assert table.read(where=where).to_arrow().num_rows == 1
    assert table.read(where=where, as_of=first).to_arrow().num_rows == 2
    assert len(table.read(where=where, as_of=first).plan.slices) == 2  # of three
    for n in range(4):
        table.upsert(rows([100 + n], 2))
        table.compact_metadata()
    assert table.read(where=where, as_of=first).to_arrow().num_rows == 2


@pytest.mark.parametrize("index", INDEXES)
def test_a_key_that_is_there_twice_is_read_twice(tmp_path: Path, index: str) -> None:
    table = create(tmp_path / "t", index)
    table.upsert(rows(range(9), 1, "p"))
    one = pc.field("id") == "k3"
    assert len(table.read(where=one).plan.slices) == 1
    table.append(rows(range(3, 6), 2, "p"))
    assert sorted(table.read(where=one).to_arrow().column("v").to_pylist()) == [1, 2]


def test_a_partitioned_index_finds_a_key_in_each_path(tmp_path: Path) -> None:
    table = create(tmp_path / "t", "partitioned_record_index")
    for part in ("a", "b", "c", "d"):
        table.upsert(rows(range(5 if part == "d" else 4), 1, part))
    assert len(table.read(where=pc.field("id") == "k3").plan.slices) == 4
    assert [s.partition_path for s in table.read(where=pc.field("id") == "k4").plan.slices] == ["d"]
    both = (pc.field("id") == "k3") & (pc.field("part") == "c")
    assert [s.partition_path for s in table.read(where=both).plan.slices] == ["c"]


@pytest.mark.parametrize("index", INDEXES)
def test_keys_of_several_columns(tmp_path: Path, index: str) -> None:
    columns = [("a", pa.int32()), ("b", pa.string()), ("v", pa.int64()), ("part", pa.string())]
    schema = pa.schema(columns)
    table = hoodoo.create(
        str(tmp_path / "t"),
        schema,
        record_key=["a", "b"],
        index=index,
        partition_by="part",
        options={"hoodie.metadata.index.column.stats.enable": "false"},
    )
    for v in range(5):
        parts = ["p", "p", "p"]
        table.bulk_insert(pa.table([[v] * 3, ["x", "y", "z"], [v] * 3, parts], schema=schema))
    both = (pc.field("a") == 2) & pc.field("b").isin(["x", "z"])
    scan = table.read(where=both)
    assert scan.to_arrow().num_rows == 2
    assert len(scan.plan.slices) == 1
    assert table.read(where=pc.field("b") == "x").to_arrow().num_rows == 5
