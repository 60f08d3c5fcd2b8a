"""Small tables that the schedules start from, made once and copied for each run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import hoodoo
import pyarrow as pa
from attrs import frozen
from hoodoo.table.table import Table
from hoodoo_rows.testing.tables import Maker
from memory_store import MemoryStorage, Objects
from world import ALONE, opened

SCHEMA = pa.schema(
    [("id", pa.int64()), ("v", pa.string()), ("ts", pa.int64()), ("region", pa.string())]
)
BUCKETS = {"hoodie.bucket.index.num.buckets": "1"}
# One file group, and few writes until it is compacted.
RECORDS = {"hoodie.metadata.global.record.level.index.min.filegroup.count": "1"}
OPTIONS = {"bucket": BUCKETS, "record_index": RECORDS}


@frozen
class Kind:
    """A kind of table."""

    merged: bool = False
    version: int = 9
    index: str = "simple"

    @property
    def has_metadata(self) -> bool:
        return self.index == "record_index"

    @property
    def timeline(self) -> str:
        return ".hoodie/timeline" if self.version > 6 else ".hoodie"

    def __str__(self) -> str:
        return f"{'mor' if self.merged else 'cow'}{self.version}-{self.index}"


COW9, COW6 = Kind(), Kind(version=6)
MOR9, MOR6 = Kind(True), Kind(True, 6)
# With a metadata table: four partitions, and keys are looked up in it.
COW_RECORDS, MOR_RECORDS = Kind(index="record_index"), Kind(True, index="record_index")
KINDS = (COW9, COW6, MOR9, MOR6)

rows = Maker(SCHEMA, "v", "ts", mapped="region")


def create(path: Path, kind: Kind, options: Mapping[str, object]) -> Table:
    return hoodoo.create(
        str(path), SCHEMA, name="t", record_key="id", partition_by="region", ordering="ts",
        table_type="MERGE_ON_READ" if kind.merged else "COPY_ON_WRITE", table_version=kind.version,
        index=kind.index, options=options,
    )  # fmt: skip


def build(path: Path, kind: Kind) -> Objects:
    """Two partitions with a file group each; the second commit has updated the first of them."""
    create(path, kind, OPTIONS.get(kind.index, {}))
    scratch = path / "scratch"
    scratch.mkdir()
    store = MemoryStorage(scratch, from_disk(path))
    opened(store).upsert(rows({1: "a", 2: "a", 3: "b"}, "old", 1))
    opened(store).upsert(rows({2: "a"}, "mid", 2))
    return store.objects


def from_disk(path: Path) -> Objects:
    files = sorted(file for file in path.rglob("*") if file.is_file())
    return {
        str(file.relative_to(path)): (file.read_bytes(), 1.8e9 + number)
        for number, file in enumerate(files)
    }


def to_disk(objects: Objects, path: Path) -> Path:
    for name, (data, _when) in objects.items():
        target = path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    return path


__all__ = [
    "ALONE", "BUCKETS", "COW6", "COW9", "COW_RECORDS", "KINDS", "MOR6", "MOR9", "MOR_RECORDS", "Kind",
    "build", "rows",
]  # fmt: skip
