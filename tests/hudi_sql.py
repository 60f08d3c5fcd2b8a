"""The SQL of Hudi's pages for Spark, statement by statement, in tables and rows of our own.

Tests run every statement on a session without Spark and beside real Spark Hudi, and compare rows;
docs/sql-of-hudi.md is made of this module (``python -m tests.meta.sql_of_hudi_page``).
"""

from __future__ import annotations

from typing import Any

from attrs import field, frozen

SAME, OTHER, REFUSED = "same", "other", "refused"


@frozen
class Statement:
    """``text``: the statement, with ``{place}`` where a folder belongs. ``verdict``: SAME, OTHER
    (it works, and something about it differs: ``note``), or REFUSED (``note``: what to do).

    ``rows``: those of its answer, or of the query ``asks`` after it, without an order; ``of``: the
    columns of the answer that are compared, all of them if empty. ``says``: what the refusal has.
    ``spark``: the text for Spark Hudi, if it is another; empty: it is not run there.
    """

    text: str
    verdict: str = SAME
    note: str = ""
    asks: str = ""
    rows: list[tuple[Any, ...]] | None = None
    of: str = ""
    says: str = ""
    spark: str | None = None


@frozen
class Group:
    """Statements of one page, which run one after the other. ``page``: of Hudi's documentation."""

    title: str
    page: str
    statements: list[Statement] = field(factory=list)


def found(rows: list[dict[str, Any]], statement: Statement) -> list[tuple[Any, ...]]:
    """The rows of an answer, in an order of their own."""
    chosen = [
        tuple(row[name] for name in statement.of.split()) if statement.of else tuple(row.values())
        for row in rows
    ]
    return sorted(chosen, key=repr)


def wanted(statement: Statement) -> list[tuple[Any, ...]]:
    """The rows that a statement has to have, in the same order."""
    return sorted(statement.rows or (), key=repr)


def _refused(text: str, note: str, says: str, spark: str = "") -> Statement:
    return Statement(text, REFUSED, note, says=says, spark=spark)


