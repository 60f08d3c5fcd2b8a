"""The data source without a JVM: what Spark's workers call, with the pickles between (as_spark.py)."""

from __future__ import annotations

import datetime as dt
import json
import math
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.errors import (
    ConfigError,
    DataError,
    DuplicateKeyError,
    NotATableError,
    NullKeyError,
    OptionConflictError,
    SchemaError,
    StorageError,
)
from hoodoo.model.meta import META_COLUMNS
from hoodoo_rows.testing.tables import Maker

pytest.importorskip("pyspark.sql.datasource")

from as_spark import Query, read, source, write
from hoodoo_spark.datasource.options import BATCH, STREAM, Wanted

pytestmark = pytest.mark.sampled(4)

ROWS = pa.schema(
    [("id", pa.int64()), ("city", pa.string()), ("fare", pa.float64()), ("ts", pa.int64())]
)
KEYS = {
    "hoodie.table.name": "trips",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "city",
    "hoodie.datasource.write.precombine.field": "ts",
}

rows = Maker(ROWS, "fare", "ts", city=("c0", "c1", "c2"), fare=1.0, ts=1)


def made(path: Path, kind: str = "COPY_ON_WRITE", version: int = 9, **options: str) -> hoodoo.Table:
    return hoodoo.create(
        str(path), ROWS, record_key="id", partition_by="city", ordering="ts", table_type=kind,
        table_version=version, options=options,
    )  # fmt: skip


def ids(table: pa.Table | None) -> list[int]:
    return [] if table is None or not table.num_rows else sorted(table["id"].to_pylist())


@pytest.mark.parametrize(
    "option",
    [
        "as_of",
        "columns",
        "mode",
        "begin",
        "end",
        "meta",
        "tasks",
        "pushdown",
        "maxFilesPerTrigger",
        "as.of.instant",
        "hoodie.datasource.query.type",
        "hoodie.datasource.read.begin.instanttime",
    ],
)
def test_options_of_reads_are_not_passed_over_by_a_write(option: str, tmp_path: Path) -> None:
    made(tmp_path / "t").upsert(rows(range(3)))
    options = {"path": str(tmp_path / "t"), option: "1"}
    with pytest.raises(ConfigError, match=f"(?i)option {option}='1': is one of reads"):
        write(options, [rows([7])])
    with pytest.raises(ConfigError, match=f"(?i)option {option}='1': is one of reads"):
        source(options).streamWriter(source({"path": str(tmp_path / "t")}).schema(), False)
    assert hoodoo.open(str(tmp_path / "t")).read().count() == 3


@pytest.mark.parametrize(
    ("option", "of"),
    [
        ("operation", "writes"),
        ("hoodie.datasource.write.operation", "writes"),
        ("maxFilesPerTrigger", "streams"),
    ],
)
def test_options_of_writes_and_streams_are_not_passed_over_by_a_read(
    option: str, of: str, tmp_path: Path
) -> None:
    made(tmp_path / "t").upsert(rows(range(3)))
    options = {"path": str(tmp_path / "t"), option: "1"}
    with pytest.raises(ConfigError, match=f"(?i)option {option}='1': is one of {of}"):
        read(options)
    if of == "writes":
        with pytest.raises(ConfigError, match=f"(?i)option {option}='1': is one of {of}"):
            Query(options)


def test_meta_columns_of_virtual_keys_are_null(tmp_path: Path) -> None:
    """All five are there, as where keys are stored: a job that names one goes on."""
    table = made(tmp_path / "t", **{"hoodie.populate.meta.fields": "false"})
    table.upsert(rows(range(3)))
    for options in ({"meta": "true"}, {"columns": "_hoodie_record_key,id"}):
        found = read({"path": table.path, **options})
        assert found["_hoodie_record_key"].null_count == 3 and ids(found) == [0, 1, 2]
    assert read({"path": table.path, "meta": "true"}).schema.names[-5:] == list(META_COLUMNS)


def test_options_of_stores_are_those_of_open() -> None:
    given = {
        "aws_access_key_id": "a", "aws_secret_access_key": "b", "region": "eu-west-1", "endpoint": "http://here:1",
        "fs.s3a.path.style.access": "true", "google_service_account": "f", "azure_storage_account_key": "k",
    }  # fmt: skip
    assert Wanted.of({"path": "s3://b/t", **given}).hoodie == given


