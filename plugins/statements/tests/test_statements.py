"""Delete, update and merge by predicate: what they do, and what they refuse. The net draws the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hoodoo.errors import (
    CallError,
    CommitConflictError,
    ConfigError,
    DataError,
    DuplicateKeyError,
    HoodooError,
    SchemaError,
)
from hoodoo.timeline.batches import Batch
from hoodoo_rows.testing.tables import Tuples
from hoodoo_statements import statement as statements

pytestmark = pytest.mark.sampled(4)

SCHEMA = pa.schema(
    [
        ("id", pa.int64()), ("city", pa.string()), ("fare", pa.float64()), ("ts", pa.int64()),
        ("place", pa.struct([("zone", pa.int32()), ("name", pa.string())])),
    ]
)  # fmt: skip
Rows = list[tuple[int, str, float | None]]

rows = Tuples(SCHEMA, ts=1, place=lambda id, city: {"zone": id, "name": city})


def stored(table: Any) -> Rows:
    found = table.read(["id", "city", "fare"]).to_arrow().to_pylist()
    return sorted((r["id"], r["city"], r["fare"]) for r in found)


@pytest.fixture(params=["COPY_ON_WRITE", "MERGE_ON_READ"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    made = hoodoo.create(
        str(tmp_path / "t"), SCHEMA, record_key="id", partition_by="city", table_type=request.param
    )
    made.upsert(rows((1, "oslo", 10.0), (2, "oslo", 20.0), (3, "rome", 30.0), (4, "rome", None)))
    return made


@pytest.fixture
def plain(tmp_path: Path) -> Any:
    made = hoodoo.create(str(tmp_path / "p"), SCHEMA, record_key="id")
    made.upsert(rows((1, "oslo", 10.0), (2, "oslo", 20.0), (3, "rome", 30.0)))
    return made


# --- what a condition may be --------------------------------------------------------------------------
@pytest.mark.parametrize(
    "where",
    [pc.field("fare") > 15, "fare > 15", "target.FARE > 15", "`fare` > 15 and true", "place.zone in (2, 3)"],
    ids=str,
)  # fmt: skip
def test_conditions_of_all_kinds(table: Any, where: Any) -> None:
    commit = table.delete(where=where)
    assert (commit.inserted, commit.updated, commit.deleted) == (0, 0, 2)
    assert stored(table) == [(1, "oslo", 10.0), (4, "rome", None)]


def test_a_condition_that_is_unknown_takes_no_row(table: Any) -> None:
    assert table.delete(where="fare <> 1").deleted == 3  # the fare of 4 is null
    assert not table.delete(where="fare = null").instant
    assert stored(table) == [(4, "rome", None)]


def test_values_of_all_kinds(table: Any) -> None:
    commit = table.update(
        {"fare": pc.field("fare") * 2, "ts": 7, "place": "named_struct('zone', 9, 'name', city)"},
        where=pc.field("city") == "oslo",
    )
    assert commit.updated == 2
    assert stored(table)[:2] == [(1, "oslo", 20.0), (2, "oslo", 40.0)]
    found = table.read(["ts", "place"], pc.field("id") == 1).to_arrow().to_pylist()
    assert found == [{"ts": 7, "place": {"zone": 9, "name": "oslo"}}]
    table.update({"fare": None, "ts": pa.scalar(8, pa.int8())}, where="id = 1")
    assert table.read(["fare", "ts"], pc.field("id") == 1).to_arrow().to_pylist() == [
        {"fare": None, "ts": 8}
    ]


def test_where_no_row_is_changed_there_is_no_commit(table: Any) -> None:
    before = [str(i) for i in table.timeline().instants]
    for commit in (
        table.delete(where="id > 100"),
        table.update({"fare": 1}, where="id > 100"),
        table.merge(rows((100, "oslo", 1.0)), on="id").when_matched_delete().execute(),
    ):
        assert (commit.instant, commit.inserted, commit.updated, commit.deleted) == ("", 0, 0, 0)
    assert [str(i) for i in table.timeline().instants] == before


def test_files_without_such_rows_are_not_opened(
    plain: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The filter of a statement is that of a read, which prunes by paths, statistics and indexes."""
    filters: list[str] = []
    planned = statements.Reads.plan

    def plan(source: Any, columns: Any, where: Any) -> Any:
        filters.append("".join(str(where).split()))
        return planned(source, columns, where)

    monkeypatch.setattr(statements.Reads, "plan", plan)
    plain.update({"fare": "fare + 1"}, where="id >= 3 and fare < 50 and city like 'r%'")
    plain.merge(rows((3, "kyiv", 5.0)), on="id").when_matched_update_all().execute()
    merge = plain.merge(rows((3, "kyiv", 5.0)), on="id")
    merge.when_not_matched_by_source_delete("target.id = 1").execute()
    assert filters == [
        "((id>=3)and(fare<50))",
        "is_in(id,{value_set=int64:[3],null_matching_behavior=MATCH})",
        "(is_in(id,{value_set=int64:[3],null_matching_behavior=MATCH})or(id==1))",
    ]
    assert stored(plain) == [(2, "oslo", 20.0), (3, "kyiv", 5.0)]


