"""A write that has looked at the table before another process made its index again, or dropped it."""

from __future__ import annotations

import shutil
from pathlib import Path

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.errors import CommitConflictError, CorruptTableError
from hoodoo_metadata.partitions.record_index.lookup_index import opened_to_write
from hoodoo_metadata.table.layout import GROWING_INDEX, RECORD_INDEX

ROWS = pa.table({"id": [1, 2], "ts": [1, 1]})
KINDS = {"record_index": RECORD_INDEX, "growing_record_index": GROWING_INDEX}


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_made_again_is_a_conflict(tmp_path: Path, kind: str) -> None:
    path, partition = str(tmp_path / "t"), KINDS[kind]
    table = hoodoo.create(path, ROWS.schema, record_key="id", ordering="ts", index=kind)
    table.insert(ROWS)
    storage, seen = table.handle.storage, table.timeline()
    assert not opened_to_write(storage, seen, "auto", partition).partitioned
    files = tmp_path / "t/.hoodie/metadata" / partition
    for file in files.iterdir():
        if not file.name.endswith(("_partition", "_metadata")):
            file.unlink()
    with pytest.raises(CorruptTableError, match="no record index|growing"):
        opened_to_write(storage, seen, "auto", partition)  # nobody else: it is lost
    hoodoo.open(path).rebuild_index(kind)
    shutil.rmtree(files)  # as one that lists while the files are replaced
    with pytest.raises(CommitConflictError, match="made again"):
        opened_to_write(storage, seen, "auto", partition)
