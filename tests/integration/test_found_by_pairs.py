"""What random histories over combinations of options have found, each by its shortest script."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.errors import ConfigError, HoodooError, OptionConflictError
from hoodoo.testing.directory import DirectoryStorage
from hoodoo.testing.stores import GatedStorage
from hoodoo.testing.tables import opened_in
from hoodoo_rows.testing.tables import Tuples
from hoodoo_standard.engine.local import LocalEngine
from hudi_columns import META_COLUMNS

pytestmark = pytest.mark.sampled(4)

SCHEMA = pa.schema(
    [("k", pa.string()), ("p", pa.string()), ("w", pa.int32()), ("note", pa.string())]
)

rows = Tuples(SCHEMA, note=lambda k, w: f"{k}{w}")


def table(path: Path, **more: Any) -> hoodoo.Table:
    given = {"record_key": "k", "partition_by": "p", **more}
    return hoodoo.create(str(path / "t"), SCHEMA, **given)


def stored(found: hoodoo.Table) -> list[tuple[str, str, int]]:
    read = found.read(columns=["k", "p", "w"]).to_arrow().to_pylist()
    return sorted((row["k"], row["p"], row["w"]) for row in read)


GLOBAL = ["global_simple", "global_bloom", "record_index", "growing_record_index"]


@pytest.mark.parametrize("index", GLOBAL)
@pytest.mark.parametrize("moves", ["true", "false"])
def test_an_insert_drops_keys_of_other_partition_paths(
    tmp_path: Path, index: str, moves: str
) -> None:
    """Where keys move, such a row counted as new: the key was there twice."""
    options = {
        "hoodie.datasource.insert.dup.policy": "drop",
        "hoodie.simple.index.update.partition.path": moves,
        "hoodie.bloom.index.update.partition.path": moves,
        "hoodie.record.index.update.partition.path": moves,
    }
    found = table(tmp_path, index=index, options=options)
    found.upsert(rows(("a", "x", 1)))
    assert found.insert(rows(("a", "y", 2), ("b", "y", 2))).inserted == 1
    assert stored(found) == [("a", "x", 1), ("b", "y", 2)]


def test_insert_drop_duplicates_is_another_way_to_say_the_policy(tmp_path: Path) -> None:
    """Spark jobs of older releases say it so; the option had no effect, and keys were there twice."""
    older = {"hoodie.datasource.write.insert.drop.duplicates": "true"}
    found = table(tmp_path, options=older)
    found.upsert(rows(("a", "x", 1)))
    assert found.insert(rows(("a", "x", 2), ("b", "x", 2))).inserted == 1
    assert stored(found) == [("a", "x", 1), ("b", "x", 2)]
    with pytest.raises(OptionConflictError, match="say one of them"):
        hoodoo.open(found.path, {**older, "hoodie.datasource.insert.dup.policy": "fail"})


@pytest.mark.parametrize("index", ["record_index", "growing_record_index"])
@pytest.mark.parametrize("refused", [False, True])
def test_a_restore_that_does_nothing_leaves_the_index(
    tmp_path: Path, index: str, refused: bool
) -> None:
    """The metadata table waited for the next writer, and `locate` failed until then."""
    found = table(tmp_path, index=index)
    first = found.upsert(rows(("a", "x", 1)))
    second = found.upsert(rows(("b", "x", 1)))
    if refused:
        found.savepoint(second.instant)
        with pytest.raises(ConfigError, match="savepoints of later writes"):
            found.restore(first.instant)
    else:
        assert not found.restore(second.instant).undone
    assert found.locate(["a", "b"]).num_rows == 2


def test_a_kept_partition_path_beside_log_files(tmp_path: Path) -> None:
    """Of rows in base files that have log files, it was empty."""
    options = {
        "hoodie.recordkey.virtual.enabled": True,
        "hoodoo.meta.fields.kept": ",".join(META_COLUMNS),
    }
    found = table(tmp_path, table_type="MERGE_ON_READ", options=options)
    found.upsert(rows(("a", "x", 1), ("b", "x", 1)))
    found.upsert(rows(("a", "x", 2)))
    read = found.read(columns=["k", "_hoodie_partition_path"]).to_arrow().to_pylist()
    assert {row["_hoodie_partition_path"] for row in read} == {"x"}


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_partial_rows_need_not_say_that_they_are_not_deleted(tmp_path: Path, kind: str) -> None:
    """Once a marked row had made `_hoodie_is_deleted` a column, whole rows without it were refused."""
    found = table(tmp_path, index="global_simple", merger="partial", table_type=kind)
    found.upsert(rows(("a", "x", 1), ("b", "x", 1)))
    gone = rows(("b", "x", 1)).append_column("_hoodie_is_deleted", pa.array([True]))
    found.upsert(gone)
    found.upsert(rows(("a", "y", 2)))
    assert stored(found) == [("a", "y", 2)]
    with pytest.raises(ConfigError, match="data without the columns note: a key that moves"):
        found.upsert(rows(("a", "z", 3)).drop_columns(["note"]))


@pytest.mark.parametrize(
    "more",
    [
        {"options": {"hoodie.base.file.format": "ORC"}},
        {"index": "growing_record_index", "options": {"hoodie.metadata.enable": False}},
    ],
)
def test_tables_that_nobody_could_write_are_not_made(tmp_path: Path, more: dict[str, Any]) -> None:
    with pytest.raises(HoodooError):
        table(tmp_path, **more)
    assert not (tmp_path / "t").exists()


@pytest.mark.parametrize("index", ["record_index", "growing_record_index"])
def test_no_metadata_table_and_an_index_in_it_contradict_each_other(
    tmp_path: Path, index: str
) -> None:
    """The index was made, and then not found."""
    found = table(tmp_path, options={"hoodie.metadata.enable": False})
    found.upsert(rows(("a", "x", 1)))
    with pytest.raises(ConfigError, match="hoodie.metadata.enable=false: contradicts the index"):
        found.switch_index(index)
    assert not hoodoo.open(found.path).config.metadata_partitions


@pytest.mark.parametrize("index", ["simple", "global_bloom", "record_index", "bucket"])
@pytest.mark.parametrize("policy", ["drop", "fail"])
@pytest.mark.parametrize("marked", [False, True])
def test_a_key_that_log_files_delete_is_no_duplicate(
    tmp_path: Path, index: str, policy: str, marked: bool
) -> None:
    """An insert that drops duplicates dropped it: the row was lost."""
    options = {"hoodie.datasource.insert.dup.policy": policy}
    found = table(tmp_path, index=index, table_type="MERGE_ON_READ", options=options)
    found.upsert(rows(("a", "x", 1), ("b", "x", 1)))
    if marked:
        gone = rows(("a", "x", 1)).append_column("_hoodie_is_deleted", pa.array([True]))
        found.upsert(gone)
    else:
        found.delete(["a"])
    found.insert(rows(("a", "x", 2)))
    assert stored(found) == [("a", "x", 2), ("b", "x", 1)]


@pytest.mark.parametrize("index", ["record_index", "growing_record_index"])
@pytest.mark.parametrize("merger", ["event_time", "partial"])
def test_a_record_index_names_a_key_that_a_compaction_left_out(
    tmp_path: Path, index: str, merger: str
) -> None:
    """Where a row that is marked as deleted may lose, the index keeps its key: `locate` named it, and an insert that
    drops duplicates dropped a new row."""
    schema = SCHEMA.append(pa.field("_hoodie_is_deleted", pa.bool_()))
    found = hoodoo.create(
        str(tmp_path / "t"), schema, record_key="k", partition_by="p", ordering="w", index=index, merger=merger,
        table_type="MERGE_ON_READ", options={"hoodie.datasource.insert.dup.policy": "drop"},
    )  # fmt: skip
    found.upsert(rows(("a", "x", 1), ("b", "x", 1)))
    dead = rows(("a", "x", 2)).append_column("_hoodie_is_deleted", pa.array([True]))
    found.upsert(dead)
    found.compact()
    assert stored(found) == [("b", "x", 1)]
    assert [row["record_key"] for row in found.locate(["a", "b"]).to_pylist()] == ["b"]
    assert not found.verify().findings
    found.insert(rows(("a", "y", 3), ("b", "y", 3)))
    assert stored(found) == [("a", "y", 3), ("b", "x", 1)]
    (place,) = found.locate(["a"]).to_pylist()
    assert place["partition_path"] == "y"
    found.upsert(rows(("a", "y", 4)))
    assert stored(found) == [("a", "y", 4), ("b", "x", 1)]
    assert not found.verify().findings


@pytest.mark.parametrize("index", ["record_index", "growing_record_index"])
def test_a_global_record_index_is_not_asked_for_keys_of_several_paths(
    tmp_path: Path, index: str
) -> None:
    """It has room for one place of a key: a row went to another partition path than its columns say."""
    found = table(tmp_path)
    found.rebuild_index("files")
    found.upsert(rows(("a", "x", 1), ("b", "x", 1)))
    found.rebuild_index(index, source="simple")
    found.switch_index("simple")
    found.upsert(rows(("a", "y", 2)))
    other = hoodoo.open(found.path, index=index)
    for use in (
        lambda: other.upsert(rows(("a", "x", 3))),
        lambda: found.locate(["a"], index=index),
    ):
        with pytest.raises(ConfigError, match="has room for one place of a key"):
            use()
    found.delete(rows(("a", "y", 0)).select(["k", "p"]))
    assert stored(found) == [("a", "x", 1), ("b", "x", 1)]
    assert not found.verify().findings
    assert found.switch_index(index).same
    assert hoodoo.open(found.path, index=index).upsert(rows(("a", "x", 3))).updated == 1
    assert not found.verify().findings


@pytest.mark.parametrize("index", GLOBAL)
@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_a_deleted_key_comes_back_where_its_columns_say(
    tmp_path: Path, index: str, kind: str
) -> None:
    """Where keys stay, log files had deleted it, and the base file still had it: the row went there."""
    options = {
        f"hoodie.{one}.index.update.partition.path": "false"
        for one in ("simple", "bloom", "record")
    }
    found = table(tmp_path, index=index, table_type=kind, options=options)
    found.upsert(rows(("a", "x", 1), ("b", "x", 1), ("c", "x", 1)))
    found.delete(["a"])
    found.upsert(rows(("a", "y", 2), ("b", "y", 2)))
    places = {
        row["record_key"]: row["partition_path"] for row in found.locate(["a", "b"]).to_pylist()
    }
    assert places == {"a": "y", "b": "x"}
    assert stored(found) == [("a", "y", 2), ("b", "y", 2), ("c", "x", 1)]


@pytest.mark.parametrize("version", [6, 9])
def test_keys_that_were_virtual_stay_deleted_in_older_states(tmp_path: Path, version: int) -> None:
    """Delete blocks name virtual keys of one column without its name: with stored keys again, reads of the past
    found the rows alive."""
    found = hoodoo.create(
        str(tmp_path / "t"), SCHEMA, record_key="k", partition_by=("p", "w"), table_type="MERGE_ON_READ",
        table_version=version,
    )  # fmt: skip
    found.enable_virtual_keys(kept=META_COLUMNS)
    found.upsert(rows(("a", "x", 1), ("b", "x", 1)))
    then = found.delete(["a"]).instant
    assert stored(found) == [("b", "x", 1)]
    found.compact()
    found.rewrite_keys(virtual=False)
    older = found.read(as_of=then).to_arrow().to_pylist()
    assert [row["k"] for row in older] == ["b"]
    assert stored(found) == [("b", "x", 1)]


@pytest.mark.parametrize("moves", [False, True], ids=["stay", "move"])
@pytest.mark.parametrize("first", ["global_simple", "record_index"])
def test_virtual_keys_leave_it_as_it_is_whether_keys_move(
    tmp_path: Path, first: str, moves: bool
) -> None:
    """The index that took the place of the record index of version 6 let keys move where they had stayed; so did what
    the properties said of an older index."""
    given = {"hoodie.record.index.update.partition.path": moves}
    opposite = {"hoodie.simple.index.update.partition.path": not moves}
    made = table(tmp_path, options=opposite, index=first, table_version=6)
    if first != "record_index":
        made.switch_index("record_index")
    found = hoodoo.open(made.path, given)
    found.upsert(rows(("a", "x", 1), ("b", "x", 1)))

    def counted(day: str) -> tuple[int, int, int]:
        done = found.upsert(rows(("a", day, 2)))
        return done.inserted, done.updated, done.deleted

    expected = (1, 0, 1) if moves else (0, 1, 0)
    assert counted("y") == expected
    found.enable_virtual_keys()
    assert found.config.get("hoodie.index.type") == "GLOBAL_SIMPLE"
    assert counted("z") == expected


def test_an_index_is_not_made_for_a_handle_without_a_metadata_table(tmp_path: Path) -> None:
    """It became the table's index, and the next write of that handle took it away."""
    found = table(tmp_path, options={"hoodie.metadata.enable": False})
    found.upsert(rows(("a", "x", 1)))
    for index in ("record_index", "growing_record_index"):
        with pytest.raises(ConfigError, match="contradicts the index"):
            found.rebuild_index(index)
    found.upsert(rows(("a", "x", 2)))
    assert stored(found) == [("a", "x", 2)]