# --- merge ----------------------------------------------------------------------------------------------
def test_clauses_are_tried_in_their_order(table: Any) -> None:
    source = rows(
        (1, "oslo", 1.0), (2, "oslo", -1.0), (3, "rome", 3.0), (9, "kyiv", 9.0), (8, "kyiv", -8.0)
    )
    commit = (
        table.merge(source, on="id")
        .when_matched_delete("source.fare < 0")
        .when_matched_update({"fare": "target.fare + source.fare"}, "target.id = 1")
        .when_matched_update_all()
        .when_not_matched_insert_all("source.fare > 0")
        .when_not_matched_insert({"id": "source.id", "city": "'rome'"})
        .when_not_matched_by_source_update({"fare": 0.5}, "target.fare is null")
        .execute()
    )
    assert (commit.inserted, commit.updated, commit.deleted) == (2, 3, 1)
    assert stored(table) == [
        (1, "oslo", 11.0), (3, "rome", 3.0), (4, "rome", 0.5), (8, "rome", None), (9, "kyiv", 9.0),
    ]  # fmt: skip
    assert len([i for i in table.timeline().writes()]) == 2  # one commit


def test_two_source_rows_for_one_row_are_refused(table: Any) -> None:
    twice = rows((1, "oslo", 1.0), (1, "oslo", 2.0))
    with pytest.raises(DataError, match=r"record key '1'.*more than one row of the source"):
        table.merge(twice, on="id").when_matched_update_all().execute()
    # A condition may tell them apart, and a row is deleted once.
    done = table.merge(twice, on="id").when_matched_update_all("source.fare > 1").execute()
    assert done.updated == 1 and stored(table)[0] == (1, "oslo", 2.0)
    assert table.merge(twice, on="id").when_matched_delete().execute().deleted == 1


def test_keys_stay_unique(table: Any) -> None:
    with pytest.raises(DuplicateKeyError, match="more than once"):
        table.merge(
            rows((9, "oslo", 1.0), (9, "oslo", 2.0)), on="id"
        ).when_not_matched_insert_all().execute()
    merge = table.merge(rows((1, "oslo", 1.0)), on="target.id = source.id and target.fare > 50")
    with pytest.raises(DuplicateKeyError, match="in the table already"):
        merge.when_not_matched_insert_all().execute()
    with pytest.raises(DataError, match="never changes"):
        table.update({"id": "id + 1"}, where="true")
    assert len(stored(table)) == 4 and not table.timeline().pending()


def test_null_matches_nothing(table: Any) -> None:
    source = pa.table({"id": pa.array([None, 1], pa.int64()), "fare": [5.0, 6.0]})
    commit = table.merge(source, on="id").when_matched_update({"fare": "source.fare"}).execute()
    assert commit.updated == 1 and stored(table)[0] == (1, "oslo", 6.0)


