"""A table of two days, eight files, in which little can match a filter; and what is opened of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from attrs import evolve
from hoodoo_rows.read.scan import Scan
from hoodoo_rows.testing.tables import Maker

SCHEMA = pa.schema(
    [("id", pa.int64()), ("day", pa.string()), ("fare", pa.float64()), ("note", pa.string())]
)


class Counted:
    """A storage that notes which data files are opened."""

    def __init__(self, storage: Any) -> None:
        self._storage = storage
        self.opened: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._storage, name)

    def open(self, path: str) -> Any:
        if not path.startswith(".hoodie"):
            self.opened.append(path)
        return self._storage.open(path)


rows = Maker(
    SCHEMA, "day", note="note {}".format,
    fare=lambda i: None if i % 7 == 0 else float("nan") if i % 11 == 0 else i / 2,
).span  # fmt: skip


@pytest.fixture
def table(tmp_path: Path) -> hoodoo.Table:
    made = hoodoo.create(str(tmp_path / "t"), SCHEMA, partition_by="day")
    for n in range(8):
        made.append(rows(100 * n, 100, "mon" if n < 4 else "tue"))
    return made


@pytest.fixture
def count() -> Callable[[Scan], tuple[Scan, Counted]]:
    """A read, and what it opens from now on."""

    def of(scan: Scan) -> tuple[Scan, Counted]:
        storage = Counted(scan.source.storage)
        return evolve(scan, source=evolve(scan.source, storage=storage), read_ahead=2), storage

    return of


@pytest.fixture
def counted(table: hoodoo.Table, count: Any) -> tuple[Scan, Counted]:
    found: tuple[Scan, Counted] = count(table.read())
    return found
