"""The 22 queries of TPC-H over Hoodoo tables, beside the engine's own scan of the same Parquet files.

    python -m tests.bench.tpch 1 [--only local,dataset,key,spark,spark_key,format] [--queries 1,6] [--runs 3]

Without Spark: `hoodoo.sql`, and `to_dataset` in a connection of DuckDB's, beside DuckDB's `read_parquet`. With Spark:
`session.sql`, and `format("hoodoo")` with the columns of the query named and without, beside views of
`spark.read.parquet`. The sides take turns, and each has been asked once before; the rows are compared. Shown are medians
of seconds by the clock and of processor seconds (of this process; with Spark of all processes below it), with ratios to
the engine's own scan. A key: one order, beside a query that reads all rows.
"""

from __future__ import annotations

import argparse
import math
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import hoodoo
import sqlglot
from attrs import define, field
from sqlglot import exp

from tests.bench import data
from tests.bench.processor import ProcessorTime
from tests.bench.queries import files
from tests.bench.tpch_serializers import KEYS
from tests.nets.tpch_queries import QUERIES

PARTS = ("local", "dataset", "key", "spark", "spark_key", "format")
# The page of the specification names ten of them for reads without named columns.
TEN = tuple(range(1, 11))
ONE = "SELECT * FROM lineitem WHERE l_orderkey = 3000007"
# Of all columns, as the rows that ONE takes have them.
ALL = "SELECT * FROM lineitem WHERE l_orderkey + l_linenumber < 3"
Ask = Callable[[str], list[tuple[Any, ...]]]


@define
class Side:
    """What the runs of one way took: seconds by the clock, and of processors, by query."""

    clock: dict[str, list[float]] = field(factory=dict)
    processor: dict[str, list[float]] = field(factory=dict)

    def median(self, query: str) -> tuple[float, float]:
        return statistics.median(self.clock[query]), statistics.median(self.processor[query])

    def total(self) -> tuple[float, float]:
        both = [self.median(query) for query in self.clock]
        return sum(c for c, _ in both), sum(p for _, p in both)


def in_turns(
    title: str, ways: Mapping[str, Ask], texts: Mapping[str, str], runs: int, below: bool = False
) -> dict[str, Side]:
    """``below``: other processes than this one work, too. Prints a line of ratios for each query."""
    sides = {way: Side() for way in ways}
    first_way, *more = sides
    head = "".join(f" {way} | processor |" for way in more)
    print(f"\n| {title} | {first_way} | processor |{head}\n|{'---|' * (3 + 2 * len(more))}")
    for query, text in texts.items():
        first, *others = [ask(text) for ask in ways.values()]
        for other in others:
            assert alike(first, other), (query, first[:3], other[:3])
        for run in range(runs):
            # Who is first changes: what one has left in caches is not always the other's.
            for way in list(ways)[:: 1 if run % 2 == 0 else -1]:
                clock, used = _timed(partial(ways[way], text), below)
                sides[way].clock.setdefault(query, []).append(clock)
                sides[way].processor.setdefault(query, []).append(used)
        print(_line(query, [side.median(query) for side in sides.values()]), flush=True)
    return sides


def _line(name: str, figures: list[tuple[float, float]]) -> str:
    (clock, used), *rest = figures
    ratios = "".join(f" {c / clock:.2f} | {p / max(used, 1e-3):.2f} |" for c, p in rest)
    return f"| {name} | {clock:.3f} s | {used:.2f} s |{ratios}"


def alike(one: list[Any], other: list[Any]) -> bool:
    """In the order of the query, or in any where that has equal places."""
    return _near(one, other) or _near(sorted(one, key=str), sorted(other, key=str))


def _near(one: Any, other: Any) -> bool:
    """DuckDB's averages of decimals are doubles, Spark's have four digits more than the column."""
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(_near, one, other))
    if one is None or isinstance(one, (str, date)) or other is None:
        return bool(one == other)
    return math.isclose(float(one), float(other), rel_tol=1e-4, abs_tol=1e-6)


