"""Faults of version 0.1, each with the shortest script that showed it: a right answer, or a clear error.

The nets (`tests/nets`) look for their kinds; these are the cases that were found.
"""

from __future__ import annotations

import re
import shutil
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import hoodoo
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from attrs import frozen
from hoodoo.errors import (
    CommitConflictError,
    CommitUnknownError,
    ConfigError,
    CorruptTableError,
    DataError,
    HoodooError,
    HoodooWarning,
    NotATableError,
    OptionConflictError,
)
from hoodoo.hookspecs.merger import Merged
from hoodoo.storage.api import Storage
from hoodoo.testing.stores import Delegating
from hoodoo.testing.tables import opened_in, plan

pytestmark = pytest.mark.sampled

T = TypeVar("T")
ROWS = pa.table({"id": [1, 2], "v": [1.0, 2.0]})
NUMBERS = pa.schema([("id", pa.int64()), ("n", pa.int64())])
KINDS = [(t, v) for t in ("COPY_ON_WRITE", "MERGE_ON_READ") for v in (6, 9)]
kinds = pytest.mark.parametrize(("kind", "version"), KINDS)


def ids(scan: Any) -> list[Any]:
    return sorted(scan.to_arrow()["id"].to_pylist())


def completed(table: hoodoo.Table) -> list[str]:
    return [instant.requested for instant in table.timeline().writes()]


# --- rows missing, doubled or changed ---------------------------------------------------------------
LEAVING = [
    ("record_index", {}),
    ("growing_record_index", {}),
    ("global_bloom", {"hoodie.bloom.index.update.partition.path": "false"}),
    ("global_simple", {"hoodie.simple.index.update.partition.path": "false"}),
]


@pytest.mark.parametrize(
    ("kind", "version", "index", "options"),
    # Tables of version 6 have no metadata table, which a record index lies in.
    [(k, v, i, o) for k, v in KINDS for i, o in LEAVING if v > 6 or "record" not in i],
)
def test_a1_a_filter_on_the_partition_column_finds_rows_that_did_not_move(
    tmp_path: Path, kind: str, version: int, index: str, options: dict[str, str]
) -> None:
    a = pa.table({"id": [1, 2], "city": ["a", "a"]})
    path = str(tmp_path / "t")
    t = hoodoo.create(
        path, a.schema, record_key="id", partition_by="city", index=index,
        table_type=kind, table_version=version, options=options,
    )  # fmt: skip
    first = t.upsert(a).instant
    t.upsert(pa.table({"id": [1], "city": ["b"]}))
    for table in (t, hoodoo.open(path)):
        rows = table.read().to_arrow()
        for city in ("a", "b"):
            p = pc.field("city") == city
            there = rows.filter(p).num_rows
            assert table.read(where=p).count() == there
            since = table.incremental(first).to_arrow()
            assert table.incremental(first, where=p).count() == since.filter(p).num_rows
        assert sorted(rows["city"].to_pylist()) == ["a", "b"]
        changed = table.changes(first, where=pc.field("city") == "b").to_arrow().to_pylist()
        assert [c["op"] for c in changed] == ["update"]
    assert t.verify().ok


@pytest.mark.parametrize("change", ["cluster", "delete"])
def test_a2_time_travel_with_a_key_filter_after_an_index_was_built_later(
    tmp_path: Path, change: str
) -> None:
    t = hoodoo.create(str(tmp_path / "t"), ROWS.schema, record_key="id")
    first = t.upsert(ROWS).instant
    if change == "cluster":
        t.cluster(columns="v")
    else:
        t.delete([1])
    t.rebuild_index("record_index")
    t = hoodoo.open(str(tmp_path / "t"))
    assert t.read(as_of=first).count() == 2
    assert t.read(as_of=first, where=pc.field("id") == 1).count() == 1


