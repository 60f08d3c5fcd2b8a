"""The plan and the end of a clean: bytes as Spark Hudi 1.2.0 writes them, and plans of others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import fastavro
import pytest
from hoodoo.errors import CorruptTableError
from hoodoo.model.config import TableConfig
from hoodoo.model.instant import Instant, State
from hoodoo.testing.directory import DirectoryStorage
from hoodoo.timeline.codec import avro as codec_avro
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import Timeline, load
from hoodoo_services.clean.plan import (
    CleanPlan,
    last_clean,
    pending_cleans,
    planned_files,
    read_plan,
)

BASE = "96d870b1-948c-4402-ad7f-5425a5ed6d6d-0_0-122-156_20261121212305480.parquet"
LOG = ".7620726b-9b72-4c45-897a-7f2a3dcdd1bc-0_20261121212423161.log.1_1-977-1258"
CDC = f"{LOG}.cdc"
CONFIG = TableConfig({"hoodie.table.version": "9", "hoodie.timeline.layout.version": "2"})
AT = Instant("20261121212312073", "clean", State.REQUESTED)
PLAN = CleanPlan(
    "KEEP_LATEST_COMMITS",
    (f"a/{BASE}", f"b/c/{LOG}"),
    ("b/c",),
    Instant("20261121212309742", "commit"),
    "20261121212311013",
    {"savepointed_timestamps": "20261121212309742"},
)


def put(path: Path, content: bytes, name: str = "20261121212312073.clean.requested") -> None:
    DirectoryStorage(str(path)).put(f".hoodie/timeline/{name}", content)


def look(path: Path) -> tuple[DirectoryStorage, Timeline]:
    storage = DirectoryStorage(str(path))
    return storage, load(storage, CONFIG)


def record(data: bytes) -> Any:
    return codec_avro.decode(data, "here")


def test_as_spark_writes_it() -> None:
    assert record(PLAN.encode("file:///data/my trips")) == {
        "earliestInstantToRetain": {
            "timestamp": "20261121212309742", "action": "commit", "state": "COMPLETED",
        },
        "lastCompletedCommitTimestamp": "20261121212311013",
        "policy": "KEEP_LATEST_COMMITS",
        "filesToBeDeletedPerPartition": {},
        "version": 2,
        "filePathsToBeDeletedPerPartition": {
            "a": [{"filePath": f"file:/data/my trips/a/{BASE}", "isBootstrapBaseFile": False}],
            "b/c": [{"filePath": f"file:/data/my trips/b/c/{LOG}", "isBootstrapBaseFile": False}],
        },
        "partitionsToBeDeleted": ["b/c"],
        "extraMetadata": {"savepointed_timestamps": "20261121212309742"},
    }  # fmt: skip
    (info,) = record(PLAN.encode("s3://bucket/trips"))["filePathsToBeDeletedPerPartition"]["a"]
    assert info["filePath"] == f"s3://bucket/trips/a/{BASE}"


def test_the_end_as_spark_writes_it() -> None:
    done = record(PLAN.completed(AT.requested, 105, frozenset(), ("b/c",)))
    assert done == {
        "startCleanTime": AT.requested,
        "timeTakenInMillis": 105,
        "totalFilesDeleted": 2,
        "earliestCommitToRetain": "20261121212309742",
        "lastCompletedCommitTimestamp": "20261121212311013",
        "partitionMetadata": {
            partition: {
                "partitionPath": partition, "policy": "KEEP_LATEST_COMMITS",
                "deletePathPatterns": [name], "successDeleteFiles": [name],
                "failedDeleteFiles": [], "isPartitionDeleted": partition == "b/c",
            }
            for partition, name in (("a", BASE), ("b/c", LOG))
        },
        "version": 2,
        "bootstrapPartitionMetadata": {},
        "extraMetadata": {"savepointed_timestamps": "20261121212309742"},
    }  # fmt: skip


def test_what_was_kept_is_not_said_to_be_deleted() -> None:
    done = record(PLAN.completed(AT.requested, 1, frozenset({f"a/{BASE}"}), ()))
    assert done["totalFilesDeleted"] == 1
    assert done["partitionMetadata"]["a"]["successDeleteFiles"] == []
    assert not done["partitionMetadata"]["b/c"]["isPartitionDeleted"]


def test_there_and_back(tmp_path: Path) -> None:
    put(tmp_path, PLAN.encode("file:///moved/since"))
    storage, line = look(tmp_path)
    (pending,) = pending_cleans(line)
    assert read_plan(Snapshot(storage, line), pending) == PLAN
    assert planned_files(Snapshot(storage, line)) == frozenset(PLAN.files)
    assert last_clean(Snapshot(storage, line)) is None


def test_the_last_clean(tmp_path: Path) -> None:
    put(tmp_path, PLAN.encode("file:///t"))
    put(
        tmp_path,
        PLAN.completed(AT.requested, 1, frozenset(), ()),
        f"{AT.requested}_20261121212312199.clean",
    )
    storage, line = look(tmp_path)
    assert not pending_cleans(line) and planned_files(Snapshot(storage, line)) == frozenset()
    last = last_clean(Snapshot(storage, line))
    assert last is not None
    assert (last.earliest, last.last_completed) == ("20261121212309742", "20261121212311013")
    assert last.policies == {"KEEP_LATEST_COMMITS"}
    put(tmp_path, b"", "20261121212313000_20261121212313001.clean")
    assert last_clean(Snapshot(*look(tmp_path))) is None, "Hudi takes an empty one for none"


def test_without_partitions(tmp_path: Path) -> None:
    plan = CleanPlan("KEEP_LATEST_FILE_VERSIONS", (BASE, LOG, CDC))
    data = plan.encode("file:///t")
    assert record(data)["earliestInstantToRetain"] is None
    assert list(record(data)["filePathsToBeDeletedPerPartition"]) == [""]
    put(tmp_path, data)
    storage, line = look(tmp_path)
    assert read_plan(Snapshot(storage, line), AT) == plan


def test_an_old_plan_holds_names(tmp_path: Path) -> None:
    old = {"policy": "KEEP_LATEST_COMMITS", "version": 1,
           "filesToBeDeletedPerPartition": {"a": [BASE]}}  # fmt: skip
    put(tmp_path, codec_avro.encode("HoodieCleanerPlan", old))
    storage, line = look(tmp_path)
    assert read_plan(Snapshot(storage, line), AT).files == (f"a/{BASE}",)


def test_bootstrap_base_files_are_left(tmp_path: Path) -> None:
    infos = [{"filePath": "/elsewhere/x.parquet", "isBootstrapBaseFile": True},
             {"filePath": f"/t/a/{BASE}", "isBootstrapBaseFile": None}]  # fmt: skip
    given = {"policy": "KEEP_LATEST_COMMITS", "filePathsToBeDeletedPerPartition": {"a": infos}}
    put(tmp_path, codec_avro.encode("HoodieCleanerPlan", given))
    storage, line = look(tmp_path)
    assert read_plan(Snapshot(storage, line), AT).files == (f"a/{BASE}",)


@pytest.mark.parametrize(
    ("partition", "path"),
    [("a", "file:/t/a/notes.txt"), ("a", "file:/t/a/"), ("../b", f"file:/b/{BASE}"),
     (".hoodie", "file:/t/.hoodie/hoodie.properties")],
)  # fmt: skip
def test_a_plan_that_names_no_file_of_the_table(tmp_path: Path, partition: str, path: str) -> None:
    infos = {partition: [{"filePath": path, "isBootstrapBaseFile": False}]}
    given = {"policy": "KEEP_LATEST_COMMITS", "filePathsToBeDeletedPerPartition": infos}
    put(tmp_path, codec_avro.encode("HoodieCleanerPlan", given))
    storage, line = look(tmp_path)
    with pytest.raises(CorruptTableError, match=r"clean.requested.*is not a file of a table"):
        read_plan(Snapshot(storage, line), AT)


def test_bytes_that_are_cut(tmp_path: Path) -> None:
    put(tmp_path, PLAN.encode("file:///t")[:-40])
    storage, line = look(tmp_path)
    with pytest.raises(CorruptTableError, match=r"clean\.requested"):
        read_plan(Snapshot(storage, line), AT)


def test_the_schema_is_hudis() -> None:
    """Fields in Hudi's order: readers without the embedded schema go by it."""
    schema: Any = codec_avro.schema("HoodieCleanerPlan")
    assert [f["name"] for f in schema["fields"]] == list(record(PLAN.encode("file:///t")))
    assert fastavro.schema.fullname(schema) == "org.apache.hudi.avro.model.HoodieCleanerPlan"
