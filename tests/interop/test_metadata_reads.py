"""Spark answers predicates from the metadata table that Hoodoo wrote: ranges of columns, and the record
index. Its HFiles have several blocks, as base files and in logs."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from both import Both
from hoodoo_metadata.table.layout import RECORD_INDEX
from hoodoo_metadata.table.metadata_table import MetadataTable
from hoodoo_metadata.table.slice import layers
from hoodoo_standard.storage.local import LocalStorage
from indexed import (
    IDS,
    KEPT,
    KINDS,
    NOON,
    PLAIN,
    SKIPPING,
    STRANGE,
    check,
    doubts,
    made,
    rows,
    said,
    select,
    setup,
    written,
)
from spark_hudi import HudiError

Row = dict[str, Any]


def _cmp(name: str, test: Callable[[Any], bool]) -> Callable[[Row], bool]:
    return lambda row: row[name] is not None and test(row[name])


PREDICATES: dict[str, Callable[[Row], bool]] = {
    "n > 100": _cmp("n", lambda v: v > 100),
    "n = 21": _cmp("n", lambda v: v == 21),
    "n IN (3, 115, 999)": _cmp("n", lambda v: v in (3, 115, 999)),
    "n IS NULL": lambda row: row["n"] is None,
    "NOT n < 110": _cmp("n", lambda v: not v < 110),
    "d < -0.5": _cmp("d", lambda v: v < -0.5),
    "d BETWEEN 30 AND 36.5": _cmp("d", lambda v: 30 <= v <= 36.5),
    "day = DATE'2024-01-08'": _cmp("day", lambda v: v == date(2024, 1, 8)),
    "day >= DATE'2024-04-01'": _cmp("day", lambda v: v >= date(2024, 4, 1)),
    "at > TIMESTAMP'2024-03-02 12:00:00'": _cmp("at", lambda v: v > NOON.replace(month=3, day=2)),
    "amount BETWEEN -4.5 AND 0": _cmp("amount", lambda v: Decimal("-4.5") <= v <= 0),
    "flag": _cmp("flag", bool),
    "flag IS NULL AND ts > 1": lambda row: row["flag"] is None and row["ts"] > 1,
    "name = 'new-103'": _cmp("name", lambda v: v == "new-103"),
    # A prefix that some value is; Spark prunes files, also of its own, whose least value is longer.
    "name LIKE 'old-1%'": _cmp("name", lambda v: v.startswith("old-1")),
    "region = 'eu' AND n < 9": lambda row: row["region"] == "eu" and (row["n"] or 99) < 9,
    "n = 7 OR d > 38": lambda row: row["n"] == 7 or row["d"] > 38,
    "id = 'k103'": _cmp("id", lambda v: v == "k103"),
    "id = 'ключ'": _cmp("id", lambda v: v == "ключ"),
    "id IN ('k1', 'a,b', 'k2', 'k120', 'nobody')": _cmp(
        "id", lambda v: v in ("k1", "a,b", "k2", "k120")
    ),
    "id = 'nobody'": lambda row: False,
}


def upper_and_lower(both: Both) -> None:
    """Two lots of files whose ranges do not meet, but for record keys; with updates and deletes."""
    both.hoodoo().bulk_insert(written(both, both.model.upsert(rows(range(22), 1, "old"))))
    both.hoodoo().bulk_insert(written(both, both.model.upsert(rows(range(100, 121), 2, "new"))))


@pytest.mark.parametrize(("kind", "partition"), KINDS[1:3], ids=IDS[1:3])
def test_predicates(both: Both, kind: str, partition: str) -> None:
    """With skipping, without, and the model: the same rows. Spark's updates come between."""
    made(both, kind, partition)
    upper_and_lower(both)
    both.hoodoo_upsert(rows([*range(5, 9), *STRANGE, 103], 3, "new"))
    both.hoodoo_delete(rows([2, 104], 3, ""))
    both.spark_upsert(rows([7, 8, 21, 110], 4, "old"))
    at = said(both)
    for predicate, test in PREDICATES.items():
        want = sorted(row["id"] for row in both.model.rows.values() if test(row))
        assert select(both, predicate, {**KEPT, **SKIPPING}) == want, predicate
    assert doubts(both, at) == []


