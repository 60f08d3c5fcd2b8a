"""A table over Parquet files that stay where they are: what is on disk, reads, writes and
services."""

from __future__ import annotations

import os
import tracemalloc
from collections import Counter
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from attrs import evolve
from hoodoo.errors import (
    CommitConflictError,
    CorruptTableError,
    HoodooError,
    HoodooWarning,
    UnsupportedTableError,
)
from hoodoo.model.filegroup import BaseFile
from hoodoo.timeline.codec import decode
from hoodoo_bootstrap import index, records
from hoodoo_bootstrap.index import FILES, PARTITIONS, SKELETONS, BootstrapIndex, SourceFile
from hoodoo_bootstrap.skeletons import ReadFooters, RouteKeys
from hoodoo_metadata.hfile import HFile
from hoodoo_standard.engine.local import LocalEngine
from hoodoo_standard.storage.local import LocalStorage
from parquet_folders import SCHEMA, changed, content, reopened, rows_of, source, upserted

FIRST, SECOND = "00000000000001", "00000000000002"
TYPES = pytest.mark.parametrize("table_type", ["cow", "mor"])
PLACES = pytest.mark.parametrize("inside", [True, False], ids=["column in files", "in paths"])


def skeletons(path: Path) -> list[Path]:
    return sorted(path.glob(f"city=*/*_{FIRST}.parquet"))


def test_what_is_on_disk(tmp_path: Path) -> None:
    """As Spark Hudi 1.2 makes it: instants, names, skeletons with the meta columns alone, the
    index."""
    source(tmp_path / "source")
    table = hoodoo.bootstrap(tmp_path / "source", tmp_path / "t", record_key="id")
    (instant,) = table.timeline().instants
    assert (instant.requested, instant.action) == (FIRST, "commit")
    told = decode((tmp_path / "t" / table.timeline().path(instant)).read_bytes(), "commit")
    assert told["operationType"] == "BOOTSTRAP" and "city" in told["extraMetadata"]["schema"]
    assert table.config.get("hoodie.bootstrap.base.path") == str(tmp_path / "source")
    assert table.config.get("hoodie.bootstrap.index.type") == "HFILE"
    made = skeletons(tmp_path / "t")
    assert len(made) == 4
    for path in made:
        found = pq.read_table(path, partitioning=None)
        assert found.column_names == [
            f"_hoodie_{name}"
            for name in ("commit_time", "commit_seqno", "record_key", "partition_path", "file_name")
        ]
        first = found.slice(0, 1).to_pylist()[0]
        assert first["_hoodie_file_name"] == path.name
        assert first["_hoodie_partition_path"] == path.parent.name
        token = path.name.split("_")[1].split("-")[0]
        assert first["_hoodie_commit_seqno"] == f"{FIRST}_{token}_0"
    storage = table.handle.storage
    assert storage.head(PARTITIONS) and storage.head(FILES)
    index = BootstrapIndex.open(storage)
    assert index is not None and index.base == str(tmp_path / "source")
    (slice_, *_) = table.file_slices()
    found_file = index.source_of(slice_.base_file)
    assert found_file is not None
    there = tmp_path / "source" / found_file.path
    assert there.stat().st_size == found_file.size


