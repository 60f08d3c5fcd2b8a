"""From any index to any other: made, asked beside the old one, compared, switched to, each by name."""

from __future__ import annotations

import itertools
import os
import threading
from pathlib import Path
from typing import Any

import hoodoo
import pytest
from hoodoo.errors import (
    ConfigError,
    CorruptTableError,
    DataError,
    DuplicateKeyError,
    HoodooWarning,
    OptionConflictError,
    UnsupportedTableError,
)
from hoodoo.model.meta import META_COLUMNS
from hoodoo.timeline import properties
from hoodoo_standard.index.simple import SimpleIndex
from indexed_tables import create, lying, rows

pytestmark = pytest.mark.sampled(4)

TYPES = ("COPY_ON_WRITE", "MERGE_ON_READ")
IN_PATHS = ("simple", "bloom", "partitioned_record_index")
GLOBAL = ("global_simple", "global_bloom", "record_index", "growing_record_index")
STORED = ("record_index", "growing_record_index", "partitioned_record_index")
BUCKETS = {"hoodie.bucket.index.num.buckets": "2"}


def on_both(local: tuple[str | None, ...], spark: tuple[str | None, ...]) -> list[Any]:
    """(engine, index): on Spark those that differ in kind."""
    marks = [pytest.mark.spark, pytest.mark.trial]
    of_spark = [pytest.param("spark", index, marks=marks) for index in spark]
    return [*(("local", index) for index in local), *of_spark]


# A switch on Spark takes several jobs a step: other indexes, table types and steps run in the trials.
MORE = (os.environ.get("HOODOO_TRIALS") or "some") != "some"
_ON_SPARK = (None, "bucket", "partitioned_record_index") if MORE else ("bucket",)
OLD = on_both((None, *IN_PATHS, *GLOBAL, "bucket"), _ON_SPARK)


def of_kinds(pairs: list[Any]) -> list[Any]:
    """(engine, index, table type): on Spark of one type, but for the trials."""
    found = []
    for pair in pairs:
        spark = hasattr(pair, "values")
        engine, index = pair.values if spark else pair
        marks = pair.marks if spark else ()
        kinds = TYPES if MORE or not spark else TYPES[-1:]
        found += [pytest.param(engine, index, kind, marks=marks) for kind in kinds]
    return found


STALE = on_both(STORED, STORED if MORE else STORED[:1])
VIRTUAL = on_both(STORED, STORED[:1])


def filled(path: Path, index: str | None, **more: Any) -> hoodoo.Table:
    """Six keys in three partition paths; some were updated: of MERGE_ON_READ these have log files."""
    if index == "bucket":
        more["options"] = {**BUCKETS, **more.get("options", {})}
    table = create(path, index, **more)
    table.upsert(rows(range(6), 1))
    table.upsert(rows(range(2, 4), 2))
    return table


def names(table: hoodoo.Table) -> tuple[str | None, str | None]:
    config = hoodoo.open(table.path).config
    return config.get("hoodie.index.type"), config.get("hoodoo.index.type")


def usable(table: hoodoo.Table, inserted: int = 1) -> None:
    """A default writer finds what there is, and keys stay unique."""
    writer = hoodoo.open(table.path)
    before = writer.read().count()
    commit = writer.upsert(rows([*range(6), 99], 7))
    assert (commit.updated, commit.inserted) == (before, 7 - before)
    assert writer.upsert(rows(range(6), 8)).updated == 6
    keys = writer.read(["id"]).to_arrow().column("id").to_pylist()
    assert len(keys) == len(set(keys)) == 7
    assert writer.verify().findings == ()


@pytest.mark.parametrize(("engine", "old", "kind"), of_kinds(OLD))
def test_fault_14_from_any_index_to_any_other(
    tmp_path: Path, old: str | None, kind: str, engine: str
) -> None:
    table = filled(tmp_path / "t", old, table_type=kind)
    if old == "bucket" and kind == "MERGE_ON_READ":
        table.compact()
    steps = ("record_index", "simple", "global_bloom", "partitioned_record_index", "growing_record_index",
             "bloom", "record_index", "global_simple", "partitioned_record_index")  # fmt: skip
    for new in steps if MORE or engine == "local" else steps[2:5]:
        found = hoodoo.open(table.path, engine=engine).switch_index(new)
        assert found.same
        assert found.found == (6, 6)
        noted = dict.fromkeys(("global_simple", "global_bloom"), 0)
        at = noted.get(new, 1)
        wanted: list[str | None] = [None, None]
        if new != "simple":
            wanted[at] = new.upper()
        assert names(table) == tuple(wanted)
    usable(table)


