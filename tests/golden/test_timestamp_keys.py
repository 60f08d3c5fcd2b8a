"""Tables that Spark Hudi partitioned by time are written on: no row moves, none is doubled."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Callable
from pathlib import Path

import hoodoo
import pyarrow as pa
import pytest
from golden_tables import READ
from hoodoo.errors import HoodooWarning

Golden = Callable[[str], Path]
TABLES = [name for name in READ if "timebased" in name]
# A time of each kind that the tables have, and the path of its day and hour.
MOMENT = {"ts_str": "2031-05-06T07:08:09.000+0000", "ts_epoch": "1936076889",
          "ts_millis": "1936076889000"}  # fmt: skip


def where(rows: pa.Table) -> list[tuple[str, str]]:
    """Keys and paths. One of the tables has a key twice, which Spark inserted so."""
    columns = (rows.column(n).to_pylist() for n in ("_hoodie_record_key", "_hoodie_partition_path"))
    return sorted(zip(*columns, strict=True))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", TABLES)
def test_upsert(
    name: str,
    golden: Golden,
    tmp_path: Path,
    oracle: Callable[..., pa.Table | None],
    same: Callable[[pa.Table, pa.Table | None, str], None],
) -> None:
    path = Path(shutil.copytree(golden(name), tmp_path / name))
    table = hoodoo.open(str(path))
    before = table.read(meta=True).to_arrow()
    own = before.select(table.schema.names)
    column = table.config.partition_fields[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HoodooWarning)  # its metadata table goes
        table.upsert(own)
    after = table.read(meta=True).to_arrow()
    assert where(after) == where(before)
    same(after, oracle(path), "the same rows again")
    row = own.slice(0, 1).to_pylist()[0] | {"txn_id": "TXN-new", column: MOMENT[column]}
    table.upsert(pa.Table.from_pylist([row], own.schema))
    added = table.read(meta=True).to_arrow()
    assert added.num_rows == before.num_rows + 1
    paths = dict(where(added))
    day = "2031/05/09" if column != "ts_str" else "2031/05/06"
    assert paths["TXN-new"].startswith(day)
    same(added, oracle(path), "after the writes")