def test_what_is_not_asked_for_is_not_opened(both: Both) -> None:
    """The lower half of the files is gone: a predicate that needs it fails, and no other."""
    made(both, "COPY_ON_WRITE", "region")
    upper_and_lower(both)
    commits = both.hoodoo().timeline().writes()
    gone = [p for p in both.path.rglob(f"*_{commits[0].requested}.parquet")]
    assert len(gone) == 2
    for file in gone:
        file.unlink()
    seen = {**KEPT, **SKIPPING}
    assert select(both, "n > 100", seen) == sorted(
        row["id"] for row in both.model.rows.values() if (row["n"] or 0) > 100
    )
    # Their ranges of record keys meet: it is the record index that knows.
    for keys in (["k105"], ["k100", "k119"]):
        assert select(both, f"id IN ({', '.join(map(repr, keys))})", seen) == keys
    for predicate, options in (
        ("n > 100", {**seen, "hoodie.enable.data.skipping": "false"}),
        ("id = 'k5'", seen),
    ):
        with pytest.raises(HudiError):
            select(both, predicate, options)


def test_it_would_be_said(both: Both) -> None:
    """The tests that look for complaints of Spark's would see one: here its instants are lost."""
    made(both, "COPY_ON_WRITE", "region")
    both.hoodoo_upsert(rows(range(4), 1, "first"))
    for instant in (both.path / ".hoodie" / "metadata" / ".hoodie" / "timeline").glob("*.*"):
        instant.unlink()
    at = said(both)
    both.spark_upsert(rows(range(2), 2, "spark"))
    assert doubts(both, at)
    check(both, "rebuilt by Spark")


# --- HFiles ---------------------------------------------------------------------------------------
LEAST, MOST = (
    f"hoodie.metadata.global.record.level.index.{end}.filegroup.count" for end in ("min", "max")
)


def long_rows(numbers: range, ts: int) -> list[Row]:
    """Keys of 5 to 80 bytes, also of other alphabets."""
    return [
        {**row, "id": f"{n:05}{('-я' * (n % 26))}"}
        for n, row in zip(numbers, rows(numbers, ts, "n"), strict=True)
    ]


def blocks(both: Both) -> list[tuple[bool, int, int]]:
    """Of each HFile of the record index: whether it is in a log, its entries and its data blocks."""
    table = MetadataTable.open(LocalStorage(str(both.path)), both.hoodoo().timeline())
    found = []
    for slice_ in table.slices(RECORD_INDEX):
        base = slice_.base_file
        for layer in layers(table.storage, slice_):
            if layer.hfile is not None:
                logged = base is None or layer.instant != base.instant
                found.append((logged, layer.hfile.entry_count, layer.hfile.blocks))
    return found


def test_hfiles_of_several_blocks(both: Both) -> None:
    """Thousands of keys in each group, compacted and in logs: Spark finds each of them."""
    made(both, "COPY_ON_WRITE", "region", **{LEAST: "2", MOST: "2"})
    found = long_rows(range(6000), 1)
    both.hoodoo().bulk_insert(written(both, both.model.upsert(found)))
    assert both.hoodoo().compact_metadata()
    more = long_rows(range(6000, 12_000), 1)
    both.hoodoo().bulk_insert(written(both, both.model.upsert(more)))
    told = blocks(both)
    for logged in (False, True):
        big = [(entries, count) for log, entries, count in told if log is logged]
        assert len(big) == 2 and all(n > 1000 and count > 2 for n, count in big), told
    at = said(both)
    both.spark_upsert([{**row, "ts": 2} for row in (*found[::3], *more[::3])])
    both.spark_delete([*found[::5], *more[::5]])
    asked = [row["id"] for row in (*found, *more)]
    there = sorted(row["id"] for row in both.model.rows.values())
    assert len(there) == 9600
    check(both, "updated by Spark", keys=asked)
    picked = asked[::997]
    names = ", ".join(f"'{key}'" for key in picked)
    wanted = sorted(set(picked) & set(there))
    assert select(both, f"id IN ({names})", {**KEPT, **SKIPPING}) == wanted
    assert both.hoodoo().compact_metadata()
    both.spark_upsert([{**row, "ts": 3} for row in (*found[::4], *more[::4])])
    assert doubts(both, at) == []
    check(both, "and after a compaction", keys=asked)
    ours = both.hoodoo().read(where=pc.is_in(pc.field("id"), value_set=pa.array(picked)))
    assert sorted(ours.to_arrow()["id"].to_pylist()) == sorted(
        set(picked) & {row["id"] for row in both.model.rows.values()}
    )