@pytest.mark.parametrize("old", ["global_bloom", "global_simple", "bucket"])
@pytest.mark.parametrize("kind", TYPES)
def test_fault_14_build_tee_compare_and_switch_by_name(tmp_path: Path, old: str, kind: str) -> None:
    table = filled(tmp_path / "t", old, table_type=kind)
    table.rebuild_index("record_index", source=old)
    assert names(table)[0] == old.upper()  # an index that binds stays until it is switched
    tee = {"hoodie.index.type": "tee", "hoodoo.index.tee": f"{old},record_index"}
    beside = hoodoo.open(table.path, tee)
    beside.upsert(rows(range(7), 3))
    assert beside.read().count() == 7
    assert beside.delete(["k6"]).deleted == 1
    compared = table.compare_indexes(old, "record_index")
    assert compared.same
    assert compared.stale.num_rows == 0
    table.switch_index("record_index")
    assert names(table) == (None, "RECORD_INDEX")
    with pytest.raises(OptionConflictError, match="contradicts the table"):
        hoodoo.open(table.path, index=old)
    usable(table)


@pytest.mark.parametrize("old", ["global_bloom", "bucket"])
def test_a_tee_says_where_the_second_index_is_wrong(tmp_path: Path, old: str) -> None:
    table = filled(tmp_path / "t", old)
    table.rebuild_index("record_index")
    lost = _without(table, tmp_path / "t", lambda: table.upsert(rows([40], 3)))
    tee = {"hoodie.index.type": "tee", "hoodoo.index.tee": f"{old},record_index"}
    if old == "bucket":  # it can't say whether the table has a key
        assert hoodoo.open(table.path, tee).upsert(rows([40], 4)).updated == 1
    else:
        with pytest.warns(HoodooWarning, match=r"differ in 1 places.*k40"):
            hoodoo.open(table.path, tee).upsert(rows([40], 4))
    assert lost
    with pytest.raises(OptionConflictError, match="contradicts the table"):
        hoodoo.open(table.path, {**tee, "hoodoo.index.tee": "simple,record_index"})
    with pytest.raises(ConfigError, match="computes where rows have to lie"):
        hoodoo.open(table.path, {**tee, "hoodoo.index.tee": "simple,bucket"})


def _without(table: hoodoo.Table, path: Path, write: Any) -> list[Path]:
    """What ``write`` does, and the record index does not come to know."""
    instant = write().instant
    logs = list((path / ".hoodie/metadata/record_index").glob(f".*_{instant}.log.*"))
    for log in logs:
        log.unlink()
    return logs


@pytest.mark.parametrize("new", GLOBAL)
def test_keys_in_two_partition_paths_stop_a_switch_to_a_global_index(
    tmp_path: Path, new: str
) -> None:
    table = filled(tmp_path / "t", None)
    table.upsert(rows([1, 2], 3, "elsewhere"))
    with pytest.raises(DuplicateKeyError, match=r"2 record keys, such as 'k1', 'k2'"):
        table.switch_index(new)
    assert names(table) == (None, None)
    table.delete(rows([1, 2], 3, "elsewhere"))
    assert table.config.metadata_partitions == ()  # nothing was made in vain
    table.switch_index(new)
    usable(table)


def test_keys_twice_in_their_path_stop_an_index_that_has_room_for_one_place(tmp_path: Path) -> None:
    table = filled(tmp_path / "t", None, options={"hoodie.parquet.small.file.limit": "0"})
    table.insert(rows([4, 5], 3))
    with pytest.raises(DuplicateKeyError, match=r"2 record keys, such as 'k4', 'k5'"):
        table.switch_index("record_index")
    with pytest.raises(DuplicateKeyError, match="stores one place of a key"):
        table.switch_index("partitioned_record_index")
    assert names(table) == (None, None)
    table.switch_index("global_simple")


@pytest.mark.parametrize("old", ["global_simple", "record_index"])
def test_rows_that_lie_where_their_columns_do_not_say_stop_a_switch_back(
    tmp_path: Path, old: str
) -> None:
    option = {"hoodie.simple.index.update.partition.path": "false"}
    table = filled(tmp_path / "t", old, options=option if old == "global_simple" else {})
    table.upsert(rows([1], 3, "elsewhere"))
    assert lying(tmp_path / "t")["k1"][0] == "p1"
    with pytest.raises(DataError, match=r"'k1'.*lies in partition 'p1'.*'elsewhere'"):
        table.switch_index("simple")
    table.delete(["k1"])
    table.upsert(rows([1], 5, "elsewhere"))
    table.switch_index("simple")
    assert names(table) == (None, None)