@pytest.mark.parametrize("virtual", [False, True], ids=["stored", "virtual"])
@pytest.mark.parametrize("index", ["bucket", "consistent_bucket"])
@pytest.mark.parametrize("beside", ["record_index", "growing_record_index"])
def test_a_delete_in_another_partition_path_takes_no_key_out_of_the_record_index(
    tmp_path: Path, beside: str, index: str, virtual: bool
) -> None:
    """An index that computes file groups logs deletes without knowing whether there is a row. The record index beside
    it forgot the key, and a read that it prunes missed the row."""
    options = {
        "hoodie.metadata.enable": "true",
        "hoodie.recordkey.virtual.enabled": virtual,
        "hoodie.bucket.index.num.buckets": "1",
        "hoodie.bucket.index.min.num.buckets": "1",
    }
    found = table(tmp_path, index=index, table_type="MERGE_ON_READ", options=options)
    found.upsert(rows(("a", "x", 1), ("b", "x", 1), ("c", "y", 1)))
    found.rebuild_index(beside)
    found.delete(rows(("a", "y", 2), ("c", "y", 2), ("d", "y", 2)))
    assert stored(found) == [("a", "x", 1), ("b", "x", 1)]
    again = hoodoo.open(str(tmp_path / "t"))
    assert again.read(columns=["k"], where="k = 'a'").to_arrow().to_pylist() == [{"k": "a"}]
    assert not again.verify().findings
    found.upsert(rows(("a", "x", 3), ("c", "y", 3)))
    assert stored(found) == [("a", "x", 3), ("b", "x", 1), ("c", "y", 3)]
    assert not again.verify().findings


