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
import pytest
from hoodoo.errors import HoodooWarning, StorageError
from hoodoo_standard.storage.local import LocalStorage

PROPERTY = "hoodie.table.metadata.partitions"
WITHOUT = {"hoodie.metadata.enable": "false"}


@pytest.fixture
def path(golden: Callable[[str], Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(golden("cow_v9_txns_nonpart_meta"), tmp_path / "txns"))


def rows(table: hoodoo.Table) -> Any:
    return table.read(columns=table.schema.names).to_arrow()


def warned(act: Callable[[], Any]) -> list[str]:
    """What it warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        act()
    return [str(w.message) for w in caught if issubclass(w.category, HoodooWarning)]


def test_the_metadata_table_is_kept_but_for_what_hoodoo_does_not_keep(path: Path) -> None:
    table = hoodoo.open(str(path), {"hoodie.index.type": "RECORD_INDEX"})
    before = rows(table)
    told = warned(lambda: table.upsert(before.slice(0, 1)))
    assert len(told) == 1 and "secondary_index_merchant_idx" in told[0]
    assert table.config.metadata_partitions == ("column_stats", "files", "record_index")
    assert not list((path / ".hoodie/metadata").glob("secondary*"))
    key = table.config.record_key_fields[0]
    assert rows(table).sort_by(key).equals(before.sort_by(key))
    for n in range(12):  # until it is compacted
        assert warned(lambda n=n: table.upsert(before.slice(n % before.num_rows, 1))) == []
    batches = hudi.HudiTableBuilder.from_base_uri(str(path)).build().read()
    assert sum(batch.num_rows for batch in batches) == before.num_rows
    assert [f for f in table.verify().findings if f.kind.startswith("metadata.")] == []


def test_no_definition_is_left_of_an_expression_index(path: Path) -> None:
    """Spark Hudi fails on queries with the expression where there is a definition and no partition. It makes a secondary
    index again by its definition."""
    properties = path / ".hoodie/hoodie.properties"
    text = properties.read_text()
    (listed,) = [line for line in text.splitlines() if line.startswith(f"{PROPERTY}=")]
    properties.write_text(text.replace(listed, f"{listed},expr_index_day"))
    file = path / ".hoodie/.index_defs/index.json"
    said = json.loads(file.read_text())
    there = set(said["indexDefinitions"])
    said["indexDefinitions"]["expr_index_day"] = {
        "indexName": "expr_index_day", "indexType": "column_stats", "indexFunction": "from_unixtime",
        "sourceFields": ["txn_ts"], "indexOptions": {"format": "yyyy-MM-dd"}, "version": "V2",
    }  # fmt: skip
    file.write_text(json.dumps(said))
    table = hoodoo.open(str(path))
    (told,) = warned(lambda: table.upsert(rows(table).slice(0, 1)))
    assert "expr_index_day" in told
    assert set(json.loads(file.read_text())["indexDefinitions"]) == there
    assert "secondary_index_merchant_idx" in there


def test_unwanted_it_goes_before_the_first_write(path: Path) -> None:
    table = hoodoo.open(str(path), WITHOUT)
    before = rows(table)
    assert table.config.get(PROPERTY) and (path / ".hoodie/metadata").is_dir()
    told = warned(lambda: table.upsert(before.slice(0, 1)))
    assert len(told) == 1 and "metadata table" in told[0]
    assert not (path / ".hoodie/metadata").exists()
    assert hoodoo.open(str(path), WITHOUT).config.get(PROPERTY) is None
    key = table.config.record_key_fields[0]
    assert rows(table).sort_by(key).equals(before.sort_by(key))
    assert warned(lambda: hoodoo.open(str(path), WITHOUT).upsert(before.slice(1, 1))) == []


def test_first_the_property_then_the_folder(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the other order, readers would look for a folder that has lost its files."""
    table = hoodoo.open(str(path), WITHOUT)
    before = rows(table)

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
    assert rows(again).num_rows == before.num_rows


def test_bad_input_leaves_the_metadata_table_alone(path: Path) -> None:
    table = hoodoo.open(str(path), WITHOUT)
    before = {p: p.read_bytes() for p in sorted(path.rglob("*")) if p.is_file()}
    key = table.config.record_key_fields[0]
    with pytest.raises(hoodoo.errors.DataError):
        table.upsert(rows(table).drop_columns([key]))
    assert {p: p.read_bytes() for p in sorted(path.rglob("*")) if p.is_file()} == before


def test_a_metadata_table_made_after_the_table_was_opened_goes_too(path: Path) -> None:
    """Another engine may have made one since."""
    early = hoodoo.open(str(path), WITHOUT)
    kept = path.with_name("kept")
    shutil.copytree(path / ".hoodie", kept)
    warned(lambda: early.upsert(rows(early).slice(0, 1)))
    shutil.copytree(kept / "metadata", path / ".hoodie/metadata")
    shutil.copy(kept / "hoodie.properties", path / ".hoodie/hoodie.properties")
    assert len(warned(lambda: early.upsert(rows(early).slice(1, 1)))) == 1
    assert not (path / ".hoodie/metadata").exists()
    assert hoodoo.open(str(path), WITHOUT).config.get(PROPERTY) is None
