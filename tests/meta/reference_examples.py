"""What the pages of the reference say of each name beyond its docstring: arguments that many methods share, errors, and an
example. The examples of a page run one after another, as a test (tests/meta/test_docs.py)."""

from __future__ import annotations

# Once on each page, before all others.
BEGIN = {
    "functions.md": """\
import hoodoo
import pyarrow as pa

rides = pa.table({"ride": [1, 2], "city": ["oslo", "rome"], "fare": [9.5, 12.0]})
""",
    "table.md": """\
import hoodoo
import pyarrow as pa

def rows(ids, city="oslo", ts=1):
    return [{"id": i, "city": city, "fare": float(i), "ts": ts} for i in ids]

schema = pa.schema(
    [("id", pa.int64()), ("city", pa.string()), ("fare", pa.float64()), ("ts", pa.int64())]
)
table = hoodoo.create("trips", schema, record_key="id", partition_by="city", ordering="ts")
first = table.upsert(rows(range(10)) + rows(range(10, 15), "rome"))

# And a merge-on-read table, for compaction.
logs = hoodoo.create("logs", schema, record_key="id", table_type="MERGE_ON_READ")
logs.upsert(rows(range(10)))
logs.upsert(rows(range(5), ts=2))
""",
    "scan.md": """\
import hoodoo
import pyarrow as pa

rides = pa.table({"ride": [1, 2, 3], "city": ["oslo", "rome", "oslo"], "fare": [9.5, 12.0, 7.0]})
table = hoodoo.create("rides", rides.schema, record_key="ride", partition_by="city")
table.upsert(rides)
scan = table.read(where="city = 'oslo'")
""",
    "commit.md": """\
import hoodoo
import pyarrow as pa

rides = pa.table({"ride": [1, 2, 3], "city": ["oslo", "rome", "oslo"]})
table = hoodoo.create("rides", rides.schema, record_key="ride", partition_by="city")
commit = table.upsert(rides)
""",
}

# What the methods of a table are for, as headings of its page, and their names.
METHODS = {
    "Facts about the table": "path config schema timeline history file_slices handle",
    "Reading": "read incremental changes query",
    "Search of vectors": "search",
    "Bytes of blobs": "read_blob blob_bytes",
    "All rows at once": "to_arrow to_pandas to_polars count head",
    "Writes of rows": "upsert insert append bulk_insert delete",
    "Changes of rows by condition": "update merge",
    "Changes of columns": "alter",
    "Writes that replace existing rows": "insert_overwrite insert_overwrite_table delete_partitions",
    "Any action by its name": "run schedule run_planned",
    "Compaction": "compact schedule_compaction run_compaction schedule_compact run_compact",
    "Clustering": "cluster optimize schedule_clustering run_clustering "
    "schedule_cluster run_cluster cancel_clustering clusterings resize_buckets",
    "Old file slices, old instants": "clean schedule_clean run_clean vacuum archive",
    "Undo of a write": "rollback check_rollback",
    "Undo of all writes since an instant": "restore schedule_restore run_restore check_restore",
    "Savepoints": "savepoint delete_savepoint savepoints",
    "Files written again, with other options": "rewrite",
    "Virtual keys": "enable_virtual_keys rewrite_keys",
    "Indexes and the metadata table": "create_index indexes rebuild_index "
    "switch_index compare_indexes drop_index compact_metadata",
    "Table versions": "upgrade downgrade",
    "Erasure": "erase",
    "Copies, and named states": "backup clone tag tags untag",
    "Where the rows of some keys are": "locate location_changes",
    "Catalogs": "sync",
    "Metadata of other formats": "publish",
    "Reports": "report stats verify",
}

