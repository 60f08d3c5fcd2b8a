"""One partition of the metadata table is dropped, by a call, a command, or the option of a write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.errors import CommitConflictError, ConfigError
from hoodoo.testing.stores import Crash, CrashingStorage, RecordingStorage
from hoodoo.timeline.fence import INDEXING
from hoodoo.timeline.heartbeat import Beating
from hoodoo.timeline.publish import request
from hoodoo.timeline.snapshot import Snapshot
from hoodoo_metadata.table.metadata_table import OWN_MADE, building, listed
from hoodoo_rows.testing.tables import Maker

SCHEMA = pa.schema([("id", pa.string()), ("city", pa.string()), ("ts", pa.int64())])
FILTERS = {
    "hoodie.metadata.enable": "true",
    "hoodie.metadata.index.bloom.filter.enable": "true",
}
ALL = ["bloom_filters", "column_stats", "files", "partition_stats"]
ALL_6 = ["bloom_filters", "column_stats", "files"]

rows = Maker(SCHEMA, "ts", id="k{}".format, city=("bergen", "oslo"))


def made(path: Path, index: str = "simple", version: int = 9) -> Any:
    table = hoodoo.create(
        str(path), SCHEMA, record_key="id", partition_by="city", ordering="ts", index=index,
        table_version=version, options=FILTERS,
    )  # fmt: skip
    table.upsert(rows(range(20), 1))
    return table


def left(table: Any, *partitions: str) -> None:
    """These are there, and no other; the table goes on."""
    again = hoodoo.open(table.path)
    assert sorted(listed(again.config)) == sorted(partitions) and not building(again.config)
    root = Path(table.path.removeprefix("file://"))
    folders = {p.name for p in (root / ".hoodie/metadata").glob("[!.]*") if p.is_dir()}
    assert folders == set(partitions)
    assert not [i for i in again.timeline().instants if i.action == INDEXING and not i.is_completed]
    rows_before = again.read().to_arrow().num_rows
    assert again.upsert(rows([0, 1, 1000 + rows_before], 9)).updated == 2
    assert again.read().to_arrow().num_rows == rows_before + 1
    assert not again.verify().findings


def test_one_after_the_other(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    table.rebuild_index("partitioned_record_index")
    assert table.drop_index("partitioned_record_index") == ("record_index",)
    left(table, *ALL)
    assert table.drop_index("column_stats") == ("column_stats", "partition_stats")
    defined = tmp_path / "t/.hoodie/.index_defs/index.json"
    assert json.loads(defined.read_text())["indexDefinitions"] == {}
    with pytest.raises(ConfigError, match="needed by the others"):
        table.drop_index("files")
    assert table.drop_index("bloom_filters") == ("bloom_filters",)
    for gone in ("bloom_filters", "blooms"):
        with pytest.raises(ConfigError, match=f"index {gone} of table .*the table has none"):
            table.drop_index(gone)
    table.create_index("by_city", "city")
    with pytest.raises(
        ConfigError, match="the table has by_city, record_index.*Did you mean by_city"
    ):
        table.drop_index("by_cty")
    table.drop_index("by_city")
    table.drop_index("record_index")
    left(table, "files")
    assert hoodoo.open(table.path).rebuild_index("bloom_filters") == ("bloom_filters",)
    left(table, "bloom_filters", "files")


def test_one_of_hoodoos_own(tmp_path: Path) -> None:
    """Nothing is left of it in the properties, when it was made neither: one that is made later has its own time."""
    table = made(tmp_path / "t", index="global_simple")
    table.rebuild_index("growing_record_index")
    assert OWN_MADE in hoodoo.open(table.path).config.properties
    assert table.drop_index("growing_record_index") == ("hoodoo_record_index",)
    assert OWN_MADE not in hoodoo.open(table.path).config.properties
    left(table, *ALL)


@pytest.mark.sampled(1, among="long")
def test_of_version_6(tmp_path: Path) -> None:
    """By a call, the global record index among them, and before a write; each is made again."""
    table = made(tmp_path / "t", version=6)
    table.rebuild_index("record_index")
    with pytest.raises(ConfigError, match="switch_index"):
        table.drop_index("record_index")
    table.switch_index("global_simple")
    assert table.drop_index("record_index") == ("record_index",)
    left(table, *ALL_6)
    assert table.drop_index("column_stats") == ("column_stats",)
    left(table, "bloom_filters", "files")
    hoodoo.open(table.path, {"hoodie.metadata.index.drop": "bloom_filters"}).upsert(rows([3], 2))
    left(table, "files")
    for partition in ("bloom_filters", "column_stats", "record_index"):
        assert partition in hoodoo.open(table.path).rebuild_index(partition)
    left(table, "record_index", *ALL_6)
    with pytest.raises(ConfigError, match="needed by the others"):
        hoodoo.open(table.path).drop_index("files")


def test_before_a_write(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    dropping = {"hoodie.metadata.index.drop": "bloom_filters, partition_stats"}
    for ids in ([3, 30], [4, 31]):  # the second finds nothing to drop
        hoodoo.open(table.path, dropping).upsert(rows(ids, 2))
    left(table, "column_stats", "files")
    with pytest.raises(ConfigError, match="needed by the others"):
        hoodoo.open(table.path, {"hoodie.metadata.index.drop": "files"}).upsert(rows([1], 3))


@pytest.mark.parametrize("index", ["record_index", "growing_record_index"])
def test_the_own_index_stays(tmp_path: Path, index: str) -> None:
    table = made(tmp_path / "t", index)
    with pytest.raises(ConfigError, match="switch_index"):
        table.drop_index(index)
    table.switch_index("global_simple")
    table.drop_index(index)
    left(table, *ALL)


def test_while_somebody_makes_one(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    storage = table.handle.storage
    with Beating(storage) as beats:
        request(Snapshot(storage, table.timeline()), INDEXING, b"", named=beats.add)
        with pytest.raises(CommitConflictError, match="in progress"):
            table.drop_index("bloom_filters")
    table.drop_index("bloom_filters")
    left(table, "column_stats", "files", "partition_stats")


@pytest.mark.sampled(1, among="long")
def test_killed_at_any_operation(tmp_path: Path) -> None:
    """It is there, or gone; dropped again, nothing of it is left."""
    seen: list[RecordingStorage] = []
    whole = made(tmp_path / "whole")

    def opened(path: str, wrap: Any) -> Any:
        table = hoodoo.open(path)
        return hoodoo.table.table.Table(wrap(table.handle.storage), table.config, {})

    def record(inner: Any) -> Any:
        seen.append(RecordingStorage(inner))
        return seen[0]

    opened(whole.path, record).drop_index("bloom_filters")
    steps = len(seen[0].mutations)
    for at in range(2, steps + 1, 4):
        table = made(tmp_path / f"t{at}")
        ends = opened(table.path, lambda inner, at=at: CrashingStorage(inner, at))
        with pytest.raises(Crash):
            ends.drop_index("bloom_filters")
        again = hoodoo.open(table.path)
        assert again.upsert(rows([0, 50], 3)).updated == 1
        assert not again.verify().findings
        if "bloom_filters" not in again.config.metadata_partitions:
            again.rebuild_index("bloom_filters")
        again.drop_index("bloom_filters")
        left(again, "column_stats", "files", "partition_stats")
