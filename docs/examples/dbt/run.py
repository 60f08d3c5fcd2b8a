"""Runs a project of dbt whose source is a Hoodoo table.

The plugin `hoodoo_source.py` gives the rows of the table to dbt-duckdb; the models are ordinary SQL. The report is in
a DuckDB file, and is compared with polars.

    pip install hoodoo polars "dbt-core<1.11" dbt-duckdb
    python docs/examples/dbt/run.py [FOLDER]
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import duckdb
import hoodoo
import polars as pl
import pyarrow as pa

PROJECT = Path(__file__).parent
ORDERS = pa.schema(
    [("id", pa.int64()), ("day", pa.string()), ("city", pa.string()), ("cents", pa.int64()), ("state", pa.string())]
)  # fmt: skip
DELIVERIES = [
    [(1, "d1", "oslo", 1000, "paid"), (2, "d1", "rome", 2500, "open"), (3, "d1", "oslo", 500, "paid")],
    [(2, "d1", "rome", 2500, "paid"), (4, "d2", "rome", 750, "paid")],
]  # fmt: skip


def build(folder: Path) -> list[tuple[Any, ...]]:
    """``dbt build``, and the rows of the report."""
    dbt = Path(sys.executable).with_name("dbt")
    command = [dbt, "--quiet", "build", "--project-dir", PROJECT, "--profiles-dir", PROJECT]
    places = {"SHOP": str(folder), "SHOP_MODULES": str(PROJECT)}
    subprocess.run(
        [*command, "--log-path", folder / "logs"], check=True, env={**os.environ, **places}
    )
    with duckdb.connect(str(folder / "shop.duckdb")) as connection:
        return connection.sql("FROM daily_revenue ORDER BY day, city").fetchall()


def expected(rows: list[Any]) -> list[tuple[Any, ...]]:
    newest = {row[0]: row for row in rows}
    frame = pl.DataFrame(list(newest.values()), schema=ORDERS.names, orient="row")
    paid = frame.filter(pl.col("state") == "paid").group_by("day", "city")
    return paid.agg(pl.len(), pl.col("cents").sum() / 100).sort("day", "city").rows()


def main(folder: str | Path) -> dict[str, Any]:
    folder = Path(folder).resolve()
    table = hoodoo.create(str(folder / "orders"), ORDERS, record_key="id")
    reports, delivered = [], []
    for rows in DELIVERIES:
        table.upsert([dict(zip(ORDERS.names, row, strict=True)) for row in rows])
        delivered += rows
        reports.append(build(folder))
        print(f"{len(rows)} orders: {reports[-1]}")
        assert reports[-1] == expected(delivered)
    return {"reports": reports}


if __name__ == "__main__":
    main(sys.argv[1] if sys.argv[1:] else tempfile.mkdtemp(prefix="dbt-"))
