"""Applies the changes of a Postgres table, as Debezium writes them, to a merge-on-read table.

Events come in batches, late and twice; the position in the log of Postgres (`_event_lsn`) says which is the newest.
Large values that an update did not touch come as `__debezium_unavailable_value`, and keep their stored value.

    python docs/examples/postgres_changes.py [FOLDER]
    python docs/examples/postgres_changes.py FOLDER --postgres "host=localhost dbname=test"

The second form needs `psql` and a server with `wal_level = logical`. It makes a table there, changes it, and reads the
changes from a replication slot.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import hoodoo
import pyarrow as pa

UNAVAILABLE = "__debezium_unavailable_value"
COLUMNS = ("id", "city", "balance", "notes")
SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("city", pa.string()),
        ("balance", pa.int64()),
        ("notes", pa.string()),
        ("_event_lsn", pa.int64()),
        ("_hoodie_is_deleted", pa.bool_()),
    ]
)
Event = dict[str, Any]


def create(path: str) -> hoodoo.Table:
    return hoodoo.create(
        path, SCHEMA, record_key="id", ordering="_event_lsn", table_type="MERGE_ON_READ",
        merger="partial",  # columns that a write does not have keep their stored values
        index="bucket", options={"hoodie.bucket.index.num.buckets": 2},
    )  # fmt: skip


def newest_rows(events: Iterable[Event]) -> list[dict[str, Any]]:
    """One row for each key of a batch: its newest event, without the columns whose values are not known."""
    rows: dict[int, dict[str, Any]] = {}
    for event in sorted(events, key=lambda event: event["source"]["lsn"]):
        mark = {"_event_lsn": event["source"]["lsn"], "_hoodie_is_deleted": event["op"] == "d"}
        if event["op"] == "d":  # only the key is known
            key = event["before"]["id"]
            rows[key] = {"id": key, **mark}
            continue
        known = {name: value for name, value in event["after"].items() if value != UNAVAILABLE}
        key = known["id"]
        earlier = rows.get(key, {}) if event["op"] == "u" else {}
        rows[key] = {**earlier, **known, **mark}
    return list(rows.values())


def apply(table: hoodoo.Table, events: Iterable[Event]) -> int:
    """Writes a batch: one commit for the rows that have the same columns. The number of commits."""
    groups = defaultdict(list)
    for row in newest_rows(events):
        groups[tuple(name for name in SCHEMA.names if name in row)].append(row)
    for columns, rows in groups.items():
        schema = pa.schema([SCHEMA.field(name) for name in columns])
        table.upsert(pa.Table.from_pylist(rows, schema))
    return len(groups)


# --- the events -----------------------------------------------------------------------------------
def event(op: str, lsn: int, row: dict[str, Any]) -> Event:
    """The parts of an event of Debezium's Postgres connector that are used here."""
    before, after = (row, None) if op == "d" else (None, row)
    return {"op": op, "before": before, "after": after, "source": {"lsn": lsn, "table": "account"}}


def account(id: int, city: str, balance: int, notes: str) -> dict[str, Any]:
    return dict(zip(COLUMNS, (id, city, balance, notes), strict=True))


def generated() -> list[list[Event]]:
    """Three batches, as a consumer of Kafka gets them."""
    first = [event("r", 100 + n, account(n, "Oslo", 10 * n, f"long text {n}")) for n in range(1, 7)]
    second = [
        event("u", 202, account(2, "Rome", 25, UNAVAILABLE)),
        event("u", 201, account(1, "Kyiv", 15, UNAVAILABLE)),
        event("d", 203, {"id": 3}),
        event("c", 204, account(7, "Lima", 70, "long text 7")),
        event("u", 205, account(7, "Lima", 75, UNAVAILABLE)),  # of a row of this batch
    ]
    third = [
        event("u", 301, account(4, "Oslo", 44, "new text 4")),
        event("c", 302, account(3, "Pisa", 33, "long text 3, again")),
        second[0],  # comes twice
        event("u", 150, account(5, "late", -1, UNAVAILABLE)),  # older than the next one
        event("u", 303, account(5, "Bonn", 55, UNAVAILABLE)),
        event("d", 304, {"id": 6}),
    ]
    return [first, second, third]


def expected(batches: Iterable[Iterable[Event]]) -> list[tuple[Any, ...]]:
    """The rows of Postgres at the end: all events once, in the order of the log, into a dictionary."""
    rows: dict[int, dict[str, Any]] = {}
    events = {event["source"]["lsn"]: event for batch in batches for event in batch}
    for _, one in sorted(events.items()):
        if one["op"] == "d":
            rows.pop(one["before"]["id"], None)
        else:
            old = rows.get(one["after"]["id"], {})
            new = {
                n: old[n] if value == UNAVAILABLE else value for n, value in one["after"].items()
            }
            rows[new["id"]] = new
    return sorted(tuple(row[name] for name in COLUMNS) for row in rows.values())


