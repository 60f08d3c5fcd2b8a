"""``resize_buckets``: other numbers of buckets; rows, their times, indexes, and who is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.errors import CommitConflictError, ConfigError, UnsupportedTableError
from hoodoo.testing.steps import before
from hoodoo_cli.commandline.app import build
from hoodoo_rows.write.transaction import WriteTransaction
from typer.testing import CliRunner

SCHEMA = pa.schema([("id", pa.string()), ("p", pa.string()), ("ts", pa.int64())])
NUMBER, RULES = "hoodie.bucket.index.num.buckets", "hoodie.bucket.index.partition.expressions"
FOLDER = ".hoodie/.bucket_index/partition_bucket_index_meta/configs"


def batch(count: int, ts: int, *paths: str) -> pa.Table:
    each = [(f"k{n}", path, ts) for n in range(count) for path in paths or ("a", "b")]
    return pa.table(dict(zip(SCHEMA.names, zip(*each, strict=True), strict=True)), schema=SCHEMA)


def made(path: Path, kind: str = "COPY_ON_WRITE", version: int = 9, **options: str) -> Any:
    return hoodoo.create(
        str(path), SCHEMA, name="t", record_key="id", partition_by="p", ordering="ts",
        table_type=kind, table_version=version, index="bucket", options={NUMBER: "4", **options},
    )  # fmt: skip


def buckets(table: Any) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {}
    for one in table.file_slices():
        found.setdefault(one.partition_path, set()).add(int(one.file_id[:8]))
    return found


def everything(table: Any) -> list[dict[str, Any]]:
    meta = (
        ["_hoodie_commit_time", "_hoodie_record_key"] if table.config.populate_meta_fields else []
    )
    found = hoodoo.open(table.path).read([*meta, *SCHEMA.names]).to_arrow()
    return sorted(found.to_pylist(), key=lambda row: (row["p"], row["id"]))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("keys", ["true", "false"])
@pytest.mark.parametrize("version", [9, 8, 6])
@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_a_life(tmp_path: Path, kind: str, version: int, keys: str) -> None:
    """No row changes, nor its time of commit; an open table goes by the new numbers."""
    table = made(tmp_path / "t", kind, version, **{"hoodie.populate.meta.fields": keys})
    table.upsert(batch(40, 1))
    table.upsert(batch(8, 2))
    table.delete(batch(3, 3))
    other = hoodoo.open(table.path)
    assert other.read(where="id = 'k7'").to_arrow().num_rows == 2
    for number in (6, 1, 4):
        before = everything(table)
        found = table.resize_buckets(number)
        assert found.partitions == ("a", "b") and found.files and found.instant
        assert everything(table) == before
        assert buckets(table) == {key: set(range(number)) for key in "ab"}
        assert hoodoo.open(table.path).config.get(NUMBER) == str(number)
        read = other.read(where="id = 'k7'")
        assert read.to_arrow().num_rows == len(read.plan.slices) == 2
        assert other.upsert(batch(40, 3 + number)).instant
        other.delete(batch(3, 30))
        assert len(everything(table)) == 74
        assert table.verify().ok
    if keys == "true":
        last = table.timeline().writes()[-1].requested
        table.resize_buckets(8)
        assert table.incremental(last).to_arrow().num_rows == 0
    assert not table.resize_buckets(4 if keys == "false" else 8).instant  # they are so


def test_rules_by_path(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    table.upsert(batch(60, 1, "a", "b", "c"))
    before = {s.file_id for s in table.file_slices() if s.partition_path == "c"}
    found = table.resize_buckets(expressions="^a$,2;^b,5")
    assert found.partitions == ("a", "b")
    assert buckets(table) == {"a": {0, 1}, "b": set(range(5)), "c": set(range(4))}
    assert {s.file_id for s in table.file_slices() if s.partition_path == "c"} == before
    # The rules stay; the number of the others becomes another.
    assert table.resize_buckets(3).partitions == ("c",)
    table.upsert(batch(60, 2, "a", "b", "c", "d"))
    assert buckets(table)["d"] == {0, 1, 2} and len(everything(table)) == 240
    newest = max((tmp_path / "t" / FOLDER).iterdir(), key=lambda path: path.name)
    said = json.loads(newest.read_text())
    assert said["expressions"] == "^a$,2;^b,5" and said["defaultBucketNumber"] == 3
    table.resize_buckets(2, expressions="")
    assert buckets(table) == {key: {0, 1} for key in "abcd"}


def test_nothing_moves_and_the_numbers_count(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    assert table.resize_buckets(2).instant
    table.upsert(batch(40, 1))
    assert buckets(table) == {"a": {0, 1}, "b": {0, 1}}


def test_a_restore_takes_it_back(tmp_path: Path) -> None:
    table = made(tmp_path / "t", "MERGE_ON_READ")
    first = table.upsert(batch(40, 1)).instant
    table.resize_buckets(7)
    table.upsert(batch(60, 2))
    table.restore(first)
    assert buckets(table) == {key: set(range(4)) for key in "ab"}
    assert len(list((tmp_path / "t" / FOLDER).iterdir())) == 1
    table.upsert(batch(50, 3))
    assert len(everything(table)) == 100
    assert buckets(table) == {key: set(range(4)) for key in "ab"}


def test_indexes_of_the_metadata_table_follow(tmp_path: Path) -> None:
    options = {
        "hoodie.metadata.enable": "true",
        "hoodie.metadata.record.index.enable": "true",
        "hoodie.metadata.index.column.stats.enable": "true",
    }
    table = made(tmp_path / "t", "MERGE_ON_READ", **options)
    table.upsert(batch(40, 1))
    table.upsert(batch(10, 2))
    table.resize_buckets(3)
    assert table.verify().ok
    table.upsert(batch(50, 3))
    assert table.verify().ok and len(everything(table)) == 100


@pytest.mark.parametrize("keys", ["true", "false"])
@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_a_write_that_began_with_other_numbers_begins_again(
    tmp_path: Path, kind: str, keys: str
) -> None:
    """It has touched no file group that the others know: its partition path is new."""
    table = made(tmp_path / "t", kind, **{"hoodie.populate.meta.fields": keys})
    table.upsert(batch(12, 1, "a"))
    others = hoodoo.open(table.path)
    with before("complete", lambda: others.resize_buckets(7)):
        table.upsert(batch(40, 2, "b"))
    assert buckets(hoodoo.open(table.path))["b"] == set(range(7))
    again = hoodoo.open(table.path)
    again.upsert(batch(40, 3, "b"))
    assert len(everything(again)) == 52 and again.verify().ok


@pytest.mark.parametrize("then", ["nothing", "overwrite", "drop", "resize"])
def test_a_slice_that_a_pending_write_has_begun(
    tmp_path: Path, then: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In version 6 a log file does not say that its slice is of a write at work: the rows of others
    that went there were lost with it, and no overwrite took them away."""
    table = made(tmp_path / "t", "MERGE_ON_READ", 6)
    other, settle, turns = hoodoo.open(table.path), WriteTransaction.settle, [0]
    seen: list[int] = []

    def beside(self: WriteTransaction) -> None:
        turns[0] += 1
        if turns[0] == 1:  # its log files are there
            other.upsert(batch(12, 2, "b"))
            if then == "overwrite":
                other.insert_overwrite_table(batch(1, 3, "c"))
            elif then == "drop":
                other.delete_partitions(["b"])
            elif then == "resize":
                other.resize_buckets(6)
            seen.append(len(everything(other)))
        settle(self)

    monkeypatch.setattr(WriteTransaction, "settle", beside)
    one = batch(12, 1, "b")
    named = pa.array([f"other{n}" for n in range(12)])
    table.upsert(one.set_column(0, "id", named))
    there = {"nothing": 12, "overwrite": 1, "drop": 0, "resize": 12}[then]
    assert (seen, len(everything(table))) == ([there], there + 12)
    table.upsert(batch(12, 4, "b"))
    assert len(everything(table)) == 24 + (then == "overwrite") and table.verify().ok
    assert len(buckets(table)["b"]) == (6 if then == "resize" else 4)


