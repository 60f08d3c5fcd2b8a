"""Every table that Spark Hudi wrote reads as the independent reader reads it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from golden_tables import COPY_ON_WRITE, LANCE, MERGE_ON_READ, OF_1_2, READ
from hoodoo.errors import UnsupportedTableError
from hoodoo.model.meta import META_COLUMNS

pytestmark = pytest.mark.sampled(4)

# `hudi` gives rows of the past in today's types, Hoodoo in the types of that moment. These columns
# were long until Spark's timestamp key generator rewrote them as text.
CHANGED = {
    "cow_v9_timebasedkeygen_epochmillis": "ts_millis",
    "cow_v9_timebasedkeygen_unixtimestamp": "ts_epoch",
}
Golden = Callable[[str], Path]
Oracle = Callable[..., "pa.Table | None"]
Same = Callable[[pa.Table, "pa.Table | None", str], None]


def test_all_tables_are_listed(golden_home: Path) -> None:
    names = {path.stem for path in (golden_home / "tables").glob("*.zip")}
    assert names == {*READ, *LANCE, *OF_1_2}


@pytest.mark.parametrize("name", READ)
def test_newest(name: str, golden: Golden, oracle: Oracle, same: Same) -> None:
    path = golden(name)
    same(hoodoo.open(str(path)).read(meta=True).to_arrow(), oracle(path), "newest")


@pytest.mark.parametrize("name", READ)
def test_data_frames_have_the_same_rows(name: str, golden: Golden, same: Same) -> None:
    """By polars and DuckDB, which read plain files by themselves, and others through Arrow."""
    import duckdb

    scan = hoodoo.open(str(golden(name))).read(meta=True)
    rows = scan.to_arrow()
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("rows", scan.to_dataset())
        found = {
            "to_polars": scan.to_polars().to_arrow(),
            "scan_polars": hoodoo.scan_polars(scan).collect().to_arrow(),
            "to_dataset": connection.sql("SELECT * FROM rows").to_arrow_table(),
            "to_duckdb": scan.to_duckdb(connection).to_arrow_table(),
        }
    for way, table in found.items():
        same(table.cast(rows.schema), rows, way)


@pytest.mark.parametrize("name", READ)
def test_each_older_instant(
    name: str,
    golden: Golden,
    oracle: Oracle,
    same: Same,
    write_instants: Callable[[Path], list[str]],
) -> None:
    path = golden(name)
    table = hoodoo.open(str(path))
    instants = write_instants(path)
    assert instants == [i.requested for i in table.timeline().writes()]
    for instant in ["20000101000000000", *instants]:
        found = table.read(as_of=instant, meta=True).to_arrow()
        expected = oracle(path, instant)
        if expected is not None and name in CHANGED:
            at = expected.schema.get_field_index(CHANGED[name])
            moment = expected.schema.set(at, found.schema.field(CHANGED[name]))
            expected = expected.cast(moment)
        same(found, expected, instant)


@pytest.mark.parametrize("name", CHANGED)
def test_the_past_has_its_own_types(name: str, golden: Golden) -> None:
    table = hoodoo.open(str(golden(name)))
    first = table.timeline().writes()[0].requested
    column = CHANGED[name]
    assert table.read(as_of=first).schema.field(column).type == pa.int64()
    assert table.read().schema.field(column).type == pa.string()


@pytest.mark.parametrize("name", READ)
def test_read_optimized(name: str, golden: Golden, oracle: Oracle, same: Same) -> None:
    path = golden(name)
    found = hoodoo.open(str(path)).read(mode="read_optimized", meta=True).to_arrow()
    same(found, oracle(path, read_optimized=True), "newest")


@pytest.mark.parametrize("name", MERGE_ON_READ)
def test_read_optimized_at_each_older_instant(
    name: str, golden: Golden, oracle: Oracle, same: Same
) -> None:
    path = golden(name)
    table = hoodoo.open(str(path))
    for write in table.timeline().writes():
        found = table.read(as_of=write.requested, mode="read_optimized", meta=True).to_arrow()
        same(found, oracle(path, write.requested, read_optimized=True), str(write))


@pytest.mark.parametrize("name", COPY_ON_WRITE)
def test_read_optimized_is_the_snapshot(name: str, golden: Golden) -> None:
    table = hoodoo.open(str(golden(name)))
    assert table.read(mode="read_optimized").to_arrow().equals(table.read().to_arrow())


@pytest.mark.parametrize("name", LANCE)
def test_lance_is_refused(name: str, golden: Golden) -> None:
    with pytest.raises(UnsupportedTableError, match="(?i)lance.*plugin.*pip install hoodoo-lance"):
        hoodoo.open(str(golden(name))).read()


@pytest.mark.parametrize("name", [n for n in READ if "empty" not in n])
def test_filters_prune_without_losing_rows(name: str, golden: Golden) -> None:
    """For every column and some of its values: the filter on it finds the rows that have it."""
    table = hoodoo.open(str(golden(name)))
    everything = table.read(meta=True).to_arrow()
    for column in everything.schema:
        if pa.types.is_nested(column.type) or column.name in META_COLUMNS[:2]:
            continue
        values = everything.column(column.name)
        for value in [*values.unique().drop_null()[:3], None]:
            field = pc.field(column.name)
            where: Any = field.is_null() if value is None else field == value
            scan = table.read(where=where, meta=True)
            assert scan.to_arrow().equals(everything.filter(where)), str(where)
            assert scan.count() == everything.filter(where).num_rows, str(where)


@pytest.mark.parametrize(
    ("name", "where", "left"),
    [
        ("cow_v9_txns_complex_nometa", pc.field("region") == "eu", 1),
        ("cow_v6_complexkeygen_hivestyle", pc.field("byteField") == 10, 1),
        ("cow_v6_complexkeygen_hivestyle", pc.field("shortField") > 200, 1),
        ("cow_v6_simplekeygen_nonhivestyle", pc.field("byteField") > 10, 2),
        ("cow_v9_txns_simple_overwrite", pc.field("region").isin(["us", "eu"]), 2),
    ],
)
def test_partitions_are_pruned(name: str, where: Any, left: int, golden: Golden) -> None:
    plan = hoodoo.open(str(golden(name))).read(where=where).plan
    assert len({s.partition_path for s in plan.slices}) == left
    assert plan.pruned_by_partition > 0
