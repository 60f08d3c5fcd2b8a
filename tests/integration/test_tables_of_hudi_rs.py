"""Tables as hudi-rs makes and leaves them. Beside hudi-rs itself: tests/interop/test_hudi_rs.py."""

from __future__ import annotations

from pathlib import Path

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.timeline import properties
from hoodoo_standard.storage.local import LocalStorage

SCHEMA = pa.schema(
    [("v", pa.string()), ("id", pa.int64()), ("ts", pa.int64()), ("city", pa.string())]
)
ROWS = pa.table(
    {"v": ["a", "b"], "id": [1, 2], "ts": [1, 1], "city": ["oslo", "rome"]}, schema=SCHEMA
)


@pytest.mark.parametrize("verb", ["upsert", "insert", "bulk_insert", "insert_overwrite_table"])
@pytest.mark.parametrize("partition", [None, "city"])
@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_the_first_rows_of_a_table_that_says_no_schema_bring_it(
    tmp_path: Path, kind: str, partition: str | None, verb: str
) -> None:
    path = str(tmp_path / "t")
    hoodoo.create(
        path, SCHEMA, record_key="id", ordering="ts", partition_by=partition, table_type=kind
    )
    store = LocalStorage(path)
    properties.update(store, properties.load(store), {"hoodie.table.create.schema": None})
    table = hoodoo.open(path)
    assert table.read().to_arrow().num_rows == 0 and table.verify().ok
    assert table.schema.names == []
    getattr(table, verb)(ROWS)
    assert hoodoo.open(path).schema.names == SCHEMA.names
    hoodoo.open(path).upsert(ROWS.slice(0, 1))
    found = hoodoo.open(path).read(SCHEMA.names).to_arrow().sort_by("id")
    assert found.equals(ROWS)
    assert hoodoo.open(path).verify().ok


def test_a_root_that_is_not_marked_is_a_note_and_the_next_write_marks_it(tmp_path: Path) -> None:
    path = tmp_path / "t"
    table = hoodoo.create(str(path), SCHEMA, record_key="id", ordering="ts")
    table.upsert(ROWS)
    store = LocalStorage(str(path))
    properties.update(store, properties.load(store), {"hoodie.table.create.schema": None})
    mark = path / ".hoodie_partition_metadata"
    mark.unlink()
    report = hoodoo.open(str(path)).verify()
    assert report.ok and any(mark.name in note for note in report.notes)
    hoodoo.open(str(path)).upsert(ROWS.slice(0, 1))
    assert mark.exists()
    report = hoodoo.open(str(path)).verify()
    assert report.ok and not report.notes
