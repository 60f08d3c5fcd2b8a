"""A read by the record key opens the buckets of these keys, and no other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hoodoo.errors import ConfigError, OptionConflictError, UnsupportedTableError
from hoodoo.timeline.snapshot import Snapshot
from hoodoo_standard.index.bucket_rows import BY_HASH, BucketRows, all_by_hash
from hoodoo_standard.storage.local import LocalStorage

ROWS, BUCKETS = 60, 8
FIRST = pc.field("id") == "k7"
CASES = {
    "one key": (FIRST, 1),
    "stored key": (pc.field("_hoodie_record_key") == "k7", 1),
    "some keys": (pc.field("id").isin(["k7", "k8", "none"]), 3),
    "keys beside another column": (FIRST & (pc.field("n") > 100), 1),
    "either key": (FIRST | (pc.field("id") == "k8"), 2),
    "a range": (pc.field("id") >= "k7", 8),
    "key or another column": (FIRST | (pc.field("n") == 3), 8),
    "all but a key": (pc.field("id") != "k7", 8),
    "no key": (pc.field("id").is_null(), 8),
}
KINDS: dict[str, dict[str, Any]] = {
    "copy on write": {},
    "merge on read": {"table_type": "MERGE_ON_READ"},
    "version 6": {"table_version": 6},
    "version 8": {"table_version": 8, "table_type": "MERGE_ON_READ"},
    "virtual keys": {"partition_by": "part", "options": {"hoodie.populate.meta.fields": "false"}},
    "partitioned": {"partition_by": "part"},
}


def numbered(begin: int, end: int, more: int = 0) -> pa.Table:
    numbers = list(range(begin, end))
    return pa.table(
        {
            "id": pa.array([f"k{i}" for i in numbers], pa.string()),
            "part": pa.array([f"p{i % 2}" for i in numbers], pa.string()),
            "other": pa.array([i % 3 for i in numbers], pa.int64()),
            "n": pa.array([i + more for i in numbers], pa.int64()),
        }
    )


def made(path: Path, **how: Any) -> Any:
    options = {"hoodie.bucket.index.num.buckets": str(BUCKETS), **how.pop("options", {})}
    arguments = {"record_key": "id", "ordering": "n", "index": "bucket", **how}
    table = hoodoo.create(path, numbered(0, 0).schema, name="t", options=options, **arguments)
    table.upsert(numbered(0, ROWS))
    table.upsert(
        numbered(5, 20, 100)
    )  # other rows of keys that are there: log files, or new base files
    return table


def check(table: Any, where: pc.Expression, buckets: int) -> None:
    columns = [*table.schema.names, "_hoodie_record_key"]
    found = table.read(columns, where)
    whole = table.read(columns).to_arrow()
    assert sorted(map(str, found.to_arrow().to_pylist())) == sorted(
        map(str, whole.filter(where).to_pylist())
    )
    ids = {slice_.file_id[:8] for slice_ in found.plan.slices}
    assert len(ids) <= buckets, str(found.plan)
    if buckets == BUCKETS:
        assert len(found.plan.slices) == found.plan.considered


@pytest.mark.sampled(1)
@pytest.mark.parametrize("kind", KINDS)
def test_only_the_buckets_of_the_keys_are_read(tmp_path: Path, kind: str) -> None:
    table = made(tmp_path / "t", **KINDS[kind])
    for name, (where, buckets) in CASES.items():
        if kind != "virtual keys" or name != "stored key":
            check(table, where, buckets)


def test_virtual_keys_without_partition_paths(tmp_path: Path) -> None:
    """No commit says then that only writers of Hoodoo have put rows there."""
    check(made(tmp_path / "t", options={"hoodie.populate.meta.fields": "false"}), FIRST, 8)


def test_a_key_of_several_columns(tmp_path: Path) -> None:
    two = (pc.field("other") == 1) & pc.field("id").isin(["k7", "k8"])
    for name, hashed in (("all", {}), ("one", {"hoodie.bucket.index.hash.field": "id"})):
        table = made(tmp_path / name, record_key=["id", "other"], options=hashed)
        check(table, two, 2)
        check(table, FIRST, 8)  # half of a key is none
        check(table, FIRST & (pc.field("other") == 2), 1)


def test_what_another_program_wrote_lies_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its commit does not say that its writer has looked at the rows of all others."""
    table = made(tmp_path / "t")
    check(table, FIRST, 1)
    with monkeypatch.context() as patched:
        patched.setattr(BucketRows, "begin", lambda self, change: None)
        table.upsert(numbered(30, 31, 7))
    check(table, FIRST, 8)
    table.upsert(numbered(31, 32, 7))  # which looks, and trusts what files of Arrow have
    check(table, FIRST, 8)


