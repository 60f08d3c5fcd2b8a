"""What Spark's own SQL and DataFrames do with a table of format("hoodoo"), statement by statement.

Tests run every statement in a session of Spark that nothing was added to; the table of
docs/spark-source.md is made of this module (``python -m tests.meta.spark_sql_page``)."""

from __future__ import annotations

from typing import Any

from attrs import field, frozen

WORKS, REFUSED, SPARK, LATER, NOTHING = "works", "refused", "Spark refuses", "later", "no effect"
ROWS = [(1, "oslo", 1.0, 1), (2, "rome", 2.0, 1), (3, "oslo", 3.0, 1)]


@frozen
class Case:
    """``text``: SQL, or Python with ``df``, ``spark`` and ``keys``, about the table ``t`` of ROWS
    at ``{path}``; nothing is at ``{new}``. ``verdict``: one of the words above. ``note``: what the
    page says beside it. ``says``: what the error has. ``then``: statements after it, each with its
    rows in any order, or with what its error has. ``ids``: those of the table at the end."""

    text: str
    verdict: str = WORKS
    note: str = ""
    says: str = ""
    then: list[tuple[str, str | list[tuple[Any, ...]]]] = field(factory=list)
    ids: tuple[int, ...] = (1, 2, 3)


@frozen
class Group:
    title: str
    cases: list[Case]


def _spark(text: str, note: str, says: str) -> Case:
    return Case(text, SPARK, note, says)


ALL, NINE = "SELECT * FROM t", (9, "rome", 9.0, 9)
INTO = "INSERT INTO t VALUES (9L, 'rome', 9D, 9L)"
ALONE = "changes the entry alone"
OTHERWISE = (
    "the next statement that uses the entry is refused, until the table has the change, too: "
)
PARTITIONS = "PARTITION_MANAGEMENT_IS_UNSUPPORTED"
NO_PATH = "was given no path"
WITH_ROWS = "comes with rows"
SESSION = "`session.sql`"

