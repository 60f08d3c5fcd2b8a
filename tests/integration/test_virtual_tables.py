"""Tables with virtual keys through their life: every kind of write, and two readers after each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hoodoo
import pyarrow.compute as pc
import pytest
from hoodoo.errors import ConfigError, UnsupportedTableError
from hudi_columns import COMMIT_TIME, META_COLUMNS, RECORD_KEY
from virtual_tables import (
    COW,
    HUDIS,
    KEPT_META,
    KINDS,
    MOR,
    ON,
    POPULATE,
    VERSIONS,
    VIRTUAL,
    check,
    create,
    falsify,
    footers,
    ours,
    rows,
    stored,
    told,
)

pytestmark = pytest.mark.sampled(4)

INDEXES = ("simple", "global_simple", "bucket")


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("index", INDEXES)
def test_a_life(tmp_path: Path, index: str, kind: str, version: int) -> None:
    """With keys of two columns in version 9, of one in 6."""
    keys = ["id", "k2"] if version == 9 else ["id"]
    table = create(
        tmp_path, ON, record_key=keys, table_type=kind, table_version=version, index=index
    )
    then: dict[str, dict[int, str]] = {}
    now: dict[int, str] = {}

    def after(commit: Any, where: str) -> None:
        check(table, tmp_path, now, where)
        then[commit.instant] = dict(now)

    now |= dict.fromkeys(range(10), "a")
    after(table.upsert(rows(range(10), "a", 1)), "first")
    now |= dict.fromkeys([1, 2, 11], "b")
    after(table.upsert(rows([1, 2, 11], "b", 2)), "upsert")
    after(table.upsert(rows([3], "late", 0)), "a late row")
    del now[4]
    after(table.delete(rows([4], "", 5).select([*keys, "region"])), "delete")
    del now[5]
    after(table.delete(rows([5], "", 5).select(keys)), "delete anywhere")
    now |= dict.fromkeys([20, 21], "i")
    after(table.insert(rows([20, 21], "i", 3)), "insert")
    if kind == MOR:
        after(table.compact(), "compaction")
        assert not any(s.log_files for s in table.file_slices())
    now |= dict.fromkeys([6, 20], "c")
    after(table.upsert(rows([6, 20], "c", 6)), "upsert of what is younger")
    now = {i: v for i, v in now.items() if not i % 2} | {1: "o", 31: "o"}
    after(table.insert_overwrite(rows([1, 31], "o", 0)), "insert_overwrite")
    now |= {1: "p", 8: "p"}
    after(table.upsert(rows([1, 8], "p", 7)), "upsert after that")
    now = {i: v for i, v in now.items() if i % 2}
    after(table.delete_partitions("a"), "delete_partitions")
    for instant, expected in then.items():
        assert ours(table, as_of=instant) == expected, instant
    assert not table.verify().findings
    assert set(stored(table)[RECORD_KEY]) == {None}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_record_key_is_null(tmp_path: Path, kind: str, version: int) -> None:
    """Also where files from before store it, and to a filter. (RFC: queries of it return NULL.)"""
    table = create(tmp_path, table_type=kind, table_version=version)
    table.upsert(rows(range(6), "old", 1))
    table.upsert(rows([0], "log", 2))
    assert table.read(columns=[RECORD_KEY]).to_arrow().column(0).null_count == 0
    table.enable_virtual_keys()
    for more in ((), [7], [1, 7]):
        table.upsert(rows(more, "new", 3)) if more else None
        whole = table.read(columns=["id", RECORD_KEY, COMMIT_TIME]).to_arrow()
        assert whole.column(RECORD_KEY).null_count == whole.num_rows == 6 + bool(more)
        assert whole.column(COMMIT_TIME).null_count == 0
        field = pc.field(RECORD_KEY)
        assert table.read(columns=["id"], where=field.is_null()).count() == whole.num_rows
        for where in (field == "1", field.is_valid(), field != "1", field.isin(["1", "7"])):
            assert table.read(columns=["id"], where=where).to_arrow().num_rows == 0, str(where)
        both = (pc.field("id") == 1) & field.is_null()
        assert table.read(columns=[RECORD_KEY, "v"], where=both).to_arrow().num_rows == 1
    # A job that selects it goes on on the day on which keys become virtual: meta columns are all there, or none is.
    every = table.read(meta=True).to_arrow()
    assert every.schema.names[-5:] == list(META_COLUMNS)
    assert every.column(RECORD_KEY).null_count == every.num_rows
    assert RECORD_KEY not in table.read().schema.names
    asked = f"SELECT {RECORD_KEY} AS k, {COMMIT_TIME} AS c FROM t WHERE {RECORD_KEY} IS NULL"
    answer = hoodoo.sql(asked, {"t": table})
    assert len(answer) == every.num_rows and {row["k"] for row in answer.to_pylist()} == {None}
    # Of the time when it was stored: the same table, the same answer.
    first = table.timeline().writes()[0].requested
    assert table.read(columns=[RECORD_KEY], as_of=first).to_arrow().column(0).null_count == 6


@pytest.mark.sampled(3, among="on Spark")
@pytest.mark.spark
@pytest.mark.parametrize("kind", KINDS)
def test_the_record_key_is_null_on_spark(tmp_path: Path, kind: str, spark: Any) -> None:
    """Spark's own reader would show what old files store."""
    table = create(tmp_path, table_type=kind)
    table.upsert(rows(range(4), "old", 1))
    table.enable_virtual_keys()
    table.upsert(rows([1, 5], "new", 2), engine="spark")
    frame = table.read(columns=["id", RECORD_KEY, "v"]).to_spark(spark)
    assert sorted(tuple(r) for r in frame.collect()) == [
        (0, None, "old"), (1, None, "new"), (2, None, "old"), (3, None, "old"), (5, None, "new"),
    ]  # fmt: skip
    filtered = table.read(columns=["id"], where=pc.field(RECORD_KEY).is_valid()).to_spark(spark)
    assert filtered.count() == 0
    assert table.read(columns=["id", "v"]).to_spark(spark).count() == 5
    every = table.read(meta=True).to_spark(spark)
    assert every.columns[-5:] == list(META_COLUMNS)
    found = sorted(tuple(row) for row in every.select("v", RECORD_KEY, "id").collect())
    assert found == [("new", None, 1), ("new", None, 5), ("old", None, 0), ("old", None, 2), ("old", None, 3)]  # fmt: skip
    assert every.where(f"{RECORD_KEY} IS NULL AND id = 5").count() == 1
    view = hoodoo.spark_view("virtual_keys", table, spark, meta=True)
    assert spark.sql(f"SELECT count({RECORD_KEY}), count(*) FROM virtual_keys").first() == (0, 5)
    view.drop()


