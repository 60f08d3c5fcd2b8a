"""A replacecommit that names a file group which is nowhere: what it did replace would be read again, so it is refused."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.errors import CorruptTableError

SCHEMA = pa.schema([("id", pa.int64()), ("p", pa.string())])
ID = re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}-0")
KINDS = [(version, index) for version in (6, 9) for index in ("bloom", "record_index")]
kinds = pytest.mark.parametrize(
    ("version", "index"), [k for k in KINDS if k != (6, "record_index")]
)


def made(path: Path, version: int, index: str) -> hoodoo.Table:
    """Of two partition paths, one of which was overwritten."""
    table = hoodoo.create(
        str(path), SCHEMA, record_key="id", partition_by="p", table_version=version, index=index,
        options={"hoodie.clean.automatic": "false"},
    )  # fmt: skip
    table.upsert([{"id": 1, "p": "a"}, {"id": 2, "p": "b"}])
    table.insert_overwrite([{"id": 3, "p": "a"}])
    return table


def damage(path: Path) -> None:
    """The id of the replaced file group in the replacecommit becomes another one."""
    (file,) = (f for f in (path / ".hoodie").rglob("*.replacecommit") if f.stat().st_size)
    data = file.read_bytes()
    places = [m.start() for m in ID.finditer(data)]
    written = {m for m in ID.findall(data) if data.count(m) > 1}
    place = next(p for p in places if data[p : p + 38] not in written)
    file.write_bytes(data[:place] + b"f0f0f0f0" + data[place + 8 :])


def ids(scan: Any) -> list[int]:
    return sorted(scan.to_arrow()["id"].to_pylist())


@kinds
def test_a_replaced_file_group_that_is_nowhere_is_refused(
    tmp_path: Path, version: int, index: str
) -> None:
    path = tmp_path / "t"
    before = made(path, version, index).timeline().instants[-1].requested
    assert ids(hoodoo.open(str(path)).read()) == [2, 3]
    damage(path)
    with pytest.raises(
        CorruptTableError, match=rf"{before}.*replacecommit: it replaced file group f0f0f0f0"
    ):
        hoodoo.open(str(path)).read().to_arrow()
    with pytest.raises(CorruptTableError, match="it replaced file group f0f0f0f0"):
        hoodoo.open(str(path), {"hoodie.clean.automatic": "false"}).upsert([{"id": 4, "p": "a"}])
    # Nothing of that path is read, so nothing of it can be wrong.
    assert ids(hoodoo.open(str(path)).read(where="p = 'b'")) == [2]
    found = [f.kind for f in hoodoo.open(str(path)).verify().findings]
    assert "timeline.replaced" in found


@kinds
def test_what_a_clean_deleted_is_not_missed(tmp_path: Path, version: int, index: str) -> None:
    path = tmp_path / "t"
    table = made(path, version, index)
    for n in range(4, 10):
        table.upsert([{"id": n, "p": "b"}])
    cleaned = hoodoo.open(str(path), {"hoodie.clean.commits.retained": "1"}).clean()
    assert cleaned
    assert ids(hoodoo.open(str(path)).read()) == [2, 3, 4, 5, 6, 7, 8, 9]
    hoodoo.open(str(path)).upsert([{"id": 10, "p": "a"}])
    assert hoodoo.open(str(path)).verify().ok


def test_verify_finds_one_that_a_clean_came_after(tmp_path: Path) -> None:
    """A read does not look into cleans; verify does."""
    path = tmp_path / "t"
    table = made(path, 9, "bloom")
    for n in range(4, 8):
        table.upsert([{"id": n, "p": "b"}])
    hoodoo.open(str(path), {"hoodie.clean.commits.retained": "1"}).clean()
    assert hoodoo.open(str(path)).verify().ok
    damage(path)
    (found,) = hoodoo.open(str(path)).verify().findings
    assert found.kind == "timeline.replaced" and "f0f0f0f0" in found.rule
