"""Tables that lived longer: made by Spark SQL, cleaned and archived by Spark, written on Spark."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from both import Both, same_rows
from hoodoo_rows.testing.tables import Maker
from model import SCHEMA, Model, table

# The least that Hudi allows: two commits are enough to be cleaned, three to be archived.
SHORT_LIFE = {
    "hoodie.clean.commits.retained": "1",
    "hoodie.keep.min.commits": "2",
    "hoodie.keep.max.commits": "3",
}

rows = Maker(SCHEMA, "ts", "name", name="n", id="k{}".format, region=("us", "eu")).dicts


def archived(both: Both, instant: str) -> bool:
    """Whether the active timeline no longer has it, in any state."""
    timeline = both.hoodoo().timeline()
    return instant not in {i.requested for i in (*timeline.completed(), *timeline.pending())}


def base_files(both: Both, instant: str) -> list[str]:
    return [str(p) for p in both.path.rglob(f"*_{instant}.parquet") if ".hoodie" not in p.parts]


@pytest.mark.parametrize("metadata", [False, True], ids=["listing", "metadata"])
@pytest.mark.parametrize("version", [9, 6])
def test_cleaned_and_archived(both: Both, version: int, metadata: bool) -> None:
    """Spark reads Hoodoo's commits to clean and archive them; Hoodoo goes on without them."""
    both.setup(Model(), SCHEMA, version, metadata=metadata, partition_by=["region"])
    both.options.update(SHORT_LIFE)
    both.create()
    commits = [both.hoodoo_upsert(rows(range(20), 1))]
    replaced = both.hoodoo()
    commits.append(
        replaced.insert_overwrite(
            table(both.model.replace(rows(range(0, 12, 2), 1, "over"), "region"))
        )
    )
    for ts in range(2, 8):
        both.spark_upsert(rows(range(ts, ts + 6), ts, "spark"))
        commits.append(both.hoodoo_upsert(rows(range(ts + 3, ts + 9), ts, "hoodoo")))
        both.check(f"round {ts}")
    actions = {i.action for i in both.hoodoo().timeline().completed()}
    assert "clean" in actions
    assert all(archived(both, c.instant) for c in commits[:2])
    assert not any(base_files(both, c.instant) for c in commits[:2]), "nothing was cleaned"
    both.hoodoo_delete(rows(range(3, 9, 2), 0))
    both.spark_delete(rows(range(5, 11, 2), 0))
    both.check("at the end")


@pytest.mark.parametrize("version", [9, 6])
def test_untouched_partition(both: Both, version: int) -> None:
    """A file whose commit was archived long ago stays visible to both, and its keys are found."""
    both.setup(Model(), SCHEMA, version, partition_by=["region"])
    both.options.update(SHORT_LIFE)
    both.create()
    kept = both.hoodoo_upsert(rows(range(20), 1))
    odd = [r for r in rows(range(30), 2) if r["region"] == "eu"]
    for ts in range(2, 9):
        both.spark_upsert([{**r, "ts": ts} for r in odd])
    assert archived(both, kept.instant)
    (file,) = base_files(both, kept.instant)
    assert "us" in file
    both.check("with the first commit archived")
    both.hoodoo_upsert(rows(range(2, 6), 9, "hoodoo"))
    both.check("after Hoodoo's upsert")
    both.spark_upsert(rows(range(4, 8), 10, "spark"))
    both.check("after Spark's")


