"""Names in hoodie.properties that nobody knows: nothing is imported for them, and what they decide is refused."""

from __future__ import annotations

from pathlib import Path

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.errors import PluginError, UnsupportedTableError

SCHEMA = pa.schema([("id", pa.int64()), ("p", pa.string()), ("ts", pa.int64())])


@pytest.fixture(params=[6, 9])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    table = hoodoo.create(
        str(tmp_path / "t"), SCHEMA, record_key="id", partition_by="p", ordering="ts",
        table_version=request.param,
    )  # fmt: skip
    table.upsert([{"id": 1, "p": "a", "ts": 1}])
    return tmp_path / "t"


def said(path: Path, key: str, value: str) -> str:
    file = path / ".hoodie/hoodie.properties"
    lines = [x for x in file.read_text().splitlines() if not x.startswith(f"{key}=")]
    file.write_text("\n".join([*lines, f"{key}={value}"]) + "\n")
    return str(path)


@pytest.mark.parametrize("name", ["evil.Type", "merge_on_read", "COW", "MERGE_ON_READ "])
def test_an_unknown_table_type_is_refused(path: Path, name: str) -> None:
    """Hudi refuses each of them. (A table that is merged on read would be read without its log files.)"""
    with pytest.raises(
        UnsupportedTableError, match=r"hoodie.table.type is .*COPY_ON_WRITE and MERGE"
    ):
        hoodoo.open(said(path, "hoodie.table.type", name))


def test_a_table_without_a_type_is_copied_on_write(path: Path) -> None:
    file = path / ".hoodie/hoodie.properties"
    kept = [x for x in file.read_text().splitlines() if not x.startswith("hoodie.table.type=")]
    file.write_text("\n".join(kept) + "\n")
    assert hoodoo.open(str(path)).read().to_arrow()["id"].to_pylist() == [1]


def test_a_class_of_an_unknown_key_generator_counts_before_a_type(path: Path) -> None:
    """As in Hudi, whose KeyGeneratorType.getKeyGeneratorClassName takes a class before a type."""
    table = hoodoo.open(said(path, "hoodie.table.keygenerator.class", "evil.Generator"))
    assert table.read().to_arrow()["id"].to_pylist() == [1]  # keys are stored: it decides nothing
    with pytest.raises(PluginError, match=r"evil.Generator"):
        table.upsert([{"id": 2, "p": "a", "ts": 1}])


def test_an_unknown_payload_class_is_refused_where_it_decides(path: Path) -> None:
    table = hoodoo.open(said(path, "hoodie.compaction.payload.class", "evil.Payload"))
    merges = table.config.get("hoodie.record.merge.mode")
    if merges:  # as in Hudi's readers, the mode decides, and the class is not looked at
        table.upsert([{"id": 1, "p": "a", "ts": 0}])
        assert table.read().to_arrow()["ts"].to_pylist() == [1]
        table = hoodoo.open(said(path, "hoodie.record.merge.mode", "CUSTOM"))
    with pytest.raises(PluginError):
        table.upsert([{"id": 2, "p": "a", "ts": 1}])
