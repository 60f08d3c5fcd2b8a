"""Tables of Spark Hudi whose rows are merged by more than a merge mode: refused, not merged wrongly."""

from __future__ import annotations

from pathlib import Path

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.errors import UnsupportedTableError

SCHEMA = pa.schema([("id", pa.int64()), ("notes", pa.string()), ("_event_lsn", pa.int64())])
MODEL = "org.apache.hudi.common.model."
POSTGRES = {
    "hoodie.table.partial.update.mode": "FILL_UNAVAILABLE",
    "hoodie.table.legacy.payload.class": f"{MODEL}debezium.PostgresDebeziumAvroPayload",
    "hoodie.record.merge.property.hoodie.write.partial.update.unavailable.value": "__debezium_unavailable_value",
}
DEFAULTS = {
    "hoodie.table.partial.update.mode": "IGNORE_DEFAULTS",
    "hoodie.table.legacy.payload.class": f"{MODEL}PartialUpdateAvroPayload",
}
AWS = {
    "hoodie.table.legacy.payload.class": f"{MODEL}AWSDmsAvroPayload",
    "hoodie.record.merge.property.hoodie.payload.delete.field": "Op",
    "hoodie.record.merge.property.hoodie.payload.delete.marker": "D",
}
ROW = {"id": 1, "notes": "long", "_event_lsn": 1}


def make(path: Path, kind: str, said: dict[str, str], ordering: str | None) -> None:
    """A table with log files, if its kind has them, that then says ``said``, as Spark Hudi stores it."""
    table = hoodoo.create(
        str(path), SCHEMA, record_key="id", ordering=ordering, table_type=kind, table_version=9
    )
    table.upsert([ROW])
    table.upsert([{**ROW, "_event_lsn": 2}])
    file = path / ".hoodie/hoodie.properties"
    file.write_text(file.read_text("utf-8") + "".join(f"{k}={v}\n" for k, v in said.items()))


@pytest.mark.parametrize("ordering", ["_event_lsn", None])
@pytest.mark.parametrize("said", [POSTGRES, DEFAULTS, AWS], ids=["postgres", "defaults", "aws"])
@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_it_is_refused(tmp_path: Path, kind: str, said: dict[str, str], ordering: str) -> None:
    path = tmp_path / "account"
    make(path, kind, said, ordering)
    table = hoodoo.open(str(path))
    before = len(table.timeline().instants)
    for write in (table.upsert, table.delete):
        with pytest.raises(UnsupportedTableError) as caught:
            write([{**ROW, "_event_lsn": 3}] if write == table.upsert else [1])
        assert all(
            f"{key}={value}" in str(caught.value)
            for key, value in said.items()
            if "legacy" not in key
        )
        assert said["hoodie.table.legacy.payload.class"] in str(caught.value)
    assert len(hoodoo.open(str(path)).timeline().instants) == before
    if kind == "COPY_ON_WRITE":
        assert table.read().count() == 1  # base files have merged rows
    else:
        with pytest.raises(UnsupportedTableError) as caught:
            table.read().to_arrow()
        for key, value in said.items():
            assert value in str(caught.value) and (key in str(caught.value) or "legacy" in key)
        assert table.read(mode="read_optimized").to_pylist() == [ROW]
        with pytest.raises(UnsupportedTableError):
            table.compact()


def test_a_table_that_says_that_it_has_none_is_like_others(tmp_path: Path) -> None:
    path = tmp_path / "account"
    payload = {"hoodie.table.legacy.payload.class": f"{MODEL}DefaultHoodieRecordPayload"}
    make(
        path, "MERGE_ON_READ", {"hoodie.table.partial.update.mode": "NONE", **payload}, "_event_lsn"
    )
    table = hoodoo.open(str(path))
    table.upsert([{**ROW, "_event_lsn": 3}])
    assert table.read(columns=["_event_lsn"]).to_pylist() == [{"_event_lsn": 3}]
