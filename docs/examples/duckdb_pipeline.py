"""Builds a report from a table with SQL in DuckDB, and keeps it up to date with what is new.

The models are plain SQL text, one for each step, as in a project of dbt: staging, intermediate, report. Each run reads
only the orders that have changed since the last one, and writes only the days of these orders.

    python docs/examples/duckdb_pipeline.py [FOLDER]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import duckdb
import hoodoo
import polars as pl
import pyarrow as pa
from hoodoo.errors import NotATableError

ORDERS = pa.schema(
    [
        ("id", pa.int64()),
        ("day", pa.string()),
        ("city", pa.string()),
        ("cents", pa.int64()),
        ("state", pa.string()),
    ]
)
REPORT = pa.schema(
    [("day", pa.string()), ("city", pa.string()), ("orders", pa.int64()), ("revenue", pa.float64())]
)
# Name of a view -> its query. `orders` is the table; `news` are its rows that are new or have changed.
MODELS = {
    "stg_orders": "SELECT id, day, upper(city) AS city, cents / 100.0 AS euros FROM orders WHERE state = 'paid'",
    "days_to_build": "SELECT DISTINCT day FROM news",
    "daily_revenue": """
        SELECT day, city, count(*) AS orders, sum(euros) AS revenue
        FROM stg_orders SEMI JOIN days_to_build USING (day)
        GROUP BY day, city ORDER BY day, city
    """,
}
DELIVERIES = [
    [
        (1, "d1", "oslo", 1000, "paid"),
        (2, "d1", "rome", 2500, "open"),
        (3, "d1", "oslo", 500, "paid"),
    ],
    [(2, "d1", "rome", 2500, "paid"), (4, "d2", "rome", 750, "paid")],
    [
        (5, "d3", "kyiv", 100, "paid"),
        (6, "d3", "kyiv", 200, "paid"),
        (7, "d3", "oslo", 300, "open"),
    ],
]


def opened(path: Path, schema: pa.Schema, **how: Any) -> hoodoo.Table:
    """The table at ``path``, which is created if it is not there."""
    try:
        return hoodoo.open(str(path))
    except NotATableError:
        return hoodoo.create(str(path), schema, **how)


def build(folder: Path, since: str) -> tuple[str, list[str]]:
    """One run: up to where the orders have been read, and the days that were written."""
    orders = opened(folder / "orders", ORDERS, record_key="id")
    report = opened(
        folder / "daily_revenue", REPORT, record_key=["day", "city"], partition_by="day"
    )
    news = orders.incremental(since)
    with duckdb.connect() as connection:
        connection.register("orders", orders.read().to_dataset())
        connection.register("news", news.to_arrow())
        for name, query in MODELS.items():
            connection.execute(f"CREATE VIEW {name} AS {query}")
        days = [day for (day,) in connection.sql("FROM days_to_build ORDER BY day").fetchall()]
        if days:  # replaces the partitions of these days, and no other
            report.insert_overwrite(connection.sql("FROM daily_revenue").to_arrow_table())
    return news.plan.until or since, days


def expected() -> list[tuple[Any, ...]]:
    """The report of all orders, with polars."""
    newest = {row[0]: row for rows in DELIVERIES for row in rows}
    frame = pl.DataFrame(list(newest.values()), schema=ORDERS.names, orient="row")
    paid = frame.filter(pl.col("state") == "paid").with_columns(pl.col("city").str.to_uppercase())
    sums = paid.group_by("day", "city").agg(pl.len(), pl.col("cents").sum() / 100)
    return sums.sort("day", "city").rows()


def main(folder: str | Path) -> dict[str, Any]:
    folder = Path(folder)
    orders = opened(folder / "orders", ORDERS, record_key="id")
    since, built = "earliest", []
    for rows in DELIVERIES:
        orders.upsert([dict(zip(ORDERS.names, row, strict=True)) for row in rows])
        since, days = build(folder, since)
        built.append(days)
        print(f"{len(rows)} orders: built {', '.join(days)}")
    since, days = build(folder, since)
    assert days == []  # nothing new, nothing written

    report = hoodoo.open(str(folder / "daily_revenue"))
    dataset = report.read().to_dataset()  # noqa: F841 (DuckDB reads it)
    stored = duckdb.sql("SELECT * FROM dataset ORDER BY day, city").fetchall()
    for day, city, count, revenue in stored:
        print(f"  {day} {city:5} {count} {revenue:6.2f}")
    assert stored == expected()
    return {"built": built, "report": stored, "commits": len(report.timeline().writes())}


if __name__ == "__main__":
    main(sys.argv[1] if sys.argv[1:] else tempfile.mkdtemp(prefix="pipeline-"))