def test_rows_go_to_another_partition_path(table: Any) -> None:
    commit = table.update({"city": "'kyiv'", "fare": "fare + 1"}, where="id in (1, 3)")
    assert (commit.inserted, commit.updated, commit.deleted) == (0, 2, 0)
    assert stored(table) == [
        (1, "kyiv", 11.0),
        (2, "oslo", 20.0),
        (3, "kyiv", 31.0),
        (4, "rome", None),
    ]
    assert {s.partition_path for s in table.file_slices()} == {"oslo", "rome", "kyiv"}
    assert table.verify().ok


def test_an_index_that_leaves_keys_where_they_lie_refuses_that(tmp_path: Path) -> None:
    table = hoodoo.create(
        str(tmp_path / "g"), SCHEMA, record_key="id", partition_by="city", index="global_simple",
        options={"hoodie.simple.index.update.partition.path": "false"},
    )  # fmt: skip
    table.upsert(rows((1, "oslo", 1.0)))
    with pytest.raises(ConfigError, match="leaves keys where they lie"):
        table.update({"city": "'rome'"}, where="id = 1")


# --- the order of rows ----------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_a_row_that_the_merger_would_not_keep_is_refused(tmp_path: Path, kind: str) -> None:
    table = hoodoo.create(
        str(tmp_path / "o"), SCHEMA, record_key="id", ordering="ts", table_type=kind
    )
    table.upsert(rows((1, "oslo", 1.0), (2, "oslo", 2.0)))
    assert (
        table.update({"fare": "fare + 1"}, where="true").updated == 2
    )  # an equal ordering value wins
    with pytest.raises(DataError, match="EVENT_TIME_ORDERING.* compares ts"):
        table.update({"ts": "ts - 1"}, where="id = 1")
    assert stored(table) == [(1, "oslo", 2.0), (2, "oslo", 3.0)]
    late = rows((1, "rome", 9.0)).set_column(3, "ts", pa.array([0], pa.int64()))
    newer = table.merge(late, on="id").when_matched_update_all("source.ts >= target.ts")
    assert not newer.execute().instant
    assert table.delete(where="id = 1").deleted == 1


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize("index", ["bloom", "bucket", "global_bloom"])
def test_a_row_that_moves_is_compared_where_it_meets_a_stored_one(
    tmp_path: Path, kind: str, index: str
) -> None:
    """Elsewhere it is deleted in one partition path and new in the other: its order does not matter, nor when it comes
    back. But with buckets and log files it would come back to a base file that has it, and lose. A row that stays beside
    it is refused all the same."""
    table = hoodoo.create(
        str(tmp_path / "o"), SCHEMA, record_key="id", partition_by="city", ordering="ts", table_type=kind, index=index
    )  # fmt: skip
    table.upsert(rows((1, "oslo", 1.0), (2, "oslo", 2.0), (3, "kyiv", 3.0)))
    there = {"city": "case when id = 1 then 'rome' else city end", "ts": "ts - 1"}
    if index == "global_bloom" or (index, kind) == ("bucket", "MERGE_ON_READ"):
        with pytest.raises(DataError, match="an update of 1 rows.* compares ts"):
            table.update(there, where="id = 1")
        return
    with pytest.raises(DataError, match="an update of 1 rows.* compares ts"):
        table.update(there, where="id <= 2")
    assert table.update(there, where="id = 1").updated == 1
    assert stored(table) == [(1, "rome", 1.0), (2, "oslo", 2.0), (3, "kyiv", 3.0)]
    back = {"city": "'oslo'", "ts": "ts - 1", "fare": "8"}
    assert table.update(back, where="id = 1").updated == 1
    assert stored(table) == [(1, "oslo", 8.0), (2, "oslo", 2.0), (3, "kyiv", 3.0)]
    if kind == "MERGE_ON_READ":
        table.compact()
        assert stored(table) == [(1, "oslo", 8.0), (2, "oslo", 2.0), (3, "kyiv", 3.0)]


