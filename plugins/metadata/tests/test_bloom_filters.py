"""The partition bloom_filters: kept by every action, asked by bloom indexes, compared by verify."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.errors import ConfigError
from hoodoo.hookspecs.registration import Settings
from hoodoo.timeline.timeline import load
from hoodoo_metadata.partitions.bloom.lookup import MetadataFilters, filter_rows
from hoodoo_metadata.partitions.bloom.rows import FilterRow, decode_filter, encode_filter
from hoodoo_metadata.table.keys import filter_key
from hoodoo_metadata.table.metadata_table import MetadataTable
from hoodoo_metadata.table.slice import layers
from hoodoo_rows.testing.tables import Maker
from hoodoo_standard.index import stored_filters
from hoodoo_standard.testing.key_filters import KeyFiltersContract

pytestmark = pytest.mark.sampled

SCHEMA = pa.schema([("id", pa.string()), ("city", pa.string()), ("ts", pa.int64())])
FILTERS = {
    "hoodie.metadata.enable": "true",
    "hoodie.metadata.index.bloom.filter.enable": "true",
    "hoodie.parquet.small.file.limit": "0",
}
KINDS = ["COPY_ON_WRITE", "MERGE_ON_READ"]

rows = Maker(SCHEMA, "ts", id="k{}".format, city=("bergen", "oslo"))


def folder(table: Any) -> Path:
    return Path(table.path.removeprefix("file://"))


def made(path: Path, kind: str = "COPY_ON_WRITE", index: str = "bloom", **more: Any) -> Any:
    return hoodoo.create(
        str(path), SCHEMA, record_key="id", partition_by="city", ordering="ts", table_type=kind,
        index=index, options={**FILTERS, **more.pop("options", {})}, **more,
    )  # fmt: skip


def stored(table: Any) -> set[str]:
    """The keys of all filters that count."""
    storage = table.handle.storage
    metadata = MetadataTable.open(storage, load(storage, hoodoo.open(table.path).config))
    found = set()
    for group in metadata.slices("bloom_filters"):
        held = [x for x in layers(metadata.storage, group) if x.hfile is not None]
        keys = {k.decode() for x in held for b in x.scan() for k in b.column(0).to_pylist()}
        found |= {key for key, _row in filter_rows(metadata.storage, [group], sorted(keys))}
    return found


def right(table: Any) -> None:
    """As many filters as committed base files, and all is as it should be."""
    root = folder(table)
    there = {filter_key(p.parent.name, p.name) for p in root.glob("*/*.parquet")}
    assert stored(table) == there
    report = table.verify()
    assert not report.findings, [str(f) for f in report.findings]


class TestMetadataFilters(KeyFiltersContract):
    @pytest.fixture
    def key_filters(self) -> Any:
        return MetadataFilters.from_settings(Settings())

    @pytest.fixture
    def table(self, tmp_path: Path) -> Any:
        table = made(tmp_path / "t")
        table.upsert(rows(range(20), 1))
        table.upsert(rows(range(10), 2))
        return table


def test_as_hudi_writes_it() -> None:
    """The key that Spark Hudi 1.2.0 wrote for the file."""
    name = "6f537d16-c54a-413c-a165-7ee7d428985a-0_0-41-62_20261123035623913.parquet"
    assert filter_key("eu", name) == "ysx6N5aQMXs=Wsrb8otbJRwFC0hwf7mNpw=="
    row = FilterRow("DYNAMIC_V0", b"/////wAAAB4B", "20261123035623913")
    assert decode_filter(encode_filter(row)) == row


@pytest.mark.parametrize(
    ("kind", "version"), [(KINDS[0], 9), (KINDS[1], 9), (KINDS[0], 6), (KINDS[1], 6)]
)
def test_every_action_keeps_it(tmp_path: Path, kind: str, version: int) -> None:
    often = {"hoodie.metadata.compact.max.delta.commits": "4"}
    table = made(tmp_path / "t", kind, options=often, table_version=version)
    assert "bloom_filters" in hoodoo.open(table.path).config.metadata_partitions
    table.upsert(rows(range(40), 1))
    right(table)
    table.upsert(rows(range(30, 60), 2))
    table.delete(rows(range(3), 3))
    right(table)
    table.append(rows(range(100, 120), 3))
    table.insert_overwrite(rows([1, 3, 5], 4))
    right(table)
    if kind == "MERGE_ON_READ":
        table.upsert(rows(range(100, 110), 5))
        table.compact()
    table.cluster()
    right(table)
    undone = table.upsert(rows(range(50), 6))
    table.rollback(undone.instant)
    right(table)
    table.upsert(rows(range(5), 7))
    table.clean(commits_retained=1, reader_window=1)
    right(table)
    table.restore(table.timeline().writes()[-2].requested)
    right(table)
    table.upsert(rows(range(200, 203), 8))
    right(table)


@pytest.mark.parametrize("count", [None, 2])
def test_as_many_file_groups_as_asked_for(tmp_path: Path, count: int | None) -> None:
    name = "hoodie.metadata.index.bloom.filter.file.group.count"
    table = made(tmp_path / "t", options={} if count is None else {name: str(count)})
    table.upsert(rows(range(10), 1))
    there = (folder(table) / ".hoodie/metadata/bloom_filters").glob("*bloom-filters-*")
    assert len({p.name.lstrip(".").split("_")[0] for p in there}) == (count or 4)
    right(table)


@pytest.mark.parametrize("index", ["bloom", "global_bloom"])
def test_files_that_lack_the_keys_are_not_opened(
    tmp_path: Path, index: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_filters, "_FILTER_COST", 0)
    table = made(tmp_path / "t", index=index)
    table.append(rows(range(0, 40, 2), 1))
    table.append(rows(range(100, 140, 2), 1))
    first, _second = (i.requested for i in table.timeline().writes())
    (gone,) = folder(table).glob(f"*/*_{first}.parquet")
    away = gone.rename(tmp_path / "away")
    found = hoodoo.open(table.path).upsert(rows([100, 104, 501], 2))
    assert (found.updated, found.inserted) == (2, 1)
    footers = hoodoo.open(table.path, {"hoodie.bloom.index.use.metadata": "false"})
    with pytest.raises(hoodoo.errors.CorruptTableError):
        footers.upsert(rows([100], 3))
    away.rename(gone)
    found = hoodoo.open(table.path).upsert(rows([0, 100, 502], 4))
    assert (found.updated, found.inserted) == (2, 1)
    right(table)


@pytest.mark.parametrize("kind", KINDS)
def test_made_later_and_of_files_without_filters(tmp_path: Path, kind: str) -> None:
    off = {"hoodie.parquet.bloom.filter.enabled": "false"}
    table = hoodoo.create(
        str(tmp_path / "t"), SCHEMA, record_key="id", partition_by="city", ordering="ts",
        table_type=kind, options=off,
    )  # fmt: skip
    table.upsert(rows(range(20), 1))
    table.upsert(rows(range(15, 25), 2))
    assert table.rebuild_index("bloom_filters") == ("files", "bloom_filters")
    right(table)
    table = hoodoo.open(table.path, {**off, "hoodie.index.type": "BLOOM"})
    found = table.upsert(rows(range(24, 30), 3))
    assert (found.updated, found.inserted) == (1, 5)
    right(table)


def test_what_is_wrong_is_found(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    table.append(rows(range(0, 20, 2), 1))
    table.append(rows(range(40, 60, 2), 1))
    one, other = sorted(folder(table).glob("*/*.parquet"))
    content = one.read_bytes()
    one.write_bytes(other.read_bytes())
    assert "metadata.filters" in {f.kind for f in table.verify().findings}
    one.write_bytes(content)
    right(table)
    one.rename(tmp_path / "away")
    found = [f for f in table.verify(quick=True).findings if f.kind == "metadata.filters"]
    assert len(found) == 1 and "not there" in found[0].rule
    (tmp_path / "away").rename(one)
    for log in folder(table).glob(".hoodie/metadata/bloom_filters/.*log*"):
        log.unlink()
    found = [f for f in table.verify(quick=True).findings if f.kind == "metadata.filters"]
    assert {f.obj.rpartition("/")[2] for f in found} == {one.name, other.name}
    table.rebuild_index("bloom_filters")
    right(table)


def test_virtual_keys_have_none(tmp_path: Path) -> None:
    virtual = {"hoodie.populate.meta.fields": "false"}
    with pytest.raises(ConfigError, match="virtual keys"):
        made(tmp_path / "t", index="simple", options=virtual)
    table = hoodoo.create(str(tmp_path / "u"), SCHEMA, record_key="id", options=virtual)
    table.append(rows(range(3), 1))
    with pytest.raises(ConfigError, match="virtual keys"):
        table.rebuild_index("bloom_filters")
    stored = made(tmp_path / "v", index="simple")
    stored.upsert(rows(range(3), 1))
    stored.enable_virtual_keys()
    again = hoodoo.open(stored.path)
    assert "bloom_filters" not in again.config.metadata_partitions
    again.upsert(rows(range(5), 2))
    assert not again.verify().findings
