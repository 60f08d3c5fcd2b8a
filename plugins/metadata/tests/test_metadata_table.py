"""The metadata table, through the public API: made, kept by every action, gone by, checked, rebuilt."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import hoodoo
import hudi
import pyarrow.compute as pc
import pytest
from hoodoo.errors import (
    CommitConflictError,
    ConfigError,
    CorruptTableError,
    HoodooWarning,
    UnsupportedTableError,
)
from hoodoo.timeline import fence, properties, publish
from hoodoo.timeline.heartbeat import Beating
from hoodoo.timeline.publish import withdraw
from hoodoo.timeline.snapshot import Snapshot
from hoodoo_metadata.life.build import finish, retire
from hoodoo_metadata.partitions.files.listing import told_files
from hoodoo_metadata.table.metadata_table import FOLDER, MetadataTable, mark_of, told_as
from hoodoo_standard.storage.local import LocalStorage
from indexed_tables import Asked, create, lying, rows, told

pytestmark = pytest.mark.sampled(4)

ALL = ("column_stats", "files", "partition_stats", "record_index")
TYPES = ("COPY_ON_WRITE", "MERGE_ON_READ")
HUDIS = "hoodie.table.metadata.partitions"


def by_hudi(path: Path) -> int:
    batches = hudi.HudiTableBuilder.from_base_uri(str(path)).build().read()
    return sum(batch.num_rows for batch in batches)


def right(path: Path, count: int) -> None:
    """The table has ``count`` rows, for `hudi`, too, which lists from the metadata table; the index knows all
    keys; verify finds nothing."""
    table = hoodoo.open(str(path))
    assert table.read().to_arrow().num_rows == count
    assert by_hudi(path) == count
    where = lying(path)
    assert told(path, where) == where
    assert table.verify().findings == ()


# --- made ----------------------------------------------------------------------------------------
def test_a_new_table_gets_it_with_its_index(tmp_path: Path) -> None:
    table = create(tmp_path / "t")
    assert table.config.metadata_partitions == ALL
    assert by_hudi(tmp_path / "t") == 0
    flat = create(tmp_path / "flat", partition_by=())
    assert flat.config.metadata_partitions == ("column_stats", "files", "record_index")


def test_a_new_table_gets_what_its_options_say(tmp_path: Path) -> None:
    options = {"hoodie.metadata.enable": True, "hoodie.metadata.index.column.stats.enable": False}
    assert create(tmp_path / "a", None, options=options).config.metadata_partitions == ("files",)
    assert create(tmp_path / "b", None).config.metadata_partitions == ()
    few = {"hoodie.metadata.global.record.level.index.min.filegroup.count": "3"}
    create(tmp_path / "c", options=few)
    groups = list((tmp_path / "c/.hoodie/metadata/record_index").glob("record-index-*"))
    assert sorted(g.name[:17] for g in groups) == [f"record-index-000{n}" for n in range(3)]


@pytest.mark.parametrize(
    ("options", "partitioned"),
    [
        ({"hoodie.metadata.global.record.level.index.enable": "true"}, False),
        ({"hoodie.metadata.record.index.enable": "true"}, False),
        ({"hoodie.metadata.record.level.index.enable": "true"}, True),
        ({"hoodie.index.type": "GLOBAL_RECORD_LEVEL_INDEX"}, False),
        ({"hoodie.index.type": "RECORD_INDEX"}, False),
        ({"hoodie.index.type": "RECORD_LEVEL_INDEX"}, True),
    ],
    ids=str,
)
def test_hudis_options_make_hudis_indexes(
    tmp_path: Path, options: dict[str, str], partitioned: bool
) -> None:
    table = create(tmp_path, None, options=options)
    table.upsert(rows(range(4), 1))
    assert "record_index" in table.config.metadata_partitions
    index = "partitioned_record_index" if partitioned else "record_index"
    assert table.compare_indexes("simple", index).same
    with pytest.raises(ConfigError, match="the other kind"):
        table.compare_indexes(
            "simple", "record_index" if partitioned else "partitioned_record_index"
        )


def test_what_cannot_be_is_refused_and_no_table_is_made(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedTableError, match="version 6"):
        create(tmp_path / "a", "partitioned_record_index", table_version=6)
    with pytest.raises(ConfigError, match="contradicts a record index"):
        create(tmp_path / "c", options={"hoodie.metadata.enable": "false"})
    with pytest.raises(ConfigError, match="at least|between"):
        wrong = {"hoodie.metadata.global.record.level.index.min.filegroup.count": "20000"}
        create(tmp_path / "d", options=wrong)
    assert not any(p.exists() for p in (tmp_path / n / ".hoodie" for n in "acd"))


@pytest.mark.parametrize("kind", TYPES)
def test_an_existing_table_gets_it_later(tmp_path: Path, kind: str) -> None:
    table = create(tmp_path / "t", "global_simple", table_type=kind)
    table.upsert(rows(range(30), 1))
    table.upsert(rows(range(10, 40), 2))
    assert table.rebuild_index("record_index") == ("files", "record_index")
    right(tmp_path / "t", 40)
    table.rebuild_index("column_stats")
    assert table.config.metadata_partitions == ("column_stats", "files", "record_index")
    table.upsert(rows(range(35, 50), 3))
    right(tmp_path / "t", 50)


def test_writers_go_on_while_it_is_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What others write between the look and the end is added; a writer that began before has to look again."""
    from hoodoo_metadata.life import build

    path = str(tmp_path / "t")
    table = create(tmp_path / "t", "global_simple")
    table.upsert(rows(range(20), 1))
    others = hoodoo.open(path)
    begin, seen = build._begin, []

    def begin_then_write(*given: Any) -> Any:
        made = begin(*given)
        others.upsert(rows(range(15, 30), 2))
        others.delete([f"k{n}" for n in range(3)])
        seen.append(len(others.timeline().writes()))
        return made

    monkeypatch.setattr(build, "_begin", begin_then_write)
    table.rebuild_index("record_index")
    assert seen == [3]
    right(tmp_path / "t", 27)
    others.upsert(rows(range(100, 103), 3))  # it opened the table before there was an index
    right(tmp_path / "t", 30)