def test_a4_a_global_index_binds_the_table(tmp_path: Path) -> None:
    a = pa.table({"id": [1], "city": ["a"]})
    path = str(tmp_path / "t")
    for index in ("record_index", "growing_record_index", "global_simple", "global_bloom"):
        where = f"{path}-{index}"
        hoodoo.create(where, a.schema, record_key="id", partition_by="city", index=index).upsert(a)
        with pytest.raises(OptionConflictError):
            hoodoo.open(where, index="simple")
        with pytest.raises(OptionConflictError):
            hoodoo.open(where, {"hoodie.index.type": "SIMPLE"})
        hoodoo.open(where).upsert(pa.table({"id": [1], "city": ["b"]}))
        assert ids(hoodoo.open(where).read()) == [1]


def test_a4_a_table_remembers_which_index_its_keys_are_unique_by(tmp_path: Path) -> None:
    a = pa.table({"id": [1], "city": ["a"]})
    path = str(tmp_path / "t")
    t = hoodoo.create(path, a.schema, record_key="id", partition_by="city")
    t.upsert(a)
    t.rebuild_index("record_index")
    hoodoo.open(path, index="record_index").upsert(pa.table({"id": [1], "city": ["b"]}))
    hoodoo.open(path).upsert(pa.table({"id": [1], "city": ["c"]}))
    assert ids(hoodoo.open(path).read()) == [1]


@pytest.mark.parametrize("metadata", [True, False])
@kinds
def test_a5_a_lost_file_is_noticed(tmp_path: Path, kind: str, version: int, metadata: bool) -> None:
    path = tmp_path / "t"
    options = {"hoodie.metadata.enable": str(metadata).lower()}
    a = pa.table({"id": [1, 2], "city": ["a", "b"]})
    t = hoodoo.create(
        str(path), a.schema, record_key="id", partition_by="city",
        table_type=kind, table_version=version, options=options if version > 6 else {},
    )  # fmt: skip
    t.upsert(a)
    lost = next((path / "a").glob("*.parquet"))
    lost.unlink()
    t = hoodoo.open(str(path))
    with pytest.raises(CorruptTableError, match=lost.name[:30]):
        t.read().count()
    before = completed(t)
    with pytest.raises(CorruptTableError, match=lost.name[:30]):
        t.upsert(a)
    assert completed(hoodoo.open(str(path))) == before
    assert not t.verify().ok


@pytest.mark.parametrize("version", [6, 9])
def test_a5_a_lost_log_file_is_noticed(tmp_path: Path, version: int) -> None:
    path = tmp_path / "t"
    t = hoodoo.create(
        str(path), ROWS.schema, record_key="id", table_type="MERGE_ON_READ", table_version=version
    )
    t.upsert(ROWS)
    t.upsert(pa.table({"id": [1], "v": [9.0]}))
    lost = next(p for p in path.glob(".*.log.*") if not p.name.endswith(".crc"))
    lost.unlink()
    with pytest.raises(CorruptTableError, match="log"):
        hoodoo.open(str(path)).read().count()


@kinds
@pytest.mark.parametrize("operation", ["insert", "upsert", "append", "bulk_insert"])
def test_a6_a_column_never_loses_digits(
    tmp_path: Path, kind: str, version: int, operation: str
) -> None:
    path = str(tmp_path / "t")
    t = hoodoo.create(
        path, NUMBERS, record_key="id", ordering="n", table_type=kind, table_version=version
    )
    big = 2**53 + 1
    t.upsert(pa.table({"id": [1], "n": [big]}, NUMBERS))
    write = getattr(t, operation)
    write(pa.table({"id": [2, 3], "n": pa.array([5.0, 6.0], pa.float64())}))
    before = completed(t)
    for bad in ([0.5], [float("inf")], [2.0**63]):
        with pytest.raises(HoodooError):
            write(pa.table({"id": [4], "n": pa.array(bad, pa.float64())}))
    t = hoodoo.open(path)
    assert completed(t) == before
    assert t.schema.field("n").type == pa.int64()
    found = t.read().to_arrow()
    assert dict(zip(found["id"].to_pylist(), found["n"].to_pylist(), strict=True)) == {
        1: big, 2: 5, 3: 6,
    }  # fmt: skip


