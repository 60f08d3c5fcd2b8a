"""What an instant adds has the same bytes whoever makes it, and when.

The name of a log file holds a checksum of it. Two processes that run one clean put one file then; with two, the
one that ends later would delete the file that the other has named.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hoodoo.testing.directory import DirectoryStorage
from hoodoo_metadata.partitions.files.deltas import entries
from hoodoo_metadata.partitions.files.rows import encode_files
from hoodoo_metadata.table.base import put_base
from hoodoo_metadata.table.deltas import Delta, put_delta
from hoodoo_metadata.table.schema import record_schema
from hoodoo_rows.produce.pending import Pending


@pytest.mark.parametrize(
    "instant", ["20240102030405006", "00000000000000010", "20240102030405006001"]
)
def test_made_twice(tmp_path: Path, instant: str) -> None:
    rows = entries({"a": encode_files({}, ["x.parquet"])})
    made = []
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        storage = DirectoryStorage(str(tmp_path / name))
        storage.put_if_absent("inflight", b"")
        pending = Pending(instant, "inflight")
        put_delta(storage, pending, Delta("files", "files-0000-0", rows), record_schema(9), 0)
        put_base(storage, pending, "files", "files-0000-0", rows.to_batches(), record_schema(9), 0)
        made.append({p.name: p.read_bytes() for p in (tmp_path / name).rglob("*files-*")})
        time.sleep(0.003)  # the clock has moved on
    assert len(made[0]) == 2
    assert made[0] == made[1]