# --- which meta columns are stored --------------------------------------------------------------------
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_commit_time_is_kept_for_incremental_reads(
    tmp_path: Path, kind: str, version: int
) -> None:
    table = create(tmp_path, ON, table_type=kind, table_version=version)
    first = table.upsert(rows(range(6), "a", 1)).instant
    second = table.upsert(rows([1, 7], "b", 2)).instant
    table.delete([2])
    found = table.incremental(since=first, meta=True).to_arrow()
    assert sorted(found.column("id").to_pylist()) == [1, 7]
    assert set(found.column(COMMIT_TIME).to_pylist()) == {second}
    changes = [(c["op"], (c["after"] or c["before"])["id"])
               for c in table.changes(since=first).to_arrow().to_pylist()]  # fmt: skip
    assert sorted(changes) == [("delete", 2), ("insert", 7), ("update", 1)]
    if kind == MOR:
        table.compact()
        assert table.incremental(since=first).to_arrow().num_rows == 2
    meta = stored(table)
    assert None not in meta[COMMIT_TIME]
    others = set(META_COLUMNS) - {COMMIT_TIME}
    assert all(set(meta[name]) == {None} for name in others)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("options", [HUDIS, {**ON, KEPT_META: ""}], ids=["Hudi's", "none kept"])
def test_without_commit_times_incremental_reads_are_refused(
    tmp_path: Path, options: dict[str, str], kind: str
) -> None:
    table = create(tmp_path, options, table_type=kind)
    first = table.upsert(rows(range(4), "a", 1)).instant
    table.upsert(rows([1], "b", 2))
    with pytest.raises(UnsupportedTableError, match=f"{VIRTUAL}=true, which keeps the commit"):
        table.incremental(since=first)
    assert all(set(values) == {None} for values in stored(table).values())
    check(table, tmp_path, {0: "a", 1: "b", 2: "a", 3: "a"})
    assert table.read().schema.names == rows([], "", 0).schema.names


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_contingency(tmp_path: Path, kind: str, version: int) -> None:
    """All meta columns kept: read as if virtual, and the way back is open (RFC: contingency)."""
    table = create(tmp_path, table_type=kind, table_version=version)
    table.upsert(rows(range(4), "a", 1))
    before = dict(table.config.properties)
    table.enable_virtual_keys(kept=META_COLUMNS)
    with told() as warnings:
        table.upsert(rows([1, 5], "b", 2))
        found = table.read(columns=["id", RECORD_KEY]).to_arrow()
    assert found.column(RECORD_KEY).null_count == 5
    assert not warnings  # nothing is to be saved here
    assert ours(table) == {0: "a", 1: "b", 2: "a", 3: "a", 5: "b"}
    if kind == MOR:
        table.upsert(rows([0], "a", 3))
        with pytest.raises(ConfigError, match=r"has log files.*table\.compact"):
            table.rewrite_keys(virtual=False)
        table.compact()
    assert sorted(stored(table)[RECORD_KEY]) == ["0", "1", "2", "3", "5"]
    assert {"hoodie_min_record_key", "org.apache.hudi.bloomfilter"} <= footers(table)
    table.rewrite_keys(virtual=False)
    after = dict(table.config.properties)
    assert after.pop(POPULATE) == "true"
    before.pop(POPULATE, None)
    assert after == before
    for again in (table, hoodoo.open(str(tmp_path))):
        shown = again.read(columns=["id", RECORD_KEY]).to_arrow().to_pydict()
        assert [str(i) for i in shown["id"]] == shown[RECORD_KEY]
    again.upsert(rows([1, 2, 8], "c", 3))
    check(again, tmp_path, {0: "a", 1: "c", 2: "c", 3: "a", 5: "b", 8: "c"})
    assert set(again.read(columns=[RECORD_KEY]).to_arrow().column(0).to_pylist()) == set("012358")
    assert not again.verify().findings


