"""Core without any plugin: tables, their timeline and file slices, and actions that need no rows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from attrs import frozen
from hoodoo.actions.transaction import Transaction
from hoodoo.errors import PluginError
from hoodoo.model.commit import CommitMetadata, Operation, WriteStat
from hoodoo.model.config import TableConfig
from hoodoo.model.schema.avro import avro_text
from hoodoo.table.handle import TableHandle
from hoodoo.table.table import Table
from hoodoo.testing.directory import DirectoryStorage
from hoodoo.timeline.create import init_table

SCHEMA = pa.schema([("id", pa.int64()), ("v", pa.string())])
FILE = "f0000000-0000-0000-0000-000000000000-0"


@frozen
class Adopt:
    """An action: a file that lies in the table becomes a file group. It reads and writes no row."""

    dies: bool = False

    def run(self, table: TableHandle) -> str:
        table.check_writable()

        def work(snapshot: Any, joined: Any, alone: bool) -> str:
            transaction = Transaction.begin(snapshot, "commit", what="adopt")
            transaction.inflight()
            name = f"{FILE}_0-1-0_{transaction.requested}.parquet"
            snapshot.storage.put(name, b"bytes")
            if self.dies:
                raise KeyboardInterrupt
            stat = WriteStat(
                partition_path="", file_id=FILE, path=name, file_size=5, num_writes=1, num_inserts=1
            )
            told = CommitMetadata(
                operation=Operation.INSERT, stats=(stat,), extra={"schema": avro_text(SCHEMA, "t")}
            )
            transaction.complete(snapshot.timeline.layout.encode_commit(told, "commit"))
            transaction.tidy()
            return transaction.requested

        return table.on_snapshot(work)


@pytest.fixture(params=[6, 9])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Table:
    storage = DirectoryStorage(str(tmp_path))
    values = {
        "hoodie.table.name": "t",
        "hoodie.table.version": str(request.param),
        "hoodie.table.create.schema": avro_text(SCHEMA, "t"),
    }
    return Table(storage, init_table(storage, TableConfig(values)), {})


def test_a_table_shows_what_it_is_made_of(table: Table) -> None:
    assert table.schema == SCHEMA and table.file_slices() == ()
    first = table.run(Adopt())
    (slice_,) = table.file_slices()
    assert slice_.file_id == FILE and slice_.base_file is not None
    assert [i.requested for i in table.timeline().writes()] == [first]
    second = table.run(Adopt())
    assert table.file_slices()[0].base_file.instant == second  # type: ignore[union-attr]
    assert table.file_slices(as_of=first)[0].base_file.instant == first  # type: ignore[union-attr]
    assert table.config.name == "t" and "id: int64" in str(table._facts())


def test_an_action_that_died_is_undone(table: Table) -> None:
    first = table.run(Adopt())
    with pytest.raises(KeyboardInterrupt):
        table.run(Adopt(dies=True))
    (pending,) = table.timeline().pending()
    assert table.rollback() == (pending.requested,)
    assert not table.timeline().pending()
    assert table.file_slices()[0].base_file.instant == first  # type: ignore[union-attr]
    # What the next action finds of a dead one it undoes itself.
    with pytest.raises(KeyboardInterrupt):
        table.run(Adopt(dies=True))
    third = table.run(Adopt())
    assert [i.requested for i in table.timeline().writes()] == [first, third]


def test_a_completed_action_is_undone(table: Table) -> None:
    first, second = table.run(Adopt()), table.run(Adopt())
    table.check_rollback(second)
    table.rollback(second)
    assert [i.requested for i in table.timeline().writes()] == [first]
    assert table.file_slices()[0].base_file.instant == first  # type: ignore[union-attr]


CALLS: Mapping[str, Any] = {
    "read": lambda table: table.read(),
    "upsert": lambda table: table.upsert(pa.table({"id": [1]})),
    "write_target": lambda table: table.handle.write_target(),
    "plugins": lambda table: table.handle.plugins(),
}


@pytest.mark.parametrize("name", CALLS)
def test_rows_need_another_distribution(
    table: Table, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hoodoo.kernel import registry

    alone = registry.Kernel([])
    monkeypatch.setattr("hoodoo.table.opened.kernel", lambda: alone)
    monkeypatch.setattr("hoodoo.table.verbs.kernel", lambda: alone)
    with pytest.raises(PluginError, match="pip install hoodoo-rows"):
        CALLS[name](table)
