"""Writing to a table that has Hudi's metadata table: it is kept, or goes in an order that survives a crash."""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hoodoo
import hudi
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hoodoo.errors import HoodooWarning, StorageError
from hoodoo_metadata.partitions.secondary.rows import DEAD, entry_keys
from hoodoo_metadata.table.metadata_table import MetadataTable
from hoodoo_metadata.table.slice import layers, merged
from hoodoo_rows.testing.tables import whole
from hoodoo_standard.storage.local import LocalStorage

PROPERTY = "hoodie.table.metadata.partitions"
WITHOUT = {"hoodie.metadata.enable": "false"}


@pytest.fixture
def path(golden: Callable[[str], Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(golden("cow_v9_txns_nonpart_meta"), tmp_path / "txns"))


def own(table: hoodoo.Table) -> pa.Table:
    """Its rows without meta columns."""
    return whole(table, table.schema.names, by="")


def warned(act: Callable[[], Any]) -> list[str]:
    """What it warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        act()
    return [str(w.message) for w in caught if issubclass(w.category, HoodooWarning)]


@pytest.mark.sampled(1, among="long")
def test_the_metadata_table_is_updated(path: Path) -> None:
    table = hoodoo.open(str(path), {"hoodie.index.type": "RECORD_INDEX"})
    there, before = table.config.metadata_partitions, own(table)
    assert {"secondary_index_merchant_idx", "secondary_index_txn_date_idx"} <= set(there)
    key = table.config.record_key_fields[0]
    for n in range(14):  # until it is compacted
        assert warned(lambda n=n: table.upsert(before.slice(n % before.num_rows, 1))) == []
        assert own(table).sort_by(key).equals(before.sort_by(key))
        assert table.config.metadata_partitions == there
    assert entries_are_right(path, table)
    batches = hudi.HudiTableBuilder.from_base_uri(str(path)).build().read()
    assert sum(batch.num_rows for batch in batches) == before.num_rows
    assert [f for f in table.verify().findings if f.kind.startswith("metadata.")] == []


def entries_are_right(path: Path, table: hoodoo.Table) -> bool:
    """The secondary indexes that Spark made name the values of each record key, and no others."""
    storage = LocalStorage(str(path))
    metadata, found = (
        MetadataTable.open(storage, table.timeline()),
        table.read(meta=True).to_arrow(),
    )
    keys = found.column("_hoodie_record_key").combine_chunks()
    for partition, column in (
        ("secondary_index_merchant_idx", "merchant_name"), ("secondary_index_txn_date_idx", "txn_date"),
    ):  # fmt: skip
        told: set[str] = set()
        for group in metadata.slices(partition):
            for batch in merged(layers(metadata.storage, group)):
                live = pc.not_equal(batch.column("value"), DEAD)
                told |= set(batch.column("key").filter(live).cast(pa.string()).to_pylist())
        wanted = entry_keys(found.column(column).combine_chunks(), keys)
        assert told == set(wanted.to_pylist()), partition
    return True


@pytest.mark.sampled(1, among="long")
def test_a_secondary_index_of_spark_follows_values(path: Path) -> None:
    table = hoodoo.open(str(path))
    found = own(table)
    at = found.schema.get_field_index("merchant_name")
    names = pa.array(["x$y", "a\\b", None, "\0", ""])
    ordering = found.schema.get_field_index("txn_ts")
    later = pc.add(found.column("txn_ts"), 10)
    newer = found.set_column(ordering, found.schema.field(ordering), later).slice(0, 5)
    table.upsert(newer.set_column(at, found.schema.field(at), names))
    assert entries_are_right(path, table)
    table.delete(found.slice(3, 4))
    assert entries_are_right(path, table)
    # Reads go by what Hoodoo has built itself.
    assert hoodoo.open(str(path)).read(where="merchant_name = 'x$y'").count() == 1
    table.rebuild_index("record_index")
    table.rebuild_index("secondary_index_merchant_idx")
    found = hoodoo.open(str(path)).read(where="merchant_name = 'x$y'")
    assert found.count() == 1 and not table.verify().findings
    assert "secondary_index_txn_date_idx" in table.drop_index("txn_date_idx")


def define(path: Path, change: Callable[[dict[str, Any]], None]) -> set[str]:
    """Change ``index.json``; the indexes that are defined there."""
    file = path / ".hoodie/.index_defs/index.json"
    said = json.loads(file.read_text())
    change(said["indexDefinitions"])
    file.write_text(json.dumps(said))
    return set(said["indexDefinitions"])


@pytest.mark.parametrize(
    "wrong", [{"indexFunction": "lower"}, {"version": "V1"}, {"sourceFields": ["amount"]}, {"sourceFields": []}]
)  # fmt: skip
def test_a_secondary_index_that_is_not_known_goes(path: Path, wrong: dict[str, Any]) -> None:
    define(path, lambda there: there["secondary_index_merchant_idx"].update(wrong))
    table = hoodoo.open(str(path))
    (told,) = warned(lambda: table.upsert(own(table).slice(0, 1)))
    assert "secondary_index_merchant_idx" in told and "txn_date" not in told
    assert not list((path / ".hoodie/metadata").glob("secondary*merchant*"))
    assert "secondary_index_txn_date_idx" in table.config.metadata_partitions


def test_no_definition_is_left_of_an_expression_index(path: Path) -> None:
    """Spark Hudi fails on queries with the expression where there is a definition and no partition. It makes a secondary
    index again by its definition."""
    properties = path / ".hoodie/hoodie.properties"
    text = properties.read_text()
    (listed,) = [line for line in text.splitlines() if line.startswith(f"{PROPERTY}=")]
    properties.write_text(text.replace(listed, f"{listed},expr_index_day"))
    made = {
        "indexName": "expr_index_day", "indexType": "column_stats", "indexFunction": "split",
        "sourceFields": ["txn_ts"], "indexOptions": {"pattern": ","}, "version": "V2",
    }  # fmt: skip
    there = define(path, lambda there: there.update(expr_index_day=made))
    table = hoodoo.open(str(path))
    (told,) = warned(lambda: table.upsert(own(table).slice(0, 1)))
    assert "expr_index_day" in told
    assert define(path, lambda there: None) == there - {"expr_index_day"}
    assert "secondary_index_merchant_idx" in there


def test_unwanted_it_goes_before_the_first_write(path: Path) -> None:
    table = hoodoo.open(str(path), WITHOUT)
    before = own(table)
    assert table.config.get(PROPERTY) and (path / ".hoodie/metadata").is_dir()
    told = warned(lambda: table.upsert(before.slice(0, 1)))
    assert len(told) == 1 and "metadata table" in told[0]
    assert not (path / ".hoodie/metadata").exists()
    assert hoodoo.open(str(path), WITHOUT).config.get(PROPERTY) is None
    key = table.config.record_key_fields[0]
    assert own(table).sort_by(key).equals(before.sort_by(key))
    assert warned(lambda: hoodoo.open(str(path), WITHOUT).upsert(before.slice(1, 1))) == []


def test_first_the_property_then_the_folder(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the other order, readers would look for a folder that has lost its files."""
    table = hoodoo.open(str(path), WITHOUT)
    before = own(table)

    def stops(self: LocalStorage, prefix: str) -> int:
        raise StorageError(prefix, "the store has gone.", "Try again.")

    with monkeypatch.context() as patch, pytest.raises(StorageError):
        patch.setattr(LocalStorage, "delete_prefix", stops)
        table.upsert(before.slice(0, 1))
    assert (path / ".hoodie/metadata").is_dir()
    again = hoodoo.open(str(path), WITHOUT)
    assert again.config.get(PROPERTY) is None
    again.upsert(before.slice(0, 1))
    assert not (path / ".hoodie/metadata").exists()
    assert own(again).num_rows == before.num_rows


def test_bad_input_leaves_the_metadata_table_alone(path: Path) -> None:
    table = hoodoo.open(str(path), WITHOUT)
    before = {p: p.read_bytes() for p in sorted(path.rglob("*")) if p.is_file()}
    key = table.config.record_key_fields[0]
    with pytest.raises(hoodoo.errors.DataError):
        table.upsert(own(table).drop_columns([key]))
    assert {p: p.read_bytes() for p in sorted(path.rglob("*")) if p.is_file()} == before


def test_a_metadata_table_made_after_the_table_was_opened_goes_too(path: Path) -> None:
    """Another engine may have made one since."""
    early = hoodoo.open(str(path), WITHOUT)
    kept = path.with_name("kept")
    shutil.copytree(path / ".hoodie", kept)
    warned(lambda: early.upsert(own(early).slice(0, 1)))
    shutil.copytree(kept / "metadata", path / ".hoodie/metadata")
    shutil.copy(kept / "hoodie.properties", path / ".hoodie/hoodie.properties")
    assert len(warned(lambda: early.upsert(own(early).slice(1, 1)))) == 1
    assert not (path / ".hoodie/metadata").exists()
    assert hoodoo.open(str(path), WITHOUT).config.get(PROPERTY) is None


@pytest.mark.parametrize("add_columns", [False, True])
def test_the_first_write_updates_them_whatever_options_it_has(
    path: Path, add_columns: bool
) -> None:
    """A write with options of its own has participants of its own, which see what it changes."""
    table = hoodoo.open(str(path))
    found = own(table).slice(0, 3)
    at, ordering = (found.schema.get_field_index(name) for name in ("merchant_name", "txn_ts"))
    newer = found.set_column(at, found.schema.field(at), pa.array(["one", "two", None]))
    moved = pc.add(found.column("txn_ts"), 10)
    newer = newer.set_column(ordering, found.schema.field(ordering), moved)
    table.upsert(newer, add_columns=add_columns)
    assert entries_are_right(path, table)