@pytest.mark.sampled
@PLACES
@TYPES
def test_reads_are_right(tmp_path: Path, table_type: str, inside: bool) -> None:
    expected = source(tmp_path / "source", inside)
    before = content(tmp_path / "source")
    table = hoodoo.bootstrap(
        tmp_path / "source", tmp_path / "t", record_key="id", table_type=table_type
    )
    (done,) = (i.completed for i in table.timeline().completed())
    for now in (table, reopened(table)):
        assert rows_of(now.read()) == expected
        assert now.count() == len(expected)
        some = now.read(columns=["fare"], where="id >= 102 and id < 1002").to_arrow()
        assert sorted(some["fare"].to_pylist()) == sorted(
            row["fare"] for key, row in expected.items() if 102 <= key < 1002
        )
        keys = now.read(columns=["_hoodie_record_key", "fare"], where="fare > 1100").to_pylist()
        assert {int(row["_hoodie_record_key"]): row["fare"] for row in keys} == {
            key: row["fare"] for key, row in expected.items() if row["fare"] > 1100
        }
        assert rows_of(now.read(where="city = 'rome' and note is null")) == {
            k: row for k, row in expected.items() if row["city"] == "rome" and row["note"] is None
        }
        assert rows_of(now.read().to_dataset().to_table()) == expected
        assert now.read(columns=[]).count() == len(expected)
        assert rows_of(now.incremental("0")) == expected
        assert now.incremental(done).to_arrow().num_rows == 0
        assert table.verify().findings == ()
    assert content(tmp_path / "source") == before


@pytest.mark.sampled
@PLACES
@TYPES
def test_writes_and_services(tmp_path: Path, table_type: str, inside: bool) -> None:
    """Upserts, deletes, compaction, clustering, cleaning: rows are right, and the source is as it
    was."""
    expected = source(tmp_path / "source", inside)
    before = content(tmp_path / "source")
    table = hoodoo.bootstrap(
        tmp_path / "source", tmp_path / "t", record_key="id", table_type=table_type, index="bloom"
    )
    (begun,) = (i.completed for i in table.timeline().completed())
    groups = {s.file_id for s in table.file_slices()}
    first = table.upsert(changed([0, 1005, 77]))
    assert (first.inserted, first.updated) == (1, 2)
    expected_before, expected = expected, upserted(expected, [0, 1005, 77])
    assert rows_of(reopened(table).read()) == expected
    # An insert fills no skeleton: what it would become is as large as its source file.
    assert {s.file_id for s in table.file_slices()} > groups
    assert {s.file_id for s in table.file_slices() if s.base_file.instant == FIRST} < groups or (
        table_type == "mor"
    )
    assert rows_of(table.read(as_of=begun)) == expected_before
    since = table.incremental(begun).to_arrow()
    assert sorted(since["id"].to_pylist()) == [0, 77, 1005]
    changes = table.changes(begun).to_arrow().to_pylist()
    assert sorted(row["after"]["id"] for row in changes) == [0, 77, 1005]
    (old,) = (row["before"] for row in changes if row["after"]["id"] == 0)
    assert old["fare"] == expected_before[0]["fare"]

    if table_type == "mor":
        instant = table.schedule("compaction")
        plan = next((tmp_path / "t").rglob(f"{instant}.compaction.requested")).read_bytes()
        operations = decode(plan, "plan")["operations"]
        named = [operation["bootstrapFilePath"] for operation in operations]
        assert len(named) == 2 and all("/city=" in str(uri) for uri in named)
        table.run_planned("compaction", instant)
        assert rows_of(reopened(table).read()) == expected
        kept = {s.file_id for s in table.file_slices() if s.base_file.instant == instant}
        assert kept < groups
    table.delete([1, 1001])
    expected = {key: row for key, row in expected.items() if key not in (1, 1001)}
    assert rows_of(table.read()) == expected
    if table_type == "mor":  # a clustering leaves slices with log files alone
        table.compact()
    table.cluster()
    assert rows_of(reopened(table).read()) == expected
    assert not {s.file_id for s in table.file_slices()} & groups
    for n in range(3):
        table.upsert(changed([2], float(n)))
    expected = upserted(expected, [2], 2.0)
    hoodoo.open(table.path, {"hoodie.clean.commits.retained": "1"}).clean()
    assert not skeletons(tmp_path / "t"), "nothing reads them any more"
    assert content(tmp_path / "source") == before
    assert rows_of(reopened(table).read()) == expected
    assert table.verify().findings == ()


def test_the_bond_ends(tmp_path: Path) -> None:
    """Once all rows were written again, the source is not needed."""
    expected = source(tmp_path / "source")
    table = hoodoo.bootstrap(tmp_path / "source", tmp_path / "t", record_key="id")
    table.cluster()
    (tmp_path / "source").rename(tmp_path / "elsewhere")
    assert rows_of(reopened(table).read()) == expected