def test_a6_a_frame_with_none_is_taken(tmp_path: Path) -> None:
    import pandas as pd

    t = hoodoo.create(str(tmp_path / "t"), NUMBERS, record_key="id")
    t.upsert(pa.table({"id": [1], "n": [2**53 + 1]}, NUMBERS))
    t.upsert(pd.DataFrame({"id": [2, 3], "n": [7, None]}))
    found = t.read().to_arrow()
    assert dict(zip(found["id"].to_pylist(), found["n"].to_pylist(), strict=True)) == {
        1: 2**53 + 1, 2: 7, 3: None,
    }  # fmt: skip


def test_a7_the_index_of_a_frame_adds_no_column(tmp_path: Path) -> None:
    import pandas as pd

    frame = pd.DataFrame({"id": [1, 2, 3], "n": [1, 2, 3]})
    t = hoodoo.create(str(tmp_path / "t"), NUMBERS, record_key="id")
    t.upsert(frame[frame["id"] > 1])
    assert t.schema.names == ["id", "n"]
    assert hoodoo.open(str(tmp_path / "t")).read().count() == 2


@kinds
def test_a8_keys_that_differ_stay_two(tmp_path: Path, kind: str, version: int) -> None:
    rows = pa.table({"a": ["x,b:y", "x"], "b": ["z", "y,b:z"], "v": [1, 2]})
    t = hoodoo.create(
        str(tmp_path / "t"), rows.schema, record_key=["a", "b"],
        table_type=kind, table_version=version,
    )  # fmt: skip
    for operation in ("upsert", "insert", "append", "bulk_insert", "delete"):
        with pytest.raises(HoodooError):
            getattr(t, operation)(rows)
    assert completed(t) == []


def test_a8_partition_paths_that_differ_stay_two(tmp_path: Path) -> None:
    rows = pa.table({"id": [1, 2], "a": ["x/y", "x"], "b": ["z", "y/z"]})
    path = str(tmp_path / "t")
    t = hoodoo.create(path, rows.schema, record_key="id", partition_by=["a", "b"])
    with pytest.raises(HoodooError, match="urlencode"):
        t.upsert(rows)
    assert completed(t) == []
    encoded = hoodoo.create(
        path + "2", rows.schema, record_key="id", partition_by=["a", "b"],
        options={"hoodie.datasource.write.partitionpath.urlencode": True},
    )  # fmt: skip
    encoded.upsert(rows)
    encoded.insert_overwrite(rows.slice(0, 1))
    assert encoded.read().count() == 2


def test_a9_options_as_spark_hudi_takes_them(tmp_path: Path) -> None:
    given = {
        "hoodie.table.name": "trips",
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.partitionpath.field": "city",
        "hoodie.datasource.write.precombine.field": "ts",
        "hoodie.datasource.write.table.type": "MERGE_ON_READ",
        "hoodie.datasource.write.operation": "upsert",
    }
    schema = pa.schema([("id", pa.int64()), ("city", pa.string()), ("ts", pa.int64())])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HoodooWarning)
        t = hoodoo.create(str(tmp_path / "t"), schema, options=given)
    assert t.config.name == "trips"
    assert t.config.record_key_fields == ("id",)
    assert t.config.partition_fields == ("city",)
    assert t.config.ordering_fields == ("ts",)
    assert t.config.table_type == "MERGE_ON_READ"
    for key, argument in {
        "hoodie.datasource.write.recordkey.field": {"record_key": "city"},
        "hoodie.datasource.write.precombine.field": {"ordering": "id"},
    }.items():
        with pytest.raises(OptionConflictError):
            hoodoo.create(str(tmp_path / "u"), schema, options={key: given[key]}, **argument)
    assert not (tmp_path / "u").exists()


