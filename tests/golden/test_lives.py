"""Each real table lives on: it is opened, read, upserted, shortened, compacted, clustered and
cleaned, and after each step has the rows that are expected, for Hoodoo and for the independent
reader ``hudi``."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from golden_tables import OF_1_2, READ
from hoodoo.errors import HoodooWarning
from hoodoo.model.meta import META_COLUMNS

pytestmark = pytest.mark.sampled(4)

Golden = Callable[[str], Path]
Oracle = Callable[..., "pa.Table | None"]
# Types that ``hudi`` does not know.
UNKNOWN_TO_OTHERS = {"cow_v9_spark12_vector_blob"}


def shown(table: pa.Table | None) -> list[str]:
    if table is None:
        return []
    kept = [n for n in sorted(table.column_names) if n not in META_COLUMNS]
    return sorted(map(str, table.select(kept).to_pylist()))


def newer(table: hoodoo.Table, rows: pa.Table) -> pa.Table:
    """``rows`` with a later ordering value, and with null in one column that does not say where
    they are."""
    config = table.config
    ordering = config.ordering_fields
    bound = {*config.record_key_fields, *config.partition_fields, *ordering}
    for name in ordering:
        at = rows.schema.get_field_index(name)
        rows = rows.set_column(at, rows.schema.field(at), _later(rows.column(name)))
    blank = next(f for f in rows.schema if f.name not in bound and f.nullable)
    at = rows.schema.get_field_index(blank.name)
    return rows.set_column(at, blank, pa.nulls(rows.num_rows, blank.type))


def unique_first(table: hoodoo.Table, rows: pa.Table) -> pa.Table:
    """``rows``, first those whose key is there once: inserts of Spark Hudi store keys twice."""
    keys = [
        str(tuple(row.values())) for row in rows.select(table.config.record_key_fields).to_pylist()
    ]
    return rows.take(sorted(range(len(keys)), key=lambda n: (keys.count(keys[n]), n)))


def _later(values: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_integer(values.type):
        return pc.add(values, pa.scalar(7, values.type)).cast(values.type)
    if pa.types.is_floating(values.type):
        return pc.add(values, 7.0)
    return pc.add(values.cast(pa.int64()), 7_000_000).cast(values.type)


def one_more(table: hoodoo.Table) -> pa.Table:
    """A first row for an empty table."""
    values: dict[str, Any] = dict.fromkeys(table.schema.names)
    for name in (*table.config.record_key_fields, *table.config.ordering_fields):
        values[name] = 1 if pa.types.is_integer(table.schema.field(name).type) else "1"
    return pa.Table.from_pylist([values], table.schema)


@pytest.mark.parametrize("name", [*READ, *OF_1_2])
def test_a_table_lives_on(name: str, golden: Golden, oracle: Oracle, tmp_path: Path) -> None:
    path = Path(shutil.copytree(golden(name), tmp_path / "t"))

    def check(expected: pa.Table, what: str) -> None:
        assert shown(hoodoo.open(str(path)).read().to_arrow()) == shown(expected), what
        if name not in UNKNOWN_TO_OTHERS:
            assert shown(oracle(path)) == shown(expected), f"{what}, for hudi"
        findings = [str(f) for f in hoodoo.open(str(path)).verify().findings]
        assert findings == found_before, what

    with warnings.catch_warnings():  # of parts of a metadata table that are not kept
        warnings.simplefilter("ignore", HoodooWarning)
        table = hoodoo.open(str(path))
        found_before = [str(f) for f in table.verify().findings]
        rows = table.read(columns=table.schema.names).to_arrow()
        if not rows.num_rows:
            rows = one_more(table)
            assert table.upsert(rows).inserted == 1
            check(rows, "the first row")
        rows = unique_first(table, rows)
        changed = newer(table, rows.slice(0, 2))
        commit = table.upsert(changed)
        assert (commit.updated, commit.inserted) == (changed.num_rows, 0)
        rows = pa.concat_tables([changed, rows.slice(2)])
        check(rows, "an upsert")
        table = hoodoo.open(str(path))
        gone = min(2, rows.num_rows - 1)  # of a key that is there once
        table.delete(rows.slice(gone, 1))
        rows = pa.concat_tables([rows.slice(0, gone), rows.slice(gone + 1)])
        check(rows, "a delete")
        table = hoodoo.open(str(path))
        if table.config.table_type == "MERGE_ON_READ":
            assert table.compact().instant
            check(rows, "a compaction")
            assert not any(s.log_files for s in hoodoo.open(str(path)).file_slices())
        table = hoodoo.open(str(path))
        if rows.num_rows:
            table.upsert(rows.slice(0, 1))
            hoodoo.open(str(path)).cluster()
            check(rows, "a clustering")
        table = hoodoo.open(str(path))
        before = len(list(path.rglob("*.parquet")))
        table.clean(commits_retained=1)
        assert len(list(path.rglob("*.parquet"))) <= before
        check(rows, "a clean")