def test_an_option_that_the_table_does_not_note(tmp_path: Path) -> None:
    """Writers that hash other fields, or have another number, would put keys elsewhere."""
    hashed = {"hoodie.bucket.index.hash.field": "id"}
    table = made(tmp_path / "t", record_key=["id", "other"])
    with pytest.raises(OptionConflictError, match="hashes all fields"):
        hoodoo.open(table.path, options=hashed).upsert(numbered(60, 70))
    check(hoodoo.open(table.path), FIRST & (pc.field("other") == 1), 1)


def test_numbers_of_buckets_that_only_writers_know(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    file = tmp_path / "t/.hoodie/hoodie.properties"
    lines = [line for line in file.read_text().splitlines() if "num.buckets" not in line]
    kept = [line for line in lines if not line.startswith("hoodie.table.checksum")]
    file.write_text("\n".join(kept) + "\n")
    number = {"hoodie.bucket.index.num.buckets": str(BUCKETS)}
    hoodoo.open(table.path, options=number).upsert(numbered(60, 70))
    check(hoodoo.open(table.path), FIRST, 8)


@pytest.mark.parametrize("kind", ["copy on write", "merge on read", "version 6", "partitioned"])
def test_no_new_keys_without_the_buckets_of_a_job(tmp_path: Path, kind: str) -> None:
    """Spark Hudi notes neither the index nor the number: a new key in a file group that is no
    bucket, or in another bucket, would be lost to it."""
    noting, told = made(tmp_path / "t", **KINDS[kind]), {"hoodie.index.type": "BUCKET"}
    told["hoodie.bucket.index.num.buckets"] = str(BUCKETS)
    properties = noting.config.properties
    noting.handle.change_properties(
        {key: None for key in properties if "bucket" in key or key == "hoodie.index.type"}
    )
    hoodoo.open(noting.path, told).upsert(numbered(20, 22, 100))
    table = hoodoo.open(noting.path)
    new = numbered(60, 70)
    for write in (table.upsert, table.insert, table.bulk_insert, table.insert_overwrite_table):
        with pytest.raises(ConfigError, match=r"it does not note how many: .*index.type=BUCKET"):
            write(new)
        assert not table.timeline().pending()
    assert table.upsert(numbered(5, 9, 300)).updated == 4
    assert table.delete(numbered(9, 10)).deleted == 1
    if table.config.table_type == "MERGE_ON_READ":
        assert table.compact().files
    assert hoodoo.open(table.path, told).upsert(new).instant and table.count() == 69
    assert hoodoo.open(table.path, index="bucket", options=told).insert(numbered(70, 71)).instant
    check(hoodoo.open(table.path), FIRST, 8)
    simple = hoodoo.open(table.path, {"hoodie.index.type": "SIMPLE"})
    assert simple.upsert(numbered(71, 72)).inserted == 1 and table.count() == 71


def test_new_keys_after_buckets_that_were_noted(tmp_path: Path) -> None:
    table = made(tmp_path / "t", table_type="MERGE_ON_READ")
    table.compact()
    table.switch_index("simple")
    assert hoodoo.open(table.path).upsert(numbered(70, 72)).inserted == 2


@pytest.mark.sampled(1, among="long")
def test_a_state_that_comes_back(tmp_path: Path) -> None:
    """Rows that an index which looks up has put into files that are named as buckets."""
    table = made(tmp_path / "t")
    table.switch_index("simple")
    second = table.upsert(numbered(ROWS, 90)).instant
    table.savepoint()
    table.delete(where=pc.field("n") >= ROWS)
    number = {"hoodie.bucket.index.num.buckets": str(BUCKETS)}
    hoodoo.open(table.path, options=number).switch_index("bucket")
    table = hoodoo.open(table.path)
    later = pc.field("id") == "k70"
    assert table.read(where=later, as_of=second).count() == 1
    table.restore(second)
    assert all(table.read(where=pc.field("id") == f"k{n}").count() == 1 for n in range(90))


def test_time_travel_and_an_index_that_is_left(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    assert table.read(where=FIRST, as_of=1).to_arrow()["n"].to_pylist() == [7]
    earlier = table.read(where=FIRST, as_of=1).plan
    assert len(earlier.slices) == earlier.considered
    table.switch_index("simple")
    table.upsert(numbered(100, 120))
    assert len(table.read(where=FIRST).plan.slices) == table.read(where=FIRST).plan.considered
    assert table.read(where=FIRST).to_arrow()["n"].to_pylist() == [107]


def test_later_writes_are_looked_at_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the note of the newest; the words of a write beside it, and of one that was pending, count."""
    table = made(tmp_path / "t")
    for version in range(9):
        table.upsert(numbered(0, 3, version))
    asked: list[str] = []
    metadata = Snapshot.metadata

    def counted(self: Snapshot, instant: Any) -> Any:
        asked.append(instant.requested)
        return metadata(self, instant)

    with monkeypatch.context() as patched:
        patched.setattr(Snapshot, "metadata", counted)
        assert all_by_hash(snapshot_of(table))
    assert set(asked) == {table.timeline().writes()[-1].requested}
    begin = BucketRows.begin

    def beside(self: BucketRows, change: Any) -> None:
        """Another program begins and completes a write after this one has looked."""
        begin(self, change)
        with monkeypatch.context() as patched:
            patched.setattr(BucketRows, "begin", lambda self, change: None)
            hoodoo.open(table.path).upsert(numbered(41, 42, 1))

    with monkeypatch.context() as patched:
        patched.setattr(BucketRows, "begin", beside)
        table.upsert(numbered(0, 3, 20))
    table = hoodoo.open(table.path)
    check(table, FIRST, 8)
    table.upsert(numbered(0, 3, 21))  # which notes the other one
    notes = [
        table.timeline().metadata(snapshot_of(table).storage, w).extra
        for w in table.timeline().writes()
    ]
    assert [json.loads(note[BY_HASH])[1] != "" for note in notes if BY_HASH in note][-2:] == [
        False,
        True,
    ]
    check(hoodoo.open(table.path), FIRST, 8)


def test_notes_of_a_table_that_is_converted(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    for number, version in enumerate((6, 8, 9)):
        if version == 6:
            table.downgrade(version)
        else:
            table.upgrade(version)
        check(hoodoo.open(table.path), FIRST, 1)
        table = hoodoo.open(table.path)
        table.upsert(numbered(0, 3, number))
        check(hoodoo.open(table.path), FIRST, 1)


def test_what_was_rolled_back_and_archived(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A note of a write that does not go by buckets holds while that one is on the timeline."""
    table = made(tmp_path / "t")
    with monkeypatch.context() as patched:
        patched.setattr(BucketRows, "begin", lambda self, change: None)
        strange = table.upsert(numbered(30, 31, 7)).instant
    table.rollback(strange)
    check(hoodoo.open(table.path), FIRST, 1)
    with monkeypatch.context() as patched:
        patched.setattr(BucketRows, "begin", lambda self, change: None)
        strange = table.upsert(numbered(30, 31, 7)).instant
    table = hoodoo.open(table.path)
    table.upsert(numbered(30, 31, 8))
    check(hoodoo.open(table.path), FIRST, 8)
    for version in range(9, 14):
        hoodoo.open(table.path).upsert(numbered(0, 3, version))
    few = {
        "hoodie.keep.min.commits": 3,
        "hoodie.keep.max.commits": 4,
        "hoodie.clean.commits.retained": 1,
    }
    table = hoodoo.open(table.path, few)
    table.clean()
    table.archive()
    assert table.timeline().writes()[0].requested > strange
    check(hoodoo.open(table.path), FIRST, 8)


def test_a_restore_brings_rows_of_another_index_back(tmp_path: Path) -> None:
    """They lie out of their buckets: an upsert would store them twice."""
    table = made(tmp_path / "t")
    table.switch_index("simple")
    table = hoodoo.open(table.path)
    strange = table.upsert(numbered(100, 140)).instant
    table.savepoint()
    table.delete([f"k{n}" for n in range(100, 140)])
    table.switch_index("bucket")
    table = hoodoo.open(table.path)
    table.upsert(numbered(0, 3, 5))
    table.restore(strange)
    table = hoodoo.open(table.path)
    with pytest.raises(UnsupportedTableError, match="the table had another index") as raised:
        table.upsert(numbered(100, 140, 6))
    assert 'table.switch_index("simple")' in raised.value.fix
    table.switch_index("simple")
    table = hoodoo.open(table.path)
    assert table.upsert(numbered(100, 140, 6)).updated == 40
    assert table.count() == ROWS + 40


def snapshot_of(table: Any) -> Snapshot:
    return Snapshot(LocalStorage(table.path), hoodoo.open(table.path).timeline())