# Arguments that a docstring does not name, by the argument, or by the call and the argument.
ARGUMENTS = {
    "path": "the directory or URI of the table",
    "version": "the table version: 6, 8 or 9",
    "dry_run": "as in `upgrade`",
    "data": "the rows: Arrow data, a pandas or polars DataFrame, a DuckDB relation, a Spark DataFrame, a list of dictionaries, "
    "or a dictionary of columns",
    "batch": "the name and number of a batch of a stream, as in `upsert`",
    "add_columns": "whether columns that the table lacks are added to it; by default they are refused",
    "engine": "`local`, `spark` or an object; by default the engine of the data",
    "instant": "the instant of the plan, as text of 17 digits",
    "policy": "a name or an object; the default is `hoodie.clean.policy`",
    "settings": "options of cleaning, as in `clean`",
    "strategy": "a name, a Java class name or an object; the default is `hoodie.compaction.strategy`",
    "index": "a name, such as `record_index`, or an object",
    "name": "the name of the table; by default that of its folder",
    "record_key": "the column or columns that identify a row; without it, keys are generated",
    "partition_by": "the column or columns that the partition path is made of",
    "ordering": "the column or columns that say which of two rows with the same key is newer",
    "plan": "as in `cluster`",
    "columns": "as in `cluster`",
    "target_file_size": "in bytes, as in `cluster`",
    "partitions": "as in `cluster`",
    "options": "as in `cluster`",
    "progress": "a function that gets step, done and total",
    "comment": "the reason; it is stored",
    "user": "your name; it is stored",
    "paths": "one partition path, or several",
    "where": "SQL as text, a pyarrow expression or a Spark Column",
    "as_of": "an instant, a datetime with a time zone, a date, ISO 8601 text with a time zone, or the number of a commit; by default now",
    "mode": '`"snapshot"`, or `"read_optimized"`, which leaves out log files',
    "table.create_index.name": "the name of the index",
    "table.create_index.expression": "not supported: an index of expressions is refused",
    "table.tag.name": "the tag",
    "hoodoo.plan_bootstrap.options": "of the table and its store",
    "hoodoo.write.options": "those of `create` and `open`",
    "table.drop_index.name": "the name of the partition or index",
    "table.run_planned.options": "the options of the action",
    "table.schedule.options": "the options of the action",
    "hoodoo.plan_bootstrap.source": "a folder of Parquet files",
    "hoodoo.plan_bootstrap.partition_by": "a column for each level of folders",
    "hoodoo.plan_bootstrap.mode": "`METADATA_ONLY` or `FULL_RECORD`",
    "hoodoo.plan_bootstrap.regex": "the partition paths that have the mode",
    "hoodoo.bootstrap.path": "the new table",
    "hoodoo.bootstrap.table": "other arguments of `create`, such as `options` and `engine`",
    "hoodoo.convert.table": "other arguments of `create`, such as `ordering`",
    "hoodoo.sql.statement": "the text of the statement",
    "hoodoo.variants.values": "a list of Python objects, or a column that was read",
    "hoodoo.variants.json": "whether texts are JSON; by default they are values",
    "hoodoo.where.given": "the condition",
    "hoodoo.where.table": "the name of the table in the condition, for `table.column`",
    "hoodoo.hookimpl.function": "the function; its name is that of the hook",
    "hoodoo.hookimpl.hookwrapper": "as in pluggy",
    "hoodoo.hookimpl.optionalhook": "as in pluggy",
    "hoodoo.hookimpl.tryfirst": "as in pluggy",
    "hoodoo.hookimpl.trylast": "as in pluggy",
    "hoodoo.hookimpl.specname": "the name of the hook, if the function has another name",
    "hoodoo.hookimpl.wrapper": "as in pluggy",
    "scan.of.source": "the table, as `scan.source` has it",
    "commit.of.action": "the action on the timeline",
    "commit.of.operation": "the operation",
    "commit.of.stats": "what the tasks have written",
    "commit.of.completed": "the completion time",
    "commit.of.instant": "the instant of the commit",
}

