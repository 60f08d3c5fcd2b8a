"""Incremental and change reads: Spark Hudi and Hoodoo give the same of tables that both have written."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from both import Both, same_rows
from hoodoo_rows.testing.tables import Maker
from model import SCHEMA, Model

CDC, MODE = "hoodie.table.cdc.enabled", "hoodie.table.cdc.supplemental.logging.mode"
INCREMENTAL = {"hoodie.datasource.query.type": "incremental"}
CHANGES = {**INCREMENTAL, "hoodie.datasource.query.incremental.format": "cdc"}
BEGIN, END = "hoodie.datasource.read.begin.instanttime", "hoodie.datasource.read.end.instanttime"

rows = Maker(SCHEMA, "ts", "name", "region", id="k{}".format, region=("us", "eu")).dicts


def points(both: Both) -> list[str]:
    """Where each commit ends: completions, in version 6 requests."""
    writes = both.hoodoo().timeline().writes()
    return sorted(w.completed or w.requested for w in writes)


def write(both: Both) -> None:
    """By turns; files that Hoodoo wrote are rewritten by Spark, and the reverse."""
    both.hoodoo_upsert(rows(range(12), 1, "first"))
    both.hoodoo_upsert(rows(range(4, 14), 2, "second"))
    both.spark_upsert(rows(range(2, 8), 3, "third"))
    both.hoodoo_delete(rows(range(3, 6), 4, ""))
    both.spark_delete(rows(range(8, 10), 5, ""))
    if both.hoodoo().config.table_type == "MERGE_ON_READ":
        assert both.hoodoo().compact().instant
    both.hoodoo_upsert(rows(range(3, 5), 6, "again"))
    both.hoodoo().insert_overwrite(pa.Table.from_pylist(rows(range(6, 8), 7, "over", "eu"), SCHEMA))


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize("version", [9, 6])
def test_incremental(both: Both, version: int, table_type: str) -> None:
    both.setup(Model(), SCHEMA, version, table_type=table_type, partition_by=["region"])
    both.create()
    write(both)
    ends = ["000", *points(both)]
    ranges = [(0, len(ends) - 1), (1, 3), (3, 4), (2, 6), (len(ends) - 2, len(ends) - 1)]
    for since, until in ranges:
        ours = both.hoodoo().incremental(ends[since], ends[until], meta=True).to_arrow()
        asked = {**INCREMENTAL, BEGIN: ends[since], END: ends[until]}
        theirs = both.spark_read(**{k.replace(".", "__"): v for k, v in asked.items()})
        assert ours.num_rows or (since, until) == (3, 4)  # deletes only
        same_rows(ours, theirs, f"({since}, {until}]")


@pytest.mark.parametrize(
    ("version", "table_type", "mode"),
    [
        (9, "COPY_ON_WRITE", "DATA_BEFORE_AFTER"),
        (9, "COPY_ON_WRITE", "DATA_BEFORE"),
        (6, "COPY_ON_WRITE", "OP_KEY_ONLY"),
        (6, "COPY_ON_WRITE", "DATA_BEFORE_AFTER"),
        (9, "MERGE_ON_READ", "DATA_BEFORE_AFTER"),
    ],
)
def test_changes(both: Both, version: int, table_type: str, mode: str) -> None:
    more = {CDC.replace(".", "__"): "true", MODE.replace(".", "__"): mode}
    both.setup(Model(), SCHEMA, version, table_type=table_type, partition_by=["region"], **more)
    both.create({CDC: "true", MODE: mode})
    write(both)
    assert list(both.path.rglob(".*.cdc"))
    asked = {**CHANGES, BEGIN: "000"}
    theirs = both.spark_read(**{k.replace(".", "__"): v for k, v in asked.items()})
    replacing = {w.requested for w in both.hoodoo().timeline().writes() if w.action[0] == "r"}
    ours = []
    for row in pa.table(both.hoodoo().changes("earliest")).to_pylist():
        op, instant, before, after = row["op"][0], row["instant"], row["before"], row["after"]
        # A key that a replacing commit has before and after is an update, and for Spark two changes.
        if op == "u" and instant in replacing:
            ours += [("d", instant, before, None), ("i", instant, None, after)]
        else:
            ours.append((op, instant, before, after))
    assert _sorted(ours) == _sorted(
        (row["op"], row["ts_ms"], _image(row["before"]), _image(row["after"]))
        for row in theirs.to_pylist()
    )


def _image(text: str | None) -> dict[str, Any] | None:
    found: dict[str, Any] | None = None if text is None else json.loads(text)
    return found and {name: found[name] for name in SCHEMA.names}


def _sorted(changes: Any) -> list[str]:
    return sorted(map(repr, changes))
