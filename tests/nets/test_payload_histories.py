"""Random histories of tables with Hudi's payload classes, beside a model of each class."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from payload_model import KINDS, UNAVAILABLE, Kind, Row

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("city", pa.string()),
        ("text", pa.string()),
        ("data", pa.binary()),
        ("number", pa.int64()),
        ("list", pa.list_(pa.int64())),
        ("ts", pa.int64()),
        ("_event_lsn", pa.int64()),
        ("_event_bin_file", pa.string()),
        ("_event_pos", pa.int64()),
        ("_change_operation_type", pa.string()),
        ("Op", pa.string()),
    ]
)
FIXED = ("id", "city")
INDEXES = ("simple", "global_simple", "bloom", "bucket", "record_index", "global_bloom")
OPTIONS: dict[str, dict[str, Any]] = {
    "bucket": {"hoodie.bucket.index.num.buckets": 2},
    "record_index": {
        "hoodie.metadata.enable": "true",
        "hoodie.record.index.update.partition.path": "true",
    },
    "global_simple": {"hoodie.simple.index.update.partition.path": "true"},
    "global_bloom": {"hoodie.bloom.index.update.partition.path": "true"},
}
CITIES = ("oslo", "rome")


class History:
    """``stored``: what base files have, ``logged``: what log files have, by key. ``rows``: each key
    merged at once. Rows whose result depends on when they are merged are not written: Hudi's
    mergers of partial rows by event time are not associative."""

    def __init__(self, kind: Kind, index: str, table_type: str, seed: int) -> None:
        self.kind, self.draw = kind, random.Random(seed)
        self.is_bucket = index == "bucket"
        self.is_global = index not in ("simple", "bloom", "bucket")
        self.merges_later = table_type == "MERGE_ON_READ"
        self.rows: dict[Any, Row] = {}
        self.base: dict[Any, Row] = {}
        self.log: dict[Any, Row] = {}
        self.clock = 10

    def key(self, row: Row) -> Any:
        return row["id"] if self.is_global else (row["city"], row["id"])

    def row(self) -> Row:
        draw = self.draw
        self.clock += draw.randint(0, 1)
        at = max(1, self.clock - draw.choice((0, 0, 0, 1, 2, 5)))
        text = draw.choice(("a", "b", "c", None, UNAVAILABLE))
        return {
            "id": draw.randint(1, 8),
            "city": draw.choice(CITIES),
            "text": text,
            "data": draw.choice((b"x", b"y", None, UNAVAILABLE.encode())),
            "number": draw.choice((1, 2, None)),
            "list": draw.choice(([1], [2, None], None)),
            "ts": at,
            "_event_lsn": at,
            "_event_bin_file": f"mysql-bin.{at // 4:06}",
            "_event_pos": at % 4,
            "_change_operation_type": draw.choice(("c", "u", "u", "r", "d")),
            "Op": draw.choice(("I", "U", "U", None, "D", "d")),
        }

    def merged(self, older: Row | None, newer: Row) -> Row:
        return self.kind.merged(older, newer, FIXED)

    def batch(self) -> tuple[list[Row], tuple[int, int, int]]:
        """Rows, and what a table without log files counts: inserted, updated, deleted."""
        rows = [self.row() for _ in range(self.draw.randint(1, 6))]
        by_key: dict[Any, list[Row]] = {}
        for row in rows:
            by_key.setdefault(self.key(row), []).append(row)
        counts = [0, 0, 0]
        for key, some in by_key.items():
            one: Row | None = None
            for row in some:
                one = self.merged(one, row)
            assert one is not None
            before = self.rows.get(key)
            if not self.taken(key, one):
                rows = [row for row in rows if self.key(row) != key]
                continue
            self.count(counts, before, self.rows.get(key))
        return rows, (counts[0], counts[1], counts[2])

    def count(self, counts: list[int], before: Row | None, after: Row | None) -> None:
        lived = before is not None and not self.kind.deleted(before)
        lives = after is not None and not self.kind.deleted(after)
        if lived and lives and before["city"] != after["city"]:
            lived = lives = False
            counts[0] += 1
            counts[2] += 1
        counts[0] += lives and not lived
        counts[1] += lives and lived and before is not after
        counts[2] += lived and not lives

    def taken(self, key: Any, row: Row) -> bool:
        """Whether ``row`` is written; ``rows`` have it then."""
        before, gone = self.rows.get(key), self.kind.deleted
        if before is None or gone(before):
            if before is not None and self.kind.place(row) < self.kind.place(before):
                return False  # a table without log files knows nothing of the delete
            if before is None and gone(row):
                return False
            self.rows[key] = row
            self.base.pop(key, None)
            self.log[key] = row
            return True
        at_once = self.merged(before, row)
        if at_once == before:
            at_once = before
        log = self.merged(self.log.get(key), row)
        base = self.base.get(key)
        later = log if base is None else self.merged(base, log)
        if later != at_once and self.merges_later:
            return False
        self.rows[key], self.log[key] = at_once, log
        return True

    def compacted(self) -> None:
        self.rows = self.living()
        self.base, self.log = dict(self.rows), {}

    def living(self) -> dict[Any, Row]:
        return {key: row for key, row in self.rows.items() if not self.kind.deleted(row)}


def made(path: Path, kind: Kind, index: str, table_type: str, **more: Any) -> Any:
    return hoodoo.create(
        str(path),
        SCHEMA,
        record_key="id",
        partition_by="city",
        ordering="ts" if kind.merger == "partial_update" else (),
        merger=kind.merger,
        index=index,
        table_type=table_type,
        options={"hoodie.log.compaction.blocks.threshold": "2", **OPTIONS.get(index, {})},
        **more,
    )


def check(table: Any, history: History) -> None:
    def placed(row: Row) -> tuple[Any, ...]:
        return row["id"], row["city"]

    found = sorted(table.read().to_pylist(), key=placed)
    assert found == sorted(history.living().values(), key=placed)


def live(table: Any, history: History, steps: int, **how: Any) -> None:
    """Upserts, deletes by key and services: the rows, what commits count and what changed are those
    of the model after each."""
    since = None
    for _ in range(steps):
        before = history.living()
        rows, counts = history.batch()
        if not rows:
            continue
        commit = table.upsert(pa.Table.from_pylist(rows, SCHEMA), **how)
        check(table, history)
        if not history.merges_later:
            assert (commit.inserted, commit.updated, commit.deleted) == counts
        if since is not None:
            check_changes(table.changes(since, commit.instant), before, history.living())
        serve(table, history)
        check(table, history)
        since = table.history()[0]["instant"]


def check_changes(changes: Any, before: dict[Any, Row], after: dict[Any, Row]) -> None:
    """Images of rows that differ; a row may be written again as it was."""
    found = [(one["before"], one["after"]) for one in changes.to_pylist()]
    assert all(one is None or one in before.values() for one, _ in found)
    assert all(one is None or one in after.values() for _, one in found)
    told = {str(row) for pair in found if pair[0] != pair[1] for row in pair if row}
    gone = [row for row in before.values() if row not in after.values()]
    come = [row for row in after.values() if row not in before.values()]
    assert told == {str(row) for row in (*gone, *come)}


def serve(table: Any, history: History) -> None:
    draw = history.draw.random()
    if draw < 0.2 and history.rows:
        row = history.draw.choice(list(history.rows.values()))
        table.delete(pa.Table.from_pylist([{"id": row["id"], "city": row["city"]}]))
        for states in (history.rows, history.base, history.log):
            states.pop(history.key(row), None)
    elif draw < 0.35 and history.merges_later:
        table.compact()
        history.compacted()
    elif draw < 0.5 and history.merges_later:
        table.run("logcompaction")
    elif draw < 0.6 and not history.merges_later and not history.is_bucket:
        table.cluster()


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("index", INDEXES)
@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_history(tmp_path: Path, kind: Kind, table_type: str, index: str, seed: int) -> None:
    history = History(kind, index, table_type, seed)
    live(made(tmp_path / "t", kind, index, table_type), history, 8)


@pytest.mark.spark
@pytest.mark.sampled(1, among="payloads on Spark")
@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_history_on_spark(tmp_path: Path, spark: Any, kind: Kind, table_type: str) -> None:
    history = History(kind, "global_simple", table_type, 1)
    table = made(tmp_path / "t", kind, "global_simple", table_type)
    live(table, history, 4, engine="spark")
