"""Numbers of buckets by partition path: Hudi's rules and file, writes, reads, and who is refused."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.errors import (
    CommitConflictError,
    ConfigError,
    CorruptTableError,
    OptionConflictError,
    UnsupportedTableError,
)
from hoodoo.options.kinds import BadValueError
from hoodoo.testing.contracts.path_index import PathIndexContract
from hoodoo.timeline.snapshot import Snapshot
from hoodoo_standard.index import path_counts
from hoodoo_standard.index.path_counts import FIRST, FOLDER, PathCounts, rules_of, stored

RULES = r"p[12]$,3;p\d+,5"
OPTION = "hoodie.bucket.index.partition.expressions"
OPTIONS = {OPTION: RULES, "hoodie.bucket.index.num.buckets": "2"}
SCHEMA = pa.schema([("id", pa.string()), ("p", pa.string()), ("ts", pa.int64())])


def made(path: Path, kind: str = "COPY_ON_WRITE", version: int = 9, **more: str) -> Any:
    return hoodoo.create(
        str(path), SCHEMA, name="t", record_key="id", partition_by="p", ordering="ts",
        table_type=kind, table_version=version, index="bucket", options={**OPTIONS, **more},
    )  # fmt: skip


def batch(count: int, ts: int, paths: tuple[str, ...] = ("p1", "p2", "p30", "other")) -> pa.Table:
    every = [(f"k{n}", path, ts) for n in range(count) for path in paths]
    return pa.table(dict(zip(SCHEMA.names, zip(*every, strict=True), strict=True)), schema=SCHEMA)


def buckets(table: Any) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {}
    for one in table.file_slices():
        found.setdefault(one.partition_path, set()).add(int(one.file_id[:8]))
    return found


class TestContract(PathIndexContract):
    @pytest.fixture
    def table(self, tmp_path: Path) -> Any:
        return made(tmp_path / "t")


# --- rules ----------------------------------------------------------------------------------------
def test_the_first_rule_that_is_found_counts() -> None:
    counts = PathCounts(r"\d{4}-02, 7 ;2024,4;^x/,9;", 2, ("id",))
    said = {"dt=2024-02-01": 7, "dt=2024-03-01": 4, "dt=2023-02": 7, "x/y": 9, "y/x/": 2, "": 2}
    assert {path: counts.count(path) for path in said} == said


@pytest.mark.parametrize(
    "text",
    [
        "a", "a,b", "a,0", "a,-1", "a,1;;b,2", "a,1,2", "a,1;b", "(,1", r"\p{L},1", "[a&&b],1",
        "(?<n>a),1", "(?i)a,1", "a*+,1", r"\Qa\E,1", "a,100000000", "[a[b]],1", ";",
    ],
)  # fmt: skip
def test_rules_that_are_none(text: str, tmp_path: Path) -> None:
    with pytest.raises(BadValueError):
        rules_of(text)
    with pytest.raises(ConfigError, match="partition.expressions"):
        made(tmp_path / "t", **{OPTION: text})


def test_other_kinds_of_rules(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"rule.type.*must be one of regex"):
        made(tmp_path / "t", **{"hoodie.bucket.index.partition.rule.type": "list"})


# --- tables ---------------------------------------------------------------------------------------
@pytest.mark.sampled(1)
@pytest.mark.parametrize("version", [6, 9])
@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_a_life(tmp_path: Path, kind: str, version: int) -> None:
    table = made(tmp_path / "t", kind, version)
    table.upsert(batch(60, 1))
    most = {"p1": {0, 1, 2}, "p2": {0, 1, 2}, "p30": {0, 1, 2, 3, 4}, "other": {0, 1}}
    assert buckets(table) == most
    said = json.loads((tmp_path / "t" / FOLDER / f"{FIRST}.hashing_config").read_text())
    assert said == {
        "expressions": RULES, "defaultBucketNumber": 2, "rule": "regex", "version": 1,
        "instant": FIRST,
    }  # fmt: skip
    again = hoodoo.open(str(tmp_path / "t"))
    again.upsert(batch(80, 2))
    assert buckets(again) == most
    again.delete(batch(5, 3))
    again.insert_overwrite(batch(10, 4, ("p2", "p4")))
    hoodoo.open(str(tmp_path / "t")).upsert(batch(10, 5, ("p2", "p4")))
    if kind == "MERGE_ON_READ":
        again.compact()
    found = hoodoo.open(str(tmp_path / "t")).read(["id", "p", "ts"]).to_arrow().to_pylist()
    ours = {(row["p"], row["id"]): row["ts"] for row in found}
    assert len(ours) == len(found) == 3 * 75 + 20
    assert {ts for (p, _id), ts in ours.items() if p in ("p2", "p4")} == {5}
    assert buckets(again)["p30"] == {0, 1, 2, 3, 4} and buckets(again)["p4"] <= set(range(5))
    assert again.verify().ok


def test_a_filter_by_the_key_opens_one_file_in_each_path(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    table.upsert(batch(60, 1))
    for one in (table, hoodoo.open(str(tmp_path / "t"))):
        read = one.read(where="id = 'k7'")
        assert read.to_arrow().num_rows == 4
        assert len(read.plan.slices) == 4 < len(one.file_slices())
        assert one.read(where="id = 'none'").to_arrow().num_rows == 0


def test_clustering_is_refused(tmp_path: Path) -> None:
    table = made(tmp_path / "t", "MERGE_ON_READ")
    table.upsert(batch(5, 1))
    with pytest.raises(UnsupportedTableError, match="computes the file group of a key"):
        table.cluster()


# --- tables of Spark Hudi -------------------------------------------------------------------------
def of_spark(path: Path, counts: PathCounts, instant: str = FIRST) -> None:
    folder = path / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{instant}.hashing_config").write_bytes(counts.encode(instant))


def test_a_writer_with_one_number_is_refused(tmp_path: Path) -> None:
    """Of a table whose rules Spark Hudi noted: it would store keys twice."""
    table = hoodoo.create(
        str(tmp_path / "t"), SCHEMA, name="t", record_key="id", partition_by="p", ordering="ts"
    )
    of_spark(tmp_path / "t", PathCounts(RULES, 2, ("id",)))
    one = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "2"}
    plain = hoodoo.open(str(tmp_path / "t"), one)
    with pytest.raises(UnsupportedTableError, match="stored twice") as refused:
        plain.upsert(batch(5, 1))
    assert f"{OPTION}={RULES}" in str(refused.value)
    assert table.read().to_arrow().num_rows == 0
    # Whatever the option says, the table's own file counts.
    right = hoodoo.open(str(tmp_path / "t"), {**one, OPTION: "x,9"})
    right.upsert(batch(60, 1))
    assert buckets(right)["p30"] == {0, 1, 2, 3, 4} and buckets(right)["p1"] == {0, 1, 2}
    assert right.upsert(batch(60, 2)).updated == 240


def test_one_number_was_noted(tmp_path: Path) -> None:
    hoodoo.create(
        str(tmp_path / "t"), SCHEMA, name="t", record_key="id", partition_by="p", ordering="ts",
        index="bucket", options={"hoodie.bucket.index.num.buckets": "2"},
    )  # fmt: skip
    with pytest.raises(OptionConflictError, match="same number of buckets in each"):
        hoodoo.open(str(tmp_path / "t"), {OPTION: RULES}).upsert(batch(5, 1))


def test_rules_are_noted_later(tmp_path: Path) -> None:
    """By Spark Hudi or Flink, of a table that Hoodoo made with one number: the option contradicts
    the table, and the way out that the error names works."""
    table = hoodoo.create(
        str(tmp_path / "t"), SCHEMA, name="t", record_key="id", partition_by="p", ordering="ts",
        index="bucket", options={"hoodie.bucket.index.num.buckets": "2"},
    )  # fmt: skip
    table.upsert(batch(20, 1))
    of_spark(tmp_path / "t", PathCounts(RULES, 2, ("id",)))
    with pytest.raises(UnsupportedTableError, match="stored twice") as refused:
        table.upsert(batch(20, 2))
    assert OPTION not in str(refused.value) and 'table.switch_index("simple")' in str(refused.value)
    table.switch_index("simple")
    assert table.upsert(batch(20, 2)).updated == 80


@pytest.mark.parametrize("keys", ["true", "false"])
def test_rules_by_which_the_rows_do_not_lie(tmp_path: Path, keys: str) -> None:
    """The option, for a table that was written by one number and does not say so. Nothing is noted;
    the right rules are."""
    table = hoodoo.create(
        str(tmp_path / "t"), SCHEMA, name="t", record_key="id", partition_by="p", ordering="ts",
        options={"hoodie.populate.meta.fields": keys},
    )  # fmt: skip
    one = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "4"}
    hoodoo.open(str(tmp_path / "t"), one).upsert(batch(20, 1))
    for rules in ("p,9", "p,2"):
        wrong = hoodoo.open(str(tmp_path / "t"), {**one, OPTION: rules})
        with pytest.raises(UnsupportedTableError, match="store these keys twice"):
            wrong.upsert(batch(20, 2))
    assert not (tmp_path / "t" / FOLDER).exists()
    right = hoodoo.open(str(tmp_path / "t"), {**one, OPTION: "p,4"})
    assert right.upsert(batch(20, 2)).updated == 80
    assert table.read().to_arrow().num_rows == 80


def test_a_rescale_begins_after_a_look_at_the_timeline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its file says nothing of what the timeline shows."""
    made(tmp_path / "t").upsert(batch(40, 1))
    instant = "20991231000000000"
    request = tmp_path / "t" / ".hoodie" / "timeline" / f"{instant}.replacecommit.requested"
    now = path_counts.stored

    def later(*given: Any) -> PathCounts | None:
        of_spark(tmp_path / "t", PathCounts("p,11", 5, ("id",)), instant)
        request.write_bytes(b"")
        return now(*given)

    with monkeypatch.context() as patched:
        patched.setattr(path_counts, "stored", later)
        found = hoodoo.open(str(tmp_path / "t")).read(where="id = 'k7'").to_arrow()
        assert found.num_rows == 4
        request.unlink()
        assert hoodoo.open(str(tmp_path / "t")).upsert(batch(40, 2)).updated == 160


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"rule": "regex"}', "{"])
def test_a_file_that_says_nothing(tmp_path: Path, text: str) -> None:
    table = made(tmp_path / "t")
    table.upsert(batch(5, 1))
    (tmp_path / "t" / FOLDER / f"{FIRST}.hashing_config").write_text(text)
    with pytest.raises(CorruptTableError, match="does not say how many buckets"):
        table.upsert(batch(5, 2))
    assert table.read().to_arrow().num_rows == 20


