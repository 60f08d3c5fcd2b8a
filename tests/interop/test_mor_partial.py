"""Partial updates: log blocks that hold the changed columns only, by Spark's MERGE INTO and by Hoodoo."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest
from attrs import define, frozen
from both import Both
from hoodoo.kernel.log_files import log_files as installed
from hoodoo_rows.testing.tables import Maker
from hoodoo_standard.merge.event_time import EventTimeMerger
from hoodoo_standard.storage.local import LocalStorage
from model import Model, table
from mor import BLOCKS, check, check_travel, instants, log_files, setup, spark_compact

WIDE = pa.schema(
    [
        ("id", pa.string()),
        ("ts", pa.int64()),
        ("region", pa.string()),
        ("price", pa.float64()),
        ("note", pa.string()),
        ("tags", pa.list_(pa.string())),
    ]
)


@frozen
class KeepsAbsent(EventTimeMerger):
    """Event time; columns that an upsert lacks keep their stored values."""

    keeps_absent = True


rows = Maker(
    WIDE, "ts", id="k{}".format, region=("us", "eu"), price=float, note="n{}".format,
    tags=lambda n: [f"t{n}"],
).dicts  # fmt: skip


@define
class Partly:
    """One table that both sides update in single columns."""

    both: Both

    def merge_into(self, numbers: range, ts: int, column: str, value: float | str) -> None:
        """By Spark: stored rows get ``value`` in ``column``, and nothing else."""
        numbers = self._changed(numbers, ts, column, value)
        source = " UNION ALL ".join(
            f"SELECT '{r['id']}' AS id, '{r['region']}' AS region, {ts}L AS ts, {value!r} AS v"
            for r in rows(numbers, ts)
        )
        self.both.spark.worker.sql(
            f"MERGE INTO partly t USING ({source}) s ON t.id = s.id AND t.region = s.region "
            f"WHEN MATCHED THEN UPDATE SET ts = s.ts, {column} = s.v"
        )

    def upsert(self, numbers: range, ts: int, column: str, value: float | str) -> None:
        """The same by Hoodoo: the other columns are not in the data."""
        numbers = self._changed(numbers, ts, column, value)
        data = [{**row, column: value} for row in rows(numbers, ts)]
        names = ["id", "ts", "region", column]
        t = self.both.hoodoo()
        t.upsert(table(data, self.both.schema).select(names))

    def _changed(self, numbers: range, ts: int, column: str, value: float | str) -> range:
        for row in rows(numbers, ts):
            key = self.both.model.key(row)
            old = self.both.model.rows[key]
            if ts >= old["ts"]:
                self.both.model.rows[key] = {**old, "ts": ts, column: value}
        return numbers


@pytest.fixture
def partly(both: Both) -> Iterator[Partly]:
    yield Partly(both)
    worker = both.spark.worker
    worker.sql("DROP TABLE IF EXISTS partly")
    worker.unset([BLOCKS, "hoodie.metadata.enable", "hoodie.compact.inline"])


def begin(both: Both, version: int, index: str, blocks: str) -> None:
    setup(both, version, index, blocks)
    both.model, both.schema = Model(), WIDE
    both.opened["merger"] = KeepsAbsent(("ts",))
    both.create()
    both.hoodoo_upsert(rows(range(12), 5))


def registered(both: Both) -> None:
    """The table gets a name, which MERGE INTO needs."""
    worker = both.spark.worker
    worker.set({"hoodie.metadata.enable": "false", "hoodie.compact.inline": "false",
                BLOCKS: both.options[BLOCKS]})  # fmt: skip
    worker.sql(f"CREATE TABLE partly USING hudi LOCATION '{both.path}'")


def partial_columns(both: Both) -> list[set[str]]:
    """The columns of each partial block of the table, without the meta columns."""
    storage = LocalStorage(str(both.path))
    found = []
    for path in log_files(both):
        with installed().reader(storage, str(path.relative_to(both.path))) as reader:
            for block in reader.blocks:
                if block.is_partial:
                    names = reader.rows(block).schema.names
                    found.append({n for n in names if not n.startswith("_hoodie_")})
    return found


@pytest.mark.parametrize("blocks", ["avro", "parquet"])
def test_by_spark(partly: Partly, blocks: str) -> None:
    """Version 9 only: Spark's MERGE INTO of version 6 writes whole rows, and nulls into the others."""
    both = partly.both
    begin(both, 9, "SIMPLE", blocks)
    registered(both)
    partly.merge_into(range(6), 7, "price", 9.5)
    check(both, "one column")
    partly.merge_into(range(4, 8), 8, "note", "eight")
    partly.merge_into(range(5, 8), 4, "note", "late")
    partly.merge_into(range(10, 12), 4, "note", "late")
    check(both, "another column, and late ones")
    assert {"ts", "price"} in partial_columns(both) and {"ts", "note"} in partial_columns(both)
    both.hoodoo_upsert([r for r in rows(range(5, 7), 9)])
    partly.merge_into(range(6, 9), 10, "price", 0.25)
    check(both, "whole rows between")
    for instant in instants(both)[1:]:
        check_travel(both, instant)
    both.hoodoo().compact()
    check(both, "compacted by Hoodoo")
    partly.merge_into(range(3, 6), 11, "note", "on")
    check(both, "Spark writes on")


