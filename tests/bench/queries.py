"""TPC-H Q1, Q3, Q6 and Q10 over Hoodoo tables: by DuckDB, polars and Spark, each beside its own scan of the same Parquet
files, in turns. Each way has to answer the same."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import date
from functools import partial
from typing import Any

import hoodoo
import pyarrow.dataset as ds

from tests.bench import data
from tests.bench.measure import Report

TABLES = {
    "lineitem": ["l_orderkey", "l_linenumber"],
    "orders": ["o_orderkey"],
    "customer": ["c_custkey"],
    "nation": ["n_nationkey"],
}
SQL = {
    "Q1": """
        SELECT l_returnflag, l_linestatus, sum(l_quantity) AS sum_qty, sum(l_extendedprice) AS sum_base,
          sum(l_extendedprice * (1 - l_discount)) AS sum_disc,
          sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS sum_charge,
          avg(l_quantity) AS avg_qty, avg(l_extendedprice) AS avg_price, avg(l_discount) AS avg_disc, count(*) AS n
        FROM lineitem WHERE l_shipdate <= DATE '1998-09-02'
        GROUP BY l_returnflag, l_linestatus ORDER BY l_returnflag, l_linestatus""",
    "Q3": """
        SELECT l_orderkey, sum(l_extendedprice * (1 - l_discount)) AS revenue, o_orderdate, o_shippriority
        FROM customer, orders, lineitem
        WHERE c_mktsegment = 'BUILDING' AND c_custkey = o_custkey AND l_orderkey = o_orderkey
          AND o_orderdate < DATE '1995-03-15' AND l_shipdate > DATE '1995-03-15'
        GROUP BY l_orderkey, o_orderdate, o_shippriority
        ORDER BY revenue DESC, o_orderdate, l_orderkey LIMIT 10""",
    "Q6": """
        SELECT sum(l_extendedprice * l_discount) AS revenue FROM lineitem
        WHERE l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01'
          AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24""",
    "Q10": """
        SELECT c_custkey, c_name, sum(l_extendedprice * (1 - l_discount)) AS revenue, c_acctbal, n_name, c_address,
          c_phone, c_comment
        FROM customer, orders, lineitem, nation
        WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND o_orderdate >= DATE '1993-10-01'
          AND o_orderdate < DATE '1994-01-01' AND l_returnflag = 'R' AND c_nationkey = n_nationkey
        GROUP BY c_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment
        ORDER BY revenue DESC, c_custkey LIMIT 20""",
}  # fmt: skip
# What is shown beside the others, and has no goal.
_ASIDE = ("a pyarrow dataset", 'format("hoodoo")')
ONE = "SELECT l_comment FROM lineitem WHERE l_orderkey = 5 AND l_linenumber = 1"
ALL = (
    "SELECT count(l_comment), sum(l_extendedprice), max(l_shipdate), min(l_orderkey) FROM lineitem"
)


def loaded(folder: str, scale: float) -> dict[str, hoodoo.Table]:
    """The tables, in files as a bulk insert makes them; rows of lineitem and orders by their key."""
    made = {}
    for name, key in TABLES.items():
        rows = data.plain(data.made_table(name, scale))
        path = f"{folder}/{name}"
        table = hoodoo.create(path, rows.schema, name=name, record_key=key)
        half = rows.num_rows // 2
        for part in (rows.slice(0, half), rows.slice(half)):
            table.bulk_insert(part)
        made[name] = table
    return made


def files(table: hoodoo.Table) -> list[str]:
    home = table.path.removeprefix("file://")
    return [f"{home}/{s.base_file.path}" for s in table.file_slices()]


def locally(report: Report, folder: str, scale: float, runs: int) -> None:
    tables = loaded(f"{folder}/queries", scale)
    duckdb(report, tables, runs)
    polars(report, tables, runs)


def on_spark(report: Report, session: Any, folder: str, scale: float, runs: int) -> None:
    spark(report, session, loaded(f"{folder}/queries-spark", scale), runs)


def duckdb(report: Report, tables: dict[str, hoodoo.Table], runs: int) -> None:
    import duckdb as engine

    connections = {}  # each of two threads, as the others have
    session = hoodoo.session(tables=tables)
    for way in ("its own scan", "a pyarrow dataset", "to_dataset()", "to_duckdb()"):
        connection = engine.connect(config={"threads": 2})
        for name, table in tables.items():
            if way == "its own scan":
                connection.read_parquet(files(table)).create_view(name)
            elif way == "a pyarrow dataset":
                connection.register(name, ds.dataset(files(table)))
            elif way == "to_dataset()":
                connection.register(name, table.read().to_dataset())
            else:
                table.read().to_duckdb(connection).create_view(name)
        connections[way] = connection

    def ask(way: str, text: str, run: int) -> Any:
        if way not in connections:
            return [tuple(row.values()) for row in session.sql(text).to_pylist()]
        return connections[way].execute(text).fetchall()

    for name, text in SQL.items():
        ways_of = (*connections, "session.sql()")
        calls = {f"DuckDB {name}, {way}": partial(ask, way, text) for way in ways_of}
        beside(report, calls, runs, 1.2)
    for way in ("to_dataset()", "to_duckdb()"):
        calls = {f"DuckDB, all rows, {way}": partial(ask, way, ALL)}
        calls[f"DuckDB, one row, {way}"] = partial(ask, way, ONE)
        report.in_turn(calls, runs, 0.1)


def polars(report: Report, tables: dict[str, hoodoo.Table], runs: int) -> None:
    import polars as pl

    ways: dict[str, Callable[[hoodoo.Table], Any]] = {
        "its own scan": lambda table: pl.scan_parquet(files(table)).select(table.schema.names),
        "scan_polars": hoodoo.scan_polars,
    }

    def ask(way: str, query: Callable[[Any], Any], run: int) -> Any:
        frames = {name: ways[way](table) for name, table in tables.items()}
        return [tuple(row) for row in query(frames).collect().rows()]

    for name, query in {"Q1": _q1, "Q3": _q3, "Q6": _q6, "Q10": _q10}.items():
        beside(
            report, {f"polars {name}, {way}": partial(ask, way, query) for way in ways}, runs, 1.2
        )


def spark(report: Report, session: Any, tables: dict[str, hoodoo.Table], runs: int) -> None:
    ways: dict[str, Callable[[hoodoo.Table], Any]] = {
        "plain Parquet": lambda table: session.read.parquet(*files(table)),
        "to_spark": lambda table: table.read().to_spark(session),
        'format("hoodoo")': lambda table: session.read.format("hoodoo").load(table.path),
    }

    def ask(way: str, text: str, run: int) -> Any:
        for name, table in tables.items():
            ways[way](table).createOrReplaceTempView(name)
        return [tuple(row) for row in session.sql(text).collect()]

    for name, text in SQL.items():
        beside(report, {f"Spark {name}, {way}": partial(ask, way, text) for way in ways}, runs, 1.1)


def beside(report: Report, calls: dict[str, Callable[[int], Any]], runs: int, goal: float) -> None:
    """Once each for their answers and for what is made at the first call, then in turns."""
    answers = [call(0) for call in calls.values()]
    assert all(same(answers[0], other) for other in answers[1:]), answers
    report.in_turn(calls, runs, goal, [name for name in calls if name.endswith(_ASIDE)])


def same(one: Any, other: Any) -> bool:
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    if one is None or isinstance(one, (str, date)):
        return bool(one == other)
    return math.isclose(float(one), float(other), rel_tol=1e-6)


def _q1(t: dict[str, Any]) -> Any:
    import polars as pl

    c = pl.col
    price = c("l_extendedprice") * (1 - c("l_discount"))
    return (
        t["lineitem"].filter(c("l_shipdate") <= date(1998, 9, 2)).group_by("l_returnflag", "l_linestatus")
        .agg(
            c("l_quantity").sum().alias("sum_qty"), c("l_extendedprice").sum().alias("sum_base"),
            price.sum().alias("sum_disc"), (price * (1 + c("l_tax"))).sum().alias("sum_charge"),
            c("l_quantity").mean().alias("avg_qty"), c("l_extendedprice").mean().alias("avg_price"),
            c("l_discount").mean().alias("avg_disc"), pl.len().alias("n"),
        )
        .sort("l_returnflag", "l_linestatus")
    )  # fmt: skip


def _q3(t: dict[str, Any]) -> Any:
    import polars as pl

    c = pl.col
    revenue = (c("l_extendedprice") * (1 - c("l_discount"))).sum().alias("revenue")
    return (
        t["customer"].filter(c("c_mktsegment") == "BUILDING")
        .join(t["orders"].filter(c("o_orderdate") < date(1995, 3, 15)), left_on="c_custkey", right_on="o_custkey")
        .join(t["lineitem"].filter(c("l_shipdate") > date(1995, 3, 15)), left_on="o_orderkey", right_on="l_orderkey")
        .group_by("o_orderkey", "o_orderdate", "o_shippriority").agg(revenue)
        .select("o_orderkey", "revenue", "o_orderdate", "o_shippriority")
        .sort("revenue", "o_orderdate", "o_orderkey", descending=[True, False, False]).head(10)
    )  # fmt: skip


def _q6(t: dict[str, Any]) -> Any:
    import polars as pl

    c = pl.col
    year = (c("l_shipdate") >= date(1994, 1, 1)) & (c("l_shipdate") < date(1995, 1, 1))
    few = (c("l_discount") >= 0.05) & (c("l_discount") <= 0.07) & (c("l_quantity") < 24)
    revenue = (c("l_extendedprice") * c("l_discount")).sum().alias("revenue")
    return t["lineitem"].filter(year & few).select(revenue)


def _q10(t: dict[str, Any]) -> Any:
    import polars as pl

    c = pl.col
    quarter = (c("o_orderdate") >= date(1993, 10, 1)) & (c("o_orderdate") < date(1994, 1, 1))
    revenue = (c("l_extendedprice") * (1 - c("l_discount"))).sum().alias("revenue")
    names = ["c_custkey", "c_name", "c_acctbal", "c_phone", "n_name", "c_address", "c_comment"]
    order = [
        "c_custkey",
        "c_name",
        "revenue",
        "c_acctbal",
        "n_name",
        "c_address",
        "c_phone",
        "c_comment",
    ]
    return (
        t["customer"].join(t["orders"].filter(quarter), left_on="c_custkey", right_on="o_custkey")
        .join(t["lineitem"].filter(c("l_returnflag") == "R"), left_on="o_orderkey", right_on="l_orderkey")
        .join(t["nation"], left_on="c_nationkey", right_on="n_nationkey")
        .group_by(names).agg(revenue).select(order)
        .sort("revenue", "c_custkey", descending=[True, False]).head(20)
    )  # fmt: skip
