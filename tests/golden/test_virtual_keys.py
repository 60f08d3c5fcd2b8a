"""Tables of Spark Hudi with virtual keys are written on, and others of its tables get them: no row is
doubled, none is lost, and the independent reader agrees after each step."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import hoodoo
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from golden_tables import READ
from hoodoo.errors import HoodooWarning
from hoodoo.model.meta import COMMIT_TIME, META_COLUMNS, RECORD_KEY

pytestmark = pytest.mark.sampled(4)

Golden = Callable[[str], Path]
Oracle = Callable[..., "pa.Table | None"]
Same = Callable[[pa.Table, "pa.Table | None", str], None]

VIRTUAL = [name for name in READ if name.endswith("no_metafields")]
# One of each version, kind, key generator and kind of log block.
STORED = [
    "cow_v8_nonpartitioned",
    "cow_v8_simplekeygen_nonhivestyle",
    "cow_v6_complexkeygen_hivestyle",
    "cow_v6_nonpartitioned",
    "cow_v6_simplekeygen_nonhivestyle",
    "cow_v9_txns_complex_meta",
    "cow_v9_txns_nonpart_meta",
    "cow_v9_txns_simple_nometa",
    "mor_avro_v6_trips_8i1u",
    "mor_avro_v9_txns_complex_nometa",
    "mor_avro_v9_txns_nonpart_meta",
    "mor_avro_v9_txns_simple_nometa",
    "mor_parquet_v6_nonpartitioned",
    "mor_parquet_v6_simplekeygen_nonhivestyle",
]


@pytest.fixture(autouse=True)
def metadata_tables_go() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HoodooWarning)
        yield


@pytest.fixture
def copy(golden: Golden, tmp_path: Path) -> Golden:
    return lambda name: Path(shutil.copytree(golden(name), tmp_path / name))


def own(table: hoodoo.Table) -> pa.Table:
    return table.read(columns=table.schema.names).to_arrow()


def stored_keys(path: Path, table: hoodoo.Table) -> list[str | None]:
    found: list[str | None] = []
    for slice_ in table.file_slices():
        if slice_.base_file is not None:
            file = pq.ParquetFile(path / slice_.base_file.path)
            found += file.read(columns=[RECORD_KEY]).column(0).to_pylist()
    return found


def test_which_tables_have_virtual_keys(golden: Golden) -> None:
    found = [n for n in READ if not hoodoo.open(str(golden(n))).config.populate_meta_fields]
    assert found == VIRTUAL and len(VIRTUAL) == 3


@pytest.mark.parametrize("name", VIRTUAL)
def test_upsert(name: str, copy: Golden, oracle: Oracle, same: Same) -> None:
    path = copy(name)
    table = hoodoo.open(str(path))
    before = own(table)
    assert before.num_rows > 2
    table.upsert(before)
    same(own(table), oracle(path), "the same rows again")
    assert own(table).num_rows == before.num_rows
    (key,) = table.config.record_key_fields
    new = before.slice(0, 1).set_column(
        before.schema.get_field_index(key), before.schema.field(key),
        pa.array([987_654]).cast(before.schema.field(key).type),
    )  # fmt: skip
    table.upsert(new)
    same(own(table), oracle(path), "one more")
    assert own(table).num_rows == before.num_rows + 1
    table.delete(before.slice(1, 1))
    same(own(table), oracle(path), "one gone")
    assert own(table).num_rows == before.num_rows
    if table.config.table_type == "MERGE_ON_READ":
        table.compact()
        same(own(table), oracle(path), "compacted")
    assert set(stored_keys(path, table)) == {None}
    assert not table.rewrite_keys().left
    assert table.read(columns=[RECORD_KEY]).to_arrow().column(0).null_count == before.num_rows
    assert table.read().schema.names == before.schema.names


@pytest.mark.parametrize("name", STORED)
def test_stored_keys_become_virtual(name: str, copy: Golden, oracle: Oracle, same: Same) -> None:
    """Without a rewrite at first: files of Spark's that store keys, and ours that don't."""
    path = copy(name)
    table = hoodoo.open(str(path))
    before = own(table)
    times = table.read(columns=[COMMIT_TIME]).to_arrow()
    table.enable_virtual_keys()
    same(own(table), oracle(path), "enabled")
    table.upsert(before.slice(0, 1))
    same(own(table), oracle(path), "one row again")
    assert own(table).num_rows == before.num_rows
    table.delete(before.slice(before.num_rows - 1, 1))
    same(own(table), oracle(path), "one gone")
    rows = table.read(columns=[COMMIT_TIME, *before.schema.names]).to_arrow()
    assert rows.num_rows == before.num_rows - 1 and rows.column(COMMIT_TIME).null_count == 0
    assert len(set(rows.column(COMMIT_TIME).to_pylist())) <= 1 + len(set(times[0].to_pylist()))
    done = table.rewrite_keys()
    assert not done.left
    if table.config.table_type == "MERGE_ON_READ":
        table.compact()
    same(own(table), oracle(path), "rewritten")
    again = table.read(columns=[COMMIT_TIME, *before.schema.names]).to_arrow()
    assert sorted(map(repr, again.to_pylist())) == sorted(map(repr, rows.to_pylist()))
    assert set(stored_keys(path, table)) == {None}
    table.upsert(before)
    same(own(table), oracle(path), "all rows again")
    assert own(table).num_rows == before.num_rows
    every = table.read(meta=True).to_arrow()
    filled = {name for name in META_COLUMNS if every.column(name).null_count < every.num_rows}
    assert filled == {COMMIT_TIME}
