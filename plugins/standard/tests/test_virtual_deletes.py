"""Virtual keys of one column under COMPLEX: which rows delete blocks mean, whoever wrote them."""

from __future__ import annotations

from pathlib import Path

import hoodoo
import pyarrow as pa
import pytest
from hoodoo_rows.testing.tables import Maker

pytestmark = pytest.mark.sampled(4)

SCHEMA = pa.schema([("id", pa.string()), ("a", pa.string()), ("b", pa.string())])
ENCODING = "hoodie.write.complex.keygen.new.encoding"

rows = Maker(SCHEMA, a="x", b="y").of


@pytest.mark.parametrize("bare", [None, "false", "true"])
@pytest.mark.parametrize("gone", [["k1"], ["id:k2"], ["k1", "id:k2"], ["id:k2", "id:id:k3"]])
def test_deleted_rows_stay_away(tmp_path: Path, gone: list[str], bare: str | None) -> None:
    """Values may begin as the column's name does."""
    options = {"hoodie.populate.meta.fields": "false"} | ({ENCODING: bare} if bare else {})
    table = hoodoo.create(
        str(tmp_path), SCHEMA, record_key="id", partition_by=["a", "b"],
        table_type="MERGE_ON_READ", table_version=9 if bare is None else 6, options=options,
    )  # fmt: skip
    every = ["k0", "k1", "id:k2", "id:id:k3"]
    table.upsert(rows(*every))
    table.delete(rows(*gone))
    left = sorted(set(every) - set(gone))
    for reader in (table, hoodoo.open(str(tmp_path))):
        assert sorted(reader.read().to_arrow().column("id").to_pylist()) == left
    table.compact()
    assert sorted(table.read().to_arrow().column("id").to_pylist()) == left