@pytest.mark.sampled
@pytest.mark.parametrize("index", ["bloom", "simple", "global_bloom"])
def test_indexes_know_the_keys(tmp_path: Path, index: str) -> None:
    expected = source(tmp_path / "source")
    table = hoodoo.bootstrap(tmp_path / "source", tmp_path / "t", record_key="id", index=index)
    done = table.upsert(changed([3, 1004, 50]))
    assert (done.inserted, done.updated) == (1, 2)
    assert rows_of(reopened(table).read()) == upserted(expected, [3, 1004, 50])
    assert table.verify().findings == ()


def test_version_6(tmp_path: Path) -> None:
    expected = source(tmp_path / "source")
    options = {"hoodie.metadata.enable": "true"}
    table = hoodoo.bootstrap(
        tmp_path / "source",
        tmp_path / "t",
        record_key="id",
        table_version=6,
        table_type="mor",
        index="bloom",
        options=options,
    )
    assert (tmp_path / f"t/.hoodie/{FIRST}.deltacommit").exists()
    assert table.config.get("hoodie.bootstrap.index.class", "").endswith("HFileBootstrapIndex")
    table.upsert(changed([0, 1005, 77]))
    table.compact()
    assert rows_of(reopened(table).read()) == upserted(expected, [0, 1005, 77])
    assert table.verify().findings == ()


def test_statistics_prune(tmp_path: Path) -> None:
    """Column statistics of the metadata table are those of the source files."""
    expected = source(tmp_path / "source", files=3)
    options = {
        "hoodie.metadata.enable": "true",
        "hoodie.metadata.index.column.stats.enable": "true",
    }
    table = hoodoo.bootstrap(tmp_path / "source", tmp_path / "t", record_key="id", options=options)
    scan = table.read(where="id < 3")
    assert len(scan.plan.slices) == 1
    assert rows_of(scan) == {k: row for k, row in expected.items() if row["id"] < 3}