# What is returned, where the signature has no better word.
ANSWERS = {
    "hoodoo.scan_polars": "polars.LazyFrame",
    "hoodoo.sql": "pa.Table | pyspark.sql.DataFrame | Commit",
    "scan.to_duckdb": "duckdb.DuckDBPyRelation",
    "scan.to_pandas": "pandas.DataFrame",
    "scan.to_polars": "polars.DataFrame",
    "table.to_pandas": "pandas.DataFrame",
    "table.to_polars": "polars.DataFrame",
    "scan.to_spark": "pyspark.sql.DataFrame",
    "table.run": "what the action returns",
    "table.run_planned": "what the action returns",
    "table.report": "what the report returns",
}

_WRITES = (
    "Raises DataError for rows that cannot be written, SchemaError for columns that do not fit the table, and "
    "CommitConflictError if other writers cause a conflict again and again. Then no row was written."
)
_READS = "Raises CorruptTableError if a file that a commit names is lost or damaged, and StorageError if the store fails."
_STORE = "Raises StorageError if the store fails."
# Usual ones, which a page says once, at its head.
ON_THE_PAGE = (_READS, _STORE)
_PLANNED = "Raises ConfigError if the plan is not pending."
# The errors, where a docstring names none.
ERRORS = {
    **dict.fromkeys(
        (
            "table.upsert", "table.insert", "table.append", "table.bulk_insert", "table.delete", "table.insert_overwrite",
            "table.insert_overwrite_table",
        ),
        _WRITES,
    ),
    **dict.fromkeys(
        (
            "scan.count", "scan.explain", "scan.head", "scan.to_arrow", "scan.to_batches", "scan.to_pylist",
            "scan.to_dataset", "scan.to_reader", "table.stats", "table.to_arrow", "table.count", "table.head", "table.history",
        ),
        _READS,
    ),
    **dict.fromkeys(("table.run_clean", "table.run_restore"), _PLANNED),
    **dict.fromkeys(
        ("table.run_compact", "table.run_compaction"),
        "Raises UnsupportedTableError for a copy-on-write table, and ConfigError if the plan is not pending.",
    ),
    **dict.fromkeys(
        (
            "table.archive", "table.clusterings", "table.indexes", "table.savepoints", "table.schedule_clean",
            "table.timeline", "table.compact_metadata", "table.schema",
        ),
        _STORE,
    ),
    "table.file_slices": "Raises ConfigError for an invalid time.",
    "table.delete_partitions": "Raises DataError for a partition path that the table does not have, and CommitConflictError.",
    "table.vacuum": "Raises the errors of `clean`.",
    "table.compact": "Raises UnsupportedTableError for a copy-on-write table.",
    "table.schedule_restore": "Raises the errors of `restore`.",
    "table.delete_savepoint": "Raises ConfigError if there is no such savepoint.",
    "table.merge": "`execute()` raises ConfigError, SchemaError and DataError; then no row was written.",
    "table.verify": "What is wrong with the table is in the result; only a store that does not answer raises StorageError.",
    "scan.limit": "Raises no error; the methods of the result raise those of a read.",
    "scan.step": "Raises no error.",
    "scan.schema": "Raises no error.",
    "scan.of": "Raises the errors of `table.read`.",
    "hoodoo.hookimpl": "Raises no error: a function whose name is no hook's is reported when the plugin is loaded.",
    "commit.of": "Raises no error.",
    "table.path": "Raises no error.",
    "table.config": "Raises no error.",
    "table.handle": "Raises no error.",
    "commit.figures": "Raises no error.",
}  # fmt: skip

