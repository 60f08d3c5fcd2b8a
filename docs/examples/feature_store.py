"""Uses a table as a feature store: training sets with time travel, and an online store with incremental reads.

A training set may use only what was known when the thing to predict happened. Time travel gives exactly these
features: the table as it was after the load of that day, before later corrections.

    python docs/examples/feature_store.py [FOLDER]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import hoodoo
import polars as pl

# What was loaded on each day: the features of the customers whose features changed. On day 4, the features of
# customer 1 for day 2 are corrected: the load of day 2 counted 9 orders, and 2 is right.
LOADS = {
    1: [(1, 1, 1, 10.0), (2, 1, 5, 50.0), (3, 1, 0, 0.0)],
    2: [(1, 2, 9, 90.0), (3, 2, 1, 8.0)],
    3: [(2, 3, 6, 66.0), (4, 3, 1, 5.0)],
    4: [(1, 2, 2, 20.0), (4, 4, 3, 30.0)],
}
FEATURES = {"customer": pl.Int64, "day": pl.Int64, "orders": pl.Int64, "spent": pl.Float64}
# What is to be predicted: has the customer left on that day?
LABELS = pl.DataFrame(
    {"customer": [1, 2, 1, 3, 2, 4, 1], "at": [1, 1, 2, 2, 3, 3, 4], "left": [0, 1, 0, 0, 0, 1, 1]}
)


def load(day: int) -> pl.DataFrame:
    return pl.DataFrame(LOADS[day], schema=FEATURES, orient="row")


def training_set(table: hoodoo.Table, loaded: dict[int, str]) -> pl.DataFrame:
    """Each label with the features of its customer as they were known on its day."""
    parts = []
    for (day,), labels in LABELS.group_by("at", maintain_order=True):
        features = hoodoo.scan_polars(table, as_of=loaded[day])
        parts.append(labels.lazy().join(features, on="customer", how="left").collect())
    return (
        pl.concat(parts).select("customer", "at", "orders", "spent", "left").sort("customer", "at")
    )


def expected() -> pl.DataFrame:
    """The same without Hoodoo: polars looks for the last load before each label."""
    loads = pl.concat([load(day).with_columns(pl.lit(day, pl.Int64).alias("at")) for day in LOADS])
    joined = LABELS.sort("at").join_asof(
        loads.sort("at"), on="at", by="customer", check_sortedness=False
    )
    return joined.select("customer", "at", "orders", "spent", "left").sort("customer", "at")


def main(folder: str | Path) -> dict[str, Any]:
    path = str(Path(folder) / "features")
    table = hoodoo.create(path, load(1).to_arrow().schema, record_key="customer", ordering="day")
    online: dict[int, dict[str, Any]] = {}  # stands for Redis, say
    loaded: dict[int, str] = {}  # day -> the commit that loaded it
    since, sent = "earliest", []
    for day in LOADS:
        loaded[day] = table.upsert(load(day)).instant
        news = table.incremental(since)
        rows = news.to_pylist()
        online.update({row["customer"]: row for row in rows})
        since = news.plan.until or since  # the next read continues here
        sent.append(len(rows))
        print(f"day {day}: {len(rows)} rows sent to the online store")

    known = training_set(table, loaded)
    for customer, day, orders, spent, left in known.rows():
        print(f"  customer {customer} on day {day}: {orders} orders, {spent} spent -> left {left}")
    assert known.equals(expected())

    # The newest features would be wrong: they know of things that happened later.
    newest = LABELS.join(hoodoo.scan_polars(table).collect(), on="customer", how="left").sort(
        "customer", "at"
    )
    leaked = int((newest["orders"] != known["orders"].fill_null(-1)).sum())
    print(f"{leaked} of {len(LABELS)} labels would have had features from after their day")
    stored = {row["customer"]: row for row in table.read().to_pylist()}
    assert online == stored
    return {"sent": sent, "rows": known.rows(), "leaked": leaked, "online": len(online)}


if __name__ == "__main__":
    main(sys.argv[1] if sys.argv[1:] else tempfile.mkdtemp(prefix="features-"))