def test_no_partitions_and_several_columns(tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    rows = pa.table({"a": [1, 1, 2], "b": ["x", "y", "x"], "v": pa.array([1, 2, 3], pa.int32())})
    pq.write_table(rows, tmp_path / "source/one.parquet")
    more = pa.table({"a": [5], "b": ["z"], "v": pa.array([1 << 40]), "w": [True]})
    pq.write_table(more, tmp_path / "source/two.parquet")
    (tmp_path / "source/_SUCCESS").touch()
    table = hoodoo.bootstrap(tmp_path / "source", tmp_path / "t", record_key=["a", "b"])
    assert table.schema.field("v").type == pa.int64() and "w" in table.schema.names
    found = table.read().to_arrow().sort_by([("a", "ascending"), ("b", "ascending")])
    assert found["v"].to_pylist() == [1, 2, 3, 1 << 40]
    assert found["w"].to_pylist() == [None, None, None, True]
    table.upsert([{"a": 1, "b": "y", "v": 9, "w": False}])
    assert sorted(table.read().to_arrow()["v"].to_pylist()) == [1, 3, 9, 1 << 40]


def test_paths_with_numbers_and_escapes(tmp_path: Path) -> None:
    """Types of columns that only folders say; escaped values are those of the rows."""
    for year, name in ((2023, "a%2Fb"), (2024, "c d")):
        folder = tmp_path / f"source/year={year}/name={name}"
        folder.mkdir(parents=True)
        pq.write_table(pa.table({"id": [year]}), folder / "x.parquet")
    table = hoodoo.bootstrap(tmp_path / "source", tmp_path / "t", record_key="id")
    assert table.schema.field("year").type == pa.int32()
    found = {row["id"]: row for row in reopened(table).read().to_pylist()}
    assert found[2023] == {"id": 2023, "year": 2023, "name": "a/b"}
    assert found[2024]["name"] == "c d"
    assert table.read(where="year = 2024").count() == 1
    done = table.upsert([{"id": 2023, "year": 2023, "name": "a/b"}])
    assert (done.inserted, done.updated) == (0, 1)


def test_folders_of_rows_without_a_value(tmp_path: Path) -> None:
    """Their name begins with what hides others."""
    for name, value in (
        ("__HIVE_DEFAULT_PARTITION__", None),
        ("oslo", "oslo"),
        ("_temporary", "x"),
    ):
        (tmp_path / "source" / name).mkdir(parents=True)
        rows = pa.table({"id": [name], "city": pa.array([value], pa.string())})
        pq.write_table(rows, tmp_path / "source" / name / "x.parquet")
    table = hoodoo.bootstrap(
        tmp_path / "source", tmp_path / "t", record_key="id", partition_by="city"
    )
    found = {row["id"]: row["city"] for row in table.read().to_pylist()}
    assert found == {"__HIVE_DEFAULT_PARTITION__": None, "oslo": "oslo"}


def test_a_custom_key_generator(tmp_path: Path) -> None:
    """Its partition columns have types behind their names."""
    (tmp_path / "source/x/1970-01-02").mkdir(parents=True)
    rows = pa.table({"id": [1], "p": ["x"], "at": [86_500]})
    pq.write_table(rows, tmp_path / "source/x/1970-01-02/x.parquet")
    options = {
        "hoodie.keygen.timebased.timestamp.type": "UNIX_TIMESTAMP",
        "hoodie.keygen.timebased.output.dateformat": "yyyy-MM-dd",
    }
    table = hoodoo.bootstrap(
        tmp_path / "source", tmp_path / "t", record_key="id", options=options,
        key_generator="CUSTOM", partition_by=["p:SIMPLE", "at:TIMESTAMP"],
    )  # fmt: skip
    assert table.read().to_pylist() == rows.to_pylist()
    done = table.upsert([{"id": 1, "p": "x", "at": 86_600}])
    assert (done.inserted, done.updated) == (0, 1)
    assert reopened(table).read().to_arrow()["at"].to_pylist() == [86_600]


@pytest.mark.parametrize("version", [9, 6])
def test_rows_since_the_bootstrap(tmp_path: Path, version: int) -> None:
    """Its instant means what that of any commit does."""
    source(tmp_path / "source")
    table = hoodoo.bootstrap(
        tmp_path / "source", tmp_path / "t", record_key="id", table_version=version
    )
    assert table.incremental(since=FIRST).count() == 0
    table.upsert(changed([0, 1001]))
    found = reopened(table).incremental(since=FIRST).to_arrow()
    assert sorted(found["id"].to_pylist()) == [0, 1001]


def test_many_small_files_are_few_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch of a few rows takes as much memory as one of hundreds."""
    (tmp_path / "source").mkdir()
    for number in range(40):
        pq.write_table(pa.table({"id": [number]}), tmp_path / f"source/{number}.parquet")
    made: Counter[str] = Counter()

    def counted(step: Any) -> None:
        real = step.__call__

        def counting(self: Any, batches: Any, task: Any) -> Any:
            for batch in real(self, batches, task):
                made[step.__name__] += 1
                yield batch

        monkeypatch.setattr(step, "__call__", counting)

    for step in (ReadFooters, RouteKeys):
        counted(step)
    engine = LocalEngine(1)
    table = hoodoo.bootstrap(tmp_path / "source", tmp_path / "t", record_key="id", engine=engine)
    assert table.count() == 40
    assert 0 < made["ReadFooters"] <= 4 and 0 < made["RouteKeys"] <= 4, made


def test_modes_by_pattern(tmp_path: Path) -> None:
    """Partitions that are copied have an instant of their own; Hudi's options mean the same as
    arguments."""
    expected = source(tmp_path / "source")
    selector = "org.apache.hudi.client.bootstrap.selector.BootstrapRegexModeSelector"
    options = {
        "hoodie.bootstrap.mode.selector": selector,
        "hoodie.bootstrap.mode.selector.regex": "city=o.*",
        "hoodie.bootstrap.mode.selector.regex.mode": "FULL_RECORD",
        "hoodie.bootstrap.parallelism": "2",
    }
    one = hoodoo.bootstrap(tmp_path / "source", tmp_path / "one", record_key="id", options=options)
    other = hoodoo.bootstrap(
        tmp_path / "source",
        tmp_path / "other",
        record_key="id",
        mode="full_record",
        regex="city=o.*",
    )
    for table in (one, other):
        assert [i.requested for i in table.timeline().completed()] == [FIRST, SECOND]
        assert {s.partition_path for s in table.file_slices() if s.base_file.instant == FIRST} == {
            "city=rome"
        }
        assert rows_of(reopened(table).read()) == expected
        table.upsert(changed([0, 1000]))
        assert rows_of(table.read()) == upserted(expected, [0, 1000])


def test_all_copied(tmp_path: Path) -> None:
    expected = source(tmp_path / "source")
    table = hoodoo.bootstrap(
        tmp_path / "source", tmp_path / "t", record_key="id", mode="FULL_RECORD"
    )
    assert [i.requested for i in table.timeline().completed()] == [SECOND]
    assert table.config.get("hoodie.bootstrap.index.type") == "NONE"
    (tmp_path / "source").rename(tmp_path / "elsewhere")
    assert rows_of(reopened(table).read()) == expected


def test_the_plan(tmp_path: Path) -> None:
    source(tmp_path / "source")
    before = content(tmp_path)
    plan = hoodoo.plan_bootstrap(tmp_path / "source", mode="FULL_RECORD", regex="city=oslo")
    assert content(tmp_path) == before
    assert plan.partition_by == ("city",) and plan.columns.names == [*SCHEMA.names, "city"]
    assert plan.files == {"METADATA_ONLY": 2, "FULL_RECORD": 2}
    assert plan.rows == {"METADATA_ONLY": 12, "FULL_RECORD": 12}
    assert plan.partitions == {"METADATA_ONLY": 1, "FULL_RECORD": 1}
    assert plan.bytes["FULL_RECORD"] == sum(
        len(data) for name, data in content(tmp_path / "source").items() if "oslo" in name
    )
    assert plan.estimated_bytes["FULL_RECORD"] == plan.bytes["FULL_RECORD"]
    assert "12 rows" in plan._repr_html_()


def test_the_estimate_is_near(tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    ids = [f"ride-{n:011d}" for n in range(50_000)]
    pq.write_table(pa.table({"id": ids, "v": list(range(50_000))}), tmp_path / "source/a.parquet")
    plan = hoodoo.plan_bootstrap(tmp_path / "source")
    hoodoo.bootstrap(tmp_path / "source", tmp_path / "t", record_key="id")
    (made,) = (tmp_path / "t").glob("*.parquet")
    assert 1 / 4 < plan.estimated_bytes["METADATA_ONLY"] / made.stat().st_size < 4


def test_a_rollback_takes_the_index(tmp_path: Path) -> None:
    source(tmp_path / "source")
    table = hoodoo.bootstrap(tmp_path / "source", tmp_path / "t", record_key="id")
    table.rollback(FIRST)
    assert not skeletons(tmp_path / "t") and not list((tmp_path / "t").rglob("*.hfile"))
    assert table.count() == 0
    with pytest.raises(hoodoo.errors.TableExistsError, match="delete the folder"):
        hoodoo.bootstrap(tmp_path / "source", tmp_path / "t", record_key="id")
    table.upsert(changed([1]))
    assert table.count() == 1


def test_moved_sources(tmp_path: Path) -> None:
    """The property says where the source is now; paths in the index are below it."""
    expected = source(tmp_path / "source")
    table = hoodoo.bootstrap(tmp_path / "source", tmp_path / "t", record_key="id")
    (tmp_path / "source").rename(tmp_path / "moved")
    table.handle.change_properties({"hoodie.bootstrap.base.path": str(tmp_path / "moved")})
    assert rows_of(reopened(table).read()) == expected


def test_renamed_columns(tmp_path: Path) -> None:
    expected = source(tmp_path / "source")
    table = hoodoo.bootstrap(tmp_path / "source", tmp_path / "t", record_key="id")
    table.alter(rename={"fare": "price"}, drop=["note"], add={"tip": "double"})
    found = {row["id"]: row for row in reopened(table).read().to_pylist()}
    assert {key: row["price"] for key, row in found.items()} == {
        key: row["fare"] for key, row in expected.items()
    }
    table.upsert([{"id": 0, "price": 5.0, "tip": 1.0, "city": "oslo"}])
    found = {row["id"]: row for row in table.read().to_pylist()}
    assert found[0]["price"] == 5.0 and found[1]["price"] == expected[1]["fare"]


def test_a_read_of_many_files_decodes_few_blocks_of_the_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each lookup by itself decodes a block of thousands of entries."""
    for n in range(30):
        folder = tmp_path / "s" / f"p={n % 2}"
        folder.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"id": [n]}), folder / f"{n}.parquet")
    hoodoo.bootstrap(tmp_path / "s", tmp_path / "t", record_key="id")
    calls: list[str] = []
    for name in ("get", "get_prefixes", "beside"):
        real = getattr(HFile, name)
        monkeypatch.setattr(
            HFile, name, lambda *a, real=real, name=name, **k: calls.append(name) or real(*a, **k)
        )
    found = hoodoo.open(tmp_path / "t").read().to_arrow()
    assert sorted(found["id"].to_pylist()) == list(range(30))
    assert 1 <= len(calls) <= 8 and set(calls) == {"beside"}, calls

    index = BootstrapIndex.open(hoodoo.open(tmp_path / "t").handle.storage)
    assert index is not None
    _, slices = hoodoo.open(tmp_path / "t").handle.newest_slices()
    each = [one.base_file for one in slices if one.base_file]
    calls.clear()
    for file in sorted(each, key=lambda file: file.file_id):  # of both paths, in turns, as by tasks
        assert index.source_of(file) is not None
    assert len(calls) == 1, calls
    assert index.source_of(evolve(each[0], file_id="none")) is None


