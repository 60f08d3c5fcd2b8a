"""Where keys lie is known to the driver, or to tasks: the same rows, of each index and type of table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.errors import DuplicateKeyError
from hoodoo.hookspecs import engine as engine_family
from hoodoo_rows.testing.tables import Tuples

pytestmark = pytest.mark.sampled(4)

TYPES = ("COPY_ON_WRITE", "MERGE_ON_READ")
INDEXES = ("simple", "bloom", "global_simple", "record_index")
SCHEMA = pa.schema(
    [("id", pa.string()), ("city", pa.string()), ("ts", pa.int64()), ("v", pa.int64())]
)


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Places stay with tasks from the call on."""
    return lambda: monkeypatch.setattr(engine_family, "RESULT_BYTES", 0)


rows = Tuples(SCHEMA, v=lambda ts: ts)


def there(table: hoodoo.Table) -> list[tuple[Any, ...]]:
    found = table.read(columns=["id", "city", "v"]).to_arrow().to_pylist()
    return sorted(tuple(row.values()) for row in found)


def made(path: Path, kind: str, index: str, **more: Any) -> hoodoo.Table:
    return hoodoo.create(
        str(path), SCHEMA, record_key="id", partition_by="city", ordering="ts", index=index, table_type=kind, **more
    )  # fmt: skip


@pytest.mark.parametrize("kind", TYPES)
def test_a_key_of_two_paths_that_came_back_in_one(tmp_path: Path, kind: str, many: Any) -> None:
    """Deleted in a log file and inserted again, a key lies in two file groups of its path; in the other path in one."""
    table = made(tmp_path / "t", kind, "simple")
    table.upsert(rows(("k", "a", 1), ("k", "b", 1), ("m", "b", 1)))
    table.delete(rows(("k", "a", 0), ("m", "b", 0)).select(["id", "city"]))
    table.insert(rows(("k", "a", 2), ("m", "b", 2)))
    many()
    table.upsert(rows(("k", "a", 3), ("k", "b", 3), ("m", "b", 3)))
    assert there(table) == [("k", "a", 3), ("k", "b", 3), ("m", "b", 3)]
    table.delete(rows(("k", "a", 0), ("m", "b", 0)).select(["id", "city"]))
    assert there(table) == [("k", "b", 3)]


@pytest.mark.parametrize("policy", ["drop", "fail"])
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("index", INDEXES)
def test_inserts_by_policy(tmp_path: Path, kind: str, index: str, policy: str, many: Any) -> None:
    """A key whose row is deleted, in a log file or by a compaction, is new."""
    options = {"hoodie.datasource.insert.dup.policy": policy}
    table = made(tmp_path / "t", kind, index)
    table.upsert(rows(*((f"k{i}", "ab"[i % 2], 1) for i in range(40))))
    table.delete(["k1", "k2"]) if index != "bloom" else table.delete(
        rows(("k1", "b", 0), ("k2", "a", 0)).select(["id", "city"])
    )
    if kind == "MERGE_ON_READ" and index == "record_index":
        table.compact()
    many()
    table = hoodoo.open(table.path, options)
    new = rows(("k1", "b", 2), ("k2", "a", 2), ("n", "a", 2))
    if policy == "drop":
        new = pa.concat_tables([new, rows(("k3", "b", 2), ("k4", "a", 2))])
    table.insert(new)
    wanted = [(f"k{i}", "ab"[i % 2], 2 if i in (1, 2) else 1) for i in range(40)]
    assert there(table) == sorted([*wanted, ("n", "a", 2)])
    if policy == "fail":
        with pytest.raises(DuplicateKeyError, match="2 are"):
            table.insert(rows(("k3", "b", 3), ("k4", "a", 3), ("o", "a", 3)))


@pytest.mark.parametrize("serializer", ["arrow", "pickle", "avro"])
def test_columns_without_nulls(tmp_path: Path, serializer: str, many: Any) -> None:
    """Places travel beside rows, and have no values in these columns."""
    schema = pa.schema([field.with_nullable(False) for field in SCHEMA])
    table = hoodoo.create(
        str(tmp_path / "t"), schema, record_key="id", partition_by="city", index="simple",
        options={"hoodoo.serializer": serializer},
    )  # fmt: skip
    many()
    for ts in (1, 2):
        table.upsert(rows(*((f"k{i}", "ab"[i % 2], ts) for i in range(30))).cast(schema))
    assert there(table) == sorted((f"k{i}", "ab"[i % 2], 2) for i in range(30))