CREATES = Group(
    "Tables are created",
    "sql_ddl",
    [
        Statement(
            "CREATE TABLE IF NOT EXISTS plain (id INT, name STRING, price DOUBLE) USING hudi",
            note="keys are made as rows are written",
            asks="SELECT count(*) AS n FROM plain",
            rows=[(0,)],
        ),
        Statement(
            "CREATE TABLE parted (id BIGINT, name STRING, dt STRING, hh STRING) USING hudi "
            "TBLPROPERTIES (type = 'cow', primaryKey = 'id') PARTITIONED BY (dt, hh)",
            asks="SELECT id FROM parted",
            rows=[],
        ),
        Statement(
            "CREATE TABLE keyed (id INT, name STRING, price DOUBLE, ts BIGINT) USING hudi "
            "TBLPROPERTIES (type = 'mor', primaryKey = 'id', preCombineField = 'ts') "
            "LOCATION '{place}/keyed'",
            asks="SELECT id FROM keyed",
            rows=[],
        ),
        Statement(
            "CREATE TABLE opted (id INT, name STRING) USING hudi OPTIONS (primaryKey = 'id', "
            "hoodie.cleaner.commits.retained = '20')",
            note="options of writers count in this session; a table does not store them",
            asks="SELECT id FROM opted",
            rows=[],
        ),
        Statement(
            "CREATE EXTERNAL TABLE outside (id INT) USING hudi TBLPROPERTIES (primaryKey = 'id') "
            "LOCATION '{place}/outside'",
            asks="SELECT id FROM outside",
            rows=[],
        ),
        Statement(
            "CREATE TABLE made USING hudi TBLPROPERTIES (type = 'cow', primaryKey = 'id') "
            "PARTITIONED BY (dt) AS SELECT 1 AS id, 'a1' AS name, 10 AS price, '2021-12-01' AS dt",
            asks="SELECT id, name, price, dt FROM made",
            rows=[(1, "a1", 10, "2021-12-01")],
        ),
        Statement(
            "CREATE TABLE copied USING hudi LOCATION '{place}/copied' "
            "TBLPROPERTIES (primaryKey = 'id') AS SELECT id, name FROM made",
            asks="SELECT id, name FROM copied",
            rows=[(1, "a1")],
        ),
        Statement(
            "CREATE TABLE again USING hudi LOCATION '{place}/copied'",
            note="a table that is there gets a name",
            asks="SELECT id, name FROM again",
            rows=[(1, "a1")],
        ),
        Statement(
            "CREATE TABLE merged (id INT, name STRING, ts BIGINT) USING hudi TBLPROPERTIES "
            "(type = 'mor', primaryKey = 'id', preCombineField = 'ts', "
            "recordMergeMode = 'EVENT_TIME_ORDERING')",
            asks="SELECT id FROM merged",
            rows=[],
        ),
        Statement(
            "CREATE TABLE longer (id STRING, rider STRING) USING HUDI OPTIONS (primaryKey = 'id', "
            'hoodie.write.record.merge.mode = "COMMIT_TIME_ORDERING", '
            "hoodie.metadata.index.column.stats.column.list = 'rider')",
            asks="SELECT id FROM longer",
            rows=[],
        ),
        _refused(
            "CREATE TABLE locked (id INT) USING hudi TBLPROPERTIES (primaryKey = 'id', "
            "hoodie.write.lock.provider = "
            '"org.apache.hudi.client.transaction.lock.ZookeeperBasedLockProvider")',
            "`pip install hoodoo-zookeeper-lock`, or another lock: `docs/many-writers.md`",
            "pip install hoodoo-zookeeper-lock",
        ),
        Statement(
            "CREATE TABLE shaped LIKE parted",
            OTHER,
            "a table of its own, with the key and the partitions of the other",
            asks="SELECT id FROM shaped",
            rows=[],
            spark="",
        ),
        _refused(
            "CREATE TABLE noted (id INT COMMENT 'the id') USING hudi",
            "a table stores no comments: a catalog may",
            "comments on columns are not stored",
        ),
        _refused(
            "CREATE OR REPLACE TABLE plain (id INT) USING hudi",
            "drop the table, delete its folder, and create it",
            "OR REPLACE",
            "CREATE OR REPLACE TABLE plain (id INT) USING hudi",
        ),
        _refused(
            "CREATE TABLE columnar USING parquet LOCATION '{place}/p'",
            'rows of other formats: `hoodoo.session(tables={"columnar": rows})`',
            "not of Hudi",
        ),
        _refused(
            "CREATE DATABASE hudidb",
            "in the catalog's own tools; a file catalog needs none",
            "catalog's own tools",
        ),
        _refused("USE hudidb", "write the whole name, or name catalogs", "Write the whole name"),
    ],
)
INSERTS = Group(
    "Rows are inserted",
    "sql_dml",
    [
        Statement(
            "CREATE TABLE hours (id INT, name STRING, ts BIGINT, dt STRING, hh STRING) USING hudi "
            "TBLPROPERTIES (type = 'cow', primaryKey = 'id', preCombineField = 'ts') "
            "PARTITIONED BY (dt, hh)"
        ),
        Statement(
            "INSERT INTO hours PARTITION (dt = '2021-12-09', hh = '11') SELECT 2, 'a2', 1000",
            asks="SELECT id, name, ts, dt, hh FROM hours",
            rows=[(2, "a2", 1000, "2021-12-09", "11")],
        ),
        Statement(
            "INSERT INTO hours PARTITION (dt, hh) "
            "SELECT 1 AS id, 'a1' AS name, 1000 AS ts, '2021-12-09' AS dt, '10' AS hh",
            asks="SELECT id, dt, hh FROM hours",
            rows=[(1, "2021-12-09", "10"), (2, "2021-12-09", "11")],
        ),
        Statement(
            "INSERT INTO hours PARTITION (dt = '2021-12-10', hh) SELECT 3, 'a3', 1000, '10'",
            asks="SELECT id, dt, hh FROM hours WHERE id = 3",
            rows=[(3, "2021-12-10", "10")],
        ),
        Statement(
            "INSERT INTO hours VALUES (4, 'a4', 1, '2021-12-10', '10'), (5, 'a5', 1, 'x', 'y')",
            asks="SELECT id, dt, hh FROM hours WHERE id > 3",
            rows=[(4, "2021-12-10", "10"), (5, "x", "y")],
        ),
        Statement(
            "INSERT INTO hours (id, dt, hh, ts) VALUES (6, 'x', 'z', 5)",
            asks="SELECT id, name, ts, dt, hh FROM hours WHERE id = 6",
            rows=[(6, None, 5, "x", "z")],
            note="columns that are not named are null",
        ),
        Statement(
            "INSERT OVERWRITE hours PARTITION (dt = '2021-12-09', hh = '11') SELECT 13, 'b', 1100",
            asks="SELECT id, dt, hh FROM hours WHERE dt = '2021-12-09'",
            rows=[(1, "2021-12-09", "10"), (13, "2021-12-09", "11")],
        ),
        Statement(
            "INSERT OVERWRITE hours PARTITION (dt = 'x', hh = 'y') SELECT 1, 'b', 1 WHERE false",
            note="the partition is empty then",
            asks="SELECT id FROM hours WHERE dt = 'x'",
            rows=[(6,)],
        ),
        _refused(
            "INSERT OVERWRITE hours PARTITION (dt = '2021-12-09', hh) SELECT 7, 'b', 1, '12'",
            "`SET hoodie.datasource.overwrite.mode = dynamic` first, or DELETE the others",
            "names no value of hh",
        ),
        Statement(
            "INSERT OVERWRITE TABLE hours SELECT 10, 'a10', 1100, '2021-12-09', '10'",
            note="the whole table, as in Spark Hudi",
            asks="SELECT id, dt, hh FROM hours",
            rows=[(10, "2021-12-09", "10")],
        ),
        Statement("INSERT INTO hours VALUES (11, 'a', 1, '2021-12-09', '11')"),
        Statement("SET hoodie.datasource.overwrite.mode = dynamic", note="for all tables"),
        Statement(
            "INSERT OVERWRITE hours SELECT 12, 'b', 1, '2021-12-09', '10'",
            note="the partitions in which rows arrive",
            asks="SELECT id, hh FROM hours",
            rows=[(11, "11"), (12, "10")],
        ),
        Statement(
            "INSERT OVERWRITE hours PARTITION (dt = '2021-12-09', hh) SELECT 14, 'b', 1, '12'",
            asks="SELECT id, hh FROM hours",
            rows=[(11, "11"), (12, "10"), (14, "12")],
        ),
        Statement("RESET hoodie.datasource.overwrite.mode"),
        Statement(
            "CREATE TABLE whole (id INT, name STRING) USING hudi TBLPROPERTIES (primaryKey = 'id')"
        ),
        Statement(
            "INSERT INTO whole VALUES (1, 'a')",
            asks="SELECT id, name FROM whole",
            rows=[(1, "a")],
        ),
        Statement(
            "INSERT INTO whole SELECT 1, 'again'",
            note="does not look for stored keys, unless hoodie.datasource.insert.dup.policy is set",
            asks="SELECT id, name FROM whole",
            rows=[(1, "a"), (1, "again")],
        ),
        Statement(
            "INSERT OVERWRITE whole SELECT 99, 'a99'",
            asks="SELECT id, name FROM whole",
            rows=[(99, "a99")],
        ),
    ],
)
ORDERED = Group(
    "Rows of one key",
    "sql_queries",
    [
        Statement(
            "CREATE TABLE timed (id INT, name STRING, ts LONG, price DOUBLE) USING hudi "
            "TBLPROPERTIES (type = 'mor', primaryKey = 'id', preCombineField = 'ts', "
            "recordMergeMode = 'EVENT_TIME_ORDERING')",
        ),
        Statement("INSERT INTO timed VALUES (1, 'a1', 1000, 10.0)"),
        Statement("SET hoodie.spark.sql.insert.into.operation = upsert"),
        Statement(
            "INSERT INTO timed VALUES (1, 'a1', 900, 20.0)",
            note="the newest row of a key stays",
            asks="SELECT id, name, ts, price FROM timed",
            rows=[(1, "a1", 1000, 10.0)],
        ),
        Statement(
            "INSERT INTO timed VALUES (1, 'a2', 1100, 20.0), (2, 'b', 1, 1.0)",
            asks="SELECT id, name, ts, price FROM timed",
            rows=[(1, "a2", 1100, 20.0), (2, "b", 1, 1.0)],
        ),
        Statement("SET hoodie.spark.sql.insert.into.operation = insert"),
        Statement(
            "INSERT INTO timed VALUES (2, 'c', 0, 1.0)",
            note="as without SET",
            asks="SELECT id, name, ts, price FROM timed",
            rows=[(1, "a2", 1100, 20.0), (2, "b", 1, 1.0), (2, "c", 0, 1.0)],
        ),
        Statement("RESET hoodie.spark.sql.insert.into.operation"),
    ],
)
CHANGES = Group(
    "Rows are changed",
    "sql_dml",
    [
        Statement(
            "CREATE TABLE fares (id INT, name STRING, price DOUBLE, ts BIGINT) USING hudi "
            "TBLPROPERTIES (type = 'mor', primaryKey = 'id', preCombineField = 'ts')"
        ),
        Statement("INSERT INTO fares VALUES (1, 'a1', 20.0, 1000), (2, 'a2', 30.0, 1000)"),
        Statement(
            "UPDATE fares SET price = price * 2, ts = 1111 WHERE id = 1",
            asks="SELECT id, price, ts FROM fares",
            rows=[(1, 40.0, 1111), (2, 30.0, 1000)],
        ),
        Statement(
            "UPDATE fares SET ts = 1200 WHERE name = 'a2'",
            asks="SELECT id, ts FROM fares",
            rows=[(1, 1111), (2, 1200)],
        ),
        Statement(
            "MERGE INTO fares AS target USING "
            "(SELECT 1 AS id, 'new_a1' AS name, 22.5D AS price, 2000L AS ts "
            "UNION ALL SELECT 3, 'new_a3', 44.5D, 2000L) source ON target.id = source.id "
            "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
            asks="SELECT id, name, price, ts FROM fares",
            rows=[(1, "new_a1", 22.5, 2000), (2, "a2", 30.0, 1200), (3, "new_a3", 44.5, 2000)],
        ),
        Statement(
            "MERGE INTO fares t USING (SELECT 1 AS id, 'delete' AS flag, 3000L AS ts UNION ALL "
            "SELECT 2, 'update', 3000L UNION ALL SELECT 4, 'insert', 3000L) s ON t.id = s.id "
            "WHEN MATCHED AND flag != 'delete' THEN UPDATE SET id = s.id, name = flag, ts = s.ts "
            "WHEN MATCHED AND flag = 'delete' THEN DELETE "
            "WHEN NOT MATCHED THEN INSERT (id, name, price, ts) VALUES (s.id, flag, 1.5, s.ts)",
            asks="SELECT id, name, price FROM fares",
            rows=[(2, "update", 30.0), (3, "new_a3", 44.5), (4, "insert", 1.5)],
        ),
        Statement(
            "UPDATE fares SET ts = '4000' WHERE id = 2",
            note="a text becomes a number as it is stored",
            asks="SELECT id, ts FROM fares WHERE id = 2",
            rows=[(2, 4000)],
        ),
        Statement("DELETE FROM fares WHERE id % 2 = 0", asks="SELECT id FROM fares", rows=[(3,)]),
        Statement("DELETE FROM fares", asks="SELECT id FROM fares", rows=[]),
        Statement(
            "MERGE INTO fares t USING (SELECT 1 AS id) s ON t.id = s.id "
            "WHEN NOT MATCHED BY SOURCE THEN DELETE",
            OTHER,
            "Spark Hudi refuses this clause",
            asks="SELECT id FROM fares",
            rows=[],
            spark="",
        ),
    ],
)
ALTERS = Group(
    "Tables are altered",
    "sql_ddl",
    [
        Statement(
            "CREATE TABLE old_name (id INT, name STRING, dt STRING, hh STRING) USING hudi "
            "TBLPROPERTIES (primaryKey = 'id') PARTITIONED BY (dt, hh)"
        ),
        Statement(
            "INSERT INTO old_name VALUES (1, 'a', 'd1', 'h1'), (2, 'b', 'd1', 'h2'), "
            "(3, 'c', 'd2', 'h1')"
        ),
        Statement(
            "ALTER TABLE old_name RENAME TO new_name",
            asks="SELECT id, name FROM new_name",
            rows=[(1, "a"), (2, "b"), (3, "c")],
        ),
        Statement(
            "ALTER TABLE new_name ADD COLUMNS (remark STRING)",
            asks="SELECT id, remark FROM new_name WHERE id = 1",
            rows=[(1, None)],
        ),
        Statement(
            "ALTER TABLE new_name SET TBLPROPERTIES (hoodie.keep.max.commits = '40')",
            note="options of writers, as long as the session lives",
        ),
        Statement("ALTER TABLE new_name UNSET TBLPROPERTIES IF EXISTS (hoodie.keep.max.commits)"),
        Statement("ALTER TABLE new_name SET SERDEPROPERTIES ('hoodie.keep.max.commits' = '40')"),
        _refused(
            "ALTER TABLE new_name SET TBLPROPERTIES ('note' = 'do not drop')",
            "nothing would store it",
            "nothing would store it",
        ),
        Statement(
            "SHOW PARTITIONS new_name",
            rows=[("dt=d1/hh=h1",), ("dt=d1/hh=h2",), ("dt=d2/hh=h1",)],
        ),
        Statement(
            "SHOW PARTITIONS new_name PARTITION (dt = 'd1')",
            rows=[("dt=d1/hh=h1",), ("dt=d1/hh=h2",)],
        ),
        Statement(
            "ALTER TABLE new_name DROP PARTITION (dt = 'd1', hh = 'h1')",
            asks="SELECT id FROM new_name",
            rows=[(2,), (3,)],
        ),
        Statement("ALTER TABLE new_name DROP IF EXISTS PARTITION (dt = 'no', hh = 'h1')"),
        _refused(
            "ALTER TABLE new_name SET SERDEPROPERTIES ('key1' = 'value1')",
            "nothing would store it",
            "nothing would store it",
        ),
        Statement(
            "ALTER TABLE new_name DROP PARTITION (dt = 'd1')",
            OTHER,
            "all partitions with this value; Spark Hudi wants all columns",
            asks="SELECT id FROM new_name",
            rows=[(3,)],
            spark="ALTER TABLE new_name DROP PARTITION (dt = 'd1', hh = 'h2')",
        ),
        _refused(
            "ALTER TABLE new_name ADD PARTITION (dt = 'd9', hh = 'h9')",
            "leave it out: a partition is there when it has rows",
            "has nothing to do",
        ),
        Statement(
            "ALTER TABLE new_name ALTER COLUMN id TYPE BIGINT",
            REFUSED,
            "the type of a key is fixed; other columns: `ALTER COLUMN ... TYPE`",
            says="id",
            spark="",
        ),
        Statement(
            "ALTER TABLE new_name RENAME COLUMN remark TO label",
            note="as with hoodie.schema.on.read.enable=true",
            asks="SELECT id, label FROM new_name",
            rows=[(3, None)],
            spark="",
        ),
        Statement("ALTER TABLE new_name DROP COLUMN label", note="likewise", spark=""),
        Statement(
            "TRUNCATE TABLE new_name PARTITION (dt = 'd2', hh = 'h1')",
            asks="SELECT id FROM new_name",
            rows=[],
        ),
        Statement("TRUNCATE TABLE new_name", asks="SELECT id FROM new_name", rows=[]),
        Statement(
            "SHOW CREATE TABLE new_name",
            OTHER,
            "without the meta columns, and with the properties of the table",
            spark="",
        ),
        Statement(
            "DESCRIBE new_name",
            OTHER,
            "without Hudi's meta columns",
            of="col_name data_type",
            rows=[
                ("id", "int"),
                ("name", "string"),
                ("dt", "string"),
                ("hh", "string"),
                ("# Partition Information", ""),
                ("# col_name", "data_type"),
                ("dt", "string"),
                ("hh", "string"),
            ],
            spark="",
        ),
        Statement(
            "SHOW TBLPROPERTIES new_name ('hoodie.table.name')",
            OTHER,
            "the table's own properties; Spark Hudi shows those of the catalog",
            rows=[("hoodie.table.name", "old_name")],
            spark="",
        ),
        Statement("DROP TABLE IF EXISTS nothing"),
        Statement(
            "DROP TABLE new_name",
            OTHER,
            "the name goes, and no file; Spark Hudi deletes the files of a managed table",
        ),
        _refused("DROP TABLE fares PURGE", "drop the table, then delete its folder", "PURGE"),
        _refused("REFRESH TABLE fares", "leave it out: each statement reads the newest", "newest"),
        _refused("MSCK REPAIR TABLE fares", "leave it out: partitions are found", "are found"),
        _refused("ANALYZE TABLE fares COMPUTE STATISTICS", "`table.stats()`", "table.stats"),
    ],
)
INDEXES = Group(
    "Indexes",
    "sql_ddl",
    [
        Statement(
            "CREATE TABLE sought (id STRING, rider STRING, fare DOUBLE, city STRING) USING hudi "
            "OPTIONS (primaryKey = 'id', hoodie.record.merge.mode = 'COMMIT_TIME_ORDERING') "
            "PARTITIONED BY (city)",
        ),
        Statement("INSERT INTO sought VALUES ('1', 'A', 19.1, 'rome'), ('2', 'C', 27.7, 'oslo')"),
        Statement(
            "CREATE INDEX record_index ON sought (id)",
            note="Spark Hudi needs a lock provider for it",
            spark="",
        ),
        Statement(
            "CREATE INDEX idx_rider ON sought (rider)",
            asks="SELECT id FROM sought WHERE rider = 'C'",
            rows=[("2",)],
            spark="",
        ),
        Statement("CREATE INDEX IF NOT EXISTS idx_rider ON TABLE sought (rider)", spark=""),
        Statement(
            "SHOW INDEXES FROM sought",
            of="index_name index_type col_name",
            rows=[
                ("record_index", "record_index", ""),
                ("secondary_index_idx_rider", "secondary_index", "rider"),
            ],
            spark="",
        ),
        Statement("DROP INDEX secondary_index_idx_rider ON sought", spark=""),
        Statement("DROP INDEX IF EXISTS idx_rider ON sought", spark=""),
        Statement("CREATE INDEX idx_fare ON sought USING secondary_index (rider)", spark=""),
        Statement("DROP INDEX idx_fare ON sought", spark=""),
        _refused(
            "DROP INDEX record_index ON sought",
            "`table.switch_index('global_simple')` first: it became the table's own index",
            "switch_index",
        ),
        Statement(
            "CREATE INDEX idx_day ON sought USING column_stats(fare) "
            "OPTIONS(expr='from_unixtime', format='yyyy-MM-dd')",
            spark="",
        ),
        _refused(
            "CREATE INDEX idx_bloom ON sought USING bloom_filters(rider) OPTIONS(expr='identity')",
            '`table.create_index("bloom_filters", kind="bloom_filters")`',
            "does not create",
        ),
        Statement("DROP INDEX expr_index_idx_day ON sought", spark=""),
        Statement(
            "CREATE INDEX IF NOT EXISTS idx_day ON sought USING column_stats(fare) "
            "OPTIONS(func='from_unixtime', format='yyyy-MM-dd')",
            note="the older name of expr",
            spark="",
        ),
        _refused(
            "DROP INDEX partition_stats ON sought",
            "`table.drop_index('column_stats')`, with which it comes and goes",
            "is not there",
        ),
        _refused("REFRESH INDEX idx_rider ON sought", "leave it out", "always fresh"),
    ],
)
QUERIES = Group(
    "Queries",
    "sql_queries",
    [
        Statement(
            "CREATE TABLE trips (id INT, rider STRING, fare DOUBLE) USING hudi TBLPROPERTIES "
            "(type = 'mor', primaryKey = 'id', hoodie.table.cdc.enabled = 'true')"
        ),
        Statement("INSERT INTO trips VALUES (1, 'A', 1.5), (2, 'B', 9.5)"),
        Statement("UPDATE trips SET fare = 5.5 WHERE id = 1"),
        Statement("DELETE FROM trips WHERE id = 2"),
        Statement("SELECT id, fare FROM trips WHERE fare > 1.0 AND fare < 10.0", rows=[(1, 5.5)]),
        Statement("SELECT id FROM trips TIMESTAMP AS OF '2020-01-01'", rows=[]),
        Statement(
            "SELECT id, fare FROM trips VERSION AS OF 1",
            OTHER,
            "Spark Hudi has no versions; TIMESTAMP AS OF takes instants and times",
            rows=[(1, 1.5), (2, 9.5)],
            spark="",
        ),
        Statement(
            "SELECT id, fare FROM hudi_table_changes('trips', 'latest_state', 'earliest')",
            rows=[(1, 5.5)],
        ),
        Statement(
            "SELECT id, fare FROM hudi_table_changes('trips', 'latest_state', 'earliest', "
            "'20200101000000000')",
            rows=[],
        ),
        _refused(
            "SELECT id FROM trips WHERE from_unixtime(id, 'yyyy-MM-dd') = '1970-01-01'",
            "a session with Spark, which computes it",
            "from_unixtime",
        ),
        Statement(
            "SELECT op, before IS NULL AS a, after IS NULL AS b "
            "FROM hudi_table_changes('trips', 'cdc', 'earliest')",
            note="the images before and after have the columns of the table, without meta columns",
            rows=[
                ("i", True, False),
                ("i", True, False),
                ("u", False, False),
                ("d", False, True),
            ],
        ),
        Statement(
            "SELECT Action, State, Total_Files_Updated, Total_Records_Written "
            "FROM hudi_query_timeline('trips')",
            rows=[
                ("deltacommit", "COMPLETED", 0, 2),
                ("deltacommit", "COMPLETED", 1, 1),
                ("deltacommit", "COMPLETED", 1, 0),
            ],
        ),
        Statement("SELECT count(*) AS n FROM hudi_query_timeline('trips', 'true')", rows=[(3,)]),
        Statement(
            "SELECT Partition_Path, Log_File_Count > 0 AS logs, Log_File_Scheduled "
            "FROM hudi_filesystem_view('trips')",
            rows=[("", True, 0)],
        ),
        Statement(
            "CREATE TABLE parts (id INT, name STRING, ts BIGINT, price DOUBLE) USING hudi "
            "TBLPROPERTIES (type = 'mor', primaryKey = 'id', preCombineField = 'ts', "
            "recordMergeMode = 'CUSTOM', 'hoodie.datasource.write.payload.class' = "
            "'org.apache.hudi.common.model.PartialUpdateAvroPayload')",
            asks="SELECT id FROM parts",
            rows=[],
            spark="",
        ),
        Statement("SET hoodie.spark.sql.insert.into.operation = upsert", spark=""),
        Statement("INSERT INTO parts VALUES (1, 'a1', 1000, 10.0)", spark=""),
        Statement(
            "INSERT INTO parts VALUES (1, null, 2000, 20.0)",
            note="null keeps the value",
            asks="SELECT id, name, ts, price FROM parts",
            rows=[(1, "a1", 2000, 20.0)],
            spark="",
        ),
        Statement("RESET", spark=""),
        _refused(
            "SELECT key FROM hudi_metadata('trips')",
            "`table.indexes()`, `hoodoo inspect`",
            "is not supported here",
        ),
        Statement("SET hoodie.metadata.enable = true", note="for all tables of the session"),
        Statement("RESET"),
        _refused(
            "EXPLAIN SELECT * FROM trips", "`table.read(columns, where).explain()`", "explain()"
        ),
    ],
)
PROCEDURES = Group(
    "Procedures",
    "procedures",
    [
        Statement(
            "CREATE TABLE served (id INT, name STRING, ts BIGINT) USING hudi TBLPROPERTIES "
            "(type = 'mor', primaryKey = 'id', preCombineField = 'ts')"
        ),
        Statement("INSERT INTO served VALUES (1, 'a', 1), (2, 'b', 1)"),
        Statement("UPDATE served SET name = 'c', ts = 2 WHERE id = 1"),
        Statement(
            "CALL show_commits(table => 'served', limit => 10)",
            of="action total_files_added total_files_updated total_records_written "
            "total_update_records_written total_errors",
            rows=[("deltacommit", 0, 1, 1, 1, 0), ("deltacommit", 1, 0, 2, 0, 0)],
        ),
        Statement(
            "CALL show_commits_metadata(table => 'served')",
            of="action partition num_writes num_inserts num_update_writes num_deletes",
            rows=[("deltacommit", "", 1, 0, 1, 0), ("deltacommit", "", 2, 2, 0, 0)],
        ),
        Statement(
            "CALL show_timeline(table => 'served', limit => 5)",
            of="action state timeline_type rollback_info",
            rows=[("deltacommit", "COMPLETED", "ACTIVE", None)] * 2,
        ),
        Statement(
            "CALL show_timeline(table => 'served', filter => \"action = 'commit'\")", rows=[]
        ),
        Statement("CALL show_table_properties(table => 'served', limit => 1)", of="", note=""),
        Statement("CALL create_savepoint(table => 'served')", rows=[(True,)]),
        Statement("CALL show_savepoints(table => 'served')"),
        Statement(
            "INSERT INTO served VALUES (3, 'd', 1)",
            asks="SELECT id FROM served",
            rows=[(1,), (2,), (3,)],
        ),
        Statement(
            "CALL rollback_to_savepoint(table => 'served')",
            asks="SELECT id FROM served",
            rows=[(1,), (2,)],
        ),
        Statement("CALL delete_savepoint(table => 'served')", rows=[(True,)]),
        Statement("CREATE TABLE simple (id INT) USING hudi TBLPROPERTIES (primaryKey = 'id')"),
        Statement("INSERT INTO simple VALUES (1), (2)"),
        Statement("DELETE FROM simple WHERE id = 1"),
        Statement(
            "CALL stats_wa(table => 'simple')",
            of="total_upserted total_written write_amplification_factor",
            rows=[(0, 2, "0"), (0, 1, "0"), (0, 3, "0")],
        ),
        Statement(
            "CALL stats_wa(table => 'served')",
            OTHER,
            "counts deltacommits, too",
            of="total_upserted total_written write_amplification_factor",
            rows=[(0, 2, "0"), (1, 1, "1.00"), (1, 3, "3.00")],
            spark="",
        ),
        Statement(
            "CALL stats_file_sizes(table => 'served')",
            of="num_files",
            rows=[(1,), (1,), (2,)],
        ),
        Statement(
            "CALL show_fsview_all(table => 'served')",
            of="partition num_delta_files",
            rows=[("", 1)],
        ),
        Statement(
            "CALL show_fsview_latest(table => 'served')",
            note="scheduled is what a planned compaction takes",
            of="partition num_delta_files",
            rows=[("", 1)],
        ),
        Statement(
            "CALL run_compaction(op => 'schedule', table => 'served')",
            OTHER,
            "plans whatever there is; Spark Hudi waits for its trigger",
            of="operation_size state",
            rows=[(1, "REQUESTED")],
            spark="",
        ),
        Statement(
            "CALL show_compaction(table => 'served')",
            of="operation_size state",
            rows=[(1, "REQUESTED")],
            spark="",
        ),
        Statement(
            "CALL run_compaction(op => 'execute', table => 'served')",
            of="operation_size state",
            rows=[(1, "COMPLETED")],
            spark="",
        ),
        Statement(
            "CALL run_clustering(table => 'served', order => 'ts')",
            of="input_group_size state involved_partitions",
            rows=[(1, "COMPLETED", "*")],
        ),
        Statement(
            "CALL show_clustering(table => 'served', show_involved_partition => true)",
            of="input_group_size state involved_partitions",
            rows=[(1, "COMPLETED", "")],
        ),
        Statement("CALL run_clean(table => 'served', retain_commits => 1)"),
        Statement("CALL show_cleans(table => 'served')", of="action"),
        Statement("CALL show_cleans_metadata(table => 'served')", of="action"),
        Statement("CALL show_clean_plans(table => 'served')", of="action"),
        Statement("CALL archive_commits(table => 'served')", rows=[(0,)]),
        Statement("CALL show_archived_commits(table => 'served')", rows=[]),
        Statement("CALL show_rollbacks(table => 'served')", rows=[]),
        Statement(
            "CALL copy_to_table(table => 'served', new_table => 'second')",
            asks="SELECT id, name FROM second",
            rows=[(1, "c"), (2, "b")],
        ),
        Statement(
            "CALL copy_to_temp_view(table => 'served', view_name => 'seen')",
            asks="SELECT id FROM seen",
            rows=[(1,), (2,)],
        ),
        Statement("CALL upgrade_table(table => 'served', to_version => 'NINE')", rows=[(True,)]),
        Statement("CALL show_fs_path_detail(path => '{place}/keyed')", of=""),
        Statement("CALL show_invalid_parquet(path => '{place}/keyed')", rows=[]),
        Statement("CALL help(cmd => 'show_commits')", OTHER, "the same facts", of=""),
        Statement("CALL system.show_commits('served', 1)", of="action", rows=[("replacecommit",)]),
        _refused(
            "CALL show_metadata_column_stats_overlap(table => 'served')",
            "`hoodoo layout PATH`",
            "hoodoo layout",
        ),
        _refused(
            "CALL hdfs_parquet_import(table => 'served')",
            "`hoodoo.create(path, schema).bulk_insert(rows)`",
            "bulk_insert",
        ),
    ],
)
GROUPS = (CREATES, INSERTS, ORDERED, CHANGES, ALTERS, INDEXES, QUERIES, PROCEDURES)