def test_the_index_is_made_as_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No entry waits in memory: each takes 1,300 bytes, most of them its schema."""
    storage, count = LocalStorage(str(tmp_path)), 4000
    pairs = []
    for number in range(count):
        folder = f"p={number % 40:02}"
        file = BaseFile(folder, f"{number:08}-0", SKELETONS, "0-0-0", ".parquet")
        pairs.append((file, SourceFile(f"{folder}/f{number:06}.parquet", 10, 1.0)))
    tracemalloc.start()
    try:
        index.write(storage, "/source", pairs)
        _now, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < count * 1300
    found = index.BootstrapIndex.open(storage)
    assert found is not None
    for file, of in pairs[:: count // 7]:
        there = found.source_of(file)
        assert there is not None and there.path == of.path
    assert found.by_file.blocks > 4
    decoded: list[bytes] = []
    real = HFile.beside
    monkeypatch.setattr(HFile, "beside", lambda s, key: decoded.append(key) or real(s, key))
    again = index.BootstrapIndex.open(storage)
    assert again is not None
    assert all(again.source_of(file) == of for file, of in sorted(pairs))
    assert len(decoded) <= found.by_file.blocks
    with pytest.raises(CommitConflictError):
        index.write(storage, "/source", pairs[:3])


def opened_in(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths of base files that are opened from now on."""
    found: list[str] = []
    real = LocalStorage.open

    def noting(self: LocalStorage, path: str) -> pa.NativeFile:
        if path.endswith(".parquet"):
            found.append(f"{self.root}/{path}")
        return real(self, path)

    monkeypatch.setattr(LocalStorage, "open", noting)
    return found