# --- kept ----------------------------------------------------------------------------------------
def test_none_is_read_that_was_retired_while_it_was_made(tmp_path: Path) -> None:
    """A rollback takes the marks away before the last partition has its own: `files` has none then."""
    path = tmp_path / "t"
    create(path).upsert(rows(range(6), 1))
    storage = LocalStorage(str(path))
    config = retire(storage, properties.load(storage))
    storage.put_if_absent(f"{FOLDER}/{mark_of('record_index')}", b"")
    assert finish(storage, config, ALL, ["v"]).metadata_partitions == ()
    hoodoo.open(str(path)).upsert(rows(range(4, 9), 2))
    assert hoodoo.open(str(path)).config.metadata_partitions == ALL
    right(path, 9)


def test_none_is_read_while_somebody_else_makes_them(tmp_path: Path) -> None:
    """Between the end of one who made them and what it says of it, another one may have begun."""
    path = tmp_path / "t"
    create(path).upsert(rows(range(6), 1))
    storage = LocalStorage(str(path))
    timeline = hoodoo.open(str(path)).timeline()
    config = properties.update(storage, timeline.config, told_as((), ALL))
    with Beating(storage) as beats:
        other = publish.request(Snapshot(storage, timeline), fence.INDEXING, b"", named=beats.add)
        assert finish(storage, config, ALL, ["v"]).metadata_partitions == ()
        withdraw(Snapshot(storage, timeline), other)
    assert finish(storage, config, ALL, ["v"]).metadata_partitions == ALL
    right(path, 6)


def test_with_files_all_of_them_are_made_anew(tmp_path: Path) -> None:
    """What may be read is wiped with it, so it is rebuilt, too."""
    path = tmp_path / "t"
    create(path).upsert(rows(range(6), 1))
    storage = LocalStorage(str(path))
    config = retire(storage, properties.load(storage))
    properties.update(storage, config, told_as(["record_index"], [p for p in ALL if p[0] != "r"]))
    hoodoo.open(str(path)).upsert(rows(range(4, 9), 2))
    assert hoodoo.open(str(path)).config.metadata_partitions == ALL
    right(path, 9)