def test_a_computed_index_takes_rows_where_it_computes_them_only(tmp_path: Path) -> None:
    table = filled(tmp_path / "t", None)
    with pytest.raises(ConfigError, match=r"'k0'.*hoodoo.create\(.*bulk_insert"):
        hoodoo.open(table.path, BUCKETS).switch_index("bucket")
    assert names(table) == (None, None)
    assert not table.compare_indexes("simple", "bucket").same
    buckets = filled(tmp_path / "b", "bucket")
    buckets.switch_index("simple")
    usable(buckets)
    again = filled(tmp_path / "again", "bucket")
    again.switch_index("bloom")
    assert hoodoo.open(again.path).switch_index("bucket").same  # no row has moved
    usable(again)


@pytest.mark.parametrize(("engine", "index"), STALE)
def test_fault_14_stale_entries_are_found(tmp_path: Path, index: str, engine: str) -> None:
    path = tmp_path / "t"
    table = filled(path, index, engine=engine)
    assert table.compare_indexes(index, "simple").stale.num_rows == 0
    folder = "hoodoo_record_index" if index.startswith("growing") else "record_index"
    instant = table.delete(["k1", "k3"]).instant
    for log in (path / ".hoodie/metadata" / folder).glob(f".*{instant}*"):
        log.unlink()
    if index.startswith("growing"):
        for mark in (path / ".hoodie/metadata" / folder).glob(f"*{instant}*"):
            mark.unlink()
    found = table.compare_indexes("simple", index)
    assert found.same  # nobody asks for them
    stale = {(r["record_key"], r["found_by"]) for r in found.stale.to_pylist()}
    assert stale == {("k1", 1), ("k3", 1)}
    with pytest.raises(CorruptTableError, match=r"2 entries of keys.*rebuild_index"):
        table.switch_index(index)
    table.rebuild_index(index)
    assert table.compare_indexes("simple", index).stale.num_rows == 0
    table.switch_index(index)


def test_a_stored_index_that_is_wrong_is_no_ones_index(tmp_path: Path) -> None:
    table = filled(tmp_path / "t", "global_simple")
    table.rebuild_index("record_index")
    _without(table, tmp_path / "t", lambda: table.upsert(rows([40, 41], 3)))
    with pytest.raises(CorruptTableError, match=r"2 places of keys, such as 'k40', 'k41'.*rebuild"):
        table.switch_index("record_index")
    assert names(table) == ("GLOBAL_SIMPLE", None)


@pytest.mark.parametrize("index", ["record_index", "growing_record_index"])
def test_fault_a4_a_table_remembers_the_index_that_was_made_later(
    tmp_path: Path, index: str
) -> None:
    for old in (None, "simple", "bloom"):
        table = filled(tmp_path / f"{old}", old)
        table.rebuild_index(index)
        assert names(table) == (None, index.upper())
        assert hoodoo.open(table.path).upsert(rows([1], 3, "elsewhere")).inserted == 0
        assert len(lying(tmp_path / f"{old}")) == hoodoo.open(table.path).read().count() == 6
    doubled = filled(tmp_path / "doubled", None)
    doubled.upsert(rows([1], 3, "elsewhere"))
    doubled.rebuild_index(index)
    assert names(doubled) == (None, None)
    partitioned = filled(tmp_path / "paths", None)
    partitioned.rebuild_index("partitioned_record_index")
    assert names(partitioned) == (None, None)
    assert hoodoo.open(partitioned.path).upsert(rows([1], 3, "elsewhere")).inserted == 1
    assert (
        hoodoo.open(partitioned.path, index="partitioned_record_index").upsert(rows([1], 4)).updated
    )


def test_the_two_record_indexes_do_not_take_each_others_place(tmp_path: Path) -> None:
    table = filled(tmp_path / "t", "partitioned_record_index")
    with pytest.raises(ConfigError, match="switch_index"):
        table.rebuild_index("global_record_level_index")
    table.rebuild_index("record_index")  # the partition of the metadata table, of its kind
    assert hoodoo.open(table.path).upsert(rows(range(6), 3)).updated == 6
    table.switch_index("record_index")
    with pytest.raises(ConfigError, match="switch_index"):
        table.rebuild_index("partitioned_record_index")
    usable(table)