@pytest.mark.parametrize("key", ["hoodie.table.recordkey.fields", "hoodie.table.ordering.fields"])
def test_a9_table_properties_as_options(tmp_path: Path, key: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        t = hoodoo.create(str(tmp_path / "t"), NUMBERS, options={key: "id"})
    assert t.config.get(key) == "id"


FLAGS = [
    "hoodie.clustering.inline",
    "hoodie.clean.automatic",
    "hoodie.metadata.enable",
    "hoodie.compact.inline",
    "hoodie.archive.automatic",
    "hoodie.combine.before.insert",
    "hoodie.record.index.update.partition.path",
]


@pytest.mark.parametrize("key", FLAGS)
def test_a10_flags_are_read_in_every_spelling(tmp_path: Path, key: str) -> None:
    path = str(tmp_path / "t")
    hoodoo.create(path, NUMBERS, record_key="id")
    for value in ("1", "yes", "on", "True ", "FALSE", "0", "no", "off", True, False):
        hoodoo.open(path, {key: value})
    for value in ("2", "wahr", "ture", ""):
        with pytest.raises(ConfigError, match=key):
            hoodoo.open(path, {key: value})
        with pytest.raises(ConfigError, match=key):
            hoodoo.create(str(tmp_path / "u"), NUMBERS, record_key="id", options={key: value})
    assert not (tmp_path / "u").exists()


def test_a10_one_turns_cleaning_on(tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    options = {"hoodie.clean.automatic": "1", "hoodie.clean.commits.retained": "1"}
    t = hoodoo.create(path, NUMBERS, record_key="id", options=options)
    for n in range(4):
        t.upsert(pa.table({"id": [1], "n": [n]}, NUMBERS))
    assert "clean" in {i.action for i in t.timeline().completed()}


@pytest.mark.parametrize("operation", ["append", "bulk_insert", "insert", "upsert"])
@kinds
def test_a12_rows_without_a_key_are_refused(
    tmp_path: Path, kind: str, version: int, operation: str
) -> None:
    schema = pa.schema([("id", pa.string()), ("n", pa.int64())])
    t = hoodoo.create(
        str(tmp_path / "t"), schema, record_key="id", table_type=kind, table_version=version
    )
    for key in (None, ""):
        with pytest.raises(DataError, match="id"):
            getattr(t, operation)(pa.table({"id": ["a", key], "n": [1, 2]}, schema))
    assert completed(t) == []


# --- tables that get stuck ----------------------------------------------------------------------------
def test_13_virtual_keys_on_a_table_with_a_record_index(tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    t = hoodoo.create(path, ROWS.schema, record_key="id", index="record_index")
    t.upsert(ROWS)
    t.enable_virtual_keys()
    for n in range(3):
        hoodoo.open(path).upsert(pa.table({"id": [1, 10 + n], "v": [5.0, float(n)]}))
    assert ids(hoodoo.open(path).read()) == [1, 2, 10, 11, 12]


def test_16_a_plan_names_what_others_can_run(tmp_path: Path) -> None:
    t = hoodoo.create(str(tmp_path / "t"), ROWS.schema, record_key="id")
    t.upsert(ROWS)
    with pytest.raises(HoodooError):
        t.schedule_clustering(order=object(), columns="v")
    assert t.timeline().pending() == ()


def test_17_what_is_sorted_is_left(tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    t = hoodoo.create(path, ROWS.schema, record_key="id")
    for n in range(3):
        t.append(pa.table({"id": [n], "v": [-float(n)]}))
    assert t.cluster(columns="v").instant
    before = completed(hoodoo.open(path))
    hoodoo.open(path).cluster(columns="v")
    assert completed(hoodoo.open(path)) == before


# --- found from outside, again ----------------------------------------------------------------------
@pytest.mark.parametrize("within", ["1", ".hoodie/x"])
def test_no_table_is_made_in_a_partition_path_of_another(tmp_path: Path, within: str) -> None:
    """Its files would be rows of the outer one, and be cleaned with it."""
    outer = hoodoo.create(str(tmp_path / "outer"), NUMBERS, record_key="id", partition_by="n")
    outer.upsert([{"id": 1, "n": 1}])
    with pytest.raises(ConfigError, match="lies within the table"):
        hoodoo.create(str(tmp_path / "outer" / within), NUMBERS, record_key="id")
    with pytest.warns(HoodooWarning, match="lies within the table"):
        hoodoo.create(str(tmp_path / "outer/elsewhere/t"), NUMBERS, record_key="id")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hoodoo.create(str(tmp_path / "outer2"), NUMBERS, record_key="id")


@pytest.mark.parametrize("where", [True, False])
def test_what_python_has_computed_is_no_condition(tmp_path: Path, where: bool) -> None:
    table = hoodoo.create(str(tmp_path / "t"), NUMBERS, record_key="id")
    table.upsert([{"id": 1, "n": 1}])
    for call in (
        lambda: table.delete(where=where),
        lambda: table.update({"n": "2"}, where=where),
        lambda: table.read(where=where),
    ):
        with pytest.raises(ConfigError):
            call()
    assert table.read().to_pylist() == [{"id": 1, "n": 1}]


@pytest.mark.parametrize("argument", ["record_key", "partition_by", "ordering"])
def test_a_column_that_is_named_twice_is_refused(tmp_path: Path, argument: str) -> None:
    given = {"record_key": "id", argument: ["n", "n"]}
    with pytest.raises(ConfigError, match="names a column twice"):
        hoodoo.create(str(tmp_path / "t"), NUMBERS, **given)
    assert not (tmp_path / "t").exists()


@pytest.mark.parametrize("partitions", [[], ["x "], [" x"]])
def test_partitions_to_cluster_that_options_can_not_say(
    tmp_path: Path, partitions: list[str]
) -> None:
    schema = pa.schema([("id", pa.int64()), ("p", pa.string())])
    table = hoodoo.create(str(tmp_path / "t"), schema, record_key="id", partition_by="p")
    for number in range(3):
        table.bulk_insert([{"id": number, "p": "x "}])
    before = completed(table)
    with pytest.raises(ConfigError):
        table.cluster(order="linear", columns="id", partitions=partitions)
    assert completed(table) == before


@frozen
class NewerOfAll:
    """It only chooses, and says that it reads all columns."""

    merge_mode: str = "CUSTOM"
    strategy_id: str = "5f0f9ad8-2c1c-4bb5-9a3e-6b5ed4f0a119"
    columns: tuple[str, ...] | None = None

    def merge(self, older: pa.Table, newer: pa.Table) -> Merged:
        return Merged(newer_wins=pa.repeat(True, newer.num_rows))


@pytest.mark.parametrize("version", [6, 9])
def test_a_merger_that_reads_all_columns_compacts(tmp_path: Path, version: int) -> None:
    table = hoodoo.create(
        str(tmp_path / "t"), NUMBERS, record_key="id", merger=NewerOfAll(),
        table_type="MERGE_ON_READ", table_version=version,
    )  # fmt: skip
    table.upsert([{"id": 1, "n": 1}])
    table.upsert([{"id": 1, "n": 2}])
    table.compact()
    table.upsert([{"id": 1, "n": 3}])
    assert table.read().to_pylist() == [{"id": 1, "n": 3}]
    assert table.timeline().pending() == ()


def test_writers_that_do_not_wait_leave_no_wrong_entry_in_a_secondary_index(tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.string()), ("city", pa.string()), ("ts", pa.int64())])
    beside = {"hoodie.write.concurrency.mode": "NON_BLOCKING_CONCURRENCY_CONTROL"}
    path = str(tmp_path / "t")
    table = hoodoo.create(
        path, schema, record_key="id", ordering="ts", table_type="MERGE_ON_READ", options=beside
    )
    table.upsert([{"id": "a", "city": "oslo", "ts": 1}, {"id": "b", "city": "kyiv", "ts": 1}])
    table.create_index("by_city", "city")
    one, two = hoodoo.open(path, beside), hoodoo.open(path, beside)

    def source() -> Iterator[pa.RecordBatch]:  # the other one commits while this one is at work
        two.upsert([{"id": "a", "city": "rome", "ts": 2}])
        yield pa.RecordBatch.from_pylist([{"id": "a", "city": "oslo", "ts": 3}], schema=schema)

    with suppress(CommitConflictError):
        one.upsert(source())
    whole = hoodoo.open(path).read().to_arrow()
    for city in ("oslo", "rome", "kyiv"):
        found = hoodoo.open(path).read(where=f"city = '{city}'").to_arrow()
        assert found["id"].to_pylist() == whole.filter(pc.field("city") == city)["id"].to_pylist()
    assert hoodoo.open(path).verify().ok


def test_a_rollback_does_not_empty_what_a_link_leads_to(tmp_path: Path) -> None:
    """In place of the folder of markers of a failed write there is a link to a folder outside of the table."""
    outside = tmp_path / "outside"
    (outside / "below").mkdir(parents=True)
    (outside / "precious").write_text("x")
    (outside / "below" / "precious").write_text("x")
    path = tmp_path / "t"
    table = hoodoo.create(str(path), pa.schema([("id", pa.int64())]), record_key="id")
    table.upsert([{"id": 1}])
    failed = table.upsert([{"id": 2}]).instant
    for file in path.glob(f".hoodie/timeline/{failed}_*.commit"):
        file.unlink()
    (path / ".hoodie/.temp").mkdir(exist_ok=True)
    (path / ".hoodie/.temp" / failed).symlink_to(outside, target_is_directory=True)
    hoodoo.open(str(path)).upsert([{"id": 3}])
    assert ids(hoodoo.open(str(path)).read()) == [1, 3]
    assert sorted(p.name for p in outside.rglob("*")) == ["below", "precious", "precious"]
    assert not (path / ".hoodie/.temp" / failed).is_symlink()


def _planned(table: hoodoo.Table, action: str, name: str, record: dict[str, Any]) -> Path:
    """A plan that somebody else has put on the timeline, the newest there."""
    folder = Path(table.path.removeprefix("file://")) / ".hoodie/timeline"
    path = folder / f"20990101000000000.{action}.requested"
    path.write_bytes(plan(name, record))
    return path


def _clean(files: dict[str, Any], partitions: list[str]) -> dict[str, Any]:
    return {
        "earliestInstantToRetain": None, "lastCompletedCommitTimestamp": "", "policy": "KEEP_LATEST_COMMITS",
        "filesToBeDeletedPerPartition": {}, "version": 2, "filePathsToBeDeletedPerPartition": files,
        "partitionsToBeDeleted": partitions, "extraMetadata": {},
    }  # fmt: skip


LEAVING_PLANS: list[tuple[str, str, dict[str, Any]]] = [
    ("clean", "HoodieCleanerPlan", _clean({}, ["../victim"])),
    (
        "clean", "HoodieCleanerPlan",
        _clean(
            {"../victim": [{"filePath": "a_0-0-0_20200101000000000.parquet", "isBootstrapBaseFile": False}]}, []
        ),
    ),
    (
        "restore", "HoodieRestorePlan",
        {
            "instantsToRollback": [{"commitTime": "../../victim", "action": "commit"}],
            "version": 2, "savepointToRestoreTimestamp": "20200101000000000",
        },
    ),
    (
        "compaction", "HoodieCompactionPlan",
        {
            "operations": [
                {
                    "baseInstantTime": "20200101000000000", "deltaFilePaths": [],
                    "dataFilePath": "a_0-0-0_20200101000000000.parquet", "fileId": "a",
                    "partitionPath": "../victim", "metrics": {}, "bootstrapFilePath": None,
                }
            ],
            "extraMetadata": {}, "version": 2, "strategy": None, "preserveHoodieMetadata": False,
            "missingSchedulePartitions": [],
        },
    ),
    (
        "rollback", "HoodieRollbackPlan",
        {"instantToRollback": {"commitTime": "../../victim", "action": "commit"}, "RollbackRequests": [], "version": 1},
    ),
    (
        "clustering", "HoodieRequestedReplaceMetadata",
        {
            "operationType": "CLUSTER",
            "clusteringPlan": {
                "inputGroups": [
                    {
                        "slices": [
                            {
                                "dataFilePath": "a_0-0-0_20200101000000000.parquet", "deltaFilePaths": [],
                                "fileId": "a", "partitionPath": "../victim", "bootstrapFilePath": "", "version": 1,
                            }
                        ],
                        "metrics": {}, "numOutputFileGroups": 1, "extraMetadata": {}, "version": 1,
                    }
                ],
                "strategy": {"strategyClassName": "", "strategyParams": {}, "version": 1},
                "extraMetadata": {}, "version": 1, "preserveHoodieMetadata": True, "missingSchedulePartitions": [],
            },
            "extraMetadata": {}, "version": 1,
        },
    ),
]  # fmt: skip
RUNS = {
    "rollback": lambda t, instant: t.upsert([{"id": 2}]),  # the next writer finishes it
    "clustering": lambda t, instant: t.run_clustering(instant),
    "clean": lambda t, instant: t.run_clean(instant),
    "restore": lambda t, instant: t.run_restore(instant),
    "compaction": lambda t, instant: t.run_compaction(instant),
}


@pytest.mark.parametrize(("action", "name", "record"), LEAVING_PLANS)
def test_a_plan_that_names_what_is_outside_of_the_table_is_named_and_refused(
    tmp_path: Path, action: str, name: str, record: dict[str, Any]
) -> None:
    """And its fix leads out: without the plan's files the action, and a write, go on."""
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "a_0-0-0_20200101000000000.parquet").write_text("x")
    schema = pa.schema([("id", pa.int64())])
    table = hoodoo.create(str(tmp_path / "t"), schema, record_key="id", table_type="MERGE_ON_READ")
    table.upsert([{"id": 1}])
    plan = _planned(table, action, name, record)
    with pytest.raises(CorruptTableError, match=re.escape(plan.name)):
        RUNS[action](hoodoo.open(table.path), "20990101000000000")
    assert [p.name for p in victim.iterdir()] == ["a_0-0-0_20200101000000000.parquet"]
    for left in plan.parent.glob("20990101000000000.*"):
        left.unlink()
    table = hoodoo.open(table.path)
    table.upsert([{"id": 2}])
    table.clean()
    assert ids(table.read()) == [1, 2]


def test_a_rollback_whose_plan_names_files_outside_of_the_table_leaves_them(tmp_path: Path) -> None:
    victim = tmp_path / "victim" / "a_0-0-0_20200101000000000.parquet"
    victim.parent.mkdir()
    victim.write_text("x")
    table = hoodoo.create(str(tmp_path / "t"), pa.schema([("id", pa.int64())]), record_key="id")
    table.upsert([{"id": 1}])
    requests = [
        {
            "partitionPath": "../victim", "fileId": "a", "latestBaseInstant": "20200101000000000",
            "filesToBeDeleted": [str(victim), f"../victim/{victim.name}", victim.name], "logBlocksToBeDeleted": {},
        }
    ]  # fmt: skip
    target = {"commitTime": "20200101000000000", "action": "commit"}
    plan = {"instantToRollback": target, "RollbackRequests": requests, "version": 1}
    planned = _planned(table, "rollback", "HoodieRollbackPlan", plan)
    assert hoodoo.open(table.path).upsert([{"id": 2}]).inserted == 1
    assert list(planned.parent.glob("20990101000000000_*.rollback")), "the writer finished it"
    assert victim.read_text() == "x" and ids(table.read()) == [1, 2]


@pytest.mark.parametrize(
    "call",
    [
        "run_restore",
        "restore",
        "rollback",
        "run_clean",
        "run_compaction",
        "run_clustering",
        "savepoint",
    ],
)
def test_an_instant_that_is_none_is_refused_and_nothing_is_reported_as_done(
    tmp_path: Path, call: str
) -> None:
    """run_restore said that it had undone it."""
    schema = pa.schema([("id", pa.int64())])
    table = hoodoo.create(str(tmp_path / "t"), schema, record_key="id", table_type="MERGE_ON_READ")
    table.upsert([{"id": 1}])
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(ConfigError, match=r"\.\./\.\./victim'?: is n(o|either)"):
        getattr(table, call)("../../victim")
    assert sorted(tmp_path.rglob("*")) == before


DELETED: dict[str, Any] = {
    "schema": lambda t: t.schema,
    "timeline": lambda t: t.timeline(),
    "savepoints": lambda t: t.savepoints(),
    "stats": lambda t: t.stats(),
    "read": lambda t: t.read(),
    "upsert": lambda t: t.upsert([{"id": 2}]),
    "clean": lambda t: t.clean(),
}


@pytest.mark.parametrize("name", DELETED)
def test_a_handle_of_a_deleted_table_says_so(tmp_path: Path, name: str) -> None:
    table = hoodoo.create(str(tmp_path / "t"), pa.schema([("id", pa.int64())]), record_key="id")
    assert table.timeline().instants == ()  # a table without commits is a table
    table.upsert([{"id": 1}])
    assert ids(table.read()) == [1]
    shutil.rmtree(tmp_path / "t")
    with pytest.raises(NotATableError):
        DELETED[name](table)


class MovedBefore(Delegating):
    """The table is moved away before the first put of a path that fits ``pattern``."""

    def __init__(self, inner: Storage, pattern: str, move: Callable[[], object]) -> None:
        super().__init__(inner)
        self.pattern, self.move, self.moved = pattern, move, False

    def around(self, op: str, path: str, call: Callable[[], T]) -> T:
        if not self.moved and op.startswith("put") and re.search(self.pattern, path):
            self.moved = True
            self.move()
        return call()


# The steps of an upsert, in their order; the last is behind its decision.
STEPS = {
    "heartbeat": r"\.heartbeat/", "plan": r"commit\.requested$", "inflight": r"\.inflight$", "marker": r"\.marker",
    "base file": r"\.parquet$", "decision": r"/ledger/\d+$", "commit": r"_\d+\.commit$",
}  # fmt: skip


@pytest.mark.parametrize("step", STEPS)
def test_a_table_that_is_moved_in_mid_write_is_not_made_again_at_its_old_path(
    tmp_path: Path, step: str
) -> None:
    """Half a table was there before, and a write whose decision lay in it was acknowledged."""
    old, new = tmp_path / "old", tmp_path / "new"
    hoodoo.create(str(old), NUMBERS, record_key="id").upsert([{"id": 1, "n": 1}])
    store = MovedBefore(hoodoo.open(str(old)).handle.storage, STEPS[step], lambda: old.rename(new))
    with pytest.raises(HoodooError) as error:
        opened_in(store).upsert([{"id": 1, "n": 2}])
    assert store.moved and not old.exists(), error.value
    decided = step == "commit"
    assert isinstance(error.value, CommitUnknownError) is decided
    table = hoodoo.open(str(new))
    table.upsert([{"id": 2, "n": 2}])
    assert table.read().to_pylist() == [{"id": 1, "n": 1 + decided}, {"id": 2, "n": 2}]
    assert not table.verify().findings