@pytest.mark.parametrize("kind", TYPES)
def test_every_action_keeps_it(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "t"
    few = {"hoodie.metadata.compact.max.delta.commits": "4", "hoodie.clean.automatic": "false"}
    table = create(path, table_type=kind, options=few)
    table.upsert(rows(range(30), 1))
    table.insert(rows(range(30, 36), 1))
    table.bulk_insert(rows(range(40, 52), 1))
    right(path, 48)
    table.upsert(rows(range(20, 45), 2))
    right(path, 52)
    table.delete([f"k{n}" for n in range(5)])
    right(path, 47)
    table.upsert(rows(range(5), 3))  # inserted again
    right(path, 52)
    table.insert_overwrite(rows([0, 3, 300], 4))
    right(path, 3 + sum(1 for n in range(52) if n % 3))
    table.delete_partitions("p1")
    right(path, 3 + sum(1 for n in range(52) if n % 3 == 2))
    if kind == "MERGE_ON_READ":
        table.upsert(rows([2, 5], 5))
        table.compact()
        right(path, 20)
    table.clean(commits_retained=1)
    table.archive()
    right(path, 20)
    table.insert_overwrite_table(rows(range(9), 6))
    right(path, 9)
    saved = table.savepoint()
    table.upsert(rows(range(5, 20), 7))
    table.rollback(table.timeline().writes()[-1].requested)
    right(path, 9)
    table.upsert(rows(range(5, 20), 8))
    table.restore(saved)
    right(path, 9)
    assert table.config.metadata_partitions == ALL
    table.upsert(rows(range(12), 9))
    right(path, 12)


def test_a_write_that_fails_leaves_nothing_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hoodoo.timeline import publish

    table = create(tmp_path / "t")
    table.upsert(rows(range(5), 1))
    before = sorted(p.name for p in (tmp_path / "t/.hoodie/metadata").rglob("*"))

    def refuse(*_given: Any, **_more: Any) -> Any:
        raise hoodoo.errors.StorageError("store", "is full", "Free some space.")

    with monkeypatch.context() as patched:
        patched.setattr(publish, "decided", refuse)
        with pytest.raises(hoodoo.errors.HoodooError):
            table.upsert(rows(range(9), 2))
    hoodoo.open(str(tmp_path / "t")).rollback()
    assert sorted(p.name for p in (tmp_path / "t/.hoodie/metadata").rglob("*")) == before
    right(tmp_path / "t", 5)


def test_it_is_compacted_and_cleaned(tmp_path: Path) -> None:
    path = tmp_path / "t"
    table = create(path, options={"hoodie.metadata.compact.max.delta.commits": "3"})
    for n in range(20):
        table.upsert(rows([n, n + 1], n))
    folder = path / ".hoodie/metadata"
    for partition in ALL:
        by_group: dict[str, int] = {}
        for base in (folder / partition).glob("*.hfile"):
            group = base.name.split("_")[0]
            by_group[group] = by_group.get(group, 0) + 1
        assert by_group and max(by_group.values()) <= 2, partition
    assert len(list((folder / ".hoodie/timeline").iterdir())) < 90
    right(path, 21)
    hoodoo.open(str(path)).upsert(rows([20], 20))  # the default is every ten commits
    assert table.compact_metadata()
    assert table.compact_metadata() == ()
    right(path, 21)


def test_a_refused_rollback_leaves_it_as_it_is(tmp_path: Path) -> None:
    """Its base files hold the write, so that it would have to be rebuilt; but nothing is undone."""
    path = tmp_path / "t"
    table = create(path)
    table.upsert(rows(range(5), 1))
    newest = table.upsert(rows(range(3, 9), 2)).instant
    table.compact_metadata()
    table.schedule_clustering(order="linear", columns=["v"])
    with pytest.raises(CommitConflictError, match="may build on it"):
        table.rollback(newest)
    assert table.config.metadata_partitions == ALL
    assert table.locate(rows([1, 8], 2).select([0, 1])).num_rows == 2
    right(path, 9)


def test_a_partition_that_is_not_kept_is_dropped_before_the_first_write(tmp_path: Path) -> None:
    path = tmp_path / "t"
    create(path).upsert(rows(range(5), 1))
    storage = LocalStorage(str(path))
    config = properties.load(storage)
    more = {HUDIS: ",".join((*ALL, "secondary_index_v"))}
    properties.update(storage, config, more)
    table = hoodoo.open(str(path))
    assert table.read().to_arrow().num_rows == 5
    with pytest.warns(HoodooWarning, match="secondary_index_v"):
        table.upsert(rows(range(3, 8), 2))
    assert table.config.metadata_partitions == ALL
    right(path, 8)


def test_without_it_the_property_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "t"
    create(path, "global_simple", options={"hoodie.metadata.enable": "true"}).upsert(
        rows(range(5), 1)
    )
    table = hoodoo.open(str(path), {"hoodie.metadata.enable": "false"})
    assert table.read().to_arrow().num_rows == 5
    with pytest.warns(HoodooWarning, match="not wanted"):
        table.upsert(rows(range(8), 2))
    assert HUDIS not in table.config.properties
    assert not (path / ".hoodie/metadata").exists()
    assert by_hudi(path) == 8


# --- gone by -------------------------------------------------------------------------------------
def test_no_directory_of_the_table_is_listed(tmp_path: Path) -> None:
    path = tmp_path / "t"
    create(path).upsert(rows(range(9), 1))
    table = hoodoo.open(str(path))
    table.handle.storage = asked = Asked(LocalStorage(str(path)))  # type: ignore[assignment]  # a store
    assert table.read().to_arrow().num_rows == 9
    assert asked.listed
    assert all(folder.startswith(".hoodie") for folder in asked.listed), asked.listed


def test_a_file_that_it_does_not_list_is_not_seen(tmp_path: Path) -> None:
    """That it is gone by at all: only a stale one shows it."""
    path = tmp_path / "t"
    table = create(path)
    table.upsert(rows(range(9), 1))
    (tmp_path / "aside").mkdir()
    listed = [
        e.path for e in told_files(MetadataTable.open(LocalStorage(str(path)), table.timeline()))
    ]
    assert sorted(listed) == sorted(
        str(p.relative_to(path)) for p in path.rglob("*.parquet") if ".hoodie" not in str(p)
    )


def test_ranges_leave_files_out(tmp_path: Path) -> None:
    path = tmp_path / "t"
    table = create(path, "global_simple", options={"hoodie.metadata.enable": "true"})
    for v in range(8):
        table.bulk_insert(rows(range(v * 10, v * 10 + 10), v, "p"))
    scan = table.read(where=(pc.field("v") > 4) & (pc.field("v") < 7))
    assert (scan.plan.considered, len(scan.plan.slices), scan.plan.pruned_by_metadata) == (8, 2, 6)
    assert scan.to_arrow().num_rows == 20
    assert table.read(where=pc.field("v") == 99).to_arrow().num_rows == 0
    assert len(table.read(where=pc.field("v").is_null()).plan.slices) == 0
    assert len(table.read(where=~(pc.field("v") == 3)).plan.slices) == 7


def test_ranges_of_merged_slices_leave_nothing_out(tmp_path: Path) -> None:
    table = create(
        tmp_path / "t", "global_simple", table_type="MERGE_ON_READ",
        options={"hoodie.metadata.enable": "true"},
    )  # fmt: skip
    for v in range(6):
        table.bulk_insert(rows(range(v * 10, v * 10 + 10), v, "p"))
    table.upsert(rows([3], 50, "p"))
    assert table.read(where=pc.field("v") == 50).to_arrow().num_rows == 1
    table.compact()
    scan = table.read(where=pc.field("v") == 50)
    assert len(scan.plan.slices) == 1
    assert scan.to_arrow().num_rows == 1


# --- broken --------------------------------------------------------------------------------------
def broken(path: Path, pattern: str) -> None:
    for file in (path / ".hoodie/metadata").glob(pattern):
        data = file.read_bytes()
        file.write_bytes(data[: len(data) // 2])


@pytest.mark.parametrize("partition", ["files", "record_index", "column_stats"])
def test_a_broken_one_is_an_error_that_names_the_way_out(tmp_path: Path, partition: str) -> None:
    path = tmp_path / "t"
    table = create(path)
    for v in range(5):
        table.bulk_insert(rows(range(v * 10, v * 10 + 10), v, "p"))
    broken(path, f"{partition}/*.log.*")
    broken(path, f"{partition}/.*.log.*")
    where = {
        "files": None,
        "record_index": pc.field("id") == "k3",
        "column_stats": pc.field("v") == 3,
    }
    with pytest.raises(CorruptTableError, match="rebuild-index"):
        hoodoo.open(str(path)).read(where=where[partition]).to_arrow()
    if partition != "column_stats":
        assert "metadata.unreadable" in hoodoo.open(str(path)).verify().kinds
    table.rebuild_index()
    right(path, 50)


def test_verify_tells_what_differs(tmp_path: Path) -> None:
    path = tmp_path / "t"
    table = create(path)
    table.upsert(rows(range(9), 1))
    shutil.copytree(path / ".hoodie/metadata", tmp_path / "old")
    table.upsert(rows(range(20), 2))
    shutil.rmtree(path / ".hoodie/metadata")
    shutil.copytree(tmp_path / "old", path / ".hoodie/metadata")
    report = hoodoo.open(str(path)).verify()
    assert set(report.kinds) == {"metadata.files", "metadata.keys"}
    assert all("rebuild-index" in finding.fix for finding in report.findings)
    table.rebuild_index()
    right(path, 20)