def test_skeletons_are_opened_for_hudis_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A read of others, and a count, open the files of the source alone, as long as these are as
    old as the index says; those of a copy may be of other rows."""
    expected = source(tmp_path / "source")
    path = hoodoo.bootstrap(tmp_path / "source", tmp_path / "t", record_key="id").path
    opened = opened_in(monkeypatch)
    assert rows_of(hoodoo.open(path).read()) == expected
    assert hoodoo.open(path).read().count() == len(expected)
    some = hoodoo.open(path).read(where="fare > 1000").to_arrow()
    assert sorted(some["id"].to_pylist()) == [key for key in expected if key > 1000]
    assert opened and not [name for name in opened if "/source/" not in name]
    hudis = hoodoo.open(path).read(columns=["_hoodie_record_key", "id"]).to_arrow()
    assert hudis["_hoodie_record_key"].to_pylist() == [str(key) for key in hudis["id"].to_pylist()]
    assert len([name for name in opened if "/source/" not in name]) == 4
    opened.clear()
    for file in (tmp_path / "source").rglob("*.parquet"):
        os.utime(file, (1e9, 1e9))
    assert rows_of(hoodoo.open(path).read()) == expected
    assert len([name for name in opened if "/source/" not in name]) == 4


def test_a_lost_skeleton_is_no_read_of_the_source(tmp_path: Path) -> None:
    source(tmp_path / "source")
    table = hoodoo.bootstrap(tmp_path / "source", tmp_path / "t", record_key="id")
    scan = table.read(columns=["fare"])
    skeletons(tmp_path / "t")[0].unlink()
    with pytest.raises(HoodooError, match="city=oslo"):
        scan.to_arrow()


def test_entries_of_an_index() -> None:
    """What is the same in all of them is read once; what is damaged in one of them is found."""
    every = [
        records.encode(records.INFO, {"bootstrapBasePath": "/s" * n, "numKeys": n})
        for n in range(1, 4)
    ]
    for _turn in range(2):
        found = [records.decode(data, "here")["bootstrapBasePath"] for data in every]
        assert found == ["/s", "/s/s", "/s/s/s"]
    data = every[1]
    for wrong in (data[:-1], data[:40], data + b"x", data[:-16] + b"0" * 16, b""):
        with pytest.raises(CorruptTableError, match="here"):
            records.decode(wrong, "here")


def test_a_refused_index_changes_nothing(tmp_path: Path) -> None:
    """Of virtual keys, too, whose index is one of Hoodoo's own: later writes would go on with it."""
    source(tmp_path / "source")
    options = {"hoodie.recordkey.virtual.enabled": "true"}
    table = hoodoo.bootstrap(tmp_path / "source", tmp_path / "t", record_key="id", options=options)
    with pytest.raises(UnsupportedTableError, match="a bootstrap is no time"):
        table.rebuild_index("record_index")
    reopened(table).upsert(changed([0, 1001]))
    assert reopened(table).read(where="fare = -1").count() == 2


@pytest.mark.parametrize("back", ["rollback", "restore"])
@pytest.mark.parametrize("index", ["record_index", "growing_record_index"])
def test_files_that_come_back_end_an_index_of_times(tmp_path: Path, index: str, back: str) -> None:
    expected = source(tmp_path / "source")
    table = hoodoo.bootstrap(
        tmp_path / "source", tmp_path / "t", record_key="id", index="global_bloom"
    )
    every = upserted(expected, list(expected))
    commit = table.upsert(changed(list(expected)))
    table.clean(commits_retained=10)
    table.rebuild_index(index)
    undo, instant = (
        (table.rollback, commit.instant) if back == "rollback" else (table.restore, FIRST)
    )
    with pytest.warns(HoodooWarning, match="the instant of a bootstrap is no time"):
        undo(instant)
    table = reopened(table)
    assert rows_of(table.read()) == expected
    table.upsert(changed(list(expected)))
    assert rows_of(reopened(table).read()) == every
    assert table.verify().findings == ()