# --- what Spark alone makes -------------------------------------------------------------------------
# Of two functions of one argument on one column Spark Hudi 1.2 may take the wrong index.
INDEXES = (
    "ix ON {} (name)",
    "days ON {} USING column_stats(day) OPTIONS(expr='date_format', format='yyyy-MM')",
    "later ON {} USING column_stats(day) OPTIONS(expr='date_add', days='3')",
    "loud ON {} USING column_stats(region) OPTIONS(expr='upper')",
    "hash ON {} USING bloom_filters(name) OPTIONS(expr='lower')",
)


# The same as Hoodoo makes them: columns or expression, and kind.
BY_HOODOO: dict[str, dict[str, Any]] = {
    "ix": {"columns": ["name"]},
    "days": {"expression": "date_format(day, 'yyyy-MM')", "kind": "column_stats"},
    "later": {"expression": "date_add(day, 3)", "kind": "column_stats"},
    "loud": {"expression": "upper(region)", "kind": "column_stats"},
    "hash": {"expression": "lower(name)", "kind": "bloom_filters"},
}


@pytest.mark.parametrize("maker", ["Spark", "Hoodoo"])
@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_indexes_of_expressions(both: Both, kind: str, maker: str) -> None:
    """Whoever made them: both keep them, and say nothing; Spark finds by them what both have
    written."""
    setup(both, kind, "region")
    both.spark_upsert(rows(range(12), 1, "spark"))
    if maker == "Spark":
        _by_spark(both, kind)
    else:
        for name in _names(kind):
            both.hoodoo().create_index(name, **BY_HOODOO[name])
    both.options["hoodie.metadata.index.expression.enable"] = "true"
    assert _made(kind) <= set(both.hoodoo().config.metadata_partitions)
    both.model.expect(both.hoodoo().read().to_arrow(), "read by Hoodoo")
    _find(both, kind, f"{maker} made them")
    both.hoodoo_upsert(rows(range(8, 16), 2, "hoodoo"))
    _find(both, kind, "Hoodoo's first write")
    at = said(both)
    both.spark_upsert(rows([0, 9, 14, 20], 3, "spark"))
    assert doubts(both, at) == []
    _find(both, kind, "Spark's next write")
    for first in range(30, 60, 3):  # until the metadata table is compacted
        both.hoodoo_upsert(rows([9, first], first, "hoodoo"))
    if kind == "MERGE_ON_READ":
        both.hoodoo().compact()
    else:
        both.hoodoo().cluster()
    _find(both, kind, "after services")
    assert not both.hoodoo().verify().findings


def _by_spark(both: Both, kind: str) -> None:
    name = f"second_{kind.lower()}"
    session = {
        **KEPT,
        "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
        "hoodie.write.lock.provider": (
            "org.apache.hudi.client.transaction.lock.InProcessLockProvider"
        ),
    }
    sql = both.spark.worker.sql
    both.spark.worker.set(session)
    try:
        sql(f"CREATE TABLE {name} USING hudi LOCATION '{both.path}'")
        for index in _indexes(kind):
            sql(f"CREATE INDEX {index.format(name)}")
    finally:
        both.spark.worker.unset(list(session))
        sql(f"DROP TABLE IF EXISTS {name}")


def _indexes(kind: str) -> tuple[str, ...]:
    """Spark Hudi 1.2 makes no bloom filter of its own log files, and then fails to commit."""
    return INDEXES if kind == "COPY_ON_WRITE" else INDEXES[:-1]


def _names(kind: str) -> list[str]:
    return [index.partition(" ")[0] for index in _indexes(kind)]


def _made(kind: str) -> set[str]:
    return {"secondary_index_ix" if n == "ix" else f"expr_index_{n}" for n in _names(kind)}


def _find(both: Both, kind: str, where: str) -> None:
    """Spark finds the same rows with the indexes and without."""
    assert _made(kind) <= set(both.hoodoo().config.metadata_partitions), where
    asked = {**KEPT, **SKIPPING, "hoodie.metadata.index.expression.enable": "true"}
    values = both.model.rows.values()
    some = sorted(values, key=lambda row: row["id"])[:: max(1, len(values) // 4)]
    for row in some:
        for predicate in (
            f"name = '{row['name']}'",
            f"upper(region) = '{row['region'].upper()}'",
            f"lower(name) = '{row['name'].lower()}'",
            f"date_format(day, 'yyyy-MM') = '{row['day']:%Y-%m}'",
            f"date_add(day, 3) = date'{row['day'] + timedelta(3)}'",
        ):
            found = select(both, predicate, asked)
            assert found == select(both, predicate, PLAIN) and row["id"] in found, (
                where,
                predicate,
            )
