"""Keeps the history of customers as a slowly changing dimension of type 2.

Each version of a customer is a row with `valid_from`, `valid_to` and `current`. One MERGE statement for each delivery
closes the versions that have changed and adds the new ones; a delivery that comes twice changes nothing.

    python docs/examples/customer_history.py [FOLDER]
"""

from __future__ import annotations

import sys
import tempfile
from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import hoodoo
import pyarrow as pa

# What the source system delivers: all customers that are new or have changed, with their new values.
DELIVERIES = {
    date(2026, 1, 1): [(1, "Oslo", "basic"), (2, "Rome", "basic"), (3, "Kyiv", "plus")],
    date(2026, 2, 1): [(2, "Paris", "basic"), (3, "Kyiv", "plus"), (4, "Lima", "plus")],
    date(2026, 3, 1): [(1, "Oslo", "plus"), (2, "Rome", "basic")],
}
DELIVERY = pa.schema(
    [("customer", pa.int64()), ("city", pa.string()), ("tariff", pa.string()), ("day", pa.date32())]
)
HISTORY = pa.schema(
    [
        ("customer", pa.int64()),
        ("city", pa.string()),
        ("tariff", pa.string()),
        ("valid_from", pa.date32()),
        ("valid_to", pa.date32()),  # null: until today
        ("current", pa.bool_()),
    ]
)
# The source of the merge has two kinds of rows. A row with a key closes the current version of that customer; a row
# without a key (null is not equal to anything) is inserted as the new version.
MERGE = """
    MERGE INTO history AS t
    USING (
        SELECT d.*, d.customer AS closes FROM delivery d
        JOIN history h ON h.customer = d.customer AND h.current
        WHERE (d.city, d.tariff) IS DISTINCT FROM (h.city, h.tariff)
        UNION ALL
        SELECT d.*, NULL AS closes FROM delivery d
        LEFT JOIN history h ON h.customer = d.customer AND h.current
        WHERE h.customer IS NULL OR (d.city, d.tariff) IS DISTINCT FROM (h.city, h.tariff)
    ) AS s
    ON t.customer = s.closes AND t.current
    WHEN MATCHED THEN UPDATE SET t.valid_to = s.day, t.current = false
    WHEN NOT MATCHED THEN INSERT (customer, city, tariff, valid_from, valid_to, current)
        VALUES (s.customer, s.city, s.tariff, s.day, NULL, true)
"""


def delivery(day: date) -> pa.Table:
    rows = [(*row, day) for row in DELIVERIES[day]]
    return pa.Table.from_pylist(
        [dict(zip(DELIVERY.names, row, strict=True)) for row in rows], DELIVERY
    )


def expected() -> list[tuple[Any, ...]]:
    """The history, worked out by DuckDB from all deliveries at once, with window functions."""
    deliveries = pa.concat_tables([delivery(day) for day in DELIVERIES])  # noqa: F841 (DuckDB reads it)
    return duckdb.sql("""
        WITH versions AS (
            SELECT *, lag((city, tariff)) OVER (PARTITION BY customer ORDER BY day) AS before FROM deliveries
        )
        SELECT customer, city, tariff, day AS valid_from,
               lead(day) OVER (PARTITION BY customer ORDER BY day) AS valid_to,
               lead(day) OVER (PARTITION BY customer ORDER BY day) IS NULL AS current
        FROM versions WHERE before IS DISTINCT FROM (city, tariff)
        ORDER BY customer, valid_from
    """).fetchall()


def main(folder: str | Path) -> dict[str, Any]:
    history = hoodoo.create(
        str(Path(folder) / "customer_history"), HISTORY, record_key=["customer", "valid_from"]
    )
    commits = []
    for day in DELIVERIES:
        commit = hoodoo.sql(MERGE, {"history": history, "delivery": delivery(day)})
        commits.append(commit)
        print(f"{day}: {commit.updated} versions closed, {commit.inserted} added")
    again = hoodoo.sql(MERGE, {"history": history, "delivery": delivery(day)})
    print(f"the last delivery again: {again.updated} versions closed, {again.inserted} added")

    rows = history.read().to_dataset()  # noqa: F841 (DuckDB reads it)
    stored = duckdb.sql("SELECT * FROM rows ORDER BY customer, valid_from").fetchall()
    for customer, city, tariff, valid_from, valid_to, _ in stored:
        print(
            f"  customer {customer}: {city:5} {tariff:5} from {valid_from} to {valid_to or 'today'}"
        )
    assert stored == expected()
    assert again.instant == ""  # nothing to do: no commit

    # The question that such a table answers: how was it on a day?
    then = duckdb.sql("""
        SELECT customer, city FROM rows
        WHERE valid_from <= DATE '2026-02-10' AND (valid_to IS NULL OR valid_to > DATE '2026-02-10')
        ORDER BY customer
    """).fetchall()
    print(f"on 2026-02-10: {then}")
    assert then == [(1, "Oslo"), (2, "Paris"), (3, "Kyiv"), (4, "Lima")]
    return {
        "closed": [commit.updated for commit in commits],
        "added": [commit.inserted for commit in commits],
        "versions": len(stored),
        "then": then,
    }


if __name__ == "__main__":
    main(sys.argv[1] if sys.argv[1:] else tempfile.mkdtemp(prefix="history-"))