@pytest.mark.parametrize("index", ["SIMPLE", "BUCKET"])
@pytest.mark.parametrize("version", [9, 6])
def test_made_by_sql(both: Both, version: int, index: str) -> None:
    """CREATE TABLE, INSERT, UPDATE, MERGE and DELETE by turns with Hoodoo's writes."""
    both.setup(Model(), SCHEMA, version, index, partition_by=["region"])
    if index == "BUCKET":
        both.opened = {
            "options": {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "4"}
        }
    name = f"made_by_sql_{version}_{index.lower()}"
    given = {key: value for key, value in both.options.items() if "datasource" not in key}
    del given["hoodie.table.name"], given["hoodie.table.ordering.fields"]
    properties = ", ".join(f"'{key}' = '{value}'" for key, value in given.items())
    sql, model = both.spark.worker.sql, both.model
    both.spark.worker.set(given)
    try:
        sql(
            f"CREATE TABLE {name} (id STRING, name STRING, ts BIGINT, region STRING) USING hudi "
            f"PARTITIONED BY (region) LOCATION '{both.path}' "
            f"TBLPROPERTIES (primaryKey = 'id', orderingFields = 'ts', {properties})"
        )
        first = model.upsert(rows(range(12), 1, "sql"))
        values = ", ".join(
            f"('{r['id']}', '{r['name']}', {r['ts']}L, '{r['region']}')" for r in first
        )
        sql(f"INSERT INTO {name} SELECT * FROM VALUES {values} AS v(id, name, ts, region)")
        both.check("after INSERT")
        both.hoodoo_upsert(rows(range(8, 16), 2, "hoodoo"))
        sql(f"UPDATE {name} SET name = 'set', ts = 3 WHERE id IN ('k1', 'k9', 'k15')")
        model.upsert(
            [
                {**r, "name": "set", "ts": 3}
                for r in rows(range(16), 3)
                if r["id"] in ("k1", "k9", "k15")
            ]
        )
        both.check("after UPDATE")
        both.hoodoo_delete(rows(range(2, 4), 0))
        sql(f"DELETE FROM {name} WHERE id IN ('k4', 'k12')")
        model.delete([*rows(range(4, 5), 0), *rows(range(12, 13), 0)])
        both.check("after DELETE")
        sql(
            f"MERGE INTO {name} t USING (SELECT * FROM VALUES ('k5', 'merged', 9L, 'eu'), "
            "('k20', 'merged', 9L, 'us') AS v(id, name, ts, region)) s ON t.id = s.id "
            "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )
        model.upsert([*rows(range(5, 6), 9, "merged"), *rows(range(20, 21), 9, "merged")])
        both.check("after MERGE")
        both.hoodoo_upsert(rows(range(4, 6), 9, "last"))
        both.check("at the end")
    finally:
        both.spark.worker.unset(list(given))
        sql(f"DROP TABLE IF EXISTS {name}")


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The user's own Spark, with no Hudi in it."""
    from pyspark.sql import SparkSession

    running = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
        .getOrCreate()
    )
    yield running
    running.stop()


@pytest.mark.parametrize("index", ["SIMPLE", "BUCKET"])
@pytest.mark.parametrize("version", [9, 6])
def test_written_on_spark(both: Both, session: Any, version: int, index: str) -> None:
    """Hoodoo's Spark engine and Spark Hudi on one table."""

    def frame(given: list[dict[str, Any]]) -> Any:
        values = [tuple(r[name] for name in SCHEMA.names) for r in given]
        return session.createDataFrame(values, "id string, name string, ts long, region string")

    both.setup(Model(), SCHEMA, version, index, partition_by=["region"])
    t = both.create()
    t.insert(frame(both.model.upsert(rows(range(30), 1))))
    t.upsert(frame(both.model.upsert(rows(range(20, 40), 2, "frame"))))
    t.delete(frame(both.model.delete(rows(range(4), 0))))
    both.check("written on Spark")
    both.spark_upsert(rows(range(10, 35), 3, "spark"))
    both.spark_delete(rows(range(12, 14), 0))
    both.hoodoo().upsert(frame(both.model.upsert(rows(range(30, 45), 4, "on"))))
    both.check("and on")
    from_spark = both.hoodoo().read(meta=True).to_spark(session).toArrow()
    same_rows(both.hoodoo().read(meta=True).to_arrow(), from_spark, "read on Hoodoo's Spark engine")
