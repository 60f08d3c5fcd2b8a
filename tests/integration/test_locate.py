"""table.locate: where keys lie, by every index, as the files say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.errors import ConfigError, DataError, PluginError
from hoodoo_rows.testing.tables import Maker

pytestmark = pytest.mark.sampled(4)

KINDS = ["COPY_ON_WRITE", "MERGE_ON_READ"]
INDEXES = [
    "simple", "global_simple", "bloom", "global_bloom", "bucket", "record_index",
    "partitioned_record_index", "growing_record_index",
]  # fmt: skip
SCHEMA = pa.schema([("id", pa.string()), ("city", pa.string()), ("v", pa.int64())])
CITIES = ("oslo", "rome")

rows = Maker(SCHEMA, "v", id="k{}".format, city=CITIES)


def create(
    path: Path, kind: str = "COPY_ON_WRITE", index: Any = "simple", **more: Any
) -> hoodoo.Table:
    options = {"hoodie.bucket.index.num.buckets": 2} if index == "bucket" else {}
    options |= more.pop("options", {})
    return hoodoo.create(
        str(path), SCHEMA, record_key="id", partition_by="city", index=index, table_type=kind,
        options=options, **more,
    )  # fmt: skip


def places(table: hoodoo.Table, as_of: str | None = None) -> dict[str, tuple[str, str, str]]:
    """Key -> partition path, file id and instant, as the rows' own meta columns and the slices say."""
    columns = ["_hoodie_record_key", "_hoodie_partition_path", "_hoodie_file_name"]
    slices = {s.file_id: s.instant for s in table.file_slices(as_of)}
    found = {}
    for row in table.read(columns=columns, as_of=as_of).to_arrow().to_pylist():
        key, path, name = row.values()
        file_id = name.partition("_")[0] if name.endswith(".parquet") else name
        found[key] = (path, file_id, slices[file_id])
    return found


def located(table: hoodoo.Table, keys: Any, **more: Any) -> dict[str, tuple[str, str, str]]:
    found = table.locate(keys, **more)
    names = ["record_key", "partition_path", "file_id", "instant"]
    assert found.column_names == names
    answer = {r["record_key"]: tuple(r.values())[1:] for r in found.to_pylist()}
    assert len(answer) == found.num_rows
    return answer  # type: ignore[return-value]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("index", INDEXES)
def test_each_index_says_where_the_rows_are(tmp_path: Path, index: str, kind: str) -> None:
    table = create(tmp_path, kind, index)
    first = table.upsert(rows(range(8), 1)).instant
    before = places(table)
    table.upsert(rows(range(4, 12), 2))
    table.delete(rows([1, 9], 3).select(["id", "city"]))
    table = hoodoo.open(str(tmp_path))
    now = places(table)
    assert len(now) == 10
    everything = rows(range(14), 0).select(["id", "city"])
    assert located(table, everything) == now
    keys = [f"k{i}" for i in range(14)]
    assert located(table, keys) == now
    assert located(table, ["k3", "k1", "k99", "k3"]) == {"k3": now["k3"]}
    assert located(table, keys, as_of=first) == before
    assert located(table, everything, as_of=first) == before
    assert located(table, []) == {}
    instants = [i.requested for i in table.timeline().instants]
    assert instants == [i.requested for i in hoodoo.open(str(tmp_path)).timeline().instants]


@pytest.mark.parametrize("kind", KINDS)
def test_of_virtual_keys_and_another_index(tmp_path: Path, kind: str) -> None:
    options = {"hoodie.recordkey.virtual.enabled": True}
    table = create(tmp_path, kind, options=options)
    first = table.upsert(rows(range(6), 1)).instant
    table.delete(["k0"])
    found = located(table, [f"k{i}" for i in range(6)])
    assert sorted(found) == [f"k{i}" for i in range(1, 6)]
    assert {path for path, _, _ in found.values()} == {*CITIES}
    assert located(table, ["k2"], index="global_bloom") == {"k2": found["k2"]}
    with pytest.raises(ConfigError, match="bloom: looks for a key in its partition path"):
        table.locate(["k2"], index="bloom")
    whole = rows([2], 0).select(["id", "city"])
    assert located(table, whole, index="bloom") == {"k2": found["k2"]}
    assert sorted(located(table, ["k0", "k2"], as_of=first)) == ["k0", "k2"]


def test_only_in_the_path_that_is_asked_for(tmp_path: Path) -> None:
    table = create(tmp_path)
    first = table.upsert(rows(range(4), 1)).instant
    wrong = pa.table({"id": ["k0", "k2"], "city": ["rome", "oslo"]})
    assert sorted(located(table, wrong)) == ["k2"]
    assert sorted(located(table, wrong, as_of=first)) == ["k2"]
    everywhere = create(tmp_path / "g", index="global_simple")
    first = everywhere.upsert(rows(range(4), 1)).instant
    assert sorted(located(everywhere, wrong)) == ["k0", "k2"]
    assert sorted(located(everywhere, wrong, as_of=first)) == ["k0", "k2"]


def test_a_key_in_two_places(tmp_path: Path) -> None:
    table = create(tmp_path)
    table.append(rows(range(4), 1))
    table.append(rows(range(2), 2))
    found = table.locate(["k0", "k3"])
    assert found["record_key"].to_pylist() == ["k0", "k0", "k3"]
    assert len(set(found["file_id"].to_pylist())) == 3


def test_what_is_refused(tmp_path: Path) -> None:
    table = create(tmp_path / "t")
    first = table.upsert(rows(range(4), 1)).instant
    with pytest.raises(ConfigError, match="index of a moment"):
        table.locate(["k0"], as_of=first, index="bloom")
    with pytest.raises(PluginError, match="nosuch"):
        table.locate(["k0"], index="nosuch")
    with pytest.raises(ConfigError, match="no record index"):
        table.locate(["k0"], index="record_index")
    with pytest.raises(ConfigError, match="yesterday"):
        table.locate(["k0"], as_of="yesterday")
    keyless = hoodoo.create(str(tmp_path / "none"), SCHEMA)
    keyless.append(rows(range(4), 1))
    with pytest.raises((DataError, ConfigError), match="no record key"):
        keyless.locate(["k0"])


@pytest.mark.sampled(3, among="on Spark")
@pytest.mark.spark
def test_on_spark(tmp_path: Path, spark: Any) -> None:
    table = create(tmp_path, "MERGE_ON_READ", "record_index")
    first = table.upsert(rows(range(8), 1)).instant
    table.delete(["k1"])
    frame = spark.createDataFrame([(f"k{i}",) for i in range(9)], "id string")
    assert located(table, frame, engine="spark") == places(table)
    assert len(located(table, frame, engine="spark", as_of=first)) == 8