@pytest.mark.parametrize(
    ("version", "index", "blocks"),
    [
        (9, "SIMPLE", "parquet"),
        (9, "BUCKET", "avro"),
        (6, "SIMPLE", "avro"),
        (6, "BUCKET", "parquet"),
    ],
)
def test_by_hoodoo(partly: Partly, version: int, index: str, blocks: str) -> None:
    both = partly.both
    begin(both, version, index, blocks)
    both.hoodoo_upsert(rows(range(10, 14), 5))
    partly.upsert(range(6), 7, "price", 9.5)
    check(both, "one column")
    partly.upsert(range(4, 8), 8, "note", "eight")
    partly.upsert(range(5, 9), 4, "note", "late")
    check(both, "another column, and late ones")
    assert all(len(names) < len(WIDE) for names in partial_columns(both))
    assert len(partial_columns(both)) >= 4
    both.spark_upsert(rows(range(6, 9), 9))
    partly.upsert(range(7, 12), 10, "price", 0.25)
    check(both, "whole rows between")
    spark_compact(both)
    check(both, "compacted by Spark")
    partly.upsert(range(3, 12), 11, "note", "on")
    check(both, "Hoodoo writes on")
    both.hoodoo().compact()
    both.spark_upsert(rows(range(9, 15), 12))
    check(both, "compacted by Hoodoo, Spark writes on")


@pytest.mark.parametrize("blocks", ["avro", "parquet"])
@pytest.mark.parametrize("version", [9, 6])
def test_late_column(partly: Partly, version: int, blocks: str) -> None:
    """Log rows meet each other first: what the later one lacks is filled from the earlier one, and then
    both are as new as the later one. A late column so wins over the base file; readers agree on it."""
    both = partly.both
    begin(both, version, "SIMPLE", blocks)
    partly.upsert(range(4), 4, "note", "late")
    check(both, "late")
    partly.upsert(range(2), 10, "price", 0.25)
    for row in rows(range(2), 10):
        both.model.rows[both.model.key(row)].update(note="late")
    check(both, "no longer late")
    spark_compact(both)
    check(both, "compacted by Spark")


@pytest.mark.parametrize("index", ["SIMPLE", "BUCKET"])
@pytest.mark.parametrize("version", [9, 6])
def test_unknown_keys(partly: Partly, version: int, index: str) -> None:
    """A key that is nowhere becomes a row with nulls, in no partial block: Spark could not read it."""
    both = partly.both
    begin(both, version, index, "parquet")
    for row in rows(range(20, 24), 7):
        both.model.rows[both.model.key(row)] = {**row, "note": None, "tags": None}
    partly.upsert(range(8, 12), 7, "price", 9.5)
    both.hoodoo().upsert(
        table(rows(range(20, 24), 7), WIDE).select(["id", "ts", "region", "price"])
    )
    check(both, "new keys with some columns")


@pytest.mark.parametrize("index", ["SIMPLE", "BUCKET"])
@pytest.mark.parametrize("version", [9, 6])
def test_deleted_keys(partly: Partly, version: int, index: str) -> None:
    """The same of keys whose delete is still in the log files."""
    both = partly.both
    begin(both, version, index, "parquet")
    both.hoodoo_delete(rows(range(3), 7))
    check(both, "deleted")
    for row in rows(range(3), 8):
        both.model.rows[both.model.key(row)] = {**row, "note": None, "tags": None}
    both.hoodoo().upsert(table(rows(range(3), 8), WIDE).select(["id", "ts", "region", "price"]))
    check(both, "put again, with some columns")