# --- other writers --------------------------------------------------------------------------------------
def between(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> list[int]:
    """``act`` happens once, after a statement has read the table and before it is published."""
    tried: list[int] = []
    made = statements.Statement.changes

    def changes(self: Any, *args: Any) -> Any:
        found = made(self, *args)
        tried.append(1)
        if len(tried) == 1:
            act()
        return found

    monkeypatch.setattr(statements.Statement, "changes", changes)
    return tried


@pytest.mark.parametrize("mode", ["", "NON_BLOCKING_CONCURRENCY_CONTROL"])
def test_what_another_writer_changed_meanwhile_is_never_overwritten(
    table: Any, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    options = {"hoodie.write.concurrency.mode": mode} if mode else {}
    if mode and table.config.table_type != "MERGE_ON_READ":
        pytest.skip("of tables that are merged on read")
    if mode:
        options["hoodie.index.type"] = "BUCKET"
        table = hoodoo.create(
            table.path + "b", SCHEMA, record_key="id", index="bucket", table_type="MERGE_ON_READ"
        )
        table.upsert(
            rows((1, "oslo", 10.0), (2, "oslo", 20.0), (3, "rome", 30.0), (4, "rome", None))
        )
    writer, other = hoodoo.open(table.path, options), hoodoo.open(table.path, options)
    tried = between(monkeypatch, lambda: other.upsert(rows((1, "oslo", 100.0))))
    commit = writer.update({"fare": "fare + 1"}, where="city = 'oslo'")
    assert len(tried) == 2 and commit.updated == 2
    assert stored(table)[:2] == [(1, "oslo", 101.0), (2, "oslo", 21.0)]


def test_a_row_that_was_read_and_not_changed_counts_too(
    table: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is matched now, and was not when the statement read it."""
    other = hoodoo.open(table.path)
    tried = between(monkeypatch, lambda: other.upsert(rows((4, "rome", 1000.0))))
    commit = table.update({"fare": 0}, where="fare > 15")
    assert len(tried) == 2 and commit.updated == 3
    assert [fare for _, _, fare in stored(table)] == [10.0, 0.0, 0.0, 0.0]


def test_who_may_not_repeat_says_so(table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = hoodoo.open(table.path, {"hoodie.write.num.retries.on.conflict.failures": 0})
    other = hoodoo.open(table.path)
    between(monkeypatch, lambda: other.delete(where="id = 1"))
    with pytest.raises(CommitConflictError, match="whose rows this write used"):
        writer.delete(where="id in (1, 2)")
    assert len(stored(table)) == 3


def test_writes_elsewhere_and_services_are_in_nobodys_way(
    table: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = hoodoo.open(table.path)
    tried = between(monkeypatch, lambda: other.upsert(rows((7, "kyiv", 7.0))))
    assert table.update({"fare": "fare + 1"}, where="city = 'oslo'").updated == 2
    assert len(tried) == 1 and len(stored(table)) == 5


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    path = tmp_path_factory.mktemp("unchanged") / "t"
    made = hoodoo.create(str(path), SCHEMA, record_key="id", partition_by="city")
    made.upsert(rows((1, "oslo", 10.0)))
    yield made
    assert stored(made) == [(1, "oslo", 10.0)]


# --- bad input ------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("act", "error", "says"),
    [
        (lambda t: t.delete(), CallError, "needs keys or a condition"),
        (lambda t: t.delete([1], where="id = 1"), CallError, "and not both"),
        (lambda t: t.delete("id = 1"), CallError, r"where='id = 1'.*\['id = 1'\]"),
        (lambda t: t.delete(pc.field("id") == 1), CallError, "where="),
        (lambda t: t.delete(where="cty = 'oslo'"), SchemaError, r"'cty'.*Did you mean city"),
        (lambda t: t.delete(where=pc.field("cty") == 1), SchemaError, "did you mean city"),
        (lambda t: t.delete(where="place.zon = 1"), SchemaError, "no field 'zon'"),
        (lambda t: t.delete(where="source.id = 1"), SchemaError, "source"),
        (lambda t: t.delete(where="id ="), ConfigError, "no SQL"),
        (lambda t: t.delete(where="id = 1; drop table t"), ConfigError, "no SQL|one expression"),
        (lambda t: t.delete(where="id, city"), ConfigError, "one expression"),
        (lambda t: t.delete(where="fare"), SchemaError, "neither true nor false"),
        (lambda t: t.delete(where=5), ConfigError, "is a int"),
        (lambda t: t.delete(where="id in (select 1)"), ConfigError, "has a query"),
        (lambda t: t.delete(where="rand() < 0.5"), ConfigError, r"rand\(\) is another value each time"),
        (lambda t: t.delete(where="id = max(id)"), ConfigError, r"aggregate max\(\)"),
        (lambda t: t.delete(where="row_number() over (order by id) = 1"), ConfigError, "window|one row"),
        (lambda t: t.delete(where="nosuch(id)"), HoodooError, "nosuch"),
        (lambda t: t.delete(where=[("id", "=", 1)]), ConfigError, "a pyarrow expression"),
        (lambda t: t.update({}), ConfigError, "are none"),
        (lambda t: t.update(None), ConfigError, "Give a dictionary|takes a dict"),
        (lambda t: t.update("fare = 1"), ConfigError, "Give a dictionary|takes a dict"),
        (lambda t: t.merge(rows((1, "oslo", 1.0)), on="id").when_matched_update(None).execute(), ConfigError, "Give a dictionary|takes a dict"),
        (lambda t: t.merge(rows((9, "oslo", 1.0)), on="id").when_not_matched_insert(None).execute(), ConfigError, "Give a dictionary|takes a dict"),
        (lambda t: t.merge(rows(), on="id").when_not_matched_by_source_update(None).execute(), ConfigError, "Give a dictionary|takes a dict"),
        (lambda t: t.update({"fre": "1"}), SchemaError, "Did you mean fare"),
        (lambda t: t.update({"fare": "1", "FARE": "2"}), ConfigError, "twice"),
        (lambda t: t.update({"_hoodie_record_key": "'1'"}), ConfigError, "Hudi's own"),
        (lambda t: t.update({"place.zone": "1"}), ConfigError, "named_struct"),
        (lambda t: t.update({"fare": "uuid()"}), ConfigError, "another value each time"),
        (lambda t: t.update({"ts": "'x'"}, where="id = 1"), DataError, "can't be computed"),
        (lambda t: t.update({"fare": [1]}), SchemaError, "double"),
        (lambda t: t.merge(rows(), on="id").execute(), ConfigError, "no clauses"),
        (lambda t: t.merge(rows(), on="idd").when_matched_delete().execute(), SchemaError, "idd"),
        (lambda t: t.merge([{"x": 1}], on="id").when_matched_delete().execute(), SchemaError, "'id' of on="),
        (lambda t: t.merge(rows(), on=[]).when_matched_delete().execute(), ConfigError, "compares nothing"),
        (lambda t: t.merge(rows(), on="fare > 1").when_matched_delete().execute(), SchemaError, "target.fare or source.fare"),
        (lambda t: t.merge(rows(), on="id").when_matched_delete().when_matched_update_all(), ConfigError, "takes all rows"),
        (lambda t: t.merge([{"id": 1}], on="id").when_matched_update_all().execute(), SchemaError, "lacks columns"),
        (lambda t: t.merge(rows(), on="id").when_not_matched_insert({"id": "target.id"}).execute(), SchemaError, "has none yet"),
        (lambda t: t.merge(rows(), on="id").when_not_matched_by_source_delete("source.id = 1").execute(), SchemaError, "no row of the source"),
        (lambda t: t.merge(rows(), on=pc.field("id") == 1).when_matched_delete().execute(), ConfigError, "which has no sides"),
        (lambda t: t.merge(5, on="id").when_matched_delete().execute(), HoodooError, "int"),
    ],
)  # fmt: skip
def test_what_can_not_be_right_is_refused(
    unchanged: Any, act: Callable[[Any], object], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        act(unchanged)
    assert len(unchanged.timeline().instants) == 1


def test_rows_that_share_their_key_are_not_told_apart(tmp_path: Path) -> None:
    table = hoodoo.create(str(tmp_path / "d"), SCHEMA, record_key="id")
    table.bulk_insert(rows((1, "oslo", 1.0), (1, "oslo", 2.0), (2, "oslo", 3.0)))
    for where in ("fare > 1", "true"):
        with pytest.raises(DuplicateKeyError, match="share their record key|whose record key"):
            table.update({"fare": "fare + 1"}, where=where)
    assert [fare for _, _, fare in stored(table)] == [1.0, 2.0, 3.0]


def test_a_source_that_is_too_large(table: Any) -> None:
    small = hoodoo.open(table.path, {"hoodoo.merge.source.limit": "100"})
    with pytest.raises(DataError, match="larger than 100 bytes"):
        small.merge(rows(*((i, "oslo", 1.0) for i in range(100)))).when_matched_delete().execute()


def test_tables_without_keys(tmp_path: Path) -> None:
    """Rows whose keys are made when they are written are found where they lie."""
    table = hoodoo.create(str(tmp_path / "k"), SCHEMA)
    table.insert(rows((1, "oslo", 1.0), (2, "rome", 2.0)))
    assert table.update({"fare": "fare + 1"}, where="id = 1").updated == 1
    assert table.delete(where="id = 2").deleted == 1
    merge = table.merge(rows((1, "oslo", 5.0), (3, "kyiv", 3.0)), on="id")
    done = (
        merge.when_matched_update({"fare": "source.fare"}).when_not_matched_insert_all().execute()
    )
    assert (done.inserted, done.updated) == (1, 1)
    assert stored(table) == [(1, "oslo", 5.0), (3, "kyiv", 3.0)]


def test_a_merge_by_columns_needs_no_duckdb(table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "duckdb", None)
    done = table.merge(rows((1, "oslo", 5.0), (9, "kyiv", 9.0)), on="id")
    commit = done.when_matched_update_all().when_not_matched_insert_all().execute()
    assert (commit.inserted, commit.updated) == (1, 1)
    assert table.delete(where=pc.field("id") == 9).deleted == 1
    with pytest.raises(HoodooError, match=r"hoodoo-statements\[sql\]"):
        table.delete(where="id = 1")


@pytest.mark.parametrize(
    ("index", "partitioned", "on", "looks"),
    [
        ("bucket", False, "id", False),
        ("simple", False, "source.id = target.id", False),
        ("global_simple", True, "id", False),  # a row moves
        ("bloom", True, ["id", "city"], False),
        ("bloom", True, "id", True),  # its key may lie in another partition path
        ("simple", False, ["id", "city"], True),
        ("simple", False, "source.id = target.id and target.id > 0", True),
    ],
)
def test_a_merge_of_whole_rows_by_key_is_an_upsert(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, index: str, partitioned: bool, on: Any, looks: bool
) -> None:  # fmt: skip
    """The index finds its rows; the table's are not read."""
    made = hoodoo.create(
        str(tmp_path / "u"), SCHEMA, record_key="id", index=index, partition_by="city" if partitioned else (),
    )  # fmt: skip
    made.upsert(rows((1, "oslo", 10.0), (2, "oslo", 20.0), (3, "rome", 30.0)))
    looked = []
    plan = statements.Reads.plan
    monkeypatch.setattr(statements.Reads, "plan", lambda *a, **k: looked.append(1) or plan(*a, **k))
    source = rows((2, "oslo", 2.0), (3, "rome" if "city" in on else "kyiv", 3.0), (9, "oslo", 9.0))
    if on == ["id", "city"] and not partitioned:
        source = source.filter(pc.field("id") != 3)
    merge = made.merge(source, on=on).when_matched_update_all().when_not_matched_insert_all()
    done = merge.execute()
    assert (done.inserted, done.updated, done.deleted) == (1, source.num_rows - 1, 0)
    assert bool(looked) == looks
    found = {row[0]: row for row in stored(made)}
    assert found == {
        1: (1, "oslo", 10.0), 3: (3, "rome", 30.0),
        **{r["id"]: (r["id"], r["city"], r["fare"]) for r in source.to_pylist()},
    }  # fmt: skip
    assert made.verify().ok


def test_a_condition_beside_the_key_brings_in_no_key_twice(plain: Any) -> None:
    merge = plain.merge(rows((1, "oslo", 1.0)), on="target.id = source.id and target.id > 1")
    with pytest.raises(DuplicateKeyError, match="in the table already"):
        merge.when_not_matched_insert_all().execute()
    assert len(stored(plain)) == 3


def test_whole_rows_of_a_key_that_lies_twice_are_refused(tmp_path: Path) -> None:
    table = hoodoo.create(str(tmp_path / "d"), SCHEMA, record_key="id")
    table.bulk_insert(rows((1, "oslo", 1.0), (1, "oslo", 2.0), (2, "oslo", 3.0)))
    merge = table.merge(rows((1, "oslo", 9.0)), on="id").when_matched_update_all()
    with pytest.raises(DuplicateKeyError, match="share their record key"):
        merge.when_not_matched_insert_all().execute()
    assert [fare for _, _, fare in stored(table)] == [1.0, 2.0, 3.0]
    assert not table.timeline().pending()


def test_columns_are_matched_together(plain: Any) -> None:
    """Rows whose columns are each in the source, but not in one row of it, belong to none."""
    plain.upsert(rows((4, "oslo", 4.0), (5, "rome", 5.0)))
    source = rows((1, "rome", 1.0), (3, "rome", -3.0), (4, "oslo", -4.0), (5, "oslo", 1.0))
    merge = plain.merge(source, on=["city", "id"]).when_matched_update({"fare": "source.fare"})
    assert merge.execute().updated == 2
    assert [fare for _, _, fare in stored(plain)] == [10.0, 20.0, -3.0, -4.0, 5.0]


def test_a_batch_of_a_stream_is_merged_once(table: Any) -> None:
    from hoodoo.timeline.batches import Batch

    for _ in range(2):
        table.merge(rows((1, "oslo", 1.0)), on="id", batch=Batch("s", 1)).when_matched_update(
            {"fare": "target.fare + 1"}
        ).execute()
    assert stored(table)[0] == (1, "oslo", 11.0)


def test_a_statement_that_changes_no_row_notes_its_batch(table: Any) -> None:
    """Repeated after other rows came, it would change those."""
    one = Batch("s", 1)
    assert table.delete(where="fare > 1000", batch=one).deleted == 0
    assert table.update({"fare": "0"}, where="fare > 1000", batch=Batch("s", 2)).updated == 0
    table.upsert(rows((9, "rome", 2000.0)))
    assert not table.delete(where="fare > 1000", batch=one).instant
    assert not table.update({"fare": "0"}, where="fare > 1000", batch=Batch("s", 2)).instant
    none = [{"id": 9, "fare": 1.0}]
    merge = table.merge(none, "id", batch=Batch("s", 3)).when_matched_update(
        {"fare": "source.fare"}, "target.fare > 5000"
    )
    assert merge.execute().updated == 0
    assert not merge.execute().instant
    assert (9, "rome", 2000.0) in stored(table)
    assert table.verify().ok