def test_numbers_of_an_instant_that_was_undone_do_not_count(tmp_path: Path) -> None:
    """Such as a process puts that slept until others had undone its resize."""
    table = made(tmp_path / "t")
    table.resize_buckets(3)
    gone = table.upsert(batch(40, 1)).instant
    (newest,) = (tmp_path / "t" / FOLDER).glob("2*")
    said = json.loads(newest.read_text()) | {"expressions": ".*,5", "defaultBucketNumber": 5}
    table.rollback(gone)
    (newest.parent / f"{gone}.hashing_config").write_text(json.dumps(said))
    for ts in (2, 3):
        hoodoo.open(table.path).upsert(batch(40, ts))
    assert len(everything(table)) == 80 and buckets(table)["a"] == {0, 1, 2}


def test_a_dry_run_changes_nothing(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    table.upsert(batch(40, 1))

    def there() -> dict[str, bytes]:
        files = (p for p in (tmp_path / "t").rglob("*") if p.is_file())
        return {str(p): p.read_bytes() for p in files}

    before = there()
    found = table.resize_buckets(8, dry_run=True)
    assert (found.instant, found.files, found.after[NUMBER]) == ("", 8, "8") and found.bytes
    assert there() == before


# --- refused --------------------------------------------------------------------------------------
@pytest.mark.parametrize("number", [0, -1, 100_000_000, 1.5])
def test_no_number(tmp_path: Path, number: Any) -> None:
    with pytest.raises(ConfigError, match=f"buckets={number}"):
        made(tmp_path / "t").resize_buckets(number)


@pytest.mark.parametrize("text", ["a", "a,0", r"\p{L},2"])
def test_no_rules(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError, match="expressions="):
        made(tmp_path / "t").resize_buckets(expressions=text)


@pytest.mark.parametrize("index", ["simple", "consistent"])
def test_another_index(tmp_path: Path, index: str) -> None:
    engine = {"hoodie.index.bucket.engine": "CONSISTENT_HASHING"} if index == "consistent" else {}
    table = hoodoo.create(
        str(tmp_path / "t"), SCHEMA, name="t", record_key="id", partition_by="p", ordering="ts",
        table_type="MERGE_ON_READ", index="bucket" if engine else "simple", options=engine,
    )  # fmt: skip
    with pytest.raises(UnsupportedTableError, match=r"without a number of buckets.*cluster\(\)"):
        table.resize_buckets(4)


def test_a_pending_compaction(tmp_path: Path) -> None:
    table = made(tmp_path / "t", "MERGE_ON_READ")
    table.upsert(batch(40, 1))
    table.upsert(batch(40, 2))
    instant = table.schedule_compaction()
    with pytest.raises(CommitConflictError, match=f"compaction {instant} is pending"):
        table.resize_buckets(8)
    table.run_compaction(instant)
    assert table.resize_buckets(8).files == 8


def foreign(path: Path) -> str:
    """A table whose rows are in 2 buckets; its properties do not say so."""
    made(path, **{NUMBER: "2"}).upsert(batch(40, 1))
    properties = path / ".hoodie" / "hoodie.properties"
    lines = properties.read_text().splitlines(keepends=True)
    properties.write_text("".join(line for line in lines if not line.startswith(NUMBER)))
    return str(path)


def test_an_option_with_a_wrong_number(tmp_path: Path) -> None:
    """It is not noted for all writers."""
    path = foreign(tmp_path / "t")
    with pytest.raises(UnsupportedTableError, match="record keys of other buckets"):
        hoodoo.open(path, options={NUMBER: "4"}).resize_buckets(8)
    assert not list((tmp_path / "t").glob(f"{FOLDER}/*"))
    table = hoodoo.open(path, options={NUMBER: "2"})
    assert table.resize_buckets(8).files == 4 and len(everything(table)) == 80


def test_keys_of_other_buckets(tmp_path: Path) -> None:
    path = foreign(tmp_path / "t")
    with (tmp_path / "t" / ".hoodie" / "hoodie.properties").open("a") as properties:
        properties.write(f"{NUMBER}=4\n")
    with pytest.raises(UnsupportedTableError, match=r"other buckets, for example.*switch_index"):
        hoodoo.open(path).resize_buckets(8)
    hoodoo.open(path).switch_index("simple")
    table = hoodoo.open(path)
    table.upsert(batch(50, 2))
    assert len(everything(table)) == 100


def test_the_command(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    table.upsert(batch(40, 1))
    run = CliRunner().invoke
    planned = run(build(), ["resize-buckets", table.path, "--buckets", "8", "--dry-run"])
    assert planned.exit_code == 0 and "Would rewrite 8 file groups" in planned.output
    done = run(build(), ["resize-buckets", table.path, "--buckets", "8"])
    assert done.exit_code == 0 and "8 file groups" in done.output, done.output
    again = run(build(), ["resize-buckets", table.path, "--buckets", "8", "--json"])
    assert json.loads(again.output)["instant"] == ""
    assert buckets(table)["a"] == set(range(8))