def _timed(call: Callable[[], Any], below: bool) -> tuple[float, float]:
    began, used = time.perf_counter(), time.process_time()
    if not below:
        call()
        return time.perf_counter() - began, time.process_time() - used
    with ProcessorTime() as processor:
        began = time.perf_counter()
        call()
        clock = time.perf_counter() - began
    return clock, processor.seconds


def show(sides: Mapping[str, Side], goals: Mapping[str, float]) -> None:
    """The totals beside ``goals``."""
    first, *others = sides
    print(_line("total", [side.total() for side in sides.values()]))
    total = sides[first].total()
    for way in others:
        found, goal = sides[way].total()[0] / total[0], goals.get(way)
        if goal is not None:
            print(f"{way}: {found:.2f} of {first}, goal {goal}: {_said(found, goal)}")
    print(flush=True)


def _said(found: float, goal: float) -> str:
    return "reached" if found <= goal else "MISSED"


# --- the tables -----------------------------------------------------------------------------------
def loaded(folder: str, scale: float) -> dict[str, hoodoo.Table]:
    """All tables, in files as bulk inserts make them; those that ``folder`` has are taken as they are."""
    made = {}
    for name, key in KEYS.items():
        path = Path(folder) / name
        if path.exists():
            made[name] = hoodoo.open(path)
            continue
        rows = data.plain(data.made_table(name, scale))
        table = hoodoo.create(path, rows.schema, name=name, record_key=key)
        many = max(1, rows.num_rows // 1_500_000)
        for part in range(many):
            first, last = (rows.num_rows * n // many for n in (part, part + 1))
            table.bulk_insert(rows.slice(first, last - first))
        made[name] = table
    return made


def named(text: str, schema: Iterable[str]) -> list[str]:
    """Those columns of a table that a query names."""
    tree = sqlglot.parse_one(text, read="spark")
    names = {column.name.lower() for column in tree.find_all(exp.Column)}
    return [name for name in schema if name in names] or list(schema)[:1]


# --- without Spark --------------------------------------------------------------------------------
def without_spark(tables: Mapping[str, hoodoo.Table], way: str) -> dict[str, Ask]:
    import duckdb

    own = duckdb.connect(config={"threads": 2})
    for name, table in tables.items():
        own.read_parquet(files(table)).select(*table.schema.names).create_view(name)
    other = duckdb.connect(config={"threads": 2})

    def by_dataset(text: str) -> Any:
        for name, table in tables.items():
            if name in text:
                other.register(name, table.read().to_dataset())
        return other.execute(text).fetchall()

    def by_sql(text: str) -> Any:
        return _tuples(hoodoo.sql(text, tables=tables))

    return {
        "DuckDB's own scan": lambda text: own.execute(text).fetchall(),
        **({"to_dataset": by_dataset} if way == "dataset" else {"hoodoo.sql": by_sql}),
    }


def _tuples(found: Any) -> list[Any]:
    rows = getattr(found, "rows", found)
    return list(zip(*(column.to_pylist() for column in rows.columns))) if rows.num_columns else []


# --- with Spark -----------------------------------------------------------------------------------
def with_spark(spark: Any, tables: Mapping[str, hoodoo.Table], form: bool) -> dict[str, Ask]:
    for name, table in tables.items():
        plain = spark.read.parquet(*files(table)).select(*table.schema.names)
        plain.createOrReplaceTempView(f"plain_{name}")
    session = hoodoo.session(spark, tables=tables)

    def plainly(text: str) -> Any:
        return _collected(spark.sql(_renamed(text, "plain_")))

    def by_session(text: str) -> Any:
        return _collected(session.sql(text).to_spark())

    def by_format(text: str, columns: bool) -> Any:
        for name, table in tables.items():
            if name in text:
                reader = spark.read.format("hoodoo")
                if columns:
                    reader = reader.option("columns", ",".join(named(text, table.schema.names)))
                reader.load(table.path).createOrReplaceTempView(f"format_{name}")
        return _collected(spark.sql(_renamed(text, "format_")))

    if not form:
        return {"plain Parquet": plainly, "session.sql": by_session}
    return {
        "plain Parquet": plainly,
        "format, named columns": partial(by_format, columns=True),
        "format": partial(by_format, columns=False),
    }


def _renamed(text: str, before: str) -> str:
    tree = sqlglot.parse_one(text, read="spark")
    for table in tree.find_all(exp.Table):
        if table.name in KEYS:
            alias = table.alias or table.name
            table.set("alias", exp.TableAlias(this=exp.to_identifier(alias)))
            table.set("this", exp.to_identifier(before + table.name))
    return tree.sql("spark")


def _collected(frame: Any) -> list[Any]:
    return [tuple(row) for row in frame.collect()]


def key_beside_scan(title: str, ways: Mapping[str, Ask], runs: int, below: bool) -> None:
    """One order by its key, beside a query that looks at all rows of the engine's own scan."""
    first, other = ways
    asked: dict[str, Ask] = {
        f"{first}, all rows": lambda _: ways[first](ALL),
        f"{first}, one key": lambda _: ways[first](ONE),
        f"{other}, one key": lambda _: ways[other](ONE),
    }
    times: dict[str, tuple[list[float], list[float]]] = {way: ([], []) for way in asked}
    assert alike(ways[first](ONE), ways[other](ONE)) and ways[first](ONE)
    asked[f"{first}, all rows"]("")
    for _ in range(runs):
        for way, ask in asked.items():
            clock, used = _timed(partial(ask, ""), below)
            times[way][0].append(clock)
            times[way][1].append(used)
    whole = statistics.median(times[f"{first}, all rows"][0])
    print(f"\n| {title} | seconds | processor | of a scan |\n|---|---|---|---|")
    for way, (clocks, used_) in times.items():
        clock = statistics.median(clocks)
        print(f"| {way} | {clock:.3f} | {statistics.median(used_):.2f} | {clock / whole:.3f} |")
    found = statistics.median(times[f"{other}, one key"][0]) / whole
    print(f"{other}: {found:.3f} of a scan, goal 0.1: {_said(found, 0.1)}\n", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scale", type=float, nargs="?", default=1.0, help="TPC-H scale factor")
    parser.add_argument("--only", default=",".join(PARTS), help="parts, comma separated")
    parser.add_argument("--queries", default="", help="numbers, comma separated (default: all)")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--tables", default="", help="a folder that keeps the tables")
    chosen = parser.parse_args()
    parts = chosen.only.split(",")
    assert not set(parts) - set(PARTS), f"parts are {PARTS}"
    numbers = [int(n) for n in chosen.queries.split(",") if n] or list(QUERIES)
    texts = {f"Q{n}": " ".join(QUERIES[n].split()) for n in numbers}
    folder = tempfile.mkdtemp(prefix="hoodoo-bench-", dir=data.cache())
    try:
        tables = loaded(chosen.tables or folder, chosen.scale)
        many = sum(len(files(table)) for table in tables.values())
        print(f"scale {chosen.scale:g}, {many} files, medians of {chosen.runs}", flush=True)
        for part, goal in (("local", "hoodoo.sql"), ("dataset", "to_dataset")):
            if part in parts:
                ways = without_spark(tables, part)
                show(in_turns("without Spark", ways, texts, chosen.runs), {goal: 1.1})
        if "key" in parts:
            for part in ("local", "dataset"):
                ways = without_spark(tables, part)
                key_beside_scan("DuckDB", ways, chosen.runs, False)
        if {"spark", "spark_key", "format"} & set(parts):
            on_spark(tables, texts, parts, chosen.runs, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def on_spark(
    tables: Mapping[str, hoodoo.Table],
    texts: Mapping[str, str],
    parts: list[str],
    runs: int,
    folder: str,
) -> None:
    from tests.bench.run import session

    spark = session(folder)
    ways = with_spark(spark, tables, False)
    if "spark" in parts:
        show(in_turns("Spark", ways, texts, runs, True), {"session.sql": 1.1})
    if "spark_key" in parts:
        key_beside_scan("Spark", ways, runs, True)
    if "format" in parts:
        ten = {query: text for query, text in texts.items() if int(query[1:]) in TEN}
        sides = in_turns("Spark", with_spark(spark, tables, True), ten, runs, True)
        show(sides, {"format, named columns": 1.3, "format": 2.5})
    spark.stop()


if __name__ == "__main__":
    main()