def test_a_writer_that_began_with_the_old_index_repeats_its_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It had looked where keys lie in their path; meanwhile keys became unique in the table."""
    from hoodoo_rows.write.transaction import WriteTransaction

    table = filled(tmp_path / "t", None)
    writer = hoodoo.open(table.path)
    decide, switched = WriteTransaction.decide, []

    def between(write: WriteTransaction) -> Any:
        if not switched:
            switched.append(hoodoo.open(table.path).switch_index("global_simple"))
        return decide(write)

    monkeypatch.setattr(WriteTransaction, "decide", between)
    assert writer.upsert(rows([1], 3, "elsewhere")).inserted == 1
    assert switched
    assert len(lying(tmp_path / "t")) == hoodoo.open(table.path).read().count() == 6


def test_a_writer_that_comes_between_proof_and_switch(tmp_path: Path) -> None:
    from hoodoo_services.indexes import switching

    table = filled(tmp_path / "t", None)
    update, done = switching.properties.update, []

    def doubling(*more: Any) -> Any:
        if not done:
            done.append(hoodoo.open(table.path).upsert(rows([1], 3, "elsewhere")))
        return update(*more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(switching.properties, "update", doubling)
        with pytest.raises(DuplicateKeyError, match="'k1'"):
            table.switch_index("global_simple")
    assert names(table) == (None, None)


def test_writers_go_on_while_indexes_are_switched(tmp_path: Path) -> None:
    table = filled(tmp_path / "t", None)
    failures: list[BaseException] = []
    stop = threading.Event()

    def writing() -> None:
        writer = hoodoo.open(table.path)
        for n in itertools.count(10):
            if stop.is_set():
                return
            try:
                writer.upsert(rows([0, 1, 2, n % 20], n))
            except BaseException as error:
                failures.append(error)
                return

    thread = threading.Thread(target=writing)
    thread.start()
    try:
        for index in ("global_simple", "record_index", "bloom", "global_bloom"):
            table.switch_index(index)
    finally:
        stop.set()
        thread.join()
    assert not failures
    keys = table.read(["id"]).to_arrow().column("id").to_pylist()
    assert len(keys) == len(set(keys))
    assert table.verify().findings == ()


def test_an_index_that_is_an_object_can_be_switched_from_and_to(tmp_path: Path) -> None:
    mine = SimpleIndex(is_global=True)
    table = filled(tmp_path / "t", mine)  # type: ignore[arg-type]  # an object
    assert names(table)[1] == "hoodoo_standard.index.simple.SimpleIndex"
    stuck = hoodoo.open(table.path)
    stuck.switch_index("record_index")
    usable(stuck)
    stuck.switch_index(mine)
    assert names(table)[1] == "hoodoo_standard.index.simple.SimpleIndex"
    assert stuck.upsert(rows([1], 9)).updated == 1


def test_what_can_not_be_switched_to(tmp_path: Path) -> None:
    table = filled(tmp_path / "t", None)
    tee = {"hoodoo.index.tee": "global_simple,global_bloom"}
    with pytest.raises(ConfigError, match="one of the two"):
        hoodoo.open(table.path, tee).switch_index("tee")
    flat = create(tmp_path / "flat", None, partition_by=())
    with pytest.raises(ConfigError, match="partitions"):
        flat.switch_index("partitioned_record_index")
    old = create(tmp_path / "old", None, table_version=6)
    old.upsert(rows(range(6), 1))
    with pytest.raises(UnsupportedTableError, match="version 6"):
        old.switch_index("partitioned_record_index")
    old.switch_index("record_index")
    usable(old)


# --- virtual keys -----------------------------------------------------------------------------------
@pytest.mark.parametrize(("engine", "index", "kind"), of_kinds(VIRTUAL))
def test_fault_13_a_record_index_goes_on_with_virtual_keys(
    tmp_path: Path, index: str, kind: str, engine: str
) -> None:
    table = filled(tmp_path / "t", index, table_type=kind, engine=engine)
    older = hoodoo.open(table.path, engine=engine)
    table.enable_virtual_keys(kept=META_COLUMNS)
    assert names(table) == (None, index.upper())
    assert not (tmp_path / "t/.hoodie/metadata/record_index").exists()
    for n in (3, 4, 5):
        assert older.upsert(rows([*range(6), 90 + n], n)).updated == 6
    for name in STORED if MORE else ("growing_record_index", index):
        table.switch_index(name)
        table.rebuild_index(name)
    table.rewrite_keys()
    assert older.upsert(rows([*range(6), 99], 6)).updated == 6
    keys = older.read(["id"]).to_arrow().column("id").to_pylist()
    assert len(keys) == len(set(keys)) == 10
    if kind == "MERGE_ON_READ":
        table.compact()
    table.rewrite_keys(virtual=False)
    table.switch_index(index)
    assert table.upsert(rows(range(6), 7)).updated == 6
    assert table.verify().findings == ()


def test_fault_13_a_table_that_is_stuck_already(tmp_path: Path) -> None:
    """By the versions that made keys virtual and left the index noted."""
    table = filled(tmp_path / "t", "record_index")
    table.enable_virtual_keys()
    gone = {
        name: None for name in ("hoodoo.metadata.partitions", "hoodoo.metadata.partitions.made")
    }
    properties.update(table.handle.storage, table.config, gone)
    stuck = hoodoo.open(table.path)
    with pytest.warns(HoodooWarning, match=r"rebuild_index\('record_index'\)"):
        assert stuck.upsert(rows([1], 3)).updated == 1
    stuck.rebuild_index("record_index")
    assert stuck.upsert(rows(range(6), 4)).updated == 6
