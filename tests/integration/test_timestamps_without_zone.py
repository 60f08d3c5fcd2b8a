"""Timestamps without a time zone: what comes in comes out as it was, wherever a table stores or uses it."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import duckdb
import hoodoo
import hudi
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hoodoo.errors import DataError, SchemaError
from hoodoo_cli.testing.command import run_command

US, MS, UTC = pa.timestamp("us"), pa.timestamp("ms"), pa.timestamp("us", "UTC")
TYPES = ("COPY_ON_WRITE", "MERGE_ON_READ")
# With microseconds; null; before 1970, 1900 and 1582; the first and the last day that Python knows.
TIMES = [
    dt.datetime(2024, 2, 29, 23, 59, 59, 999_999), None, dt.datetime(1969, 12, 31, 23, 59, 59, 999_999),
    dt.datetime(1899, 1, 1, 0, 0, 0, 1), dt.datetime(1500, 1, 1, 12), dt.datetime(1, 1, 1),
    dt.datetime(9999, 12, 31, 23, 59, 59, 999_999), dt.datetime(1970, 1, 1),
]  # fmt: skip
NESTED = pa.struct([("times", pa.list_(US)), ("by", pa.map_(pa.string(), MS))])
SCHEMA = pa.schema(
    [("id", pa.int64()), ("n", pa.int64()), ("at", US), ("coarse", MS), ("deep", NESTED)]
)
FORMAT = "hoodie.logfile.data.block.format"


def _row(number: int, at: dt.datetime | None, n: int = 1) -> dict[str, Any]:
    coarse = at and at.replace(microsecond=at.microsecond // 1000 * 1000)
    return {
        "id": number,
        "n": n,
        "at": at,
        "coarse": coarse,
        "deep": {"times": [at, None], "by": [("k", coarse)]},
    }


def _table(rows: list[dict[str, Any]], schema: pa.Schema = SCHEMA) -> pa.Table:
    return pa.Table.from_pylist(rows, schema)


ROWS = _table([_row(n, at) for n, at in enumerate(TIMES)])


def _create(path: Path, schema: pa.Schema = SCHEMA, **more: Any) -> hoodoo.Table:
    return hoodoo.create(str(path / "t"), schema, **{"record_key": "id", **more})


def _seen(table: hoodoo.Table, **more: Any) -> pa.Table:
    found = hoodoo.open(table.path).read(**more).to_arrow()
    return found.sort_by("id")


def _same(found: pa.Table, expected: pa.Table) -> None:
    assert found.schema.equals(expected.schema), found.schema
    assert found.to_pylist() == expected.sort_by("id").to_pylist()


# --- where tables store them ------------------------------------------------------------------------
LIVES = [
    pytest.param(
        kind, version, block, engine, id=f"{kind[:4]}-{version}-{block}-{engine}", marks=marks
    )
    for kind, blocks in (("COPY_ON_WRITE", ("avro",)), ("MERGE_ON_READ", ("avro", "parquet")))
    for version in (6, 9)
    for block in blocks
    for engine, marks in (("local", ()), ("spark", pytest.mark.spark))
]


@pytest.mark.parametrize(("kind", "version", "block", "engine"), LIVES)
@pytest.mark.sampled(2)
def test_a_life(
    tmp_path: Path, request: pytest.FixtureRequest, kind: str, version: int, block: str, engine: str
) -> None:
    if engine == "spark":
        request.getfixturevalue("spark")
    options = {FORMAT: block, "hoodie.metadata.index.column.stats.enable": "true"}
    table = _create(
        tmp_path, table_type=kind, table_version=version, engine=engine, options=options
    )
    first = table.upsert(ROWS)
    _same(_seen(table), ROWS)
    changed = _table(
        [_row(0, TIMES[3], 2), _row(1, TIMES[6], 2), _row(6, None, 2), _row(90, TIMES[2])]
    )
    table.upsert(changed)
    table.delete([3])
    told = {row["id"]: row for row in [*ROWS.to_pylist(), *changed.to_pylist()] if row["id"] != 3}
    expected = _table(list(told.values()))
    _same(_seen(table), expected)
    for at in TIMES:
        if at is not None:
            for where in (pc.field("at") <= at, pc.field("at") == at, pc.field("coarse") > at):
                _same(_seen(table, where=where), expected.filter(where))
    _same(_seen(table, as_of=first.instant), ROWS)
    if kind == "MERGE_ON_READ":
        assert table.compact().instant
        _same(_seen(table), expected)
    table.cluster(
        "size",
        columns=["at"],
        order="linear",
        options={"hoodie.clustering.plan.strategy.small.file.limit": 1 << 30},
    )
    _same(_seen(table), expected)
    assert table.verify().ok
    (one,) = hoodoo.open(table.path).file_slices()
    stored = pq.ParquetFile(tmp_path / "t" / one.base_file.path)
    places = {stored.schema.column(n).path: n for n in range(len(stored.schema))}
    for name, unit in (("at", "microseconds"), ("coarse", "milliseconds")):
        logical = json.loads(stored.schema.column(places[name]).logical_type.to_json())
        assert logical["isAdjustedToUTC"] is False and logical["timeUnit"] == unit


def test_the_schema_in_commits_is_that_of_hudi(tmp_path: Path) -> None:
    table = _create(tmp_path)
    table.upsert(ROWS)
    written = "".join(p.read_text("latin-1") for p in Path(tmp_path, "t/.hoodie").rglob("*.commit"))
    for logical in ("local-timestamp-micros", "local-timestamp-millis"):
        assert logical in written


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("version", [6, 9])
def test_the_package_hudi_reads_the_same_or_says_that_it_does_not(
    tmp_path: Path, kind: str, version: int
) -> None:
    """hudi 0.5 has no local timestamps; a later one that has them reads these."""
    table = _create(tmp_path, table_type=kind, table_version=version)
    table.upsert(ROWS)
    try:
        batches = hudi.HudiTableBuilder.from_base_uri(table.path).build().read()
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        assert "not yet implemented" in str(error)
        return
    found = pa.Table.from_batches(batches).select(SCHEMA.names).cast(SCHEMA)
    _same(found.sort_by("id"), ROWS)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("engine", ["local", pytest.param("spark", marks=pytest.mark.spark)])
def test_bare_numbers_of_older_writers_are_times(
    tmp_path: Path, request: pytest.FixtureRequest, kind: str, engine: str
) -> None:
    """Hudi 0.x writes such a column as numbers without a logical type into Parquet."""
    schema = pa.schema([("id", pa.int64()), ("at", US), ("coarse", MS)])
    rows = ROWS.select(schema.names)
    table = _create(
        tmp_path,
        schema,
        table_type=kind,
        table_version=6,
        options={"hoodie.metadata.enable": "false"},
    )
    table.insert(rows)
    (file,) = Path(tmp_path, "t").glob("*.parquet")
    stored = pq.read_table(file)
    numbers = {"at": pa.int64(), "coarse": pa.int64()}
    bare = pa.schema(
        [f.with_type(numbers.get(f.name, f.type)) for f in stored.schema], stored.schema.metadata
    )
    (commit,) = Path(tmp_path, "t/.hoodie").glob("*commit")
    size = str(file.stat().st_size)
    pq.write_table(stored.cast(bare), file, store_schema=False)
    commit.write_text(commit.read_text().replace(size, str(file.stat().st_size)))
    _same(_seen(table), rows)
    where = pc.field("at") == TIMES[2]
    _same(_seen(table, where=where), rows.filter(where))
    if engine == "spark":
        spark, collected = map(request.getfixturevalue, ("spark", "collected"))
        frame = hoodoo.open(table.path).read().to_spark(spark)
        texts = {
            row.id: row.t for row in frame.selectExpr("id", "CAST(at AS STRING) AS t").collect()
        }
        assert (
            texts[2] == "1969-12-31 23:59:59.999999"
            and texts[4] == "1500-01-01 12:00:00"
            and texts[1] is None
        )
        assert collected(frame.where("at < TIMESTAMP_NTZ '1970-01-01 00:00:00'")).num_rows == 4
    hoodoo.open(table.path, engine=engine).upsert(
        _table([{"id": 0, "at": TIMES[4], "coarse": None}], schema)
    )
    expected = _table(
        [{"id": 0, "at": TIMES[4], "coarse": None}, *rows.slice(1).to_pylist()], schema
    )
    _same(_seen(table), expected)


# --- as what tables use them ------------------------------------------------------------------------
@pytest.mark.sampled(1)
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("index", ["bloom", "simple", "bucket", "record_index"])
def test_as_the_record_key(tmp_path: Path, kind: str, index: str) -> None:
    rows = ROWS.filter(pc.field("at").is_valid()).select(["at", "n"])
    options = {"hoodie.bucket.index.num.buckets": "3"} if index == "bucket" else {}
    table = _create(
        tmp_path, rows.schema, record_key="at", index=index, table_type=kind, options=options
    )
    table.insert(rows)
    keys = table.read(meta=True).to_arrow().select(["_hoodie_record_key", "at"])
    # Hudi's key generators do not take a local timestamp for a timestamp: its key is the number.
    assert (
        keys["_hoodie_record_key"].to_pylist()
        == keys["at"].cast(pa.int64()).cast(pa.string()).to_pylist()
    )
    done = table.upsert(rows.slice(0, 2).set_column(1, "n", pa.array([7, 7])))
    assert (done.inserted, done.updated) == (0, 2)
    table.delete([TIMES[3]])
    found = {row["at"]: row["n"] for row in table.read().to_arrow().to_pylist()}
    assert found == {
        t: 7 if i < 2 else 1 for i, t in enumerate(t for t in TIMES if t) if t != TIMES[3]
    }
    with pytest.raises(SchemaError, match="time zone"):
        table.delete([TIMES[0].replace(tzinfo=dt.timezone.utc)])  # type: ignore[union-attr]


@pytest.mark.parametrize("logical", ["true", "false"])
@pytest.mark.parametrize("hive", ["true", "false"])
def test_as_the_partition(tmp_path: Path, logical: str, hive: str) -> None:
    options = {
        "hoodie.datasource.write.hive_style_partitioning": hive,
        "hoodie.datasource.write.keygenerator.consistent.logical.timestamp.enabled": logical,
    }
    table = _create(tmp_path, partition_by="at", options=options)
    table.upsert(ROWS)
    micros = ROWS["at"].cast(pa.int64()).to_pylist()
    paths = {"__HIVE_DEFAULT_PARTITION__" if n is None else str(n) for n in micros}
    prefix = "at=" if hive == "true" else ""
    assert {s.partition_path for s in table.file_slices()} == {prefix + path for path in paths}
    _same(_seen(table), ROWS)
    for where in (pc.field("at") == TIMES[3], pc.field("at") < TIMES[7], pc.field("at").is_null()):
        _same(_seen(table, where=where), ROWS.filter(where))


def test_as_the_time_of_a_generator_of_partitions(tmp_path: Path) -> None:
    by_day = {
        "hoodie.keygen.timebased.timestamp.type": "EPOCHMICROSECONDS",
        "hoodie.keygen.timebased.output.dateformat": "yyyy/MM/dd",
    }
    table = _create(tmp_path, partition_by="at", key_generator="TIMESTAMP", options=by_day)
    table.upsert(_table([_row(1, TIMES[0]), _row(2, TIMES[3])]))
    assert {s.partition_path for s in table.file_slices()} == {"2024/02/29", "1899/01/01"}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("version", [6, 9])
@pytest.mark.parametrize("block", ["avro", "parquet"])
@pytest.mark.parametrize("column", ["at", "coarse"])
def test_as_the_ordering_column(tmp_path: Path, version: int, block: str, column: str) -> None:
    table = _create(
        tmp_path,
        ordering=column,
        table_type="MERGE_ON_READ",
        table_version=version,
        options={FORMAT: block},
    )
    early, middle, late = TIMES[4], TIMES[2], TIMES[0]
    table.upsert(_table([_row(1, middle), _row(2, middle), _row(3, middle), _row(4, middle)]))
    table.upsert(_table([_row(1, early, 2), _row(2, late, 2)]))
    marked = pa.schema([*SCHEMA, ("_hoodie_is_deleted", pa.bool_())])
    table.upsert(
        _table(
            [
                {**_row(3, early), "_hoodie_is_deleted": True},
                {**_row(4, late), "_hoodie_is_deleted": True},
            ],
            marked,
        ),
        add_columns=True,
    )
    expected = [(1, middle, 1), (2, late, 2), (3, middle, 1)]
    for _ in range(2):
        found = _seen(table).to_pylist()
        assert [(row["id"], row["at"], row["n"]) for row in found] == expected
        table.compact()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("version", [6, 9])
def test_files_are_left_out_by_their_column_statistics(
    tmp_path: Path, kind: str, version: int
) -> None:
    options = {
        "hoodie.metadata.enable": True, "hoodie.metadata.index.column.stats.enable": True,
        "hoodie.parquet.small.file.limit": 0,
    }  # fmt: skip
    schema = pa.schema([("id", pa.int64()), ("at", US), ("coarse", MS)])
    table = _create(tmp_path, schema, table_type=kind, table_version=version, options=options)
    start = dt.datetime(1969, 12, 31, 23, 59, 57)
    rows = [
        {"id": n, "at": start + dt.timedelta(seconds=n), "coarse": start + dt.timedelta(seconds=n)}
        for n in range(6)
    ]
    for row in rows:
        table.append(_table([row], schema))
    whole = _table(rows, schema)
    for column in ("at", "coarse"):
        for where, left in (
            (pc.field(column) >= start + dt.timedelta(seconds=4), 2), (pc.field(column) == start, 1),
            (pc.field(column) < start, 0), (pc.field(column) <= start + dt.timedelta(seconds=2, milliseconds=999), 3),
        ):  # fmt: skip
            scan = table.read(where=where)
            _same(scan.to_arrow().sort_by("id"), whole.filter(where))
            assert scan.plan.pruned_by_metadata == 6 - left


def test_changes_and_what_came_since(tmp_path: Path) -> None:
    table = _create(tmp_path, options={"hoodie.table.cdc.enabled": "true"})
    first = table.upsert(ROWS)
    table.upsert(_table([_row(0, TIMES[3], 5)]))
    (row,) = table.incremental(first.instant).to_arrow().to_pylist()
    assert (row["at"], row["n"]) == (TIMES[3], 5)
    assert repr(TIMES[3]) in repr(table.changes(first.instant).to_arrow().to_pylist())


# --- frames and doors -------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", TYPES)
def test_frames_of_pandas_polars_and_duckdb(tmp_path: Path, kind: str) -> None:
    schema = pa.schema([("id", pa.int64()), ("at", US)])
    rows = ROWS.select(["id", "at"]).slice(0, 4)
    frame = rows.to_pandas()
    wide = pl.DataFrame({"id": [10], "at": pl.Series([TIMES[2]], dtype=pl.Datetime("ns"))})
    made = "SELECT 20::BIGINT AS id, TIMESTAMP '1960-01-02 03:04:05.000006' AS at"
    table = _create(tmp_path, schema, table_type=kind)
    table.upsert(frame.astype({"at": "datetime64[ns]"}))
    _same(_seen(table), rows)
    table.upsert(pl.from_arrow(rows))
    table.upsert(wide)
    table.upsert(duckdb.connect().sql(made))
    more = [{"id": 10, "at": TIMES[2]}, {"id": 20, "at": dt.datetime(1960, 1, 2, 3, 4, 5, 6)}]
    expected = _table([*rows.to_pylist(), *more], schema)
    _same(_seen(table), expected)
    scan = table.read()
    pandas = scan.to_pandas().sort_values("id")
    assert pandas["at"].dtype == "datetime64[us]"
    assert [None if pd.isna(t) else t.to_pydatetime() for t in pandas["at"]] == expected[
        "at"
    ].to_pylist()
    polars = scan.to_polars().sort("id")
    assert (
        polars.schema["at"] == pl.Datetime("us")
        and polars["at"].to_list() == expected["at"].to_pylist()
    )
    lazy = pl.scan_pyarrow_dataset(scan.to_dataset())
    assert lazy.filter(pl.col("at") < dt.datetime(1970, 1, 1)).collect().height == 4
    dataset = scan.to_dataset()  # which DuckDB asks by name
    found = duckdb.sql("SELECT id FROM dataset WHERE \"at\" < TIMESTAMP '1970-01-01'").fetchall()
    assert dataset is not None and len(found) == 4


def test_a_table_made_of_a_pandas_frame(tmp_path: Path) -> None:
    """Its default: nanoseconds without a zone."""
    frame = pd.DataFrame(
        {
            "id": [1, 2],
            "at": pd.to_datetime(["2024-01-02 03:04:05.000006", None]).astype("datetime64[ns]"),
        }
    )
    table = _create(tmp_path, pa.Schema.from_pandas(frame))
    table.upsert(frame)
    assert table.schema.field("at").type == US
    assert _seen(table)["at"].to_pylist() == [dt.datetime(2024, 1, 2, 3, 4, 5, 6), None]


def test_rows_of_python(tmp_path: Path) -> None:
    table = _create(tmp_path)
    table.upsert(ROWS.to_pylist())
    _same(_seen(table), ROWS)


FILTERS = [
    ("at > '1969-12-31'", 4), ("at = TIMESTAMP '1970-01-01 00:00:00'", 1), ("at < TIMESTAMP_NTZ '1500-01-01 12:00:00.000001'", 2),
    ("at IS NULL", 1), ("at BETWEEN '1899-01-01' AND '1970-01-01'", 3), ("at IN ('1970-01-01', '1500-01-01 12:00:00')", 2),
    ("coarse = '1969-12-31 23:59:59.999'", 1),
]  # fmt: skip


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("text", "count"), FILTERS)
def test_filters_of_sql(tmp_path: Path, text: str, count: int) -> None:
    table = _create(tmp_path)
    table.upsert(ROWS)
    assert table.read(where=text).count() == count
    assert hoodoo.sql(f"SELECT id FROM t WHERE {text}", {"t": table}).num_rows == count
    assert table.delete(where=text).deleted == count


def test_statements(tmp_path: Path) -> None:
    table = _create(tmp_path)
    table.upsert(ROWS)
    hoodoo.sql(
        "UPDATE t SET at = TIMESTAMP_NTZ '2001-02-03 04:05:06.000007' WHERE id = 1", {"t": table}
    )
    source = ROWS.slice(2, 1).set_column(2, "at", pa.array([TIMES[0]], US))
    hoodoo.sql(
        "MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN UPDATE SET at = s.at",
        {"t": table, "s": source},
    )
    table.update({"at": TIMES[5]}, where=pc.field("id") == 3)
    with pytest.raises(SchemaError, match="column coarse: .*timestamp"):
        hoodoo.sql("UPDATE t SET coarse = at", {"t": table})
    hoodoo.sql(
        "INSERT INTO t (id, at) VALUES (70, TIMESTAMP_NTZ '1950-01-01 00:00:00')", {"t": table}
    )
    found = dict(zip(*(_seen(table)[n].to_pylist() for n in ("id", "at")), strict=True))
    assert found[1] == dt.datetime(2001, 2, 3, 4, 5, 6, 7) and found[2] == TIMES[0]
    assert found[3] == TIMES[5] and found[70] == dt.datetime(1950, 1, 1)


@pytest.mark.parametrize("kind", TYPES)
def test_columns_by_name_of_type(tmp_path: Path, kind: str) -> None:
    table = _create(tmp_path, "id bigint, at timestamp_ntz, moment timestamp", table_type=kind)
    assert table.schema.types == [pa.int64(), US, UTC]
    table.upsert(
        [{"id": 1, "at": TIMES[0], "moment": dt.datetime(2024, 1, 1, tzinfo=dt.timezone.utc)}]
    )
    table.alter(add={"t": "timestamp_ntz", "s": "struct<x: timestamp_ntz>"})
    hoodoo.sql("ALTER TABLE t ADD COLUMN u TIMESTAMP_NTZ", {"t": table})
    hoodoo.sql("ALTER TABLE t ADD COLUMN v TIMESTAMP", {"t": table})
    found = hoodoo.open(table.path).schema
    assert [found.field(n).type for n in ("t", "u", "v")] == [US, US, UTC]
    assert found.field("s").type == pa.struct([("x", US)])
    table.upsert([{"id": 2, "t": TIMES[2], "s": {"x": TIMES[3]}, "u": TIMES[4]}])
    rows = _seen(table).to_pylist()
    assert rows[0]["t"] is None and rows[0]["at"] == TIMES[0]
    assert (rows[1]["t"], rows[1]["s"], rows[1]["u"]) == (TIMES[2], {"x": TIMES[3]}, TIMES[4])


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "arrow"])
def test_files_out_and_in(tmp_path: Path, kind: str) -> None:
    table = _create(tmp_path)
    table.upsert(ROWS)
    file, again = tmp_path / f"rows.{kind}", _create(tmp_path / "again")
    _run("export", table.path, file)
    _run("import", again.path, file)
    _same(_seen(again), ROWS)


def test_files_make_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.csv").write_text("id,at\n1,2024-01-02 03:04:05\n2,\n")
    _run("import", tmp_path / "t", tmp_path / "a.csv", "--record-key", "id")
    table = hoodoo.open(str(tmp_path / "t"))
    assert table.schema.field("at").type == US
    assert _seen(table)["at"].to_pylist() == [dt.datetime(2024, 1, 2, 3, 4, 5), None]
    for name, text in (
        ("b.csv", "id,at\n3,2024-01-02T03:04:05Z\n"),
        ("b.jsonl", '{"id": 3, "at": "2024-01-02T03:04:05Z"}\n'),
    ):
        (tmp_path / name).write_text(text)
        _run("import", tmp_path / "t", tmp_path / name, code=2)
        assert "zone" in capsys.readouterr().err


def _run(*words: Any, code: int = 0) -> None:
    assert run_command(*words) == code


# --- Spark ------------------------------------------------------------------------------------------
@pytest.fixture
def far_session(spark: Any) -> Any:
    """A session whose zone is another one: local times do not move by it."""
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    yield spark
    spark.conf.set("spark.sql.session.timeZone", before)


@pytest.mark.spark
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.sampled(2, among="long, on Spark")
def test_data_frames_of_spark(tmp_path: Path, kind: str, far_session: Any) -> None:
    from pyspark.sql import functions as F

    texts = "SELECT id, CAST(at AS TIMESTAMP_NTZ) AS at, id AS n FROM VALUES (1L, '2024-03-10 02:30:00.000001'), (2L, NULL), (3L, '1800-01-01 00:00:00') AS v(id, at)"
    frame = far_session.sql(texts)
    told = {
        1: dt.datetime(2024, 3, 10, 2, 30, 0, 1),
        2: None,
        3: dt.datetime(1800, 1, 1),
    }  # a time that New York has not
    table = hoodoo.create(str(tmp_path / "t"), frame.schema, record_key="id", table_type=kind)
    assert table.schema.field("at").type == US
    table.upsert(frame)
    table.upsert(frame.where("id = 1").withColumn("n", F.lit(5).cast("long")))
    assert dict(zip(*(_seen(table)[n].to_pylist() for n in ("id", "at")), strict=True)) == told
    for made in (
        table.read().to_spark(far_session),
        far_session.read.format("hoodoo").load(table.path),
    ):
        assert made.schema["at"].dataType.typeName() == "timestamp_ntz"
        assert {row.id: row.at for row in made.collect()} == told
        assert made.where("at < TIMESTAMP_NTZ '2000-01-01 00:00:00'").count() == 1
        assert made.where("at = TIMESTAMP_NTZ '2024-03-10 02:30:00.000001'").count() == 1
    frame.where("id = 3").withColumn("id", F.lit(4).cast("long")).write.format("hoodoo").mode(
        "append"
    ).save(table.path)
    assert dict(zip(*(_seen(table)[n].to_pylist() for n in ("id", "at")), strict=True)) == {
        **told,
        4: told[3],
    }


@pytest.mark.spark
def test_milliseconds_for_spark(tmp_path: Path, far_session: Any) -> None:
    table = _create(tmp_path)
    table.upsert(ROWS)
    for made in (
        table.read().to_spark(far_session),
        far_session.read.format("hoodoo").load(table.path),
    ):
        assert made.schema["coarse"].dataType.typeName() == "timestamp_ntz"
        texts = {
            row.id: row.t for row in made.selectExpr("id", "CAST(coarse AS STRING) AS t").collect()
        }
        assert (
            texts[2] == "1969-12-31 23:59:59.999"
            and texts[4] == "1500-01-01 12:00:00"
            and texts[1] is None
        )


# --- what does not go together ------------------------------------------------------------------------
@pytest.mark.parametrize("kind", TYPES)
def test_times_with_and_without_a_zone_do_not_mix(tmp_path: Path, kind: str) -> None:
    schema = pa.schema([("id", pa.int64()), ("zoned", UTC), ("local", US), ("deep", pa.list_(US))])
    table = _create(tmp_path, schema, table_type=kind)
    good: dict[str, Any] = {
        "id": 1,
        "zoned": dt.datetime(2024, 1, 1, tzinfo=dt.timezone.utc),
        "local": TIMES[0],
        "deep": [TIMES[0]],
    }
    table.upsert([good])
    zone = dt.timezone(dt.timedelta(hours=2))
    wrong = [
        (
            {"zoned": TIMES[0]},
            r"zoned .*Give zoned a time zone, or set hoodoo\.naive\.timestamps=UTC if the values are UTC",
        ),
        ({"local": dt.datetime(2024, 1, 1, tzinfo=zone)}, "table's local has no time zone"),
        ({"deep": [dt.datetime(2024, 1, 1, tzinfo=zone)]}, r"table's deep\[\] has no time zone"),
    ]
    for change, words in wrong:
        for act in (table.upsert, table.insert, table.bulk_insert):
            with pytest.raises(SchemaError) as caught:
                act([{**good, "id": 9, **change}])
            assert pc.match_substring_regex(
                pa.scalar(" ".join(str(caught.value).split())), words
            ).as_py(), caught.value
    for where in (
        pc.field("local") > dt.datetime(2024, 1, 1, tzinfo=zone),
        "local > '2024-01-01T00:00:00+02:00'",
    ):
        with pytest.raises(SchemaError):
            table.read(where=where).count()
    with pytest.raises((SchemaError, DataError)):
        table.update(
            {"local": pa.scalar(dt.datetime(2024, 1, 1, tzinfo=zone))}, where=pc.field("id") == 1
        )
    _same(_seen(table), _table([good], schema))


def test_the_option_says_that_times_are_utc(tmp_path: Path) -> None:
    option = {"hoodoo.naive.timestamps": "UTC"}
    schema = pa.schema([("id", pa.int64()), ("zoned", UTC), ("local", US)])
    table = _create(tmp_path, schema)
    given = pa.schema([("id", pa.int64()), ("zoned", MS), ("local", MS)])
    hoodoo.open(table.path, option).upsert(
        _table(
            [{"id": 1, "zoned": dt.datetime(2024, 1, 1), "local": dt.datetime(2024, 1, 1)}], given
        )
    )
    (row,) = _seen(table).to_pylist()
    assert row["zoned"] == dt.datetime(2024, 1, 1, tzinfo=dt.timezone.utc)
    assert row["local"] == dt.datetime(2024, 1, 1)
    assert _create(tmp_path / "new", ROWS.schema, options=option).schema.field("at").type == UTC


def test_units(tmp_path: Path) -> None:
    kinds = [pa.timestamp(unit) for unit in ("s", "ms", "us", "ns")]
    schema = pa.schema([("id", pa.int64()), *((kind.unit, kind) for kind in kinds)])
    table = _create(tmp_path, schema)
    assert table.schema.types[1:] == [US, MS, US, US]
    at = dt.datetime(1966, 7, 30, 15)
    table.upsert(_table([{"id": 1, **{kind.unit: at for kind in kinds}}], schema))
    assert _seen(table).drop_columns("id").to_pylist() == [{kind.unit: at for kind in kinds}]
    assert hoodoo.open(table.path).schema.types[1:] == [US, MS, US, US]
    with pytest.raises(SchemaError, match=r"column ms: .*lose data.*hoodoo\.nanoseconds=TRUNCATE"):
        table.upsert([{"id": 2, "ms": TIMES[0]}])


@pytest.mark.parametrize("zone", [None, "UTC"])
def test_nanoseconds(tmp_path: Path, zone: str | None) -> None:
    kind = pa.timestamp("ns", zone)
    schema = pa.schema(
        [("id", pa.int64()), ("at", kind), ("deep", pa.list_(pa.struct([("x", kind)])))]
    )
    numbers = [1_001, -1, -1_000, 999, None]
    arrays = [pa.array(range(5)), pa.array(numbers, pa.int64()).cast(kind)]
    deep = [[{"x": n}] for n in numbers]
    arrays.append(
        pa.array(deep, pa.list_(pa.struct([("x", pa.int64())]))).cast(schema.field("deep").type)
    )
    rows = pa.table(arrays, schema=schema)
    table = _create(tmp_path, schema)
    with pytest.raises(SchemaError, match=r"column at: .*hoodoo\.nanoseconds=TRUNCATE"):
        table.upsert(rows)
    with pytest.raises(SchemaError, match=r"column deep\[\]\.x: .*hoodoo\.nanoseconds=TRUNCATE"):
        table.upsert(rows.drop_columns("at"))
    table.upsert(rows.slice(2, 1))  # whole microseconds
    hoodoo.open(table.path, {"hoodoo.nanoseconds": "truncate"}).upsert(rows)
    found = _seen(table)
    whole = [1, -1, -1, 0, None]
    assert found["at"].cast(pa.int64()).to_pylist() == whole
    inner = pc.struct_field(pc.list_flatten(found["deep"]), "x")
    assert inner.cast(pa.int64()).to_pylist() == whole