@pytest.mark.parametrize("kept", [(), (COMMIT_TIME,), META_COLUMNS[:4]], ids=len)
def test_no_way_back_where_rows_lack_their_keys(tmp_path: Path, kept: tuple[str, ...]) -> None:
    table = create(tmp_path)
    table.upsert(rows(range(4), "a", 1))
    table.enable_virtual_keys(kept)
    table.rewrite_keys(virtual=False)  # nothing was written since
    assert table.config.populate_meta_fields
    table.enable_virtual_keys(kept)
    table.upsert(rows([1], "b", 2))
    lacks = RECORD_KEY if RECORD_KEY not in kept else META_COLUMNS[4]
    with pytest.raises(ConfigError, match=f"do not store {lacks}: the keys of its table can't"):
        table.rewrite_keys(virtual=False)
    assert not table.config.populate_meta_fields
    check(table, tmp_path, {0: "a", 1: "b", 2: "a", 3: "a"})


@pytest.mark.parametrize("key", ["", "other"])
def test_no_way_back_to_keys_that_are_none(tmp_path: Path, key: str) -> None:
    """Spark's bulk insert stores empty texts under virtual keys; others may have stored anything."""
    table = create(tmp_path, {**ON, KEPT_META: ",".join(META_COLUMNS)})
    table.upsert(rows(range(4), "a", 1))
    falsify(table, lambda n: key if n == 1 else str(2 * n))
    table = hoodoo.open(table.path)
    with pytest.raises(ConfigError, match=r"base file .*can't be stored ones again"):
        table.rewrite_keys(virtual=False)
    assert ours(table) == dict.fromkeys(range(4), "a")


def test_kept_columns_are_those_that_exist(tmp_path: Path) -> None:
    table = create(tmp_path)
    with pytest.raises(ConfigError, match="not 'id'"):
        table.enable_virtual_keys(kept=["id"])
    assert table.config.populate_meta_fields
    assert create(tmp_path / "other", ON, table_type=COW).config.filled_meta == {COMMIT_TIME}