@pytest.mark.parametrize("index", ["bucket", "consistent_bucket"])
def test_a_key_is_located_in_each_of_its_partition_paths(tmp_path: Path, index: str) -> None:
    """Of a key in a base file, a second row was not found that an index of before had put into the log files of
    another partition path."""
    options = {
        "hoodie.bucket.index.num.buckets": "1",
        "hoodie.bucket.index.min.num.buckets": "1",
        "hoodie.compact.inline": "false",
    }
    found = table(tmp_path, index=index, table_type="MERGE_ON_READ", options=options)
    found.upsert(rows(("a", "x", 1), ("b", "y", 1)))
    found.compact()
    found.upsert(rows(("a", "y", 2)))
    for _ in range(2):
        places = [(p["record_key"], p["partition_path"]) for p in found.locate(["a"]).to_pylist()]
        assert sorted(places) == [("a", "x"), ("a", "y")]
        found.switch_index("partitioned_record_index")


@pytest.mark.parametrize("scaling", ["file_groups", "bucket_groups"])
@pytest.mark.parametrize("goes", ["clustering", "insert_overwrite"])
def test_a_growing_index_forgets_what_is_replaced(tmp_path: Path, goes: str, scaling: str) -> None:
    """Rows that were marked as deleted: no index was told of them, as they might lose to the stored ones. When their
    file group went, their keys stayed in a growing index, and the next write of such a key could not be made."""
    options = {"hoodoo.index.scaling": scaling, "hoodie.compact.inline": "false"}
    found = table(
        tmp_path,
        index="growing_record_index",
        table_type="MERGE_ON_READ",
        ordering="w",
        options=options,
    )
    found.upsert(rows(("a", "x", 1), ("b", "x", 1), ("c", "x", 1)))
    gone = rows(("a", "x", 2)).append_column("_hoodie_is_deleted", pa.array([True]))
    found.upsert(gone)
    found.compact()
    if goes == "clustering":
        found.upsert(rows(("d", "x", 1)))
        found.cluster(columns="k")
    else:
        found.insert_overwrite(rows(("b", "x", 1)))
    left = stored(found)
    found.upsert(rows(("a", "x", 3)))
    assert stored(found) == sorted([*left, ("a", "x", 3)])
    assert not found.verify().findings


