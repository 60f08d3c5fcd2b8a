"""The index learns from writes, and survives rollbacks, restores and crashes: it says what record_index says."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.errors import ConfigError, HoodooError
from hoodoo_sqlite_index.index import SqliteIndex

SCHEMA = pa.schema([("id", pa.int64()), ("city", pa.string()), ("n", pa.int64())])


def rows(chance: random.Random, n: int) -> pa.Table:
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


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize("seed", range(int(os.environ.get("HOODOO_HISTORIES", "4"))))
def test_random_histories(
    tmp_path: Path, kind: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(f"{kind} {seed}")
    table = made(tmp_path, kind)
    table.rebuild_index("record_index")
    for n in range(14):
        act = chance.choice(
            ["upsert"] * 5
            + ["dies", "dies", "delete", "rollback", "restore", "overwrite", "drop", "cluster"]
        )
        try:
            if act == "dies":
                with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
                    patched.setattr(SqliteIndex, "written", dying(chance.random() < 0.5))
                    table.upsert(rows(chance, n))
            elif act == "upsert":
                table.upsert(rows(chance, n))
            elif act == "delete":
                table.delete(rows(chance, n).select(["id", "city"]))
            elif act == "rollback":
                table.rollback(table.timeline().writes()[-1].requested)
            elif act == "restore":
                writes = table.timeline().writes()
                table.restore(chance.choice(writes[-4:]).requested)
            elif act == "overwrite":
                ids = list(range(100 * (n + 1), 100 * (n + 1) + 5))
                table.insert_overwrite(pa.table([ids, ["oslo"] * 5, [n] * 5], schema=SCHEMA))
            elif act == "drop":
                table.delete_partitions("bergen")
            else:
                table.cluster()
        except (HoodooError, IndexError):
            continue  # nothing there to undo, or to drop
    table.upsert(rows(chance, 99))
    check(table)


def test_a_table_that_has_rows_gets_it(tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    options = {"hoodoo.index.sqlite.path": str(tmp_path / "keys.db")}
    table = hoodoo.create(path, SCHEMA, record_key="id", partition_by="city", index="record_index")
    chance = random.Random(7)
    table.upsert(rows(chance, 0))
    table = hoodoo.open(path, options)
    with pytest.raises(ConfigError, match="rebuild_index"):
        table.compare_indexes("sqlite", "record_index")
    assert table.rebuild_index("sqlite") == ("sqlite",)
    check(table)
    table.upsert(rows(chance, 1))
    table.delete(rows(chance, 2).select(["id", "city"]))
    check(table)
    table.switch_index("sqlite")
    table.upsert(rows(chance, 3))
    check(table)


def test_a_write_that_dies_leaves_nothing_that_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = made(tmp_path, "COPY_ON_WRITE")
    chance = random.Random(3)
    table.upsert(rows(chance, 0))
    table.rebuild_index("record_index")
    with monkeypatch.context() as patched:
        patched.setattr(SqliteIndex, "written", dying(learns=True))
        with pytest.raises(KeyboardInterrupt):
            table.upsert(rows(chance, 1))
    check(table)
    table.upsert(rows(chance, 2))
    check(table)
