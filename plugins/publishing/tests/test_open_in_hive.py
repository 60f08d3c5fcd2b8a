"""The Iceberg entry of a table in a real Hive Metastore, which Maven fetches: after each action it
names the metadata by which pyiceberg reads what the table has. (pyiceberg's own client of Hive does
not know version 4.)"""

from __future__ import annotations

from pathlib import Path

import hoodoo
import pytest
from metastore import NotHere, metastore
from open_readers import SCHEMA, some_rows, texts
from pyiceberg.table import StaticTable


@pytest.mark.trial
def test_readers_find_the_newest_metadata(tmp_path: Path) -> None:
    try:
        with metastore("4.0.1", tmp_path) as address:
            _compare(tmp_path / "t", address)
    except NotHere as error:
        pytest.skip(f"no Hive Metastore: {error}")


def _compare(path: Path, address: str) -> None:
    options = {
        "hoodoo.open.formats": "iceberg",
        "hoodoo.open.catalogs": f"hms://{address}/lake.trips",
        "hoodie.metadata.enable": "false",
    }
    table = hoodoo.create(str(path), SCHEMA, record_key="id", options=options)
    lake = hoodoo.catalog(f"hms://{address}")

    def check() -> None:
        said = lake.entry("lake.trips").parameters
        assert said["table_type"] == "ICEBERG"
        found = StaticTable.from_metadata(said["metadata_location"]).scan().to_arrow()
        assert texts(found, table.schema.names) == texts(
            table.read().to_arrow(), table.schema.names
        )

    newest = None
    for value in (1, 2):
        newest = table.upsert(some_rows(range(4), value))
        check()
    table.alter(rename={"n": "number"})
    check()
    assert newest is not None
    table.restore(newest.instant)
    check()
    table.cluster(order="linear", columns=["id"])
    check()
    assert hoodoo.open(f"hms://{address}/lake.trips").path == table.path
