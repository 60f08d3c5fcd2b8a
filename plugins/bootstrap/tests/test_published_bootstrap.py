"""Metadata of Delta Lake and Iceberg of a bootstrapped table: refused while columns are in files of
the source, and the way that the message says leads on."""

from __future__ import annotations

import re
from pathlib import Path

import hoodoo
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from hoodoo.errors import UnsupportedTableError
from pyiceberg.table import StaticTable


@pytest.mark.parametrize("parts", [1, 2])
def test_after_the_clustering_that_the_message_says(tmp_path: Path, parts: int) -> None:
    for number in range(parts):
        folder = tmp_path / f"source/c={number}"
        folder.mkdir(parents=True)
        pq.write_table(
            pa.table({"id": [number, 10 + number], "x": ["a", "b"]}), folder / "f.parquet"
        )
    table = hoodoo.bootstrap(str(tmp_path / "source"), str(tmp_path / "t"), record_key="id")
    with pytest.raises(UnsupportedTableError, match="readers of iceberg would miss") as caught:
        table.publish("iceberg")
    found = re.search(r'table\.cluster\(order="(\w+)", columns=\["(\w+)"\]\)', caught.value.fix)
    assert found is not None
    table.cluster(order=found[1], columns=[found[2]])
    table.publish("iceberg,delta")
    right = sorted(map(str, table.read().to_arrow().select(["id", "x"]).to_pylist()))
    path = str(tmp_path / "t")
    for read in (
        DeltaTable(path).to_pyarrow_table(),
        StaticTable.from_metadata(path).scan().to_arrow(),
    ):
        assert sorted(map(str, read.select(["id", "x"]).to_pylist())) == right