ALL_KEPT = {
    "hoodie.recordkey.virtual.enabled": True,
    "hoodoo.meta.fields.kept": ",".join(META_COLUMNS),
}


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize("index", ["record_index", "partitioned_record_index"])
@pytest.mark.parametrize("before", ["simple", "bucket"])
def test_stored_keys_again_bring_the_files_that_a_record_index_needs(
    tmp_path: Path, kind: str, index: str, before: str
) -> None:
    """The table had no metadata table but the index of virtual keys: Hudi's was made without the partition of files,
    was taken for one that is still being made, and nobody found a key."""
    found = table(tmp_path, index=before, table_type=kind, options=ALL_KEPT)
    found.upsert(rows(("a", "x", 1), ("b", "y", 1)))
    if kind == "MERGE_ON_READ":
        found.compact()
    found.switch_index(index)
    found.rewrite_keys(virtual=False)
    assert {"files", "record_index"} <= set(found.config.metadata_partitions)
    assert found.locate(rows(("a", "x", 0), ("b", "y", 0)).select(["k", "p"])).num_rows == 2
    assert found.upsert(rows(("a", "x", 2), ("c", "x", 2))).inserted == 1
    assert stored(found) == [("a", "x", 2), ("b", "y", 1), ("c", "x", 2)]
    assert not found.verify().findings and found.run("check_index").same


