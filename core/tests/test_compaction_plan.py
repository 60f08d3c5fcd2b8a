"""Plans of compactions: the bytes, and what is understood of the plans of others."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path
from typing import Any

import fastavro
import pytest
from attrs import evolve
from hoodoo.errors import CorruptTableError, InstantGoneError
from hoodoo.model.config import TableConfig
from hoodoo.model.filegroup import BaseFile, FileSlice, LogFile
from hoodoo.model.instant import Instant, State
from hoodoo.testing.directory import DirectoryStorage
from hoodoo.timeline import create, publish, timeline
from hoodoo.timeline.codec.avro import schema
from hoodoo.timeline.plans import (
    Plan,
    encode_compaction,
    pending_compactions,
    pending_groups,
    read_plan,
    reading_order,
)
from hoodoo.timeline.snapshot import Snapshot

ROOT = Path(__file__).resolve().parents[2]
ZIPS = sorted(
    (Path(os.environ.get("HOODOO_GOLDEN", ROOT / "tests/golden/data")) / "tables").glob("*.zip")
)
T = "20250101000000000"
GROUPS = [f"0000000{n}-0000-4000-8000-00000000000{n}-0" for n in range(3)]


def t(n: int) -> str:
    return f"{int(T) + n}"


def log(partition: str, group: str, n: int, version: int = 1, token: str = "0-0-0") -> LogFile:
    return LogFile(partition, group, t(n), version, token)


SLICES = (
    FileSlice("a=1/b=x y", GROUPS[0], t(1), BaseFile("a=1/b=x y", GROUPS[0], t(1), "0-1-2"),
              (log("a=1/b=x y", GROUPS[0], 2), log("a=1/b=x y", GROUPS[0], 3))),
    FileSlice("", GROUPS[1], t(2), None, (log("", GROUPS[1], 2, 1), log("", GROUPS[1], 2, 2))),
)  # fmt: skip
METRICS = ({"TOTAL_LOG_FILES": 2.0, "TOTAL_IO_MB": 0.5}, {"TOTAL_LOG_FILES": 2.0})


def record(data: bytes) -> dict[str, Any]:
    """What fastavro alone finds."""
    (found,) = fastavro.reader(io.BytesIO(data))
    assert isinstance(found, dict)
    return found


def stored(tmp_path: Path, content: bytes, version: int = 9) -> tuple[Snapshot, Instant]:
    """A table on whose timeline a compaction with this plan is requested."""
    store = DirectoryStorage(str(tmp_path))
    values = {"hoodie.table.name": "t", "hoodie.table.version": str(version)}
    line = timeline.load(store, create.init_table(store, TableConfig(values)))
    instant = publish.request(Snapshot(store, line), "compaction", content)
    return Snapshot(store, timeline.reload(store, line)), instant


def foreign(operations: Any, **more: Any) -> bytes:
    out = io.BytesIO()
    plan = {"operations": operations, "version": 2, "extraMetadata": None, **more}
    fastavro.writer(out, schema("HoodieCompactionPlan"), [plan], codec="null")
    return out.getvalue()


def operation(**more: Any) -> dict[str, Any]:
    return {
        "baseInstantTime": t(1), "fileId": GROUPS[0], "partitionPath": "p",
        "deltaFilePaths": [f".{GROUPS[0]}_{t(2)}.log.1_0-0-0"],
        "dataFilePath": f"{GROUPS[0]}_0-1-2_{t(1)}.parquet", "metrics": None,
        "bootstrapFilePath": None, **more,
    }  # fmt: skip


# --- ours -----------------------------------------------------------------------------------------
def test_the_bytes_that_hudi_reads() -> None:
    data = encode_compaction(SLICES, "log_size", METRICS)
    assert data == encode_compaction(SLICES, "log_size", METRICS)
    found = record(data)
    first, second = found.pop("operations")
    assert found == {
        "extraMetadata": {"hoodoo.compaction.strategy": "log_size"},
        "version": 2, "strategy": None, "preserveHoodieMetadata": False,
        "missingSchedulePartitions": [],
    }  # fmt: skip
    assert first == {
        "baseInstantTime": t(1),
        "deltaFilePaths": [f".{GROUPS[0]}_{t(n)}.log.1_0-0-0" for n in (2, 3)],
        "dataFilePath": f"{GROUPS[0]}_0-1-2_{t(1)}.parquet",
        "fileId": GROUPS[0],
        "partitionPath": "a=1/b=x y",
        "metrics": METRICS[0],
        "bootstrapFilePath": None,
    }
    assert second["dataFilePath"] is None and second["partitionPath"] == ""
    assert second["deltaFilePaths"] == [f".{GROUPS[1]}_{t(2)}.log.{v}_0-0-0" for v in (1, 2)]


@pytest.mark.parametrize("version", [6, 9])
def test_what_is_written_is_read(tmp_path: Path, version: int) -> None:
    table = stored(tmp_path, encode_compaction(SLICES, "log_size", METRICS), version)
    assert read_plan(*table) == Plan(table[-1], SLICES, "log_size")


def test_without_metrics_and_without_slices(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    found = read_plan(*stored(tmp_path / "a", encode_compaction(SLICES)))
    assert (found.slices, found.strategy) == (SLICES, "")
    assert not read_plan(*stored(tmp_path / "b", encode_compaction(()))).slices


def test_sizes_are_not_part_of_a_plan(tmp_path: Path) -> None:
    """They are looked up when it runs."""
    sized = evolve(SLICES[1], log_files=tuple(evolve(f, size=9) for f in SLICES[1].log_files))
    (found,) = read_plan(*stored(tmp_path, encode_compaction((sized,)))).slices
    assert [file.size for file in found.log_files] == [0, 0]


# --- of others ------------------------------------------------------------------------------------
def test_absolute_paths_of_old_plans(tmp_path: Path) -> None:
    where = "hdfs://host:8020/tables/t/p/"
    old = operation(
        dataFilePath=f"{where}{GROUPS[0]}_0-1-2_{t(1)}.parquet",
        deltaFilePaths=[f"{where}.{GROUPS[0]}_{t(1)}.log.{v}_0-0-0" for v in (2, 1)],
    )
    (found,) = read_plan(*stored(tmp_path, foreign([old], version=1), 6)).slices
    assert found.base_file == BaseFile("p", GROUPS[0], t(1), "0-1-2")
    assert [f.path for f in found.log_files] == [
        f"p/.{GROUPS[0]}_{t(1)}.log.{v}_0-0-0" for v in (1, 2)
    ]


@pytest.mark.parametrize("nothing", [None, ""])
def test_no_base_file_is_null_or_empty(tmp_path: Path, nothing: str | None) -> None:
    (found,) = read_plan(*stored(tmp_path, foreign([operation(dataFilePath=nothing)]))).slices
    assert found.base_file is None and len(found.log_files) == 1


def test_fields_that_are_null(tmp_path: Path) -> None:
    nulls = operation(partitionPath=None, deltaFilePaths=None)
    found = read_plan(*stored(tmp_path, foreign([nulls])))
    assert found.slices == (FileSlice("", GROUPS[0], t(1), BaseFile("", GROUPS[0], t(1), "0-1-2")),)
    (tmp_path / "b").mkdir()
    assert not read_plan(*stored(tmp_path / "b", foreign(None))).slices


def test_log_files_come_in_reading_order(tmp_path: Path) -> None:
    def name(n: int, version: int, token: str) -> str:
        return f".{GROUPS[0]}_{t(n)}.log.{version}_{token}"

    mixed = [name(3, 1, "0-0-0"), name(2, 10, "0-0-0"), name(2, 9, "1-0-0"), name(2, 9, "0-0-0")]
    (found,) = read_plan(*stored(tmp_path, foreign([operation(deltaFilePaths=mixed)]))).slices
    assert [f.name for f in found.log_files] == mixed[::-1]
    # Instants of 14 digits are the last millisecond of their second.
    short = LogFile("p", GROUPS[0], t(0)[:14], 1, "0-0-0")
    assert reading_order(short) > reading_order(log("p", GROUPS[0], 998))


@pytest.mark.skipif(not ZIPS, reason="no golden tables: set HOODOO_GOLDEN")
def test_the_plans_of_golden_tables(tmp_path: Path) -> None:
    plans = 0
    for path in ZIPS:
        with zipfile.ZipFile(path) as archive:
            members = archive.namelist()
            wanted = [
                m for m in members if m.endswith(".compaction.requested") and "/metadata/" not in m
            ]
            for member in wanted:
                home = tmp_path / f"{plans}"
                home.mkdir()
                data = archive.read(member)
                found = read_plan(*stored(home, data))
                plans += 1
                raw = record(data)["operations"]
                assert len(raw) == len(found.slices) > 0
                for said, slice_ in zip(raw, found.slices, strict=True):
                    root = member.split("/.hoodie/")[0]
                    assert slice_.file_id == said["fileId"]
                    assert {f.name for f in slice_.log_files} == set(said["deltaFilePaths"])
                    for file in (slice_.base_file, *slice_.log_files):
                        assert file is not None and f"{root}/{file.path}" in members
                    assert len(slice_.log_files) == said["metrics"]["TOTAL_LOG_FILES"]
                # Written again, it says the same.
                again = record(
                    encode_compaction(found.slices, metrics=[o["metrics"] for o in raw])
                )["operations"]
                assert [{k: v for k, v in o.items() if k != "bootstrapFilePath"} for o in again] == [
                    {k: sorted(v) if k == "deltaFilePaths" else v for k, v in o.items()
                     if k != "bootstrapFilePath"} for o in raw
                ]  # fmt: skip
    assert plans >= 5


# --- damaged --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "content",
    [foreign([operation()])[:-9], b"Obj\x01nonsense", b"{", foreign([operation()]) * 2],
    ids=["cut", "nonsense", "no json", "twice"],
)
def test_a_damaged_plan_is_named(tmp_path: Path, content: bytes) -> None:
    snapshot, instant = stored(tmp_path, content)
    with pytest.raises(CorruptTableError, match=rf"{instant.requested}\.compaction\.requested"):
        read_plan(snapshot, instant)


@pytest.mark.parametrize(
    "bad",
    [{"dataFilePath": "nonsense.parquet"}, {"deltaFilePaths": ["p/nonsense.log"]}],
    ids=["base", "log"],
)
def test_a_plan_of_files_that_are_none(tmp_path: Path, bad: dict[str, Any]) -> None:
    snapshot, instant = stored(tmp_path, foreign([operation(**bad)]))
    with pytest.raises(CorruptTableError, match=r"nonsense.*not a file of a table") as caught:
        read_plan(snapshot, instant)
    assert instant.requested in caught.value.obj and "planned again" in caught.value.fix


def test_a_plan_that_is_gone(tmp_path: Path) -> None:
    snapshot, instant = stored(tmp_path, foreign([operation()]))
    snapshot.storage.delete(snapshot.path(instant))
    with pytest.raises(InstantGoneError, match="archived or undone"):
        read_plan(snapshot, instant)


# --- pending --------------------------------------------------------------------------------------
@pytest.mark.parametrize("version", [6, 9])
def test_groups_of_pending_compactions(tmp_path: Path, version: int) -> None:
    snapshot, first = stored(tmp_path, encode_compaction(SLICES[:1]), version)
    store, line = snapshot.storage, snapshot.timeline
    second = publish.request(Snapshot(store, line), "compaction", encode_compaction(SLICES[1:]))
    publish.inflight(Snapshot(store, timeline.reload(store, line)), second)
    line = timeline.reload(store, line)
    assert [i.requested for i in pending_compactions(line)] == [first.requested, second.requested]
    assert [i.state for i in pending_compactions(line)] == [State.REQUESTED, State.INFLIGHT]
    assert pending_groups(Snapshot(store, line)) == {
        (SLICES[0].partition_path, SLICES[0].file_id): first.requested,
        (SLICES[1].partition_path, SLICES[1].file_id): second.requested,
    }
    publish.complete(Snapshot(store, line), pending_compactions(line)[1], b"{}")
    line = timeline.reload(store, line)
    assert set(pending_groups(Snapshot(store, line)).values()) == {first.requested}