# --- a real Postgres ------------------------------------------------------------------------------
CHANGES = [
    "INSERT INTO account SELECT n, 'Oslo', 10 * n, (SELECT string_agg(md5(n * i || ''), '') FROM "
    "generate_series(1, 200) i) FROM generate_series(1, 6) n",
    "UPDATE account SET city = 'Kyiv', balance = 15 WHERE id = 1; DELETE FROM account WHERE id = 3;"
    "INSERT INTO account VALUES (7, 'Lima', 70, 'short')",
    "UPDATE account SET notes = 'new text' WHERE id = 4; UPDATE account SET city = 'Bonn' WHERE id = 5;"
    "INSERT INTO account VALUES (3, 'Pisa', 33, 'again'); DELETE FROM account WHERE id = 6",
]
# A value in the output of test_decoding, the plugin for logical decoding that comes with Postgres.
VALUE = re.compile(r"(\w+)\[[^\]]+\]:('(?:[^']|'')*'|\S+)")


def psql(server: str, command: str) -> list[str]:
    run = [
        "psql",
        server,
        "-X",
        "-q",
        "-A",
        "-t",
        "-F",
        "\t",
        "-v",
        "ON_ERROR_STOP=1",
        "-c",
        command,
    ]
    return subprocess.run(run, check=True, capture_output=True, text=True).stdout.splitlines()


def decoded(lines: Iterable[str]) -> Iterator[Event]:
    """Events like Debezium's, of what a replication slot returns: position, transaction, change."""
    for line in lines:
        lsn, _, change = line.split("\t", 2)
        head = re.match(r"table public\.account: (INSERT|UPDATE|DELETE): ", change)
        if head is None:
            continue  # BEGIN and COMMIT
        row: dict[str, Any] = {}
        for name, text in VALUE.findall(change[head.end() :]):
            if text == "unchanged-toast-datum":
                row[name] = UNAVAILABLE
            elif text == "null":
                row[name] = None
            else:
                row[name] = text[1:-1].replace("''", "'") if text[0] == "'" else int(text)
        high, low = lsn.split("/")
        op = {"INSERT": "c", "UPDATE": "u", "DELETE": "d"}[head[1]]
        yield event(op, (int(high, 16) << 32) + int(low, 16), row)


def from_postgres(server: str) -> tuple[list[list[Event]], list[tuple[Any, ...]]]:
    """The batches of three transactions on ``server``, and the rows of its table at the end."""
    psql(
        server,
        "CREATE TABLE account (id bigint PRIMARY KEY, city text, balance bigint, notes text)",
    )
    psql(server, "SELECT pg_create_logical_replication_slot('hoodoo', 'test_decoding')")
    try:
        batches = []
        for change in CHANGES:
            psql(server, change)
            lines = psql(server, "SELECT * FROM pg_logical_slot_get_changes('hoodoo', NULL, NULL)")
            batches.append(list(decoded(lines)))
        lines = psql(server, "SELECT * FROM account ORDER BY id")
    finally:
        psql(server, "SELECT pg_drop_replication_slot('hoodoo')")
        psql(server, "DROP TABLE account")
    rows = [line.split("\t") for line in lines]
    return batches, [(int(id), city, int(balance), notes) for id, city, balance, notes in rows]


def main(folder: str | Path, postgres: str | None = None) -> dict[str, Any]:
    if postgres:
        batches, wanted = from_postgres(postgres)
        assert wanted == expected(batches)
    else:
        batches = generated()
        wanted = expected(batches)
    table = create(str(Path(folder) / "account"))
    for batch in batches:
        commits = apply(table, batch)
        print(f"events: {len(batch)}, commits: {commits}, rows: {table.read().count()}")
    apply(table, batches[-1])  # again, after a crash say: nothing changes

    rows = table.read(columns=list(COLUMNS)).to_arrow().sort_by("id").to_pylist()
    for row in rows:
        print(f"  {row['id']} {row['city']:5} {row['balance']:3} {row['notes'][:20]}")
    assert [tuple(row.values()) for row in rows] == wanted

    # The same of the base files alone, as DuckDB reads them.
    table.compact()
    table.clean("by_versions", fileversions_retained=1)
    names = ", ".join(COLUMNS)
    query = f"SELECT {names} FROM read_parquet(?) ORDER BY id"
    stored = duckdb.execute(query, [f"{folder}/account/*.parquet"]).fetchall()
    assert stored == wanted
    unavailable = sum(
        UNAVAILABLE in (one["after"] or {}).values() for batch in batches for one in batch
    )
    print(
        f"{len(rows)} rows, as in Postgres; {unavailable} events had a value that was not available"
    )
    return {"rows": stored, "events": sum(map(len, batches)), "unavailable": unavailable}


if __name__ == "__main__":
    given = sys.argv[1:]
    server = given[given.index("--postgres") + 1] if "--postgres" in given else None
    main(given[0] if given and not given[0].startswith("-") else tempfile.mkdtemp(), server)
