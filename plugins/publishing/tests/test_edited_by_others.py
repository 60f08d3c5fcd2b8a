"""Metadata that others have edited, deleted or committed to: the Hudi table stays right, and the
next action, or the way that the message says, brings readers back to it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hoodoo.errors import CorruptTableError, HoodooWarning
from hoodoo_publishing.delta import log as delta_log
from open_readers import check
from pyiceberg.catalog.sql import SqlCatalog

SCHEMA = pa.schema([("id", pa.int64()), ("x", pa.string()), ("n", pa.int64())])
BOTH = {"hoodoo.open.formats": "iceberg,delta", "hoodie.metadata.enable": "false"}


@pytest.fixture
def table(tmp_path: Path) -> hoodoo.Table:
    made = hoodoo.create(str(tmp_path / "t"), SCHEMA, record_key="id", options=BOTH)
    for turn in range(3):
        made.upsert([{"id": n, "x": "a", "n": turn} for n in range(6)])
    return made


def versions(table: hoodoo.Table) -> list[Path]:
    return sorted(Path(table.path.removeprefix("file://"), "_delta_log").glob("*.json"))


def commit(table: hoodoo.Table, *actions: dict[str, Any]) -> None:
    """As a writer that does not heed the guard."""
    newest = versions(table)[-1]
    said = [{"commitInfo": {"operation": "WRITE"}}, *actions]
    path = newest.with_name(f"{int(newest.stem) + 1:020d}.json")
    path.write_text("\n".join(map(json.dumps, said)))


def added(table: hoodoo.Table) -> dict[str, Any]:
    """One add of the newest version."""
    lines = versions(table)[-1].read_text().splitlines()
    found: dict[str, Any] = next(x["add"] for x in map(json.loads, lines) if "add" in x)
    return found


def a_row_more(table: hoodoo.Table) -> None:
    path = Path(table.path.removeprefix("file://"), "foreign.parquet")
    pq.write_table(pa.table({"id": [99], "x": ["foreign"], "n": [0]}, schema=SCHEMA), path)
    add = {"path": path.name, "partitionValues": {}, "size": path.stat().st_size}
    commit(table, {"add": {**add, "modificationTime": 1, "dataChange": True}})


def a_file_that_is_not_there(table: hoodoo.Table) -> None:
    add = {"path": "none.parquet", "partitionValues": {}, "size": 9, "modificationTime": 1}
    commit(table, {"add": {**add, "dataChange": True}})


def a_file_less(table: hoodoo.Table) -> None:
    commit(table, {"remove": {"path": added(table)["path"], "dataChange": True}})


def rows_less(table: hoodoo.Table) -> None:
    vector = {"storageType": "i", "pathOrInlineDv": "vBn[lx{q8@P<9BNH/isA", "sizeInBytes": 34}
    found = {**added(table), "deletionVector": {**vector, "cardinality": 1}}
    commit(table, {"remove": {"path": found["path"], "dataChange": True}}, {"add": found})


COMMITS = [a_row_more, a_file_that_is_not_there, a_file_less, rows_less]


@pytest.mark.parametrize("again", [False, True], ids=["action", "publish"])
@pytest.mark.parametrize("edit", COMMITS)
def test_commits_of_others_to_the_delta_table_do_not_stay(
    table: hoodoo.Table, edit: Callable[[hoodoo.Table], None], again: bool
) -> None:
    edit(table)
    if again:
        assert table.publish("delta")
        assert table.publish("delta") == ()
    else:
        table.upsert([{"id": 1, "x": "b", "n": 7}])
    check(table)
    log = delta_log.DeltaLog().head(table.handle.storage).detail
    assert not log.foreign and not any("deletionVector" in add for add in log.adds.values())


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("which", [0, 1, -1])
def test_a_damaged_log_is_named(table: hoodoo.Table, which: int, known: bool) -> None:
    """What a process knows of the log hides no version that is gone."""
    if not known:
        delta_log._known.clear()
    versions(table)[which].unlink() if which >= 0 else versions(table)[which].write_text("{")
    with pytest.warns(HoodooWarning, match="Delete the folder _delta_log"):
        table.upsert([{"id": 1, "x": "b", "n": 7}])
    assert table.read().count() == 6
    with pytest.raises(CorruptTableError, match=r"_delta_log: (version \d|a version)"):
        table.publish("delta")
    shutil.rmtree(versions(table)[0].parent)
    table.upsert([{"id": 1, "x": "b", "n": 8}])
    check(table)


def test_a_damaged_checkpoint_is_named(table: hoodoo.Table) -> None:
    head = delta_log.DeltaLog().head(table.handle.storage)
    delta_log._checkpoint(table.handle.storage, head.version, head.detail)
    folder = versions(table)[0].parent
    for path in folder.glob("*.parquet"):
        path.write_bytes(b"PAR1")
    delta_log._known.clear()
    with pytest.raises(CorruptTableError, match=r"checkpoint\.parquet can't be read"):
        table.publish("delta")
    shutil.rmtree(folder)
    assert table.publish("delta")
    check(table)


def test_a_snapshot_of_others_does_not_stay(table: hoodoo.Table, tmp_path: Path) -> None:
    folder = Path(table.path.removeprefix("file://"), "metadata")
    newest = int((folder / "version-hint.text").read_text())
    warehouse = f"file://{tmp_path}/warehouse"
    catalog = SqlCatalog("lake", uri=f"sqlite:///{tmp_path}/lake.db", warehouse=warehouse)
    catalog.create_namespace("db")
    other = catalog.register_table("db.t", str(folder / f"v{newest}.metadata.json"))
    names = other.schema().as_arrow()
    row = {"id": 99, "x": "foreign", "n": 0}
    other.append(pa.Table.from_pylist([{f.name: row.get(f.name) for f in names}], schema=names))
    made = Path(catalog.load_table("db.t").metadata_location.removeprefix("file://"))
    shutil.copy(made, folder / f"v{newest + 1}.metadata.json")
    (folder / "version-hint.text").write_text(str(newest + 1))
    table.upsert([{"id": 1, "x": "b", "n": 7}])
    check(table)
