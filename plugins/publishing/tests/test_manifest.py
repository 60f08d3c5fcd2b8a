"""The list of the newest base files: right after each action, beside other writers, and after others
have changed it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from attrs import define
from hoodoo.errors import HoodooWarning, SchemaError, UnsupportedTableError
from hoodoo.storage.api import Storage
from hoodoo.testing.stores import Crash, CrashingStorage
from hoodoo_publishing.manifest import PATH

SCHEMA = pa.schema([("id", pa.int64()), ("day", pa.string()), ("n", pa.int64())])
LISTED = {"hoodoo.open.formats": "manifest", "hoodie.metadata.enable": "false"}


def made(path: Path, **options: str) -> hoodoo.Table:
    given = {**LISTED, **options}
    return hoodoo.create(
        str(path), SCHEMA, name="t", record_key="id", partition_by="day", options=given
    )


def some(*ids: int, n: int = 0) -> list[dict[str, Any]]:
    return [{"id": number, "day": f"d{number % 3}", "n": n} for number in ids]


def agrees(table: hoodoo.Table) -> None:
    """The files of the list have the rows of the table."""
    root = Path(table.path.removeprefix("file://"))
    lines = (root / PATH).read_text().splitlines()
    assert lines == sorted(lines) and all(line.startswith("file:///") for line in lines)
    parts = [pq.ParquetFile(line.removeprefix("file://")).read() for line in lines]
    found = [row for part in parts for row in part.select(SCHEMA.names).to_pylist()]
    wanted = table.read().to_arrow().select(SCHEMA.names).to_pylist()
    assert sorted(found, key=str) == sorted(wanted, key=str)


def test_each_action_leaves_it_right(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    assert not (tmp_path / "t" / PATH).exists()
    table.upsert(some(*range(9)))
    agrees(table)
    point = table.savepoint()
    for turn in range(3):
        table.upsert(some(*range(turn, 9), n=turn))
        agrees(table)
    table.cluster(order="linear", columns=["n"])
    agrees(table)
    table.clean(commits_retained=1)
    agrees(table)
    table.delete_partitions(["d1"])
    agrees(table)
    table.restore(getattr(point, "instant", point))
    agrees(table)
    table.insert_overwrite_table(some(1))
    agrees(table)
    table.delete([{"id": 1, "day": "d1"}])
    agrees(table)


def test_what_others_made_of_it_does_not_stay(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    table.upsert(some(*range(6)))
    for text in ("", "s3://elsewhere/a.parquet\n", "no path\n"):
        (tmp_path / "t" / PATH).write_text(text)
        assert table.publish()
        agrees(table)
    (tmp_path / "t" / PATH).unlink()
    assert len(table.publish()) == 1 and table.publish() == ()
    agrees(table)


def test_a_copy_has_a_list_of_its_own_files(tmp_path: Path) -> None:
    made(tmp_path / "t").upsert(some(*range(6)))
    shutil.copytree(tmp_path / "t", tmp_path / "copy")
    copy = hoodoo.open(str(tmp_path / "copy"))
    copy.upsert(some(0, n=1))
    agrees(copy)
    assert "/copy/" in (tmp_path / "copy" / PATH).read_text()


@define
class CommitsBefore:
    """``inner``, in which ``other`` commits before the list is put, once."""

    inner: Storage
    other: Any

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def put(self, path: str, data: bytes) -> None:
        if path == PATH and self.other is not None:
            other, self.other = self.other, None
            other()
        self.inner.put(path, data)


def test_a_list_that_comes_late_does_not_stay(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    table.upsert(some(*range(6)))
    other = hoodoo.open(str(tmp_path / "t"))
    table.handle.storage = CommitsBefore(
        table.handle.storage, lambda: other.upsert(some(2, 3, n=7))
    )
    table.upsert(some(0, n=1))
    agrees(hoodoo.open(str(tmp_path / "t")))


def rows_of(table: hoodoo.Table) -> list[dict[str, Any]]:
    found = table.read().to_arrow().select(SCHEMA.names).to_pylist()
    return sorted(found, key=lambda row: row["id"])


def listed(path: Path) -> list[dict[str, Any]]:
    """The rows of the files of the list, all of which are there."""
    lines = (path / PATH).read_text().splitlines()
    parts = [pq.ParquetFile(line.removeprefix("file://")).read() for line in lines]
    found = [row for part in parts for row in part.select(SCHEMA.names).to_pylist()]
    return sorted(found, key=lambda row: row["id"])


@pytest.mark.sampled(2, among="crashes")
@pytest.mark.parametrize("when", ["before", "after", "torn"])
@pytest.mark.parametrize("action", ["upsert", "clean", "rollback", "inline clean"])
def test_a_process_ends_anywhere(tmp_path: Path, action: str, when: Any) -> None:
    """Its readers see the table as it was before or after; the next action brings the list up to
    the table."""
    start = tmp_path / "start"
    table, rights = made(start, **{"hoodie.clean.automatic": "false"}), []
    for turn in range(3):
        newest = table.upsert(some(*range(6), n=turn))
        rights.append(rows_of(table))
    inline = {"hoodie.clean.automatic": "true", "hoodie.clean.commits.retained": "1"}
    at = 0
    while True:
        at += 1
        target = tmp_path / f"t{at}"
        shutil.copytree(start, target)
        hoodoo.open(str(target)).publish()  # for the copy
        table = hoodoo.open(str(target), inline if action == "inline clean" else {})
        store = CrashingStorage(table.handle.storage, at, when)
        table.handle.storage = store
        try:
            if action == "clean":
                table.clean(commits_retained=1)
            elif action == "rollback":
                table.rollback(newest.instant)
            else:
                table.upsert(some(*range(3), n=9))
        except Crash:
            pass
        if when != "torn":
            now = rows_of(hoodoo.open(str(target)))
            assert listed(target) in [rights[-1], rights[-2], now], (action, when, at)
        fresh = hoodoo.open(str(target))
        fresh.upsert(some(50))
        agrees(fresh)
        shutil.rmtree(target)
        if not store.crashed:
            break
    assert at > 10


def test_columns_with_another_name_in_older_files_are_refused(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    table.upsert(some(*range(6)))
    with pytest.raises(SchemaError, match="readers of manifest find columns by name"):
        table.alter(rename={"n": "m"})
    agrees(table)
    table.publish("", keep=True)
    table.alter(rename={"n": "m"})
    with pytest.raises(UnsupportedTableError, match="readers of files find columns by name"):
        table.publish("manifest")


def test_hive_has_no_such_entry(tmp_path: Path) -> None:
    places = {"hoodoo.open.catalogs": "hms://127.0.0.1:1/db.t"}
    table = made(tmp_path / "t", **places)
    with pytest.warns(HoodooWarning, match="is not updated"):
        table.upsert(some(*range(6)))
    agrees(table)
