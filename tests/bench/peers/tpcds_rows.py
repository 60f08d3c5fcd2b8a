"""The rows of TPC-DS, its queries, and what changes: by DuckDB's generator, made once for a scale.

DuckDB's generator makes no refresh sets. So a refresh has ``SHARE`` of a table's rows, half of them stored ones with
another quantity, half of them with new order numbers, as in LHBench's microbenchmark of merges; a data maintenance
has days whose sales go, and as many new sales and returns.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from tests.bench.data import cache

# As LHBench has them: primary keys of the tables that change; here also what makes a key new, and what an update changes.
FACTS = {
    "catalog_returns": (("cr_item_sk", "cr_order_number"), "cr_return_quantity"),
    "catalog_sales": (("cs_item_sk", "cs_order_number"), "cs_quantity"),
    "inventory": (("inv_item_sk", "inv_warehouse_sk", "inv_date_sk"), "inv_quantity_on_hand"),
    "store_returns": (("sr_item_sk", "sr_ticket_number"), "sr_return_quantity"),
    "store_sales": (("ss_item_sk", "ss_ticket_number"), "ss_quantity"),
    "web_returns": (("wr_item_sk", "wr_order_number"), "wr_return_quantity"),
    "web_sales": (("ws_item_sk", "ws_order_number"), "ws_quantity"),
}
# All others have their surrogate key alone, which is their first column.
REFRESH_QUERIES = (3, 9, 34, 42, 59)  # those that LHBench runs before and after its refreshes
SINGLE_USER = (
    *REFRESH_QUERIES,
    1,
    50,
    93,
)  # of LST-Bench's 99: also those of store_returns with store_sales
SHARE = 0.03
MAINTAINED = ("store_sales", "store_returns")
DAYS, RANGES = 8, 3  # of a data maintenance: 1.3 % of the 1,823 days with sales


REFRESHES, MAINTENANCES = 10, 15  # as many as LHBench has, and WP1 and WP2 of LST-Bench together


def made(scale: float) -> Path:
    """A folder with ``base/``, ``refresh/`` and ``insert/`` (Parquet) and ``plan.json``. ImportError without DuckDB's
    packages."""
    folder = cache() / f"tpcds-sf{scale:g}"
    if not folder.exists():
        part = folder.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        for name in ("base", "refresh", "insert"):
            (part / name).mkdir(parents=True)
        _make(part, scale)
        part.rename(folder)
    return folder


def _make(folder: Path, scale: float) -> None:
    import duckdb
    import duckdb_extensions

    duckdb_extensions.import_extension("tpcds")
    base = duckdb.connect()
    base.execute("load tpcds")
    base.execute(f"call dsdgen(sf={scale:g})")

    def put(select: str, name: str) -> None:
        base.execute(f"copy ({select}) to '{folder}/{name}.parquet' (row_group_size 250000)")

    tables: dict[str, Any] = {}
    for (name,) in base.execute("select table_name from information_schema.tables order by 1").fetchall():  # fmt: skip
        put(f"from {name}", f"base/{name}")
        first = base.execute(f"describe {name}").fetchall()[0][0]
        rows = base.execute(f"select count(*) from {name}").fetchall()[0][0]
        tables[name] = {"key": FACTS[name][0] if name in FACTS else (first,), "rows": rows}
    for name in FACTS:
        for number in range(REFRESHES):
            put(_refresh(name, number), f"refresh/{name}-{number:02}")
    share = DAYS * RANGES / 1823
    for name in MAINTAINED:
        for number in range(MAINTENANCES):
            put(_new(name, 1000 + number, share), f"insert/{name}-{number:02}")
    low, high = base.execute("select min(ss_sold_date_sk), max(ss_sold_date_sk) from store_sales").fetchall()[0]  # fmt: skip
    step = (high - low - DAYS) // (MAINTENANCES * RANGES)
    starts = [low + step * number for number in range(MAINTENANCES * RANGES)]
    days = [
        [[first, first + DAYS - 1] for first in starts[number::MAINTENANCES]]
        for number in range(MAINTENANCES)
    ]
    queries = {
        # Spark takes names in these quotes.
        f"q{number}": text.strip().rstrip(";").replace('"', "`")
        for number, text in base.execute("select query_nr, query from tpcds_queries()").fetchall()
        if number in SINGLE_USER
    }
    (folder / "plan.json").write_text(json.dumps({"tables": tables, "days": days, "queries": queries}))  # fmt: skip


def _refresh(name: str, number: int) -> str:
    quantity = FACTS[name][1]
    stored = f"select * replace ({quantity} + 1 as {quantity}) from {name} where {_drawn(name, number, SHARE / 2)}"
    return f"{stored} union all {_new(name, number, SHARE / 2)}"


def _new(name: str, number: int, share: float) -> str:
    """Rows of other orders (of other dates, where there are no orders) than any before."""
    counted = FACTS[name][0][-1]
    more = f"(select max({counted}) from {name}) * {number + 1}"
    return f"select * replace ({counted} + {more} as {counted}) from {name} where {_drawn(name, -1 - number, share)}"


def _drawn(name: str, seed: int, share: float) -> str:
    return f"hash({', '.join(FACTS[name][0])}, {seed}) % 10000 < {round(share * 10000)}"
