"""The index learns from writes, and is made of tables that have rows: it says what record_index says."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.errors import ConfigError
from hoodoo_sqlite_index.index import SqliteIndex

SCHEMA = pa.schema([("id", pa.int64()), ("city", pa.string()), ("n", pa.int64())])


def drawn(chance: random.Random, n: int) -> pa.Table:
    ids = chance.sample(range(60), chance.randint(1, 20))
    cities = [chance.choice(("oslo", "bergen")) for _ in ids]
    return pa.table([ids, cities, [n] * len(ids)], schema=SCHEMA)


def made(tmp_path: Path, kind: str, **more: Any) -> hoodoo.Table:
    options = {
        "hoodoo.index.sqlite.path": str(tmp_path / "keys.db"),
        "hoodie.metadata.enable": "true",
        "hoodie.compact.inline": "false",
    }
    return hoodoo.create(
        str(tmp_path / "t"), SCHEMA, record_key="id", partition_by="city",
        table_type=kind, index="sqlite", options={**options, **more},
    )  # fmt: skip


def dying(learns: bool) -> Any:
    """A process that ends before or after the index has learned."""
    learn = SqliteIndex.written

    def dies(self: SqliteIndex, change: Any) -> None:
        if learns:
            learn(self, change)
        raise KeyboardInterrupt

    return dies


def check(table: hoodoo.Table) -> None:
    found = table.compare_indexes("sqlite", "record_index")
    assert found.same, found.differences.to_pylist()
    assert not found.stale.num_rows, found.stale.to_pylist()
    keys = table.read(["id"]).to_arrow().column("id").to_pylist()
    assert len(keys) == len(set(keys)) == found.found[0]


def test_a_table_that_has_rows_gets_it(tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    options = {"hoodoo.index.sqlite.path": str(tmp_path / "keys.db")}
    table = hoodoo.create(path, SCHEMA, record_key="id", partition_by="city", index="record_index")
    chance = random.Random(7)
    table.upsert(drawn(chance, 0))
    table = hoodoo.open(path, options)
    with pytest.raises(ConfigError, match="rebuild_index"):
        table.compare_indexes("sqlite", "record_index")
    assert table.rebuild_index("sqlite") == ("sqlite",)
    check(table)
    table.upsert(drawn(chance, 1))
    table.delete(drawn(chance, 2).select(["id", "city"]))
    check(table)
    table.switch_index("sqlite")
    table.upsert(drawn(chance, 3))
    check(table)


def test_a_write_that_dies_leaves_nothing_that_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = made(tmp_path, "COPY_ON_WRITE")
    chance = random.Random(3)
    table.upsert(drawn(chance, 0))
    table.rebuild_index("record_index")
    with monkeypatch.context() as patched:
        patched.setattr(SqliteIndex, "written", dying(learns=True))
        with pytest.raises(KeyboardInterrupt):
            table.upsert(drawn(chance, 1))
    check(table)
    table.upsert(drawn(chance, 2))
    check(table)


def test_a_table_that_is_made_again_beside_the_same_database(tmp_path: Path) -> None:
    """What the database knows of the table that was deleted does not count."""
    schema = pa.schema([("id", pa.int64()), ("v", pa.int64())])
    options = {"hoodoo.index.sqlite.path": f"{tmp_path}/again.db"}
    for rebuilt in (False, True, False):
        table = hoodoo.create(
            str(tmp_path / "again"), schema, record_key="id", index="sqlite", options=options
        )
        for v in range(2):
            commit = table.upsert([{"id": 1, "v": v}, {"id": 2 + v, "v": v}])
            assert (commit.inserted, commit.updated) == ((2, 0) if v == 0 else (1, 1))
        if rebuilt:
            table.rebuild_index("sqlite")
        assert table.read().to_arrow().num_rows == 3
        shutil.rmtree(tmp_path / "again")
