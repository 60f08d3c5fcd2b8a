"""Short forms that users of pandas, polars and Delta Lake try first: each gives what the long form gives."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.errors import (
    CallError,
    CommitUnknownError,
    ConfigError,
    DataError,
    DuplicateKeyError,
    HoodooError,
    NullKeyError,
    OptionConflictError,
    SchemaError,
    TableExistsError,
)
from hoodoo.testing.steps import around
from hoodoo.timeline.batches import Batch

KINDS = [("cow", 6), ("cow", 9), ("mor", 6), ("mor", 9)]
RIDES = pa.table({"id": [1, 2, 3], "city": ["oslo", "rome", None], "fare": [1.5, 2.5, 3.5]})


@pytest.fixture(params=KINDS, ids=lambda kind: "-".join(map(str, kind)))
def kind(request: pytest.FixtureRequest) -> dict[str, Any]:
    table_type, version = request.param
    return {"table_type": table_type, "table_version": version, "record_key": "id"}


def in_order(found: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = found.sort_by("id").to_pylist()
    return rows


def _polars(data: pa.Table) -> Any:
    return pytest.importorskip("polars").from_arrow(data)


DATA: dict[str, Callable[[pa.Table], Any]] = {
    "table": lambda data: data,
    "batch": lambda data: data.to_batches()[0],
    "reader": lambda data: data.to_reader(),
    "batches": lambda data: iter(data.to_batches()),
    "dataset": lambda data: pa.dataset.dataset(data),
    "rows": lambda data: data.to_pylist(),
    "columns": lambda data: data.to_pydict(),
    "pandas": lambda data: data.to_pandas(),
    "polars": _polars,
    "lazy": lambda data: _polars(data).lazy(),
}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("form", DATA)
def test_a_table_of_data_has_its_rows(tmp_path: Path, kind: dict[str, Any], form: str) -> None:
    import pyarrow.dataset  # noqa: F401  (DATA uses it)

    made = hoodoo.create(tmp_path / "short", DATA[form](RIDES), **kind)
    long = hoodoo.create(tmp_path / "long", RIDES.schema, **kind)
    long.upsert(RIDES)
    assert in_order(made.to_arrow()) == in_order(long.read().to_arrow()) == RIDES.to_pylist()
    assert made.schema == long.schema
    names = ("hoodie.table.type", "hoodie.table.version", "hoodie.table.recordkey.fields")
    assert [made.config.get(n) for n in names] == [long.config.get(n) for n in names]
    assert len(made.timeline().writes()) == 1


@pytest.mark.parametrize(
    "schema",
    [
        "id bigint, city string, fare double not null",
        {"id": "bigint", "city": pa.string(), "fare": "double not null"},
    ],
    ids=["text", "dict"],
)
def test_a_schema_makes_an_empty_table(tmp_path: Path, kind: dict[str, Any], schema: Any) -> None:
    made = hoodoo.create(tmp_path / "t", schema, **kind)
    assert made.schema.names == ["id", "city", "fare"] and made.count() == 0
    fields = [pa.field("fare", pa.float64(), nullable=False)]
    long = pa.schema([("id", pa.int64()), ("city", pa.string()), *fields])
    assert made.schema == hoodoo.create(tmp_path / "long", long, **kind).schema
    assert not made.timeline().writes()


def test_rows_without_a_record_key_are_all_added(tmp_path: Path) -> None:
    made = hoodoo.create(tmp_path / "t", [{"id": 1}, {"id": 1}])
    assert made.count() == 2
    hoodoo.create(tmp_path / "t", [{"id": 1}], exist_ok=True)
    assert made.count() == 3


def test_rows_of_one_key_are_not_lost_in_silence(tmp_path: Path) -> None:
    twice = [{"id": 1, "ts": 1}, {"id": 1, "ts": 2}, {"id": 2, "ts": 1}]
    for form in ("rows", "reader"):
        with pytest.raises(DuplicateKeyError, match=r"1 of 3 have the key of another.*is empty"):
            hoodoo.create(tmp_path / form, DATA[form](pa.Table.from_pylist(twice)), record_key="id")
        assert hoodoo.open(tmp_path / form).count() == 0
    made = hoodoo.create(tmp_path / "t", twice, record_key="id", ordering="ts")
    assert in_order(made.to_arrow()) == twice[1:]


def test_a_row_without_its_key_leaves_an_empty_table(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"id": 1, "v": 1}, {"v": 2}]
    with pytest.raises(NullKeyError, match="is empty: write into it"):
        hoodoo.create(tmp_path / "t", rows, record_key="id")
    made = hoodoo.create(tmp_path / "t", rows[:1], record_key="id", exist_ok=True)
    assert made.count() == 1


@pytest.mark.sampled(1)
@pytest.mark.parametrize("form", ["table", "reader", "dataset", "rows"])
def test_rows_that_are_marked_as_deleted_double_no_key(
    tmp_path: Path, kind: dict[str, Any], form: str
) -> None:
    marks = pa.table({"id": [1, 2, 3], "_hoodie_is_deleted": [False, True, None]})
    made = hoodoo.create(tmp_path / "t", DATA[form](marks), **kind)
    assert [row["id"] for row in in_order(made.to_arrow())] == [1, 3]
    twice = pa.concat_tables([marks, marks.slice(2)])
    with pytest.raises(DuplicateKeyError, match=r"1 of 3 have the key of another.*is empty"):
        hoodoo.create(tmp_path / "twice", DATA[form](twice), **kind)


@pytest.mark.parametrize(
    ("lands", "said"),
    [(True, "is there, and has the rows"), (False, r"may have the rows: table\.history\(\)")],
)
def test_a_commit_that_is_not_known_leaves_no_empty_table(
    tmp_path: Path, lands: bool, said: str
) -> None:
    def lost(complete: Callable[[], Any]) -> Any:
        if lands:
            complete()
        raise CommitUnknownError("commit", "may have been published.", "Look at the timeline.")

    with around("complete", lost), pytest.raises(CommitUnknownError, match=said):
        hoodoo.create(tmp_path / "t", RIDES, record_key="id")
    assert hoodoo.open(tmp_path / "t").count() == 3 * lands


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        (7, ConfigError, "neither a schema"),
        ({"id": 1}, DataError, "dictionary of columns"),
        ([1, 2], DataError, "a dictionary, one for each row|dictionaries, one for each row"),
        ({}, ConfigError, "has no columns"),
        ({"id": "bigin"}, ConfigError, "perhaps bigint is meant"),
        ({"id": "bigint default 0"}, ConfigError, "'default' is not expected"),
        ({"id": "bigint", "v": [1]}, DataError, "single values"),
        (pa.array([1]), DataError, "single column"),
        (Path("rides.parquet"), DataError, "pyarrow.dataset.dataset"),
    ],
)
def test_what_is_neither_schema_nor_data(
    tmp_path: Path, given: Any, error: type[HoodooError], said: str
) -> None:
    with pytest.raises(error, match=said) as caught:
        hoodoo.create(tmp_path / "t", given, record_key="id")
    assert caught.value.fix and not (tmp_path / "t").exists()


# --- exist_ok -------------------------------------------------------------------------------------
def test_exist_ok_opens_and_upserts(tmp_path: Path, kind: dict[str, Any]) -> None:
    path = tmp_path / "t"
    said: dict[str, Any] = {**kind, "ordering": "fare", "name": "rides"}
    for _ in range(2):
        hoodoo.create(path, RIDES.schema, exist_ok=True, **said)
    with pytest.raises(TableExistsError):
        hoodoo.create(path, RIDES.schema, **said)
    assert hoodoo.open(path).count() == 0
    for _ in range(2):
        made = hoodoo.create(path, RIDES, exist_ok=True, **said)
    assert in_order(made.to_arrow()) == RIDES.to_pylist()
    made.alter(add={"tip": "double"})
    hoodoo.create(path, RIDES.schema, exist_ok=True)  # the table may have more


@pytest.mark.parametrize(
    ("said", "stored"),
    [
        ({"record_key": "city"}, r"record_key=\['id'\]"),
        ({"partition_by": "city"}, r"partition_by=\[\]"),
        ({"ordering": "fare"}, r"ordering=\[\]"),
        ({"table_type": "mor"}, "table_type='COPY_ON_WRITE'"),
        ({"table_version": 6}, "table_version=9"),
        ({"name": "other"}, "name='t'"),
        ({"index": "bucket"}, "index='simple'"),
        ({"merger": "event_time"}, "COMMIT_TIME_ORDERING"),
        ({"key_generator": "COMPLEX"}, "NON_PARTITION"),
        ({"options": {"hoodie.datasource.write.recordkey.field": "city"}}, "'id'"),
    ],
    ids=lambda said: next(iter(said)) if isinstance(said, dict) else None,
)
def test_exist_ok_names_what_differs(tmp_path: Path, said: dict[str, Any], stored: str) -> None:
    hoodoo.create(tmp_path / "t", RIDES, record_key="id")
    with pytest.raises(OptionConflictError, match=stored) as caught:
        hoodoo.create(tmp_path / "t", RIDES, exist_ok=True, **said)
    assert "contradicts" in str(caught.value) and caught.value.fix
    assert len(hoodoo.open(tmp_path / "t").timeline().writes()) == 1


@pytest.mark.parametrize(
    ("schema", "both"),
    [("id bigint, zip int", "zip.*id, city, fare"), ("id int", "int32.*int64")],
)
def test_exist_ok_names_columns_that_differ(tmp_path: Path, schema: str, both: str) -> None:
    hoodoo.create(tmp_path / "t", RIDES, record_key="id")
    with pytest.raises(SchemaError, match=both):
        hoodoo.create(tmp_path / "t", schema, exist_ok=True)


# --- write ----------------------------------------------------------------------------------------
def test_write_creates_and_upserts(tmp_path: Path, kind: dict[str, Any]) -> None:
    path, later = tmp_path / "short", [{"id": 3, "city": "bern", "fare": 9.0}, {"id": 4}]
    first = hoodoo.write(path, RIDES, **kind)
    second = hoodoo.write(path, later, record_key="id")
    hoodoo.write(path, later)
    assert (first.inserted, second.inserted, second.updated) == (3, 1, 1)
    long = hoodoo.create(tmp_path / "long", RIDES.schema, **kind)
    for data in (RIDES, later):
        long.upsert(data)
    assert in_order(hoodoo.open(path).to_arrow()) == in_order(long.read().to_arrow())


def test_write_needs_a_key_for_a_new_table(tmp_path: Path) -> None:
    with pytest.raises(CallError, match='record_key="id"'):
        hoodoo.write(tmp_path / "t", RIDES)
    assert not (tmp_path / "t").exists()
    key = {"hoodie.datasource.write.recordkey.field": "id"}
    hoodoo.write(tmp_path / "t", RIDES, options=key)
    assert hoodoo.open(tmp_path / "t").config.record_key_fields == ("id",)
    hoodoo.write(tmp_path / "log", RIDES, record_key=())
    assert hoodoo.write(tmp_path / "log", RIDES).inserted == 3
    assert hoodoo.open(tmp_path / "log").count() == 6


def test_write_says_what_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "t"
    hoodoo.write(path, RIDES, record_key="id")
    with pytest.raises(SchemaError, match="zip.*add_columns=True"):
        hoodoo.write(path, [{"id": 4, "zip": 1}])
    with pytest.raises(OptionConflictError, match=r"\['city'\].*\['id'\]"):
        hoodoo.write(path, RIDES, record_key="city")
    with pytest.raises(CallError, match="record_key"):
        hoodoo.write(path, RIDES, recordkey="id")
    with pytest.raises(NullKeyError) as caught:
        hoodoo.write(path, [{"id": None, "city": "bern"}])
    assert "is empty" not in caught.value.fix
    assert hoodoo.open(path).count() == 3
    hoodoo.write(path, [{"id": 4, "zip": 1}], add_columns=True, batch=Batch("feed", 1))
    assert not hoodoo.write(path, [{"id": 5, "zip": 1}], batch=Batch("feed", 1)).instant
    assert hoodoo.open(path).count() == 4


def test_the_function_beside_modules_of_the_old_name(tmp_path: Path) -> None:
    import importlib
    import sys

    with pytest.warns(hoodoo.errors.HoodooWarning):
        importlib.import_module("hoodoo.write.run")
    try:
        assert hoodoo.write(tmp_path / "t", RIDES, record_key="id").inserted == 3
    finally:
        for name in [n for n in sys.modules if n.split(".")[:2] == ["hoodoo", "write"]]:
            del sys.modules[name]
        vars(hoodoo).pop("write", None)


# --- the newest snapshot, and older ones by number --------------------------------------------------
@pytest.fixture
def lived(tmp_path: Path, kind: dict[str, Any]) -> hoodoo.Table:
    """Three commits: 3 rows, 4 rows, 3 rows."""
    made = hoodoo.create(tmp_path / "lived", RIDES, **kind)
    made.upsert([{"id": 1, "city": "bern", "fare": 0.0}, {"id": 4, "city": "oslo", "fare": 4.0}])
    made.delete([2])
    return made


def test_tables_are_read_as_scans_are(lived: hoodoo.Table) -> None:
    pytest.importorskip("polars")
    for asked in ({}, {"columns": ["id"]}, {"where": "fare > 1"}, {"as_of": 1}, {"as_of": -2}):
        scan: Any = lived.read(**asked)  # type: ignore[arg-type]
        table: Any = lived
        assert table.to_arrow(**asked).equals(scan.to_arrow())
        assert table.to_pandas(**asked).equals(scan.to_pandas())
        assert table.to_polars(**asked).equals(scan.to_polars())
        assert table.head(2, **asked).equals(scan.head(2))
        if "columns" not in asked:
            assert table.count(**asked) == scan.count()
    assert lived.head().num_rows == lived.count() == 3


def test_versions_by_number(lived: hoodoo.Table) -> None:
    instants = [instant.requested for instant in lived.timeline().writes()]
    assert len(instants) == 3
    for number, instant in enumerate(instants, 1):
        for point in (number, number - 4, str(number), str(number - 4)):
            assert lived.to_arrow(as_of=point).equals(lived.to_arrow(as_of=instant))
            assert lived.file_slices(as_of=point) == lived.file_slices(as_of=instant)
            assert hoodoo.scan_polars(lived, as_of=point).collect().height == lived.count(
                as_of=instant
            )
        assert lived.locate([4], as_of=number).num_rows == (0 if number == 1 else 1)
    assert lived.count(as_of=0) == 0
    assert lived.count(as_of=dt.datetime.now(dt.timezone.utc).date()) == 3


def test_versions_by_number_in_ranges(lived: hoodoo.Table) -> None:
    first, second, _third = (instant.requested for instant in lived.timeline().writes())
    for since, until in ((1, 2), ("1", "2"), (-3, -2)):
        for rows in (lived.incremental, lived.changes):
            assert rows(since, until).to_arrow().equals(rows(first, second).to_arrow())
    assert lived.changes(0).to_arrow().equals(lived.changes("earliest").to_arrow())
    lived.tag("one", 1)
    assert lived.tags() == {"one": first}
    assert lived.incremental("one").count() == lived.incremental(first).count()
    with pytest.raises(ConfigError, match="version 9: is no number of a commit"):
        lived.incremental(9)
    with pytest.raises(ConfigError, match="neither instant nor date nor tag"):
        lived.changes("two")


ELSEWHERE = [
    (lambda table: table.to_pyarrow_table(), r"Fix: table\.to_arrow\(\)"),
    (lambda table: table.load_as_version(1), r"Fix: table\.read\(as_of=1\)"),
    (lambda table: table.branch("dev"), r"Fix: table\.clone\(path\)"),
    (lambda table: table.read().to_table(), r"Fix: scan\.to_arrow\(\)"),
    (lambda table: table.changes(0).filter("x"), r"Fix: table\.read\("),
    (lambda table: hoodoo.DeltaTable(table.path), r"Fix: hoodoo\.open\(path\)"),  # type: ignore[attr-defined]
    (lambda table: hoodoo.catalog(table.path + "-lake").load_table("t"), r"Fix: catalog\.open"),
    (lambda table: table.read(filters="id > 1"), "Did you mean 'where'"),
    (lambda table: table.merge([], predicate="id"), "Did you mean 'on'"),
    (lambda table: table.update(new_values={"fare": "1"}), "Did you mean 'set'"),
    (lambda table: table.upsert([], schema_mode="merge"), "Did you mean 'add_columns'"),
    (
        lambda table: hoodoo.write(table.path, RIDES, mode="overwrite"),
        r"insert_overwrite_table\(rows\)",
    ),
    (lambda table: hoodoo.catalog("nessie://main"), "neither a catalog nor a storage.*publish"),
]


@pytest.mark.parametrize(("call", "says"), ELSEWHERE)
def test_names_of_other_libraries(tmp_path: Path, call: Any, says: str) -> None:
    table = hoodoo.create(tmp_path / "t", RIDES, record_key="id")
    with pytest.raises((AttributeError, CallError, ConfigError), match=says):
        call(table)
    assert len(table.timeline().writes()) == 1


@pytest.mark.sampled(1)
@pytest.mark.parametrize("point", [2, "2", "two"])
def test_restore_to_a_number_or_a_tag(tmp_path: Path, kind: dict[str, Any], point: Any) -> None:
    table = hoodoo.create(str(tmp_path / "t"), RIDES, **kind)
    for fare in (1.0, 2.0):
        table.upsert([{"id": 1, "city": "oslo", "fare": fare}])
    table.tag("two", 2)
    rows = in_order(table.to_arrow(as_of=2))
    assert table.check_restore(point) == (table.timeline().writes()[-1].requested,)
    assert len(table.restore(point).undone) == 1
    assert in_order(table.to_arrow()) == rows
    with pytest.raises(ConfigError, match="neither instant nor date"):
        table.restore("three")


@pytest.mark.sampled(1)
def test_rollback_of_a_number(tmp_path: Path) -> None:
    table = hoodoo.create(str(tmp_path / "t"), [{"id": 1}], record_key="id")
    table.upsert([{"id": 2}])
    with pytest.raises(ConfigError, match="commit"):
        table.rollback(1)  # the newest one first
    table.check_rollback(-1)
    table.check_rollback("-1")
    assert table.rollback("2").instant
    assert table.to_arrow().column("id").to_pylist() == [1]
    with pytest.raises(ConfigError, match="number of a commit"):
        table.rollback(2)
    with pytest.raises(ConfigError, match="neither instant nor date"):
        table.rollback("three")


@pytest.mark.parametrize("number", [4, -4, 999, 20240101000000000])
def test_numbers_that_no_commit_has(lived: hoodoo.Table, number: int) -> None:
    with pytest.raises(ConfigError, match=r"the table has 3.*-1 \(the newest\)"):
        lived.read(as_of=number)


def test_what_is_no_number_of_a_commit(lived: hoodoo.Table) -> None:
    for wrong in (True, "1.5", "--1", "2024", "01", "20240418"):
        with pytest.raises(ConfigError):
            lived.read(as_of=wrong)
    with pytest.raises(CallError):
        lived.read(as_of=1.5)  # type: ignore[arg-type]


def test_numbers_count_archived_commits(tmp_path: Path, kind: dict[str, Any]) -> None:
    keep = {
        "hoodie.keep.min.commits": 4,
        "hoodie.keep.max.commits": 5,
        "hoodie.clean.commits.retained": 2,
    }
    options = {**keep, "hoodie.archive.automatic": "false", "hoodie.clean.automatic": "false"}
    made = hoodoo.create(tmp_path / "t", "id bigint", options=options, **kind)
    instants = [made.upsert([{"id": number}]).instant for number in range(1, 13)]
    made.clean()
    made.archive()
    active = [instant.requested for instant in made.timeline().writes()]
    assert 0 < len(active) < 12
    assert made.count(as_of=12) == made.count(as_of=-1) == 12
    assert made.count(as_of=11) == made.count(as_of=instants[10]) == 11
    with pytest.raises(ConfigError, match="older instants are archived|has deleted it"):
        made.read(as_of=1)
    with pytest.raises(ConfigError, match="the table has 12"):
        made.read(as_of=13)
    writes = [entry for entry in made.history() if entry["version"]]
    assert [entry["instant"] for entry in writes] == instants[::-1]
    assert [entry["version"] for entry in writes] == list(range(12, 0, -1))


def test_history(lived: hoodoo.Table) -> None:
    lived.savepoint()
    assert "savepoint" in [entry["operation"] for entry in lived.history()]
    writes = [entry for entry in lived.history() if entry["version"]]
    assert [entry["version"] for entry in writes] == [3, 2, 1]
    assert [entry["operation"] for entry in writes] == ["delete", "upsert", "upsert"]
    assert [entry["inserted"] for entry in writes] == [0, 1, 3]
    assert all(entry["timestamp"].tzinfo is not None for entry in writes)
    assert [lived.count(as_of=entry["version"]) for entry in writes] == [3, 4, 3]
    assert lived.history(1) == lived.history()[:1]
    assert pa.Table.from_pylist(lived.history()).num_rows == 4


# --- services by other names ------------------------------------------------------------------------
def test_optimize_compacts_and_clusters(tmp_path: Path, kind: dict[str, Any]) -> None:
    options = {"hoodie.parquet.small.file.limit": 0}
    made = hoodoo.create(tmp_path / "t", RIDES, options=options, **kind)
    made.insert([{"id": 5, "city": "ulm", "fare": 5.0}])
    made.upsert([{"id": 1, "city": "bern", "fare": 0.5}])
    before = in_order(made.to_arrow())
    done = made.optimize(columns="fare", target_file_size=1 << 20)
    assert all(commit.instant for commit in done) and done
    assert in_order(made.to_arrow()) == before
    assert len(made.file_slices()) == 1
    assert not any(slice_.log_files for slice_ in made.file_slices())
    assert made.optimize(columns="fare", target_file_size=1 << 20) == ()


def test_vacuum_cleans(tmp_path: Path, kind: dict[str, Any]) -> None:
    options = {"hoodie.clean.automatic": "false", "hoodie.clean.commits.retained": 1}
    made, other = (
        hoodoo.create(tmp_path / name, RIDES, options=options, **kind) for name in ("a", "b")
    )
    for table in (made, other):
        for _ in range(4):
            table.insert_overwrite_table(RIDES)
    assert made.vacuum(retention_hours=1).files == ()
    assert len(made.vacuum().files) == len(other.clean().files) > 0
    assert in_order(made.to_arrow()) == RIDES.to_pylist()


@pytest.mark.parametrize(
    ("name", "fix"),
    [
        ("z_order", "table.cluster("), ("refs", "table.tags()"), ("upsrt", "Fix: upsert."),
        ("scan_polars", "hoodoo.scan_polars(table)"), ("version", 'if one["version"]'),
    ],
)  # fmt: skip
def test_a_name_leads_on(tmp_path: Path, name: str, fix: str) -> None:
    table = hoodoo.create(tmp_path / "t", [{"id": 1}], record_key="id")
    with pytest.raises(AttributeError, match=re.escape(fix)):
        getattr(table, name)


def test_a_name_of_a_read_leads_on(tmp_path: Path) -> None:
    table = hoodoo.create(tmp_path / "t", [{"id": 1}], record_key="id")
    with pytest.raises(AttributeError, match=r"Fix: count\."):
        _ = table.read().cuont
    with pytest.raises(AttributeError, match=r"Fix: head\(10\)"):
        _ = hoodoo.session(tables={"t": table}).sql("SELECT id FROM t").show
    table.tag("eom-11")
    with pytest.raises(ConfigError, match=r"Did you mean 'eom-11'\?"):
        table.read(as_of="eom-12")


def test_builders_of_delta_lake_lead_on(tmp_path: Path) -> None:
    made = hoodoo.create(tmp_path / "t", RIDES, record_key="id")
    theirs = [
        (lambda: made.optimize.compact(), r"Fix: table\.optimize\(\)\."),
        (lambda: made.optimize.z_order(["city"]), r"Fix: table\.cluster\(order=\"zorder\""),
        (lambda: made.optimize().executeCompaction(), r"Fix: table\.optimize\(\)\."),
        (lambda: made.optimize().where("x"), r"Fix: table\.cluster\(partitions="),
        (lambda: made.alter.add_columns([]), r"Fix: table\.alter\(add="),
        (lambda: made.alter.add_constraint({}), r"Fix: "),
    ]
    for call, said in theirs:
        with pytest.raises(AttributeError, match=said):
            call()  # type: ignore[no-untyped-call]
    assert made.optimize() == ()