GROUPS = [
    Group(
        "Tables and views",
        [
            Case(
                "CREATE TABLE n USING hoodoo LOCATION '{path}'",
                note="a name for a table that is there",
                then=[("SELECT * FROM n", ROWS)],
            ),
            Case(
                "CREATE TABLE n USING hoodoo OPTIONS (columns 'id,fare') LOCATION '{path}'",
                note="the options of a read, and of a write, are those of each statement",
                then=[("SELECT * FROM n WHERE id = 2", [(2, 2.0)])],
            ),
            Case(
                "CREATE TABLE n USING hoodoo LOCATION '{new}'",
                REFUSED,
                "make the table first: `.save(path)`, or `hoodoo.create`",
                "there is no .hoodie directory",
            ),
            Case(
                "CREATE TABLE n (id BIGINT) USING hoodoo LOCATION '{path}'",
                LATER,
                "Spark asks no source; the next statement is refused. Leave the columns out",
                then=[("SELECT * FROM n", NO_PATH), ("INSERT INTO n VALUES (1L)", NO_PATH)],
            ),
            _spark(
                "CREATE TABLE n USING hoodoo PARTITIONED BY (city) LOCATION '{path}'",
                "the table has its own partitions: leave it out",
                "not allowed to specify partitioning",
            ),
            Case(
                "CREATE TABLE n USING hoodoo AS SELECT 9L AS id",
                REFUSED,
                "`.save(path)` first, then `CREATE TABLE ... LOCATION`; or " + SESSION,
                NO_PATH,
            ),
            Case(
                "CREATE TABLE n USING parquet AS SELECT * FROM t",
                then=[("SELECT * FROM n", ROWS)],
            ),
            Case(
                "CREATE VIEW v AS SELECT * FROM t",
                then=[(INTO, []), ("SELECT * FROM v", [*ROWS, NINE])],
                ids=(1, 2, 3, 9),
            ),
            Case(
                "CREATE TEMPORARY VIEW v USING hoodoo OPTIONS (path '{path}')",
                then=[("SELECT * FROM v", ROWS)],
            ),
            Case(
                "CREATE OR REPLACE TABLE t USING hoodoo LOCATION '{path}'",
                note="makes the entry again, with the columns of today; the rows stay",
                then=[(ALL, ROWS)],
            ),
            _spark("CREATE TABLE n LIKE t", SESSION, "does not support CREATE TABLE LIKE"),
            Case(
                "CREATE TABLE n USING hoodoo OPTIONS (colums 'id') LOCATION '{path}'",
                REFUSED,
                "an option that there is not; the error names the nearest one",
                "Did you mean columns",
            ),
            Case("DROP TABLE t", note="the entry goes, the rows stay"),
            Case("DROP TABLE t PURGE", note="likewise"),
        ],
    ),
    Group(
        "Queries",
        [
            Case("SELECT city, count(*) FROM t GROUP BY city", then=[(ALL, ROWS)]),
            Case(
                "SELECT id FROM t WITH ('as_of' = '2020-01-01T00:00:00Z')",
                note="the options of a read",
            ),
            Case(
                "SELECT * FROM t WITH ('as_off' = '1')",
                REFUSED,
                "an option that there is not; the error names the nearest one",
                "Did you mean as_of",
            ),
            Case(
                "SELECT * FROM t WITH ('operation' = 'delete')",
                REFUSED,
                "an option of writes",
                "is one of writes",
            ),
            _spark("SELECT * FROM t VERSION AS OF 1", "`WITH ('as_of' = ...)`", "TIME_TRAVEL"),
            _spark("SELECT * FROM t TIMESTAMP AS OF '2020-01-01'", "likewise", "TIME_TRAVEL"),
            _spark(
                "SELECT * FROM hoodoo.`{path}`",
                '`spark.read.format("hoodoo").load(path)`',
                "UNSUPPORTED_DATASOURCE_FOR_DIRECT_QUERY",
            ),
            Case("REFRESH TABLE t", note="not needed: each statement reads the newest"),
            Case(
                "CACHE TABLE t",
                then=[(INTO, []), (ALL, [*ROWS, NINE]), ("UNCACHE TABLE t", [])],
                ids=(1, 2, 3, 9),
            ),
        ],
    ),
    Group(
        "Rows are written",
        [
            Case(INTO, note="an upsert by the table's key", ids=(1, 2, 3, 9)),
            Case(
                "INSERT INTO t (id, city, ts) VALUES (9, 'rome', 9)",
                note="columns that are not named are null, of a stored key, too",
                then=[("SELECT * FROM t WHERE id = 9", [(9, "rome", None, 9)])],
                ids=(1, 2, 3, 9),
            ),
            Case(
                "INSERT INTO t BY NAME SELECT 9L AS ts, 9D AS fare, 'rome' AS city, 9L AS id",
                then=[("SELECT * FROM t WHERE id = 9", [NINE])],
                ids=(1, 2, 3, 9),
            ),
            Case(
                "INSERT INTO t WITH ('operation' = 'delete') SELECT 3L, 'oslo', 0D, 0L",
                note="the options of a write",
                ids=(1, 2),
            ),
            Case(
                "INSERT INTO t SELECT id + 8, city, fare, ts FROM t WHERE id = 1", ids=(1, 2, 3, 9)
            ),
            Case(
                "INSERT INTO t SELECT * FROM t",
                REFUSED,
                "Spark does not say which table is meant: `INSERT INTO t WITH ('path' = ...)`",
                "is not said by Spark",
            ),
            Case(
                "INSERT OVERWRITE t SELECT 9L, 'rome', 9D, 9L",
                note="replaces the rows of the whole table",
                ids=(9,),
            ),
            _spark(
                "INSERT INTO t PARTITION (city = 'rome') VALUES (9, 9, 9)",
                "give the column its value: Spark knows no partitions of the table",
                "NON_PARTITION_COLUMN",
            ),
            _spark(
                "INSERT OVERWRITE t PARTITION (city = 'rome') VALUES (9, 9, 9)",
                "`WITH ('operation' = 'insert_overwrite')`, or " + SESSION,
                "NON_PARTITION_COLUMN",
            ),
            _spark(
                "INSERT INTO t REPLACE WHERE city = 'oslo' VALUES (9, 'rome', 9, 9)",
                "likewise",
                "overwrite by filter",
            ),
            _spark("UPDATE t SET fare = 0 WHERE id = 1", SESSION, "does not support UPDATE"),
            _spark("DELETE FROM t WHERE id = 1", SESSION, "does not support deletes"),
            _spark(
                "MERGE INTO t USING (SELECT 1L AS id) s ON t.id = s.id WHEN MATCHED THEN DELETE",
                SESSION,
                "does not support MERGE",
            ),
            _spark("TRUNCATE TABLE t", SESSION, "does not support truncates"),
            _spark("TRUNCATE TABLE t PARTITION (city = 'oslo')", SESSION, PARTITIONS),
            _spark("LOAD DATA INPATH '/files' INTO TABLE t", "", "NOT_SUPPORTED_COMMAND"),
        ],
    ),
    Group(
        "Tables are altered",
        [
            Case(
                "ALTER TABLE t ADD COLUMNS (tip DOUBLE)",
                LATER,
                OTHERWISE + '`table.alter(add={"tip": "double"})`',
                then=[(ALL, ALONE), ("INSERT INTO t SELECT 9L, 'x', 9D, 9L, 1D", ALONE)],
            ),
            Case(
                "ALTER TABLE t RENAME COLUMN fare TO price",
                LATER,
                "likewise",
                then=[(ALL, ALONE), (INTO, ALONE)],
            ),
            Case(
                "ALTER TABLE t DROP COLUMN fare",
                LATER,
                "likewise",
                then=[(ALL, ALONE), ("INSERT INTO t VALUES (9L, 'rome', 9L)", ALONE)],
            ),
            Case(
                "ALTER TABLE t ALTER COLUMN fare TYPE STRING",
                LATER,
                "likewise",
                then=[(ALL, ALONE), ("INSERT INTO t VALUES (9L, 'rome', '9', 9L)", ALONE)],
            ),
            Case(
                "ALTER TABLE t REPLACE COLUMNS (id BIGINT)",
                LATER,
                "the entry is of no use any more: make it anew",
                then=[(ALL, NO_PATH), ("INSERT INTO t VALUES (9L)", NO_PATH)],
            ),
            Case(
                "ALTER TABLE t ALTER COLUMN fare FIRST",
                note="the order of the columns in Spark's statements alone",
                then=[("SELECT * FROM t WHERE id = 1", [(1.0, 1, "oslo", 1)])],
            ),
            Case(
                "ALTER TABLE t ALTER COLUMN fare SET DEFAULT 5",
                note="Spark puts it into the rows of its own `INSERT`",
                then=[
                    ("INSERT INTO t (id, city, ts) VALUES (9, 'rome', 9)", []),
                    ("SELECT fare FROM t WHERE id = 9", [(5.0,)]),
                ],
                ids=(1, 2, 3, 9),
            ),
            Case(
                "ALTER TABLE t ALTER COLUMN fare COMMENT 'in euros'",
                note="a note of the entry; so are `COMMENT ON TABLE` and `CLUSTER BY`",
                then=[(ALL, ROWS), (INTO, [])],
                ids=(1, 2, 3, 9),
            ),
            Case(
                "ALTER TABLE t SET LOCATION '/elsewhere'",
                NOTHING,
                "Spark tells no source, and the rows stay those of the old place: make the entry "
                "anew",
                then=[(ALL, ROWS)],
            ),
            Case(
                "ALTER TABLE t SET TBLPROPERTIES ('as_of' = '1')",
                NOTHING,
                "likewise; options can be given in a statement, `WITH (...)`",
                then=[(ALL, ROWS)],
            ),
            Case(
                "ALTER TABLE t RENAME TO n",
                then=[("SELECT * FROM n", ROWS)],
            ),
            _spark("ALTER TABLE t SET SERDEPROPERTIES ('a' = 'b')", "", "NOT_SUPPORTED_COMMAND"),
            _spark(
                "ALTER TABLE t ADD CONSTRAINT c CHECK (fare > 0)",
                "[hoodoo-validators](../contrib/validators/README.md)",
                "does not support table constraint",
            ),
            _spark(
                "ALTER TABLE t ADD PARTITION (city = 'kyiv')",
                "a partition is there when it has rows",
                PARTITIONS,
            ),
            _spark("ALTER TABLE t DROP PARTITION (city = 'oslo')", SESSION, PARTITIONS),
            _spark(
                "ALTER TABLE t PARTITION (city = 'oslo') RENAME TO PARTITION (city = 'kyiv')",
                "",
                PARTITIONS,
            ),
            _spark("ALTER TABLE t RECOVER PARTITIONS", "not needed", "NOT_SUPPORTED_COMMAND"),
            _spark("MSCK REPAIR TABLE t", "not needed", "NOT_SUPPORTED_COMMAND"),
            _spark("ANALYZE TABLE t COMPUTE STATISTICS", "`table.stats()`", "NOT_SUPPORTED"),
        ],
    ),
    Group(
        "Tables are shown",
        [
            Case("DESCRIBE t", note="the columns that the entry noted"),
            Case("DESCRIBE EXTENDED t", note="says `MANAGED`, and no place: Spark asks no source"),
            Case("SHOW TABLE EXTENDED LIKE 't'"),
            Case("SHOW COLUMNS FROM t"),
            Case("SHOW CREATE TABLE t", note="without `USING` and `LOCATION`: it can't be run"),
            Case("SHOW TBLPROPERTIES t", note="none are shown"),
            _spark("SHOW PARTITIONS t", SESSION, PARTITIONS),
            _spark("DESCRIBE TABLE t PARTITION (city = 'oslo')", "", PARTITIONS),
            _spark("CALL show_commits(table => 't')", SESSION, "UNRESOLVED_ROUTINE"),
            _spark("CREATE INDEX i ON t (city)", SESSION, "CreateIndex is not supported"),
        ],
    ),
    Group(
        "DataFrames",
        [
            Case("df.write.insertInto('t')", note="an upsert", ids=(1, 2, 3, 9)),
            Case("df.write.insertInto('t', overwrite=True)", note="the whole table", ids=(9,)),
            Case(
                "df.write.format('hoodoo').mode('append').saveAsTable('t')",
                note="an upsert into a table of the catalog",
                ids=(1, 2, 3, 9),
            ),
            _spark(
                "df.write.format('hoodoo').saveAsTable('t')",
                "there is one of that name; `mode('ignore')` does nothing",
                "TABLE_OR_VIEW_ALREADY_EXISTS",
            ),
            Case(
                "df.write.format('hoodoo').mode('overwrite').saveAsTable('t')",
                REFUSED,
                "`insertInto('t', overwrite=True)`. Spark has removed the entry before; the rows "
                "stay",
                NO_PATH,
            ),
            Case(
                "df.write.format('hoodoo').option('path', '{path}').mode('overwrite')"
                ".saveAsTable('t')",
                REFUSED,
                "likewise",
                WITH_ROWS,
            ),
            Case(
                "df.write.format('hoodoo').options(**keys).option('path', '{new}').mode('append')"
                ".saveAsTable('n')",
                REFUSED,
                "`.save(path)`, then `CREATE TABLE n USING hoodoo LOCATION 'path'`",
                WITH_ROWS,
            ),
            Case(
                "spark.table('t').write.format('hoodoo').option('path', '{new}').mode('append')"
                ".saveAsTable('n')",
                REFUSED,
                "likewise",
                WITH_ROWS,
            ),
            Case("df.writeTo('t').append()", note="an upsert", ids=(1, 2, 3, 9)),
            Case(
                "df.writeTo('t').option('operatoin', 'delete').append()",
                REFUSED,
                "an option that there is not",
                "Did you mean operation",
            ),
            _spark(
                "df.writeTo('t').overwritePartitions()",
                "`.option('operation', 'insert_overwrite')` with `.append()`",
                "does not support dynamic overwrite",
            ),
            _spark(
                "df.writeTo('t').overwrite(col('city') == 'rome')",
                "likewise; `overwrite(lit(True))` replaces the whole table",
                "overwrite by filter",
            ),
            Case(
                "df.writeTo('n').using('hoodoo').options(**keys).option('path', '{new}').create()",
                REFUSED,
                "as for `saveAsTable`",
                WITH_ROWS,
            ),
            Case(
                "df.writeTo('t').using('hoodoo').createOrReplace()",
                REFUSED,
                "`overwrite(lit(True))`. Spark has removed the entry before; the rows stay",
                NO_PATH,
            ),
            _spark(
                "df.write.format('hoodoo').save('{path}')",
                "`mode('append')` or `mode('overwrite')`; so with `error` and `ignore`",
                "UNSUPPORTED_DATA_SOURCE_SAVE_MODE",
            ),
            _spark(
                "df.write.format('hoodoo').partitionBy('city').mode('append').save('{path}')",
                "the option `hoodie.datasource.write.partitionpath.field`",
                "do not match the existing table",
            ),
            _spark(
                "df.write.format('hoodoo').clusterBy('city').mode('append').save('{path}')",
                "`table.cluster()`",
                "do not match the existing table",
            ),
            _spark(
                "df.write.format('hoodoo').bucketBy(2, 'city').mode('append').save('{path}')",
                "the option `hoodie.index.type=BUCKET`",
                "does not support bucketBy",
            ),
            Case(
                "df.write.format('hoodoo').option('as_of', '1').mode('append').save('{path}')",
                REFUSED,
                "an option of reads, by our name or Hudi's",
                "is one of reads",
            ),
            Case(
                "df.write.format('hoodoo').option('hoodie.datasource.write.operaton', 'x')"
                ".mode('append').save('{path}')",
                REFUSED,
                "the error names the nearest option",
                "did you mean 'hoodie.datasource.write.operation'",
            ),
            Case(
                "spark.read.format('hoodoo').option('operation', 'delete').load('{path}').count()",
                REFUSED,
                "an option of writes",
                "is one of writes",
            ),
            Case(
                "spark.read.format('hoodoo').option('colums', 'id').load('{path}').count()",
                REFUSED,
                "the error names the nearest option",
                "Did you mean columns",
            ),
        ],
    ),
]