def test_an_error_of_a_store_says_where_its_credentials_have_to_be(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    closed = {"aws_access_key_id": "a", "aws_secret_access_key": "b", "endpoint": "http://127.0.0.1:9", "hoodoo.cloud.timeout": "1"}  # fmt: skip
    options = {"path": "s3://b/t", "region": "us-east-1", **closed}
    with pytest.raises(StorageError, match="repeat them as options"):
        read(options)
    with pytest.raises(StorageError, match="repeat them as options"):
        write(options, [rows([1])])


def test_columns_that_spark_has_added_to_its_catalog_alone(tmp_path: Path) -> None:
    """ALTER TABLE succeeds in Spark, and no source hears of it: the next read or write says what to do."""
    table = made(tmp_path / "t")
    table.upsert(rows(range(3)))
    options = {"path": table.path, "provider": "hoodoo"}
    struct = source(options).schema().add("w", "double")
    with pytest.raises(
        SchemaError, match="w; the table has id.*ALTER TABLE changes the entry alone.*table.alter"
    ):
        read(options, struct)
    more = rows([7]).append_column("w", pa.array([1.0]))
    with pytest.raises(SchemaError, match="has columns that the table has not: w"):
        write(options, [more])
    assert table.timeline().writes()[-1].requested and hoodoo.open(table.path).read().count() == 3
    table.alter(add={"w": "double"})  # the way out
    write(options, [more])
    assert ids(read(options, struct)) == [0, 1, 2, 7]


def of_catalog(table: hoodoo.Table) -> tuple[dict[str, str], Any]:
    """What Spark hands on of a table of its catalog: no options, and the columns that it noted."""
    struct = source({"path": table.path, "provider": "hoodoo"}).schema()
    for one in struct.fields:
        one.metadata.pop("__CHAR_VARCHAR_TYPE_STRING", None)
    return {}, struct


def test_columns_that_spark_has_dropped_from_its_catalog_alone(tmp_path: Path) -> None:
    """Rows without them were read, and written: the table's values were null then."""
    table = made(tmp_path / "t")
    table.upsert(rows(range(3)))
    options, struct = of_catalog(table)
    assert ids(read(options, struct)) == [0, 1, 2]
    less = type(struct)([one for one in struct.fields if one.name != "fare"])
    said = r"lacks columns that the table has: fare.*the entry alone.*table\.alter\(drop=\['fare'\]"
    with pytest.raises(SchemaError, match=said):
        read(options, less)
    with pytest.raises(SchemaError, match=said):
        source(options).writer(less, False)
    table.alter(add={"tip": "double"})  # a column that the table got since is no matter
    assert ids(read(options, struct)) == [0, 1, 2]
    table.alter(drop="fare")  # the way out
    assert ids(read(options, less)) == [0, 1, 2]


def test_a_type_that_spark_has_changed_in_its_catalog_alone(tmp_path: Path) -> None:
    rows = pa.table(
        {"id": pa.array([1], pa.int64()), "city": ["c"], "n": pa.array([1], pa.int32())}
    )
    table = hoodoo.create(str(tmp_path / "t"), rows.schema, record_key="id")
    table.upsert(rows)
    options, struct = of_catalog(table)
    wide = json.loads(struct.json().replace('"integer"', '"long"'))
    wide = type(struct).fromJson(wide)
    said = "has column n as bigint, and the table as int.*the entry alone.*widen"
    with pytest.raises(SchemaError, match=said):
        read(options, wide)
    with pytest.raises(SchemaError, match=said):
        source(options).writer(wide, False)
    table.alter(widen={"n": "bigint"})  # the way out
    assert ids(read(options, wide)) == [1]
    source(options).writer(struct, False)  # narrower rows are welcome
    with pytest.raises(SchemaError, match="n int: was asked for.*has it as bigint.*entry anew"):
        read(options, struct)


def test_no_entry_of_the_catalog_is_made_with_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """saveAsTable wrote the rows, and its name was one of no table, or of the one that was read."""
    of_task: dict[str, str] = {}

    class Context:
        def getLocalProperty(self, name: str) -> str | None:
            return of_task.get(name)

    monkeypatch.setattr("pyspark.TaskContext.get", Context)
    path = {"path": str(tmp_path / "t"), **KEYS}
    of_task |= {"spark.sql.execution.id": "3", "spark.sql.execution.root.id": "2"}
    with pytest.raises(
        ConfigError,
        match=r"comes with rows.*\.save\('.*t'\).*CREATE TABLE.*hoodoo\.session\(spark\)",
    ):
        write(path, [rows([1])])
    assert not (tmp_path / "t").exists()
    of_task["spark.sql.execution.root.id"] = "3"
    write(path, [rows([2])])
    of_task |= {"spark.sql.execution.root.id": "1", "sql.streaming.queryId": "of foreachBatch"}
    write(path, [rows([3])])
    assert ids(read(path)) == [2, 3]


# --- options --------------------------------------------------------------------------------------
def test_hudis_names_say_the_same() -> None:
    own = Wanted.of({"path": "t", "begin": "20200101000000000", "end": "20210101000000000"})
    hudi = {
        "path": "t",
        "hoodie.datasource.query.type": "incremental",
        "hoodie.datasource.read.begin.instanttime": "20200101000000000",
        "hoodie.datasource.read.end.instanttime": "20210101000000000",
    }
    assert Wanted.of(hudi) == own and own.mode == "incremental"
    cdc = Wanted.of({**hudi, "hoodie.datasource.query.incremental.format": "cdc"})
    assert cdc.mode == "changes"
    assert Wanted.of({"path": "t", "AS.OF.INSTANT": "20200101"}).as_of == "20200101"
    moment = Wanted.of({"path": "t", "as.of.instant": "2021-07-28 14:11:08"}).as_of
    assert moment == dt.datetime(2021, 7, 28, 14, 11, 8).astimezone()
    assert (
        Wanted.of({**hudi, "hoodie.datasource.read.begin.instanttime": "000"}).begin == "earliest"
    )
    assert Wanted.of({"path": "t", "as.of.instant": "000"}).as_of == "000"
    stream = Wanted.of({"path": "t", "hoodie.datasource.streaming.startOffset": "latest"}, STREAM)
    assert (stream.begin, stream.mode) == ("latest", "incremental")
    tables = Wanted.of({"path": "t", "primaryKey": "id", "type": "mor"}).hoodie
    assert tables == {
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.table.type": "MERGE_ON_READ",
    }
    catalog = Wanted.of({"path": "t", "provider": "hoodoo", "numFiles": "3"})
    assert catalog == Wanted.of({"path": "t"})  # what the catalog itself notes of a table
    assert Wanted.of({"path": "t", "hoodie.datasource.view.type": "realtime"}) == Wanted.of(
        {"path": "t"}
    )
    same = {"path": "t", "hoodie.datasource.read.incr.path.glob": ""}
    assert Wanted.of({**same, "hoodie.datasource.merge.type": "PAYLOAD_COMBINE"}).path == "t"
    mixed = Wanted.of({"path": "t", "HOODIE.fileindex.dataSkippingFailureMode": "x"}).hoodie
    assert mixed == {"hoodie.fileIndex.dataSkippingFailureMode": "x"}  # Spark lowers what it knows


@pytest.mark.parametrize(
    ("options", "use", "said"),
    [
        ({}, BATCH, "no path"),
        ({"path": "t", "as_off": "1"}, BATCH, "Did you mean as_of"),
        ({"path": "t", "mode": "fast"}, BATCH, "one of snapshot"),
        ({"path": "t", "mode": "incremental"}, BATCH, "where it begins"),
        ({"path": "t", "tasks": "0"}, BATCH, "tasks"),
        ({"path": "t", "meta": "perhaps"}, BATCH, "meta"),
        ({"path": "t", "mode": "snapshot", "begin": "1"}, BATCH, "begin and end"),
        ({"path": "t", "begin": "1", "as_of": "2"}, BATCH, "one state"),
        ({"path": "t", "as_of": "1", "as.of.instant": "2"}, BATCH, "something else"),
        ({"path": "t", "mode": "read_optimized"}, STREAM, "a stream"),
        ({"path": "t", "hoodie.datasource.query.incremental.format": "x"}, BATCH, "cdc"),
        ({"path": "t", "hoodie.datasource.overwrite.mode": "x"}, BATCH, "static, dynamic"),
        # What says which rows come or go, in other formats and in Spark Hudi.
        ({"path": "t", "versionAsOf": "3"}, BATCH, 'another format.*"as_of"'),
        ({"path": "t", "endingVersion": "3"}, BATCH, 'option."end"'),
        ({"path": "t", "replaceWhere": "id = 1"}, BATCH, "insert_overwrite"),
        ({"path": "t", "ignoreChanges": "true"}, STREAM, "after updates and deletes"),
        ({"path": "t", "hoodie.datasource.read.incr.path.glob": "c1/*"}, BATCH, "filter the Data"),
        ({"path": "t", "hoodie.datasource.read.paths": "u,v"}, BATCH, "by its path"),
        ({"path": "t", "hoodie.datasource.merge.type": "skip_merge"}, BATCH, "always merged"),
    ],
)
def test_bad_options(options: dict[str, str], use: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        Wanted.of(options, use)


def test_several_paths() -> None:
    from hoodoo_spark.types import spark_schema

    with pytest.raises(ConfigError, match=r"/data/b.*several tables.*unionByName"):
        source({"paths": '["/data/a","/data/b"]'}).reader(spark_schema(ROWS))
    with pytest.raises(ConfigError, match="several tables"):
        source({"paths": '["/data/a","/data/b"]'}).schema()


# --- batch reads ----------------------------------------------------------------------------------
def test_reads(tmp_path: Path) -> None:
    table = made(tmp_path / "t", "MERGE_ON_READ")
    first = table.upsert(rows(range(30)))
    table.upsert(rows(range(10), fare=2.0, ts=2))
    path = {"path": str(tmp_path / "t")}
    whole = read(path)
    assert whole.column_names == ROWS.names and ids(whole) == list(range(30))
    assert sum(fare == 2.0 for fare in whole["fare"].to_pylist()) == 10
    assert set(read({**path, "as_of": first.instant})["fare"].to_pylist()) == {1.0}
    assert set(read({**path, "mode": "read_optimized"})["fare"].to_pylist()) == {1.0}
    assert ids(read({**path, "begin": first.instant})) == list(range(10))
    changed = read({**path, "mode": "changes", "begin": first.instant})
    assert changed["op"].to_pylist() == ["update"] * 10
    meta = read({**path, "meta": "true"})
    assert meta.column_names[:4] == ROWS.names and "_hoodie_record_key" in meta.column_names
    assert read({**path, "columns": "fare, id"}).column_names == ["fare", "id"]
    assert read({**path, "tasks": "1"}).num_rows == 30
    with pytest.raises(ConfigError, match="not in"):
        read({**path, "columns": "fares"})
    with pytest.raises(NotATableError):
        read({"path": str(tmp_path / "nowhere")})


def test_an_end_without_a_beginning(tmp_path: Path) -> None:
    first = made(tmp_path / "t").upsert(rows(range(5)))
    path = {"path": str(tmp_path / "t"), "hoodie.datasource.read.end.instanttime": first.instant}
    with pytest.raises(ConfigError, match="where it begins"):
        read(path)
    assert read({"path": str(tmp_path / "t"), "as.of.instant": "000"}).num_rows == 0


def test_a_schema_of_the_reader_leaves_columns_out_and_never_casts(tmp_path: Path) -> None:
    from pyspark.sql.types import IntegerType, LongType, StructType

    made(tmp_path / "t").upsert(rows(range(5)))
    path = {"path": str(tmp_path / "t")}
    found = read(path, StructType().add("ts", LongType()).add("id", LongType()))
    assert found.column_names == ["ts", "id"] and found.num_rows == 5
    with pytest.raises(SchemaError, match="has it as bigint"):
        read(path, StructType().add("id", IntegerType()))
    with pytest.raises(SchemaError, match="fares"):
        read(path, StructType().add("fares", LongType()))


def test_a_large_read_says_what_reads_it_faster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from hoodoo_spark.datasource import read as reads

    made(tmp_path / "t").upsert(rows(range(5)))
    assert read({"path": str(tmp_path / "t")}).num_rows == 5 and "large_read" not in caplog.text
    monkeypatch.setattr(reads, "LARGE_BYTES", 1)
    assert read({"path": str(tmp_path / "t")}).num_rows == 5
    assert "large_read" in caplog.text and "hoodoo.session(spark).sql" in caplog.text


def test_a_table_without_rows_is_read(tmp_path: Path) -> None:
    made(tmp_path / "t")
    assert read({"path": str(tmp_path / "t")}).num_rows == 0


def test_filters_leave_files_out(tmp_path: Path) -> None:
    from pyspark.sql.datasource import EqualTo

    made(tmp_path / "t").upsert(rows(range(30)))
    path = {"path": str(tmp_path / "t"), "pushdown": "true"}
    reader = source({**path, "tasks": "3"})
    reader = reader.reader(reader.schema())
    reader.pushFilters([EqualTo(("city",), "c1")])
    assert len(reader.partitions()) == 1
    assert ids(read(path, pushed=[EqualTo(("id",), 4)])) == [4]
    # Spark may use what is planned for another query of the DataFrame, so that it has to be asked for.
    assert read({**path, "pushdown": "false"}, pushed=[EqualTo(("id",), 4)]).num_rows == 30


def test_spark_does_not_see_that_filters_are_taken(tmp_path: Path) -> None:
    """It refuses readers that override the method where the session has not allowed it."""
    from pyspark.sql.datasource import DataSourceReader

    made(tmp_path / "t")
    found = source({"path": str(tmp_path / "t")})
    reader = found.reader(found.schema())
    method = getattr(DataSourceReader, "pushFilters", None)
    assert getattr(reader.pushFilters, "__func__", None) is method


# A model of what Spark's filters say of one value: True, False or None.
def _asked(one: Any, row: dict[str, Any]) -> bool | None:
    kind = type(one).__name__
    if kind == "Not":
        inner = _asked(one.child, row)
        return None if inner is None else not inner
    value = row[one.attribute[0]]
    if kind == "IsNull":
        return value is None
    if kind == "IsNotNull":
        return value is not None
    if kind == "EqualNullSafe":
        return (value is None) == (one.value is None) and (
            value is None or _key(value) == _key(one.value)
        )
    if value is None:
        return None
    if kind == "In":
        if any(v is not None and _key(v) == _key(value) for v in one.value):
            return True
        return None if None in one.value else False
    if one.value is None:
        return None
    if kind == "StringStartsWith":
        return str(value).startswith(one.value)
    if kind == "StringEndsWith":
        return str(value).endswith(one.value)
    if kind == "StringContains":
        return one.value in str(value)
    a, b = _key(value), _key(one.value)
    return {
        "EqualTo": a == b,
        "GreaterThan": a > b,
        "GreaterThanOrEqual": a >= b,
        "LessThan": a < b,
        "LessThanOrEqual": a <= b,
    }[kind]


def _key(value: Any) -> Any:
    """NaN is equal to itself, and above all numbers."""
    if isinstance(value, float):
        return (math.isnan(value), 0.0 if math.isnan(value) else value)
    return value


UTC = dt.timezone.utc
VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "whole": (pa.int32(), [None, -5, 0, 3, 7]),
    "real": (pa.float64(), [None, -1.5, -0.0, 0.0, 2.5, math.nan, math.inf]),
    "text": (pa.string(), [None, "", "a", "ab", "b", "\u00e9"]),
    "flag": (pa.bool_(), [None, True, False]),
    "day": (pa.date32(), [None, dt.date(1960, 1, 2), dt.date(2024, 2, 29)]),
    "moment": (
        pa.timestamp("us", "UTC"),
        [None, dt.datetime(1969, 12, 31, 23, tzinfo=UTC), dt.datetime(2024, 1, 1, tzinfo=UTC)],
    ),
    "price": (pa.decimal128(9, 2), [None, Decimal("-1.25"), Decimal("0.00"), Decimal("10.10")]),
}


def test_random_filters_never_lose_a_row(tmp_path: Path) -> None:
    import pyspark.sql.datasource as api

    if not hasattr(api, "EqualTo"):
        pytest.skip("this PySpark hands no filters down")
    chance = random.Random(18)
    schema = pa.schema([("id", pa.int64()), *((name, kind) for name, (kind, _) in VALUES.items())])
    data = [
        {"id": n, **{name: chance.choice(values) for name, (_, values) in VALUES.items()}}
        for n in range(120)
    ]
    table = hoodoo.create(str(tmp_path / "t"), schema, record_key="id")
    for start in range(0, 120, 40):
        table.append(pa.Table.from_pylist(data[start : start + 40], schema))
    path = {"path": str(tmp_path / "t"), "pushdown": "true"}
    binary = [
        api.EqualTo, api.EqualNullSafe, api.GreaterThan, api.GreaterThanOrEqual, api.LessThan, api.LessThanOrEqual
    ]  # fmt: skip
    fewer = 0

    def drawn() -> Any:
        name = chance.choice(list(VALUES))
        values = VALUES[name][1]
        kind = chance.choice([*binary, api.In, api.IsNull, api.IsNotNull, "text"])
        if kind is api.In:
            one = api.In((name,), tuple(chance.sample(values, 2)))
        elif kind in (api.IsNull, api.IsNotNull):
            one = kind((name,))
        elif kind == "text":
            part = chance.choice([api.StringStartsWith, api.StringEndsWith, api.StringContains])
            one = part(("text",), chance.choice(["a", "", "b"]))
        else:
            one = kind((name,), chance.choice(values))
        return api.Not(one) if chance.random() < 0.3 else one

    for _ in range(150):
        pushed = [drawn() for _ in range(chance.choice([1, 1, 2]))]
        found = read(path, pushed=pushed)["id"].to_pylist()
        expected = {row["id"] for row in data if all(_asked(one, row) is True for one in pushed)}
        assert expected <= set(found), pushed
        assert len(found) == len(set(found))
        fewer += len(found) < 120
    assert fewer > 75  # it does leave rows out


# --- batch writes ---------------------------------------------------------------------------------
def test_writes(tmp_path: Path) -> None:
    path = {"path": str(tmp_path / "t")}
    write({**path, **KEYS}, [rows(range(10)), rows([]), rows(range(10, 30))])
    table = hoodoo.open(str(tmp_path / "t"))
    assert table.config.record_key_fields == ("id",) and table.config.ordering_fields == ("ts",)
    assert len(table.timeline().writes()) == 1 and table.read().count() == 30

    def left() -> list[str]:
        return [p.name for p in (tmp_path / "t/.hoodie/.temp").glob("hoodoo-rows-*")]

    def state() -> dict[int, float]:
        found = table.read().to_arrow()
        return dict(zip(found["id"].to_pylist(), found["fare"].to_pylist(), strict=True))

    write(path, [rows(range(5), fare=2.0, ts=2)])  # an upsert, as in Spark Hudi
    assert state()[4] == 2.0 and len(state()) == 30
    write({**path, "operation": "delete"}, [rows(range(5))])
    assert len(state()) == 25
    write({**path, "hoodie.datasource.write.operation": "bulk_insert"}, [rows([100])])
    write({**path, "operation": "insert_overwrite"}, [rows([1])])  # of its partition path alone
    assert ids(table.read().to_arrow()) == [1, *(i for i in range(5, 30) if i % 3 != 1)]
    write({**path, "operation": "upsert"}, [rows([7])], overwrite=True)
    assert state() == {7: 1.0}
    assert not left()
    write(path, [rows([8]), rows([9])], fails=True)
    assert state() == {7: 1.0} and not left()
    with pytest.raises(DataError, match=r"table.upsert\(df\)"):
        write({**path, "hoodoo.spark.commit.bytes": "1KB"}, [rows(range(500))])
    write(
        {**path, "hoodoo.spark.commit.bytes": "1KB", "operation": "append"},
        [rows(range(1000, 1500))],
    )
    assert len(state()) == 501 and not left()
    for options, overwrite in (({"operation": "destroy"}, False), ({"operation": "delete"}, True)):
        with pytest.raises(ConfigError, match="operation"):
            write({**path, **options}, [rows([1])], overwrite)


def test_what_is_overwritten(tmp_path: Path) -> None:
    path = {"path": str(tmp_path / "t"), **KEYS}
    write(path, [rows(range(6))])
    dynamic = {**path, "hoodie.datasource.overwrite.mode": "DYNAMIC"}
    write(dynamic, [rows([31])], overwrite=True)  # of the partition path c1
    assert ids(read(path)) == [0, 2, 3, 5, 31]
    write({**dynamic, "operation": "insert_overwrite_table"}, [rows([1, 2])], overwrite=True)
    assert ids(read(path)) == [1, 2]
    write({**path, "hoodie.datasource.overwrite.mode": "static"}, [rows([4])], overwrite=True)
    assert ids(read(path)) == [4]
    dropping = {**path, "operation": "delete_partition"}
    with pytest.raises(ConfigError, match=r"table\.delete_partitions"):
        write(dropping, [rows([4])])


def test_a_session_that_overwrites_partition_paths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``spark.sql.sources.partitionOverwriteMode``, which tasks know: it spares the other partition paths, as it does
    for Parquet and Delta. Options of the write come first."""

    class Context:
        def getLocalProperty(self, name: str) -> str | None:
            return "Dynamic" if name == "spark.sql.sources.partitionOverwriteMode" else None

    path = {"path": str(tmp_path / "t"), **KEYS}
    write(path, [rows(range(6))])
    monkeypatch.setattr("pyspark.TaskContext.get", Context)
    write(path, [rows([31]), rows([])], overwrite=True)  # of the partition path c1
    assert ids(read(path)) == [0, 2, 3, 5, 31]
    write(path, [rows([])], overwrite=True)
    assert ids(read(path)) == [0, 2, 3, 5, 31]
    write(path, [rows([8])])
    assert ids(read(path)) == [0, 2, 3, 5, 8, 31]
    write({**path, "hoodie.datasource.overwrite.mode": "static"}, [rows([4])], overwrite=True)
    assert ids(read(path)) == [4]
    write({**path, "operation": "insert_overwrite_table"}, [rows([5])], overwrite=True)
    assert ids(read(path)) == [5]
    flat = {"path": str(tmp_path / "flat"), "hoodie.table.name": "flat"}
    write(flat, [rows([1])])
    write(flat, [rows([])], overwrite=True)  # a table without partitions has no others to spare
    assert ids(read(flat)) == []


@pytest.mark.parametrize(
    "option",
    ["hoodie.datasource.write.insert.drop.duplicates=true", "hoodie.datasource.insert.dup.policy=drop"],
)  # fmt: skip
def test_what_an_insert_does_with_stored_keys_makes_an_insert_of_an_upsert(
    tmp_path: Path, option: str
) -> None:
    """As in Spark Hudi, whose default is upsert, too."""
    path = {"path": str(tmp_path / "t"), **KEYS}
    write(path, [rows([1, 2])])
    key, _, text = option.partition("=")
    for asked in ({}, {"operation": "upsert"}):
        write({**path, key: text, **asked}, [rows([2, 3], fare=9.0, ts=2)])
        found = read(path)
        fares = dict(zip(found["id"].to_pylist(), found["fare"].to_pylist(), strict=True))
        assert fares == {1: 1.0, 2: 1.0, 3: 9.0}
    write({**path, key: text}, [rows([7])], overwrite=True)
    assert ids(read(path)) == [7]
    with pytest.raises(DuplicateKeyError):
        write({**path, "hoodie.datasource.insert.dup.policy": "fail"}, [rows([7])])


def test_rows_read_with_meta_columns_are_written_without(tmp_path: Path) -> None:
    made(tmp_path / "t").upsert(rows(range(5)))
    found = read({"path": str(tmp_path / "t"), "meta": "true"})
    write({"path": str(tmp_path / "u"), **KEYS}, [found])
    assert hoodoo.open(str(tmp_path / "u")).read().count() == 5


@pytest.mark.parametrize("kind", ["merge_on_read", "Merge_On_Read"])
def test_a_job_gives_the_same_options_each_time(tmp_path: Path, kind: str) -> None:
    job = {"path": str(tmp_path / "t"), **KEYS, "hoodie.datasource.write.table.type": kind}
    write(job, [rows([1])])
    write(job, [rows([2])])
    assert ids(read(job)) == [1, 2]
    with pytest.raises(OptionConflictError, match="table.type"):
        write({**job, "hoodie.datasource.write.table.type": "copy_on_write"}, [rows([3])])


def test_rows_without_keys_are_inserted(tmp_path: Path) -> None:
    path = {"path": str(tmp_path / "t"), "hoodie.table.name": "t"}
    write(path, [rows([1])])
    write(path, [rows([1])])
    assert hoodoo.open(str(tmp_path / "t")).read().count() == 2


@pytest.mark.parametrize("how", ["bad rows", "too many", "abort", "bad table"])
def test_nothing_is_left_of_a_table_that_was_not_made(tmp_path: Path, how: str) -> None:
    path = {"path": str(tmp_path / "t"), **KEYS}
    if how == "abort":
        write(path, [rows([1])], fails=True)
    elif how == "bad rows":
        bad = rows([1]).set_column(0, "id", pa.array([None], pa.int64()))
        with pytest.raises(NullKeyError):
            write(path, [bad])
    elif how == "too many":
        with pytest.raises(DataError, match="more than"):
            write({**path, "hoodoo.spark.commit.bytes": "1KB"}, [rows(range(500))])
    else:
        with pytest.raises(hoodoo.errors.HoodooError):
            write({**path, "hoodie.datasource.write.recordkey.field": "nothing"}, [rows([1])])
    assert not (tmp_path / "t").exists() or not [*(tmp_path / "t").rglob("*")]


# --- streams out ----------------------------------------------------------------------------------
LIMITS: list[dict[str, str]] = [{}, {"maxFilesPerTrigger": "1"}, {"maxBytesPerTrigger": "1"}]
HISTORIES = [
    (v, k, n) for v in (6, 9) for k in ("COPY_ON_WRITE", "MERGE_ON_READ") for n in range(3)
]
USUAL = [
    (6, "COPY_ON_WRITE", 0),
    (6, "MERGE_ON_READ", 1),
    (9, "MERGE_ON_READ", 2),
    (9, "COPY_ON_WRITE", 1),
]


@pytest.mark.parametrize(
    ("version", "kind", "number"),
    [pytest.param(*one, marks=() if one in USUAL else pytest.mark.trial) for one in HISTORIES],
)
def test_a_stream_reads_each_commit_once_over_restarts(
    tmp_path: Path, version: int, kind: str, number: int
) -> None:
    table = made(tmp_path / "t", kind, version)
    options = {"path": str(tmp_path / "t"), **LIMITS[number]}
    chance = random.Random(version)
    state: dict[int, tuple[float, int]] = {}
    seen: dict[int, tuple[float, int]] = {}
    query = Query(options)
    assert query.batch() is None
    again: list[tuple[Any, Any, pa.Table]] = []
    for step in range(8):
        some = chance.sample(range(40), 6)
        table.upsert(rows(some, fare=float(step), ts=step))
        state.update({i: (float(step), step) for i in some})
        if step == 4 and kind == "MERGE_ON_READ":
            table.compact()
        if chance.random() < 0.4:
            continue
        if chance.random() < 0.5:
            query = Query(options, query.offset)  # after a restart
        before = query.offset
        while (found := query.batch()) is not None:
            for row in found.to_pylist():
                assert seen.get(row["id"], (0, -1))[1] <= row["ts"]
                seen[row["id"]] = (row["fare"], row["ts"])
            again.append((before, query.offset, found))
            before = query.offset
    while (found := query.batch()) is not None:
        seen.update({row["id"]: (row["fare"], row["ts"]) for row in found.to_pylist()})
    assert seen == state
    for start, end, found in again:  # a batch comes again alike
        twice = Query(options, start).between(start, end)
        assert sorted(map(str, twice.to_pylist())) == sorted(map(str, found.to_pylist()))


@pytest.mark.parametrize("again", [{}, {"maxFilesPerTrigger": "2"}])
def test_a_query_that_goes_on_with_another_limit_reads_what_came_after_the_state(
    tmp_path: Path, again: dict[str, str]
) -> None:
    """It has read a part of the state at its beginning; commits that are newer than that state come behind the rest."""
    table = made(tmp_path / "t")
    table.upsert(rows(range(9)))
    path = {"path": str(tmp_path / "t")}
    query = Query({**path, "maxFilesPerTrigger": "1"})
    seen = {row["id"]: row["fare"] for row in query.batch().to_pylist()}
    assert len(seen) == 3
    table.upsert(rows([4, 20], fare=3.0, ts=3))
    query = Query({**path, **again}, query.offset)
    while (found := query.batch()) is not None:
        seen.update({row["id"]: row["fare"] for row in found.to_pylist()})
    assert seen == {i: 3.0 if i in (4, 20) else 1.0 for i in (*range(9), 20)}


def test_a_state_that_was_restored_away_in_its_middle_is_not_read_on(tmp_path: Path) -> None:
    """Its files are counted, and they are others now: rows would be left out."""
    table = made(tmp_path / "t")
    table.upsert(rows(range(3)))
    kept = table.savepoint()
    table.upsert(rows(range(3, 9)))
    query = Query({"path": str(tmp_path / "t"), "maxFilesPerTrigger": "1"})
    query.batch()
    table.restore(kept)
    with pytest.raises(ConfigError, match="new checkpoint"):
        query.batch()
    assert ids(Query({"path": str(tmp_path / "t")}).batch()) == [0, 1, 2]


@pytest.mark.parametrize("mode", ["incremental", "changes"])
@pytest.mark.parametrize("limit", [{}, {"maxFilesPerTrigger": "1"}])
def test_a_stream_that_is_behind_passes_the_commit_that_adds_a_column(
    mode: str, limit: dict[str, str], tmp_path: Path
) -> None:
    """What was written before has nulls there; a batch that is repeated, too."""
    schema = pa.schema([("id", pa.int64()), ("v", pa.int32())])
    table = hoodoo.create(str(tmp_path / "t"), schema, record_key="id")
    table.upsert([{"id": 1, "v": 1}])
    options = {"path": table.path, "mode": mode, **limit}
    query = Query(options)
    query.batch()
    first = query.offset
    table.upsert([{"id": 2, "v": 2}])
    query.batch()
    second = query.offset
    table.alter(add={"w": "double"}, widen={"v": "bigint"})
    table.upsert([{"id": 3, "v": 3, "w": 3.0}])
    again = Query(options, second)  # started anew: it has the columns of now
    found = [*seen(again.between(first, second)), *seen(again.batch())]
    assert found == [{"id": 2, "v": 2, "w": None}, {"id": 3, "v": 3, "w": 3.0}]
    late = Query(options, first)
    found = [row for batch in iter(late.batch, None) for row in seen(batch)]
    assert found == [{"id": 2, "v": 2, "w": None}, {"id": 3, "v": 3, "w": 3.0}]
    with (
        pytest.raises(SchemaError, match="is bigint in the table.*Start the query again")
        if (mode == "incremental")
        else pytest.raises(SchemaError, match="bigint.*Start the query again")
    ):
        query.batch()  # one that runs has the types of before


def seen(batch: pa.Table | None) -> list[dict[str, Any]]:
    """The rows of a batch of a stream, after the change where it is of changes."""
    found = [] if batch is None else batch.to_pylist()
    rows = [row.get("after", row) for row in found]
    return sorted(({k: row[k] for k in ("id", "v", "w") if k in row} for row in rows), key=str)


@pytest.mark.parametrize("mode", ["incremental", "changes"])
def test_a_running_stream_goes_on_with_its_columns(mode: str, tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.int64()), ("v", pa.int64())])
    table = hoodoo.create(str(tmp_path / "t"), schema, record_key="id")
    table.upsert([{"id": 1, "v": 1}])
    query = Query({"path": table.path, "mode": mode})
    query.batch()
    table.alter(add={"w": "double"})
    table.upsert([{"id": 2, "v": 2, "w": 2.0}])
    assert seen(query.batch()) == [{"id": 2, "v": 2}]


def test_a_stream_asks_for_no_column_that_the_table_never_had(tmp_path: Path) -> None:
    from hoodoo_spark.types import spark_schema

    table = made(tmp_path / "t")
    table.upsert(rows(range(2)))
    asked = spark_schema(pa.schema([("id", pa.int64()), ("nowhere", pa.int64())]))
    reader = source({"path": table.path}).streamReader(asked)
    start = reader.initialOffset()
    with pytest.raises(SchemaError, match="nowhere"):
        reader.partitions(start, reader.latestOffset(start, reader.getDefaultReadLimit()))


@pytest.mark.parametrize("mode", ["incremental", "changes"])
@pytest.mark.parametrize("undo", ["restore", "rollback", "restore, old checkpoint"])
def test_a_stream_does_not_go_over_what_was_undone(mode: str, undo: str, tmp_path: Path) -> None:
    """It has delivered rows that are not in the table any more. The way that the message names leads out."""
    table = made(tmp_path / "t")
    table.upsert(rows(range(3)))
    point = table.savepoint()
    options = {"path": table.path, "mode": mode}
    fine = Query(options)
    fine.batch()
    table.upsert(rows(range(2, 9), ts=2))
    query = Query(options, fine.offset)
    query.batch()
    if "old" in undo:
        del query.offset["last"]
    written = table.timeline().writes()[-1].requested
    if undo == "rollback":
        table.rollback(written)
    else:
        table.restore(point)
    for _ in range(2):
        with pytest.raises(ConfigError, match=f"{undo[:7]}.* has undone {written}") as caught:
            query.batch()
        table.upsert(rows([77], ts=7))  # what comes later makes no difference
    if mode == "incremental":
        assert ids(Query({**options, "begin": "earliest"}).batch()) == [0, 1, 2, 77]
    begin = caught.value.fix.split('"begin", "')[1].split('"')[0]
    out = Query({**options, "begin": begin}).batch()
    assert {row["id"] for row in seen(out)} == {77}
    # Nothing that this one has delivered was undone.
    assert {row["id"] for row in seen(fine.batch())} == {77}


@pytest.mark.parametrize("key", ["versionAsOf", "replaceWhere", "startingVersion"])
def test_a_table_of_the_catalog_does_not_pass_over_options_of_other_formats(
    tmp_path: Path, key: str
) -> None:
    """CREATE TABLE ... USING hoodoo OPTIONS(versionAsOf '0')"""
    made(tmp_path / "t")
    options = {"path": str(tmp_path / "t"), "provider": "hoodoo"}
    Wanted.of({**options, "tag": "of a team", "anything": "else"}, BATCH)
    with pytest.raises(ConfigError, match=key.lower()):
        Wanted.of({**options, key: "0"}, BATCH)


def test_a_stream_has_no_end(tmp_path: Path) -> None:
    instant = made(tmp_path / "t").upsert(rows([0])).instant
    for name in ("end", "hoodie.datasource.read.end.instanttime"):
        for more in ({}, {"mode": "changes"}):
            options = {"path": str(tmp_path / "t"), name: instant, **more}
            with pytest.raises(OptionConflictError, match="a stream has no end"):
                Wanted.of(options, STREAM)


def test_changes_as_a_stream(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    options = {"path": str(tmp_path / "t"), "mode": "changes", "maxFilesPerTrigger": "1"}
    query = Query(options)
    table.upsert(rows(range(3)))
    table.upsert(rows([1], fare=2.0, ts=2))
    table.delete(rows([0]))
    ops = []
    while (found := query.batch()) is not None:
        ops.append(sorted(found["op"].to_pylist()))
    assert ops == [["insert"] * 3, ["update"], ["delete"]]


def test_where_a_stream_begins(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    first = table.upsert(rows([0]))
    table.upsert(rows([1]))
    path = {"path": str(tmp_path / "t")}
    assert ids(Query(path).batch()) == [0, 1]
    assert ids(Query({**path, "begin": first.instant}).batch()) == [1]
    latest = Query({**path, "hoodie.datasource.streaming.startOffset": "latest"})
    assert latest.batch() is None
    table.upsert(rows([2]))
    assert ids(latest.batch()) == [2]
    now = Query(path)
    now.reader.prepareForTriggerAvailableNow()
    table.upsert(rows([3]))
    assert ids(now.batch()) == [0, 1, 2] and now.batch() is None
    assert ids(Query(path, now.offset).batch()) == [3]


def test_a_stream_waits_for_commits_that_may_still_appear_before(tmp_path: Path) -> None:
    """Version 6 does not note when a write completed: one that began earlier would be passed over."""
    table = made(tmp_path / "t", version=6)
    table.upsert(rows([0]))
    begun = "20200101000000000"
    for name in (f"{begun}.commit.requested", f"{begun}.inflight"):
        (tmp_path / "t/.hoodie" / name).write_bytes(b"")
    query = Query({"path": str(tmp_path / "t")})
    assert query.batch() is None
    for name in (f"{begun}.commit.requested", f"{begun}.inflight"):
        (tmp_path / "t/.hoodie" / name).unlink()
    assert ids(query.batch()) == [0]


def test_a_checkpoint_of_another_table_is_refused(tmp_path: Path) -> None:
    for name in ("t", "u"):
        made(tmp_path / name).upsert(rows([1]))
    query = Query({"path": str(tmp_path / "t")})
    query.batch()
    other = Query({"path": str(tmp_path / "u")}, query.offset)
    with pytest.raises(ConfigError, match="is of another one"):
        other.batch()


def test_a_stream_that_cleaning_has_overtaken(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    table.upsert(rows([0]))
    query = Query({"path": str(tmp_path / "t"), "mode": "changes"})
    query.batch()
    for n in range(4):
        table.upsert(rows([0], fare=float(n), ts=n + 2))
    table = hoodoo.open(str(tmp_path / "t"), {"hoodie.clean.commits.retained": "1"})
    table.clean()
    with pytest.raises(ConfigError, match="Begin with a new checkpoint"):
        query.batch()


# --- streams in -----------------------------------------------------------------------------------
def test_a_batch_takes_effect_once(tmp_path: Path) -> None:
    from hoodoo_spark.types import spark_schema
    from pyspark_hoodoo import Message

    options = {
        "path": str(tmp_path / "t"),
        **KEYS,
        "checkpointLocation": "x",
        "hoodie.datasource.write.streaming.checkpoint.identifier": "me",
        "operation": "insert",
    }

    def batch(number: int, found: list[pa.Table], identifier: bool = True) -> None:
        given = (
            options if identifier else {k: v for k, v in options.items() if "identifier" not in k}
        )
        struct = spark_schema(ROWS)
        worker = source(given).streamWriter(struct, False)
        messages = [worker.write(iter(table.to_batches())) for table in found]
        source(given).streamWriter(struct, False).commit(messages, number)  # of another process

    batch(0, [rows([1]), rows([2])])
    batch(0, [rows([1]), rows([2])])
    batch(1, [])
    batch(2, [rows([3])])
    table = hoodoo.open(str(tmp_path / "t"))
    assert ids(table.read().to_arrow()) == [1, 2, 3] and len(table.timeline().writes()) == 2
    assert not [*(tmp_path / "t/.hoodie/.temp").glob("hoodoo-rows-*")]
    with pytest.raises(ConfigError, match="has no query id"):
        batch(3, [rows([4])], identifier=False)
    assert isinstance(Message(None), Message)


def test_options_contradict(tmp_path: Path) -> None:
    made(tmp_path / "t")
    with pytest.raises(OptionConflictError):
        read({"path": str(tmp_path / "t"), "as_of": "1", "AS.OF.INSTANT": "2"})