@pytest.mark.parametrize("rules", [r"\p{L},3", "a"])
def test_rules_that_only_java_knows(tmp_path: Path, rules: str) -> None:
    table = made(tmp_path / "t")
    table.upsert(batch(5, 1))
    of_spark(tmp_path / "t", PathCounts(rules, 2, ("id",)))
    with pytest.raises(UnsupportedTableError, match="Spark Hudi"):
        table.upsert(batch(5, 2))
    assert table.read().to_arrow().num_rows == 20


def test_rules_of_a_pending_rescale_do_not_count(tmp_path: Path) -> None:
    """Those of a completed one do: Spark Hudi notes them under its instant before it commits. A
    rollback takes them away."""
    made(tmp_path / "t").upsert(batch(60, 1))
    table = hoodoo.open(str(tmp_path / "t"))
    instant = "20260101000000000"
    of_spark(tmp_path / "t", PathCounts("p,1", 1, ("id",)), instant)
    assert stored(Snapshot(table.handle.storage, table.timeline())) == PathCounts("p,1", 1, ())
    request = tmp_path / "t" / ".hoodie" / "timeline" / f"{instant}.replacecommit.requested"
    request.write_bytes(b"")
    table = hoodoo.open(str(tmp_path / "t"))
    assert stored(Snapshot(table.handle.storage, table.timeline())) == PathCounts(RULES, 2, ())
    table.upsert(batch(60, 2))  # undoes what failed
    assert not request.exists()
    assert not (tmp_path / "t" / FOLDER / f"{instant}.hashing_config").exists()
    assert buckets(hoodoo.open(str(tmp_path / "t")))["p30"] == {0, 1, 2, 3, 4}


@pytest.mark.sampled(1, among="long")
def test_writers_beside_each_other_make_no_bucket_twice(tmp_path: Path) -> None:
    made(tmp_path / "t")
    failed: list[BaseException] = []

    def write(number: int) -> None:
        try:
            hoodoo.open(str(tmp_path / "t")).upsert(batch(20, number))
        except CommitConflictError:
            pass  # another made the bucket
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    table = hoodoo.open(str(tmp_path / "t"))
    assert table.read().to_arrow().num_rows == 80
    named = [(s.partition_path, s.file_id[:8]) for s in table.file_slices()]
    assert len(named) == len(set(named))
