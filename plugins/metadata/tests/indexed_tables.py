"""Tables with a metadata table, small, and stores that say what is asked of them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
from attrs import define, field
from hoodoo.hookspecs.index import KEYS_SCHEMA
from hoodoo.storage.api import Entry
from hoodoo_metadata.partitions.record_index.index import RecordIndex
from hoodoo_rows.testing.tables import Maker
from hoodoo_standard.storage.local import LocalStorage

SCHEMA = pa.schema(
    [("id", pa.string()), ("part", pa.string()), ("v", pa.int64()), ("ts", pa.int64())]
)


def create(path: Path, index: str | None = "record_index", **more: Any) -> hoodoo.Table:
    given: dict[str, Any] = {"record_key": "id", "partition_by": "part", "ordering": "ts", **more}
    return hoodoo.create(str(path), SCHEMA, index=index, **given)


# Three partition paths, by the rest of the number, or one.
rows = Maker(SCHEMA, "v", "part", id="k{}".format, part=("p0", "p1", "p2"), ts=lambda n, v: v)


def lying(path: Path) -> dict[str, tuple[str, str]]:
    """Record key -> where the rows of a table say that it lies."""
    table = hoodoo.open(str(path), {"hoodie.metadata.enable": "false"})
    names = ["_hoodie_record_key", "_hoodie_partition_path", "_hoodie_file_name"]
    found = table.read(names).to_arrow().to_pylist()
    return {r[names[0]]: (r[names[1]], r[names[2]].split("_")[0]) for r in found}


def told(path: Path, keys: Iterable[str], **how: Any) -> dict[str, tuple[str, str]]:
    """Record key -> where the record index says that it lies."""
    table = hoodoo.open(str(path))
    index = RecordIndex.open(LocalStorage(str(path)), table.timeline(), **how)
    found = index.locations(pa.array(sorted(set(keys)), KEYS_SCHEMA.field(0).type))
    return {r["record_key"]: (r["partition_path"], r["file_id"]) for r in found.to_pylist()}


@define
class Asked:
    """A local store that notes which directories were listed and which files opened."""

    inner: LocalStorage
    listed: list[str] = field(factory=list)
    opened: list[str] = field(factory=list)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    @property
    def root(self) -> str:
        return self.inner.root

    def list(self, prefix: str = "", recursive: bool = False) -> list[Entry]:
        self.listed.append(prefix)
        return self.inner.list(prefix, recursive)

    def open(self, path: str) -> pa.NativeFile:
        self.opened.append(path)
        return self.inner.open(path)
