"""Rows that have no commit time: Spark Hudi stores no commit time in tables with virtual keys.

Files are changed as its writers would leave them: null, or the empty text of its row writer.
"""

from __future__ import annotations

from pathlib import Path

import hoodoo
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hoodoo.errors import UnsupportedTableError
from hoodoo_rows.testing.tables import Maker
from hudi_columns import COMMIT_TIME
from noted_sizes import restat

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string())])
VIRTUAL = {"hoodie.recordkey.virtual.enabled": "true"}
REFUSED = "have no commit time"

rows = Maker(SCHEMA, "name")


def forget(path: Path, ids: range, time: str | None) -> None:
    """The rows of ``ids`` in the base file lose their commit time. Row groups are of two rows each."""
    found = pq.read_table(path, partitioning=None)
    mine = pc.is_in(found.column("id"), value_set=pa.array(list(ids), pa.int64()))
    at = found.schema.get_field_index(COMMIT_TIME)
    times = pc.if_else(mine, pa.scalar(time, pa.string()), found.column(at).cast(pa.string()))
    pq.write_table(found.set_column(at, COMMIT_TIME, times), path, row_group_size=2)
    restat(path)


def newest(table: hoodoo.Table, root: Path) -> Path:
    (slice_,) = table.file_slices()
    assert slice_.base_file is not None
    return root / slice_.base_file.path


@pytest.mark.parametrize("time", [None, ""], ids=["null", "empty"])
@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_they_are_not_passed_over(tmp_path: Path, table_type: str, time: str | None) -> None:
    table = hoodoo.create(
        str(tmp_path), SCHEMA, record_key="id", table_type=table_type, options=VIRTUAL
    )
    first = table.upsert(rows(range(10), "first")).instant
    table.upsert(rows(range(4), "second"))
    if table_type == "MERGE_ON_READ":
        table.compact()
    known = table.timeline().writes()[-1].requested
    assert table.incremental(first).count() == table.changes(first).count() == 4
    # A whole row group of them, whose statistics say nothing of any time.
    forget(newest(table, tmp_path), range(6, 8), time)
    table = hoodoo.open(table.path)
    with pytest.raises(UnsupportedTableError, match=REFUSED):
        table.incremental(first).to_arrow()
    with pytest.raises(UnsupportedTableError, match=REFUSED):
        table.incremental(first).count()
    if table_type == "COPY_ON_WRITE":
        with pytest.raises(UnsupportedTableError, match=REFUSED):
            table.changes(first).to_arrow()
    assert table.incremental(first, where=pc.field("id") < 6).count() == 4
    assert table.incremental(known).count() == 0
    assert table.incremental("earliest").count() == table.read().count() == 10
    # What comes after is written to the same file group: its rows are known, those are still not.
    table.upsert(rows(range(2), "third"))
    with pytest.raises(UnsupportedTableError, match=REFUSED):
        table.incremental(known).to_arrow()
    with pytest.raises(UnsupportedTableError, match=REFUSED):
        table.changes(known).to_arrow()


def test_of_the_state_before_nothing_is_asked(tmp_path: Path) -> None:
    """They are compared as what was there: an overwrite replaces them all."""
    table = hoodoo.create(str(tmp_path), SCHEMA, record_key="id", options=VIRTUAL)
    first = table.upsert(rows(range(6), "first")).instant
    forget(newest(table, tmp_path), range(3), None)
    table = hoodoo.open(table.path)
    table.insert_overwrite_table(rows(range(2, 8), "over"))
    changes = table.changes(first).to_arrow()
    assert (
        sorted(changes.column("op").to_pylist()) == ["delete"] * 2 + ["insert"] * 2 + ["update"] * 4
    )