@pytest.mark.parametrize("then", ["", "run", "drop"])
@pytest.mark.parametrize("version", [6, 9])
@pytest.mark.parametrize("index", ["bucket", "simple", "record_index"])
def test_an_index_is_made_while_a_compaction_is_pending(
    tmp_path: Path, index: str, version: int, then: str
) -> None:
    """In version 6 log files are named after the base file that the compaction is to make, or was: the partition of
    files began without them, and their rows were not read any more."""
    options = {"hoodie.bucket.index.num.buckets": "1"} if index == "bucket" else {}
    found = table(
        tmp_path, table_version=version, table_type="MERGE_ON_READ", index=index, options=options
    )
    found.upsert(rows(("a", "x", 1), ("b", "x", 1)))
    found.upsert(rows(("a", "x", 2)))
    planned = found.schedule_compaction()
    assert planned is not None
    found.upsert(rows(("b", "x", 3)))
    if then == "drop" and version == 6:  # its log files wait for it
        with pytest.raises(ConfigError, match="already has newer log files"):
            found.rollback(planned)
    elif then == "drop":
        found.rollback(planned)
    found.rebuild_index()
    assert stored(found) == [("a", "x", 2), ("b", "x", 3)]
    found.upsert(rows(("a", "x", 4)))
    if then == "run":
        found.run_compaction(planned)
    assert stored(hoodoo.open(found.path)) == [("a", "x", 4), ("b", "x", 3)]
    assert found.verify().ok


def test_an_overwrite_beside_a_group_that_a_write_has_begun(tmp_path: Path) -> None:
    """The name of a log file does not say in version 6 that its write is pending: the overwrite
    named the group, the write was undone, and a replacecommit of a group without any file was
    refused as damaged."""
    found = table(
        tmp_path, index="bucket", table_type="MERGE_ON_READ", table_version=6,
        options={"hoodie.bucket.index.num.buckets": "2"},
    )  # fmt: skip
    found.upsert(rows(("a", "x", 1)))
    ended: list[str] = []

    def gate(op: str, path: str) -> None:
        if "ledger" in path and not ended and list((tmp_path / "t/new").glob(".*log*")):
            ended.append(path)
            hoodoo.open(found.path).insert_overwrite_table(rows(("b", "x", 2)))

    store = GatedStorage(DirectoryStorage(str(tmp_path / "t")), gate)
    opened_in(store, engine=LocalEngine(1)).upsert(rows(("c", "new", 3)))
    assert ended
    assert stored(hoodoo.open(found.path)) == [("b", "x", 2), ("c", "new", 3)]


def test_a_write_that_looked_before_the_keys_became_virtual(tmp_path: Path) -> None:
    """It looked for stored keys in files that had none any more, and inserted a row twice."""
    found = table(tmp_path)
    found.upsert(rows(("a", "x", 1), ("b", "x", 1)))
    left = [lambda: hoodoo.open(found.path).rewrite_keys()]

    def gate(op: str, path: str) -> None:
        if left and op == "list" and "ledger" in path:
            left.pop()()

    store = GatedStorage(DirectoryStorage(str(tmp_path / "t")), gate)
    opened_in(store, engine=LocalEngine(1)).upsert(rows(("a", "x", 2)))
    assert not left
    assert stored(hoodoo.open(found.path)) == [("a", "x", 2), ("b", "x", 1)]


def test_an_index_that_is_dropped_while_it_is_made_again(tmp_path: Path) -> None:
    """Whoever rebuilds what a rollback has retired looked before the index was dropped."""
    found = table(tmp_path, index="record_index")
    found.upsert(rows(("a", "x", 1), ("b", "x", 1)))
    found.create_index("by_note", "note")
    found.upsert(rows(("a", "x", 2)))
    left = [lambda: hoodoo.open(found.path).drop_index("by_note")]

    def gate(op: str, path: str) -> None:
        if left and op == "put_if_absent" and path.endswith(".indexing.requested"):
            left.pop()()

    store = GatedStorage(DirectoryStorage(str(tmp_path / "t")), gate)
    opened_in(store, engine=LocalEngine(1)).restore(found.timeline().writes()[0].requested)
    assert not left
    assert stored(hoodoo.open(found.path)) == [("a", "x", 1), ("b", "x", 1)]
    assert [i.name for i in hoodoo.open(found.path).indexes() if i.name == "by_note"] == []
    assert hoodoo.open(found.path).verify().ok
