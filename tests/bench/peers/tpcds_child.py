"""One contender, one process: LHBench's load and refreshes, LST-Bench's phases; prints what they took as a line of JSON.

python -m tests.bench.peers.tpcds_child NAME FOLDER ORDER.json
"""

from __future__ import annotations

import hashlib
import json
import re
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from attrs import define, field

from tests.bench.peers.child import MARKER, fingerprint, measured, session
from tests.bench.peers.contenders import ALL, BUCKETS, Contender
from tests.bench.peers.tpcds_rows import MAINTAINED, REFRESH_QUERIES, SINGLE_USER

BUCKET_ROWS = 250_000  # as many buckets as it takes, up to 8
Step = tuple[str, Callable[[], Any], Callable[[], str] | None]


@define
class Tables:
    """All tables of one contender, and the rows of the benchmark."""

    contender: str
    spark: Any
    warehouse: str
    rows: Path
    plan: dict[str, Any]
    tables: dict[str, Contender] = field(factory=dict)
    answers: dict[str, str] = field(factory=dict)

    def plain(self, name: str) -> Any:
        return self.spark.read.parquet(f"{self.rows}/{name}.parquet")

    def load(self, names: list[str]) -> dict[str, float]:
        kind, more = ALL[self.contender]
        took = {}
        for name in names:
            begun = time.perf_counter()
            said = self.plan["tables"][name]
            made = kind(
                self.spark, f"{self.warehouse}/db/{name}", False, name=name, key=tuple(said["key"]),
                buckets=min(BUCKETS, 1 + said["rows"] // BUCKET_ROWS), **more,
            )  # fmt: skip
            made.load(self.plain(f"base/{name}"))
            self.tables[name] = made
            took[name] = round(time.perf_counter() - begun, 3)
        return took

    def used(self, queries: tuple[int, ...]) -> list[str]:
        """The tables that these queries read."""
        texts = " ".join(self.plan["queries"][f"q{number}"] for number in queries)
        return [name for name in self.plan["tables"] if re.search(rf"\b{name}\b", texts)]

    def query(self, numbers: tuple[int, ...], turns: int) -> dict[str, float]:
        """Medians of so many turns; the clock runs while the tables are opened, too."""
        took: dict[str, list[float]] = {}
        for _ in range(turns):
            for number in numbers:
                begun = time.perf_counter()
                for name in self.used((number,)):
                    self.tables[name].read().createOrReplaceTempView(name)
                found = self.spark.sql(self.plan["queries"][f"q{number}"]).collect()
                took.setdefault(f"q{number}", []).append(time.perf_counter() - begun)
                text = repr(sorted(map(repr, found)))
                self.answers[f"q{number}"] = hashlib.md5(text.encode()).hexdigest()[:8]
        return {name: round(statistics.median(seconds), 3) for name, seconds in took.items()}

    def answered(self) -> str:
        return " ".join(f"{name} {digest}" for name, digest in sorted(self.answers.items()))

    def held(self, names: list[str]) -> str:
        return "; ".join(fingerprint(self.tables[name].read()) for name in names)

    def refresh(self, names: list[str], number: int) -> None:
        for name in names:
            self.tables[name].upsert(self.plain(f"refresh/{name}-{number:02}"))

    def maintain(self, number: int) -> None:
        """The sales of some days go with their returns, new ones come: DF_SS, LF_SR and LF_SS of LST-Bench."""
        sales, returns = (self.tables[name] for name in MAINTAINED)
        for low, high in self.plan["days"][number]:
            gone = f"ss_sold_date_sk >= {low} and ss_sold_date_sk <= {high}"
            tickets = sales.read().where(gone).selectExpr("ss_ticket_number as sr_ticket_number")
            keys = returns.read().join(tickets, "sr_ticket_number", "left_semi")
            returns.delete(keys.select(*returns.key))
            sales.delete_where(gone)
        for name in reversed(MAINTAINED):
            self.tables[name].insert(self.plain(f"insert/{name}-{number:02}"))

    def compact(self, names: list[str]) -> None:
        for name in names:
            self.tables[name].compact()


def asked(queries: tuple[int, ...], order: dict[str, Any]) -> tuple[int, ...]:
    return tuple(number for number in queries if number in order["queries"])


def lhbench(one: Tables, order: dict[str, Any]) -> Iterator[Step]:
    merged, turns, queries = order["merge"], order["turns"], asked(REFRESH_QUERIES, order)
    loaded = one.used(queries) if order["few"] else list(one.plan["tables"])
    yield "lhbench: load", lambda: one.load(loaded), lambda: one.held(merged)
    yield "lhbench: queries", lambda: one.query(queries, turns), one.answered
    for number in range(order["refreshes"]):
        yield f"lhbench: refresh {number + 1}", lambda n=number: one.refresh(merged, n), None  # type: ignore[misc]
    yield "lhbench: queries after them", lambda: one.query(queries, turns), one.answered
    yield "lhbench: compact", lambda: one.compact(merged), lambda: one.held(merged)
    yield "lhbench: queries, compacted", lambda: one.query(queries, turns), one.answered


def lst(one: Tables, order: dict[str, Any]) -> Iterator[Step]:
    """WP1: queries, then by turns two data maintenances and queries. WP2: 1, 2, ... of them, and each time queries
    before and after all files are compacted."""
    both, turns, number = list(MAINTAINED), order["turns"], 0
    queries = asked(SINGLE_USER, order)
    loaded = [name for name in dict.fromkeys([*one.used(queries), *both]) if name not in one.tables]

    def maintenance(count: int) -> Iterator[Step]:
        nonlocal number
        for _ in range(count):
            yield (
                f"lst: maintenance {number + 1}",
                lambda n=number: one.maintain(n),
                lambda: one.held(both),
            )  # type: ignore[misc]
            number += 1

    def user(phase: str) -> Step:
        return f"lst: {phase}", lambda: one.query(queries, turns), one.answered

    if loaded:
        yield "lst: load", lambda: one.load(loaded), lambda: one.held(both)
    yield user("single_user 1")
    for phase in range(order["longevity"]):
        yield from maintenance(2)
        yield user(f"single_user {phase + 2}")
    for phase in range(order["resilience"]):
        if phase:
            yield from maintenance(phase + 1)
            yield user(f"single_user {phase + 1} of WP2")
        yield f"lst: optimize {phase + 1}", lambda: one.compact(both), lambda: one.held(both)
        yield user(f"single_user {phase + 1}o")


def main() -> None:
    name, folder, given = sys.argv[1:4]
    order = json.loads(Path(given).read_text())
    warehouse = f"{folder}/tables"
    spark = session(ALL[name][0], folder, warehouse)
    rows = Path(order["rows"])
    one = Tables(name, spark, warehouse, rows, json.loads((rows / "plan.json").read_text()))
    if order["warm"]:  # what the first queries of a session pay for is not the table's
        for table in one.used(queries := asked(SINGLE_USER, order)):
            one.plain(f"base/{table}").createOrReplaceTempView(table)
        for number in queries:
            spark.sql(one.plan["queries"][f"q{number}"]).collect()
    results: dict[str, Any] = {}
    for part in order["only"]:
        for step, call, check in {"lhbench": lhbench, "lst": lst}[part](one, order):
            results[step] = measured(name, step, call, warehouse, check)
            # The last line counts: where a process ends early, it says what was before.
            print(MARKER + json.dumps(results), flush=True)


if __name__ == "__main__":
    main()