# One for each name, in the order of the page. "#!spark": on Spark.
EXAMPLES = {
    "hoodoo.vector": 'assert hoodoo.vector(2, "DOUBLE").list_size == 2',
    "hoodoo.blob": 'assert hoodoo.blob().names == ["type", "data", "reference"]',
    # functions
    "hoodoo.aio": """\
import asyncio

async def count(path):
    await hoodoo.aio(path).upsert(rides)
    return await hoodoo.aio(path).count()

hoodoo.create("async_rides", rides.schema, record_key="ride")
assert asyncio.run(count("async_rides")) == 2""",
    "hoodoo.create": 'table = hoodoo.create("rides", rides, record_key="ride", partition_by="city")  # with its rows\nassert table.count() == 2',
    "hoodoo.catalog": """\
lake = hoodoo.catalog("lake")
lake.create("rides", rides.schema, record_key="ride").upsert(rides)
assert lake.tables() == ("rides",) and lake.open("rides").read().count() == 2""",
    "hoodoo.restore_backup": """\
table.backup("backup-of-rides")
again = hoodoo.restore_backup("backup-of-rides", "rides-again")
assert again.count() == table.count()""",
    "hoodoo.convert": """\
import pyarrow.parquet as pq
from pathlib import Path

Path("old").mkdir()
pq.write_table(rides, "old/rides.parquet")
assert hoodoo.convert("old", "converted", record_key="ride").read().count() == 2""",
    "hoodoo.bootstrap": """\
import pyarrow.parquet as pq
from pathlib import Path

Path("plain").mkdir()
pq.write_table(rides, "plain/rides.parquet")
assert hoodoo.bootstrap("plain", "bootstrapped", record_key="ride").read().count() == 2""",
    "hoodoo.ingest": """\
Path("landing").mkdir()
pq.write_table(rides, "landing/rides.parquet")
source, fed = {"kind": "files", "path": "landing"}, {"path": "fed", "record_key": "ride"}
(one,) = hoodoo.ingest({"source": source, "table": fed})
assert one.commit.inserted == 2""",
    "hoodoo.plan_bootstrap": """\
assert hoodoo.plan_bootstrap("plain").files == {"METADATA_ONLY": 1, "FULL_RECORD": 0}""",
    "hoodoo.hookimpl": "@hoodoo.hookimpl\ndef hoodoo_event(event):  # an observer\n    print(event.name)",
    "hoodoo.open": 'table = hoodoo.create("opened", rides.schema, record_key="ride")\nassert hoodoo.open("opened").schema == table.schema',
    "hoodoo.scan_polars": """\
import polars as pl

frame = hoodoo.scan_polars("converted").filter(pl.col("fare") > 10)
assert frame.collect().height == 1""",
    "hoodoo.spark_view": """\
#!spark
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
hoodoo.spark_view("rides", "converted", spark)
assert spark.sql("SELECT max(fare) FROM rides").first()[0] == 12.0""",
    "hoodoo.session": """\
session = hoodoo.session(tables={"trips": "converted"})
found = session.sql("SELECT city, max(fare) AS best FROM trips GROUP BY city ORDER BY city")
assert found.to_pylist() == [{"city": "oslo", "best": 9.5}, {"city": "rome", "best": 12.0}]""",
    "hoodoo.sql": 'best = hoodoo.sql("SELECT max(fare) AS best FROM r", tables={"r": rides})\nassert best.to_pylist() == [{"best": 12.0}]',
    "hoodoo.variant": 'assert hoodoo.variant().extension_name == "arrow.parquet.variant"',
    "hoodoo.variants": """\
column = hoodoo.variants([{"a": [1, None]}, "x"])
assert column.to_pylist() == [{"a": [1, None]}, "x"]
assert column.to_json().to_pylist() == ['{"a":[1,null]}', '"x"']""",
    "hoodoo.where": 'assert rides.filter(hoodoo.where("fare > 10", rides.schema)).num_rows == 1',
    "hoodoo.write": 'hoodoo.write("rides", [{"ride": 3, "city": "bern", "fare": 7.0}], record_key="ride")\nassert hoodoo.open("rides").count() == 3',
    # facts
    "table.path": 'assert table.path.startswith("file://")',
    "table.config": 'assert table.config.record_key_fields == ("id",)',
    "table.schema": "assert table.schema == schema",
    "table.timeline": 'assert [one.action for one in table.timeline().completed()] == ["commit"]',
    "table.file_slices": 'assert {one.partition_path for one in table.file_slices()} == {"oslo", "rome"}',
    "table.handle": "assert table.handle.config == table.config",
    # reading
    "table.read": """assert table.read(["id", "fare"], where="city = 'rome'").count() == 5""",
    "table.to_arrow": 'assert table.to_arrow(["id"]).num_rows == 15',
    "table.to_pandas": 'assert table.to_pandas(where="id < 3")["fare"].sum() == 3.0',
    "table.to_polars": 'assert table.to_polars(["fare"])["fare"].max() == 14.0',
    "table.count": "assert table.count(where=\"city = 'rome'\") == table.count(as_of=1) - 10 == 5",
    "table.head": "assert table.head(3).num_rows == 3",
    "table.incremental": 'assert table.incremental("earliest").count() == 15',
    "table.changes": 'assert {one["op"] for one in table.changes("earliest").to_arrow().to_pylist()} == {"insert"}',
    "table.query": 'assert table.query("incremental", since="earliest").count() == 15',
    # writes
    "table.upsert": "assert table.upsert(rows([1, 20], ts=2)).updated == 1",
    "table.insert": "assert table.insert(rows([21])).inserted == 1",
    "table.append": "assert table.append(rows([22, 23])).inserted == 2",
    "table.bulk_insert": "assert table.bulk_insert(rows([24])).inserted == 1",
    "table.delete": 'assert table.delete([20, 21]).deleted == 2\nassert table.delete(where="id > 21").deleted == 3',
    "table.update": """assert table.update({"fare": "fare * 2"}, where="city = 'rome'").updated == 5""",
    "table.merge": """\
commit = table.merge(rows([1, 30], ts=3)).when_matched_update_all().when_not_matched_insert_all().execute()
assert (commit.updated, commit.inserted) == (1, 1)""",
    "table.alter": 'table.alter({"tip": "double"})\nassert table.schema.names[-1] == "tip"',
    "table.insert_overwrite": 'table.insert_overwrite(rows([40], "bern"))\nassert table.read(where="city = \'bern\'").count() == 1',
    "table.insert_overwrite_table": "table.insert_overwrite_table(rows(range(8)))\nassert table.read().count() == 8",
    "table.delete_partitions": 'table.insert(rows([50], "kyiv"))\ntable.delete_partitions("kyiv")\nassert table.read().count() == 8',
    # actions
    "table.run": 'assert table.run("clean").instant == ""  # nothing to delete',
    "table.schedule": 'plan = logs.schedule("compaction")',
    "table.run_planned": 'assert logs.run_planned("compaction", plan).files',
    "table.compact": "logs.upsert(rows(range(3), ts=3))\nassert logs.compact().files",
    "table.schedule_compaction": "logs.upsert(rows(range(3), ts=4))\nplan = logs.schedule_compaction()",
    "table.run_compaction": "assert logs.run_compaction(plan).files",
    "table.schedule_compact": "logs.upsert(rows(range(3), ts=5))\nplan = logs.schedule_compact()",
    "table.run_compact": "assert logs.run_compact(plan).files",
    "table.cluster": 'table.append(rows([60]))\nassert table.cluster(columns="fare").files',
    "table.schedule_clustering": 'table.append(rows([61]))\nplan = table.schedule_clustering(columns="fare")',
    "table.run_clustering": "assert table.run_clustering(plan).files",
    "table.schedule_cluster": 'table.append(rows([62]))\nplan = table.schedule_cluster(columns="fare")',
    "table.run_cluster": "assert table.run_cluster(plan).files",
    "table.cancel_clustering": 'table.append(rows([63]))\ntable.cancel_clustering(table.schedule_clustering(columns="fare"))',
    "table.clusterings": "assert not table.clusterings()",
    "table.optimize": 'table.append(rows([64]))\nassert table.optimize("fare")[0].files',
    "table.resize_buckets": """\
few = hoodoo.create(
    "few", schema, record_key="id", partition_by="city", index="bucket",
    options={"hoodie.bucket.index.num.buckets": "2"},
)
few.insert(rows(range(9)))
assert few.resize_buckets(4).partitions == ("oslo",)""",
    "table.vacuum": "assert table.vacuum(retention_hours=24).files == ()  # all of it is younger",
    "table.clean": "assert table.clean(commits_retained=2).instant",
    "table.schedule_clean": "plan = table.schedule_clean(commits_retained=1)",
    "table.run_clean": "assert table.run_clean(plan).files",
    "table.archive": "assert not table.archive().instants  # there are few instants",
    # undo
    "table.rollback": "wrong = table.upsert(rows([1], ts=9))\ntable.rollback(wrong.instant)",
    "table.check_rollback": "wrong = table.upsert(rows([1], ts=9))\ntable.check_rollback(wrong.instant)",
    "table.restore": "before = table.savepoint()\ntable.delete([2])\nassert table.restore(before).undone",
    "table.schedule_restore": "table.delete([2])\nplan = table.schedule_restore(before)",
    "table.run_restore": "assert table.run_restore(plan).undone",
    "table.check_restore": "table.delete([2])\nassert len(table.check_restore(before)) == 1",
    "table.savepoint": 'point = table.savepoint(comment="before the change of fares")',
    "table.delete_savepoint": "table.delete_savepoint(point)",
    "table.savepoints": "assert [one.instant for one in table.savepoints()] == [before]",
    # keys and indexes
    "table.enable_virtual_keys": """\
plain = hoodoo.create("plain", schema, record_key="id")
plain.upsert(rows(range(3)))
plain.enable_virtual_keys()""",
    "table.rewrite": """\
zipped = {"hoodie.parquet.compression.codec": "gzip"}
assert table.rewrite(zipped, dry_run=True).groups == table.rewrite(zipped).groups""",
    "table.rewrite_keys": "assert plain.rewrite_keys().groups == 1",
    "table.upgrade": "assert not table.upgrade(9).done  # it has version 9",
    "table.downgrade": "assert table.downgrade(6, dry_run=True).steps",
    "table.erase": """\
some = hoodoo.create("some", schema, record_key="id")
some.upsert(rows(range(3)))
assert some.erase("id = 1", prove=True).proven""",
    "table.backup": """\
assert some.backup("copy").copied
assert not some.backup("copy").copied""",
    "table.clone": 'assert some.clone("other").count() == some.count()',
    "table.tag": 'assert some.tag("eom-11") == some.tags()["eom-11"]',
    "table.tags": 'assert list(some.tags()) == ["eom-11"]',
    "table.untag": 'some.untag("eom-11")',
    "table.create_index": 'table.create_index("by_ts", "ts")',
    "table.indexes": 'assert "by_ts" in {one.name for one in table.indexes()}',
    "table.rebuild_index": 'assert "record_index" in table.rebuild_index("record_index")',
    "table.switch_index": 'assert table.switch_index("record_index").same',
    "table.compare_indexes": 'assert table.compare_indexes("record_index", "global_simple").same',
    "table.drop_index": 'table.drop_index("by_ts")',
    "table.compact_metadata": "table.compact_metadata()",
    "table.locate": 'assert table.locate([3])["partition_path"].to_pylist() == ["oslo"]',
    "table.location_changes": "since = table.upsert(rows([70])).instant\nassert table.location_changes(since).to_arrow().num_rows == 0",
    "table.report": 'assert table.report("timeline", limit=1).rows[0].action == "commit"',
    "table.history": 'newest = table.history(1)[0]\nassert newest["version"] is None or table.count(as_of=newest["version"]) == table.count()',
    "table.sync": "assert table.sync() == ()  # it is in no catalog",
    "table.publish": 'assert len(table.publish("delta")) == 1',
    "table.stats": "assert table.stats().bytes > 0  # sizes are in bytes",
    "table.search": """\
points = hoodoo.create("points", pa.table({"id": [1, 2], "at": [[0.0, 1.0], [3.0, 4.0]]}), record_key="id")
assert points.search("at", [3.0, 4.0], k=1)["id"].to_pylist() == [2]""",
    "table.read_blob": """\
photos = hoodoo.create("photos", "id bigint, photo blob", record_key="id")
photos.upsert([{"id": 1, "photo": b"bytes"}])
assert photos.read_blob("photo", where="id = 1")["photo"].to_pylist() == [b"bytes"]""",
    "table.blob_bytes": """\
found = photos.blob_bytes(photos.to_arrow()["photo"])
assert found.to_pylist() == [b"bytes"]""",
    "table.verify": "assert table.verify().ok",
    # reads
    "scan.call_hint": "print(scan.call_hint)",
    "scan.count": "assert scan.count() == 2",
    "scan.explain": 'assert "file" in scan.explain()',
    "scan.head": "assert scan.head(1).num_rows == 1",
    "scan.limit": "assert scan.limit(1).to_arrow().num_rows == 1",
    "scan.of": "assert type(scan).of(scan.source).count() == 3",
    "scan.plan": "print(scan.plan)",
    "scan.read_ahead": "assert scan.read_ahead >= 1",
    "scan.schema": 'assert scan.schema.names == ["ride", "city", "fare"]',
    "scan.search": """\
points = hoodoo.create("points", pa.table({"id": [1, 2], "at": [[0.0, 1.0], [3.0, 4.0]]}), record_key="id")
assert points.read().search("at", [3.0, 4.0], k=1)["_distance"].to_pylist() == [0.0]""",
    "scan.read_blob": """\
photos = hoodoo.create("photos", "id bigint, photo blob", record_key="id")
photos.upsert([{"id": 1, "photo": b"bytes"}])
assert photos.read().read_blob("photo")["photo"].to_pylist() == [b"bytes"]""",
    "scan.source": "assert scan.source.config == table.config",
    "scan.step": "assert scan.step is not None",
    "scan.to_arrow": 'assert sorted(scan.to_arrow()["ride"].to_pylist()) == [1, 3]',
    "scan.to_batches": "assert sum(batch.num_rows for batch in scan.to_batches()) == 2",
    "scan.to_dataset": "assert scan.to_dataset().count_rows() == 2",
    "scan.to_duckdb": 'assert scan.to_duckdb().aggregate("max(fare)").fetchall() == [(9.5,)]',
    "scan.to_pandas": 'assert scan.to_pandas()["fare"].sum() == 16.5',
    "scan.to_polars": 'assert scan.to_polars()["fare"].max() == 9.5',
    "scan.to_pylist": 'assert {row["city"] for row in scan.to_pylist()} == {"oslo"}',
    "scan.to_reader": "assert scan.to_reader().read_all().num_rows == 2",
    "scan.to_spark": """\
#!spark
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
assert scan.to_spark(spark).where("fare > 8").count() == 1""",
    # commits
    "commit.action": 'assert commit.action == "commit"',
    "commit.completed": "assert commit.completed > commit.instant",
    "commit.deleted": "assert table.delete([1]).deleted == 1",
    "commit.figures": "print(commit.figures)",
    "commit.files": "assert len(commit.files) == 2  # one for each partition path",
    "commit.inserted": "assert commit.inserted == 3",
    "commit.instant": "assert table.read(as_of=commit.instant).count() == 3",
    "commit.notes": "assert table.cluster().notes is not None",
    "commit.of": """\
from hoodoo.model.commit import Operation

nothing = type(commit).of("", "commit", Operation.UPSERT, ())
assert not nothing.files""",
    "commit.operation": 'assert commit.operation == "upsert"',
    "commit.unmerged": "assert commit.unmerged == 0  # no log files: the counts are exact",
    "commit.updated": "assert table.upsert(rides.slice(1, 1)).updated == 1",
}
