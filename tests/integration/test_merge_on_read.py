"""Tables that are merged on read, through the public API: log files, and the rows made of them."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import hoodoo
import hudi
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hoodoo import Table
from hoodoo.errors import DuplicateKeyError
from hoodoo.model.log_block import BlockKind, LogBlock
from hoodoo.testing import log_builders
from hoodoo.testing.directory import DirectoryStorage
from hoodoo.testing.stores import RecordingStorage
from hoodoo_rows.api import StoredFiles

pytestmark = pytest.mark.sampled(4)

SCHEMA = pa.schema(
    [("id", pa.int64()), ("city", pa.string()), ("fare", pa.float64()), ("ts", pa.int64())]
)
DELETED = "_hoodie_is_deleted"
MARKED = SCHEMA.append(pa.field(DELETED, pa.bool_()))
VERSIONS, BLOCKS, INDEXES = (6, 9), ("parquet", "avro"), ("simple", "bucket", "global_simple")
EVERY = [(v, b, i) for v in VERSIONS for b in BLOCKS for i in INDEXES]
Rows = Mapping[int, "tuple[str, float, int]"]  # id -> city, fare, ts
FIRST: Rows = {n: ("oslo" if n % 2 else "rome", float(n), 5) for n in range(6)}


def create(
    path: Path, version: int = 9, block: str = "parquet", index: str = "simple",
    schema: pa.Schema = SCHEMA, options: Mapping[str, str] | None = None, **more: Any,
) -> hoodoo.Table:  # fmt: skip
    given = {"hoodie.logfile.data.block.format": block, **(options or {})}
    if index == "bucket":
        given["hoodie.bucket.index.num.buckets"] = "2"
    more = {"record_key": "id", "partition_by": "city", "ordering": "ts", **more}
    return hoodoo.create(
        str(path), schema, table_type="MERGE_ON_READ", table_version=version, index=index,
        options=given, **more,
    )  # fmt: skip


def data(rows: Rows, schema: pa.Schema = SCHEMA, **more: Any) -> pa.Table:
    columns = {
        "id": list(rows),
        "city": [row[0] for row in rows.values()],
        "fare": [row[1] for row in rows.values()],
        "ts": [row[2] for row in rows.values()],
        **{name: [value] * len(rows) for name, value in more.items()},
    }
    return pa.table(columns, schema=schema)


def seen(found: Any) -> dict[int, tuple[Any, ...]]:
    """id -> city, fare, ts; an id that is there twice fails."""
    rows = pa.table(found).select(SCHEMA.names).to_pylist()
    assert len({row["id"] for row in rows}) == len(rows), "a key is there twice"
    return {row["id"]: (row["city"], row["fare"], row["ts"]) for row in rows}


def theirs(path: Path) -> dict[int, tuple[Any, ...]]:
    """What the reader of the package ``hudi`` sees."""
    batches = hudi.HudiTableBuilder.from_base_uri(str(path)).build().read(hudi.HudiReadOptions())
    return seen(pa.Table.from_batches(batches)) if batches else {}


def optimized(table: hoodoo.Table) -> dict[int, tuple[Any, ...]]:
    return seen(table.read(mode="read_optimized"))


def bases(path: Path) -> dict[str, bytes]:
    found = (p for p in path.rglob("*.parquet") if ".hoodie" not in p.parts)
    return {p.name: p.read_bytes() for p in found}


def blocks(path: Path, files: Sequence[str]) -> list[LogBlock]:
    return log_builders.blocks(*(path / file for file in files))


# --- updates --------------------------------------------------------------------------------------
@pytest.mark.parametrize(("version", "block", "index"), EVERY)
def test_updates_are_log_blocks(tmp_path: Path, version: int, block: str, index: str) -> None:
    made = create(tmp_path, version, block, index)
    first = made.bulk_insert(data(FIRST))
    assert first.action == "deltacommit" and all(".log." not in f for f in first.files)
    before = bases(tmp_path)
    store = RecordingStorage(DirectoryStorage(str(tmp_path)))
    table = Table(store, made.config, {"hoodie.logfile.data.block.format": block})
    second = table.upsert(data({1: ("oslo", 10.0, 6), 2: ("rome", 20.0, 6), 3: ("oslo", 30.0, 4)}))
    assert (second.inserted, second.updated, second.deleted) == (0, 3, 0)
    assert second.files and all("/." in f and ".log.1_" in f for f in second.files)
    # The index reads the keys of base files once, unless it computes; nobody else opens one.
    opened = [p for op, p in store.calls if op in ("open", "get") and p.endswith(".parquet")]
    assert len(opened) == (0 if index == "bucket" else len(before))
    assert bases(tmp_path) == before
    kinds = {found.kind for found in blocks(tmp_path, second.files)}
    assert kinds == {BlockKind[block.upper()]}
    expected = {**FIRST, 1: ("oslo", 10.0, 6), 2: ("rome", 20.0, 6)}
    assert seen(table.read()) == theirs(tmp_path) == expected
    assert optimized(table) == FIRST
    assert seen(table.read(as_of=first.instant)) == FIRST
    third = table.upsert(data({2: ("rome", 21.0, 7)}))
    assert seen(table.read())[2] == ("rome", 21.0, 7)
    assert seen(table.read(as_of=second.instant)) == expected
    assert seen(table.read(as_of=third.instant, mode="read_optimized")) == FIRST


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("block", BLOCKS)
def test_buckets_begin_with_log_files(tmp_path: Path, version: int, block: str) -> None:
    table = create(tmp_path, version, block, "bucket")
    first = table.upsert(data(FIRST))
    assert (first.inserted, first.updated) == (6, 0) and not bases(tmp_path)
    assert all(s.base_file is None and len(s.log_files) == 1 for s in table.file_slices())
    assert seen(table.read()) == theirs(tmp_path) == FIRST
    assert optimized(table) == {}
    table.upsert(data({1: ("oslo", 10.0, 6), 9: ("oslo", 9.0, 1), 3: ("oslo", 30.0, 4)}))
    table.delete([2])
    expected = {**FIRST, 1: ("oslo", 10.0, 6), 9: ("oslo", 9.0, 1)}
    del expected[2]
    assert not bases(tmp_path)
    assert seen(table.read()) == theirs(tmp_path) == expected
    assert seen(table.read(as_of=first.instant)) == FIRST
    table.compact()
    assert seen(table.read()) == theirs(tmp_path) == optimized(table) == expected
    assert seen(table.read(as_of=first.instant)) == FIRST


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("index", ["simple", "global_simple"])
@pytest.mark.parametrize("fill", [True, False], ids=["filled", "left-alone"])
def test_new_keys_get_base_files_where_an_index_reads_these(
    tmp_path: Path, version: int, index: str, fill: bool
) -> None:
    """Small base files without log files are filled by being rewritten, with their updates."""
    create(tmp_path, version, index=index).upsert(data(FIRST))
    table = hoodoo.open(
        str(tmp_path), {} if fill else {"hoodie.parquet.small.file.limit": "0"}, index=index
    )
    table.upsert(data({2: ("rome", 20.0, 6)}))
    old = bases(tmp_path)
    more = {1: ("oslo", 10.0, 6), 8: ("oslo", 8.0, 1), 9: ("bonn", 9.0, 1), 6: ("rome", 6.0, 1)}
    done = table.upsert(data(more))
    assert (done.inserted, done.updated) == (3, 1)
    assert sum(".log." in f for f in done.files) == (0 if fill else 1)
    assert len(bases(tmp_path)) == len(old) + 3 and old.items() <= bases(tmp_path).items()
    groups = [s.partition_path for s in table.file_slices()]
    assert sorted(groups) == ["bonn", "oslo", *([] if fill else ["oslo"]), "rome", "rome"]
    expected = {**FIRST, 2: ("rome", 20.0, 6), **more}
    assert seen(table.read()) == theirs(tmp_path) == expected


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("block", BLOCKS)
def test_a_key_moves_under_a_global_index(tmp_path: Path, version: int, block: str) -> None:
    table = create(tmp_path, version, block, "global_simple")
    table.upsert(data(FIRST))
    table.upsert(data({1: ("bonn", 10.0, 6), 2: ("bonn", 20.0, 4)}))
    expected = {**FIRST, 1: ("bonn", 10.0, 6)}
    assert seen(table.read()) == theirs(tmp_path) == expected
    table.upsert(data({1: ("oslo", 11.0, 7)}))
    expected[1] = ("oslo", 11.0, 7)
    assert seen(table.read()) == theirs(tmp_path) == expected
    table.compact()
    table.upsert(data({1: ("bonn", 12.0, 8)}))
    assert seen(table.read()) == theirs(tmp_path) == {**expected, 1: ("bonn", 12.0, 8)}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("index", ["simple", "bucket"])
def test_replaced_groups_go_with_their_log_files(tmp_path: Path, version: int, index: str) -> None:
    table = create(tmp_path, version, index=index)
    table.upsert(data(FIRST))
    table.upsert(data({n: (city, 50.0, 6) for n, (city, _, _) in FIRST.items()}))
    new = {7: ("oslo", 7.0, 1)}
    table.insert_overwrite(data(new))
    rome = {n: (city, 50.0, 6) for n, (city, _, _) in FIRST.items() if city == "rome"}
    assert seen(table.read()) == theirs(tmp_path) == {**rome, **new}
    table.delete_partitions("rome")
    assert seen(table.read()) == theirs(tmp_path) == new
    new = {7: ("oslo", 8.0, 2), 1: ("oslo", 1.0, 1)}
    table.upsert(data(new))
    assert seen(table.read()) == theirs(tmp_path) == new


# --- deletes --------------------------------------------------------------------------------------
@pytest.mark.parametrize(("version", "block", "index"), EVERY[::2])
def test_deletes_anywhere(tmp_path: Path, version: int, block: str, index: str) -> None:
    """Keys without their partition path are deleted wherever they lie."""
    table = create(tmp_path, version, block, index)
    table.bulk_insert(data(FIRST))
    table.upsert(data({3: ("oslo", 30.0, 9)}))
    before = bases(tmp_path)
    done = table.delete([1, 2, 3, 77])
    assert (done.inserted, done.updated, done.deleted) == (0, 0, 3)
    assert bases(tmp_path) == before
    assert {b.kind for b in blocks(tmp_path, done.files)} == {BlockKind.DELETE}
    expected = {n: row for n, row in FIRST.items() if n not in (1, 2, 3)}
    assert seen(table.read()) == theirs(tmp_path) == expected
    assert table.delete([88]).deleted == 0 and seen(table.read()) == expected
    table.compact()
    assert seen(table.read()) == theirs(tmp_path) == optimized(table) == expected


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("index", ["simple", "bucket"])
def test_marked_rows(tmp_path: Path, version: int, block: str, index: str) -> None:
    table = create(tmp_path, version, block, index, MARKED)

    def rows(found: Rows, gone: bool) -> pa.Table:
        return data(found, MARKED, **{DELETED: gone})

    table.upsert(rows(FIRST, False))
    done = table.upsert(rows({1: ("oslo", 0.0, 6), 2: ("rome", 0.0, 4), 9: ("rome", 0.0, 9)}, True))
    assert (done.inserted, done.updated) == (0, 0)
    expected = {n: row for n, row in FIRST.items() if n != 1}
    assert seen(table.read()) == theirs(tmp_path) == expected
    table.upsert(rows({1: ("oslo", 1.5, 5)}, False))  # later than the row, earlier than its delete
    assert seen(table.read()) == theirs(tmp_path) == expected
    table.upsert(rows({1: ("oslo", 1.7, 7), 4: ("rome", None, None)}, False))  # type: ignore[dict-item]
    expected |= {1: ("oslo", 1.7, 7)}
    assert seen(table.read()) == expected
    table.compact()
    assert seen(table.read()) == optimized(table) == expected


# --- keys that base files don't tell of -----------------------------------------------------------
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("index", INDEXES)
def test_a_key_is_never_there_twice(tmp_path: Path, version: int, index: str) -> None:
    """Deleted, planned to be compacted away, written again before that happened, and again after."""
    table = create(tmp_path, version, index=index)
    table.upsert(data(FIRST))
    table.compact()
    table.delete([1, 3])
    instant = table.schedule_compaction()
    assert instant is not None
    table.upsert(data({1: ("oslo", 10.0, 1)}))
    expected = {n: row for n, row in FIRST.items() if n != 3}
    assert seen(table.read()).keys() == expected.keys()
    table.run_compaction(instant)
    for n in range(3):
        changed = {1: ("oslo", 20.0 + n, 10 + n), 3: ("oslo", 30.0 + n, 10 + n)}
        table.upsert(data(changed))
        expected |= changed
        assert seen(table.read()) == theirs(tmp_path) == expected
        if n == 0:
            table.compact()
    assert table.delete([1, 3]).deleted == 2
    del expected[1], expected[3]
    assert seen(table.read()) == theirs(tmp_path) == expected


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("index", ["simple", "global_simple"])
@pytest.mark.parametrize("again", ["insert", "bulk_insert"])
def test_of_two_base_files_with_a_key_the_one_where_it_is_alive_counts(
    tmp_path: Path, version: int, index: str, again: str
) -> None:
    """Deleted in a log file, and added again without a look at what is stored."""
    table = create(tmp_path, version, index=index)
    table.bulk_insert(data(FIRST))
    table.delete([1, 2])
    getattr(table, again)(data({1: ("oslo", 10.0, 1)}))
    done = table.upsert(data({1: ("oslo", 11.0, 2), 2: ("rome", 20.0, 9)}))
    assert done.inserted + done.updated == 2
    expected = {**FIRST, 1: ("oslo", 11.0, 2), 2: ("rome", 20.0, 9)}
    assert seen(table.read()) == theirs(tmp_path) == expected
    assert table.delete([1]).deleted == 1
    del expected[1]
    assert seen(table.read()) == theirs(tmp_path) == expected
    table.compact()
    assert seen(table.read()) == theirs(tmp_path) == expected


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("index", INDEXES)
def test_policies_of_duplicates_see_keys_in_logs(tmp_path: Path, version: int, index: str) -> None:
    create(tmp_path, version, index=index).upsert(data(FIRST))
    policy = "hoodie.datasource.insert.dup.policy"
    more = {1: ("oslo", 99.0, 99), 7: ("oslo", 7.0, 1)}
    fail = hoodoo.open(str(tmp_path), {policy: "fail"})
    before = fail.timeline().instants
    with pytest.raises(DuplicateKeyError, match="'1'"):
        fail.insert(data(more))
    assert fail.timeline().instants == before and seen(fail.read()) == FIRST
    drop = hoodoo.open(str(tmp_path), {policy: "drop"})
    done = drop.insert(data(more))
    assert done.inserted + done.updated == 1  # a log file does not tell inserts from updates
    assert seen(drop.read()) == theirs(tmp_path) == {**FIRST, 7: more[7]}
    fail.insert(data({8: ("rome", 8.0, 1)}))
    done = drop.insert(data(more))
    assert (done.inserted, done.updated, done.files) == (0, 0, ())
    assert len(seen(drop.read())) == 8


# --- reading --------------------------------------------------------------------------------------
FILTERS = [
    pc.field("id") == 17,
    pc.field("id") >= 90,
    pc.field("fare") > 1000,
    pc.field("ts").isin([6, 7]),
    (pc.field("city") == "rome") & (pc.field("id") < 10),
    ~(pc.field("city") == "oslo"),
    pc.field("fare").is_null(),
    pc.field("_hoodie_partition_path") == "rome",
    pc.field("id") == 1000,
]


@pytest.fixture(scope="module", params=["event_time", "commit_time"])
def wide(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> hoodoo.Table:
    """A table whose base files have many row groups, with updates and deletes in logs."""
    path = tmp_path_factory.mktemp("wide")
    small = {"hoodie.parquet.block.size": "300", "hoodie.parquet.page.size": "100"}
    order = {"ordering": ("ts",) if request.param == "event_time" else ()}
    table = create(path, options=small, merger=request.param, **order)
    rows = {n: (("oslo", "rome", "bonn")[n % 3], float(n), 5) for n in range(120)}
    table.bulk_insert(data(rows))
    changed = {n: (rows[n][0], 2000.0 + n, 6) for n in range(0, 120, 17) if n % 3 < 2}
    table.upsert(data({**changed, 17: ("bonn", 1500.0, 4)}))
    table.upsert(data({1: ("rome", None, 7), 500: ("rome", 1.0, 6)}))  # type: ignore[dict-item]
    table.delete([2, 3, 100])
    return table


@pytest.mark.parametrize("where", FILTERS, ids=str)
def test_filters_see_merged_rows(wide: hoodoo.Table, where: Any) -> None:
    everything = wide.read(meta=True).to_arrow()
    expected = everything.filter(where)
    scan = wide.read(where=where, meta=True)
    order = [("_hoodie_record_key", "ascending")]
    assert scan.to_arrow().sort_by(order).equals(expected.sort_by(order).cast(scan.schema))
    assert scan.count() == expected.num_rows
    few = wide.read(columns=["fare"], where=where).to_arrow()
    assert sorted(map(str, few["fare"].to_pylist())) == sorted(
        map(str, expected["fare"].to_pylist())
    )
    assert wide.read(columns=[], where=where).count() == expected.num_rows


def test_row_groups_are_skipped_only_where_no_stored_row_could_win(
    wide: hoodoo.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    (base, *_) = (one.base_file for one in wide.file_slices() if one.base_file)
    with StoredFiles.format(wide.handle.source()).reader(wide.handle.storage, base.path) as opened:
        kind = type(opened)
    inner, rows = kind.batches, []

    def batches(reader: Any, *given: Any, **more: Any) -> Iterator[pa.RecordBatch]:
        for batch in inner(reader, *given, **more):
            rows.append(batch.num_rows)
            yield batch

    monkeypatch.setattr(kind, "batches", batches)
    assert wide.read(columns=["id"], where=pc.field("id") == 17).count() == 1
    assert sum(rows) < 50  # rows of other keys meet none of this one
    rows.clear()
    assert wide.read(columns=["id"], where=pc.field("fare") == 19).count() == 1
    # Every row is looked at twice where it is merged: its key, and its other columns.
    assert (sum(rows) < 50) == (wide.config.merge_mode == "COMMIT_TIME_ORDERING")


def test_projections(wide: hoodoo.Table) -> None:
    everything = wide.read(meta=True).to_arrow()
    assert everything.num_rows == wide.read().count() == 118
    for columns in (
        ["ts"],
        ["fare", "id"],
        ["_hoodie_commit_time"],
        ["_hoodie_record_key", "city"],
    ):
        found = wide.read(columns=columns).to_arrow()
        assert found.schema.names == columns
        assert (
            found.sort_by(columns[-1])
            .column(columns[-1])
            .equals(everything.sort_by(columns[-1]).column(columns[-1]))
        )


def test_partitions_and_row_groups_are_pruned(wide: hoodoo.Table) -> None:
    assert "2 pruned by partition" in wide.read(where=pc.field("city") == "rome").explain()
    told = wide.read(where=pc.field("id") == 17).explain()
    read, left = (int(n) for n in re.findall(r"rows +(\d+) in these files, (\d+) in", told)[0])
    assert read == 121 and 0 < left < 20
    assert {s.partition_path for s in wide.file_slices() if s.log_files} == {"bonn", "oslo", "rome"}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("index", ["simple", "bucket"])
def test_schemas_evolve_across_logs(tmp_path: Path, version: int, block: str, index: str) -> None:
    narrow = pa.schema([("id", pa.int64()), ("n", pa.int32()), ("ts", pa.int64())])
    table = create(tmp_path, version, block, index, narrow, partition_by=())
    first = table.upsert(pa.table({"id": [1, 2, 3], "n": [1, 2, 3], "ts": [5, 5, 5]}, narrow))
    second = table.upsert(pa.table({"id": [1], "n": [10], "ts": [6]}, narrow))
    wide = pa.schema(
        [("id", pa.int64()), ("n", pa.int64()), ("ts", pa.int64()), ("s", pa.string())]
    )
    table.upsert(
        pa.table({"id": [2, 4], "n": [2**40, 4], "ts": [6, 6], "s": ["two", "four"]}, wide),
        add_columns=True,
    )
    table.upsert(pa.table({"id": [3], "n": [30], "ts": [6]}, narrow))
    expected = {1: (10, None), 2: (2**40, "two"), 3: (30, None), 4: (4, "four")}

    def rows(**how: Any) -> dict[int, tuple[Any, ...]]:
        found = table.read(**how).to_arrow().to_pylist()
        return {row["id"]: (row["n"], row.get("s")) for row in found}

    assert table.schema.field("n").type == pa.int64() and table.schema.names[-1] == "s"
    assert rows() == expected
    assert rows(where=pc.field("n") >= 10) == {n: r for n, r in expected.items() if r[0] >= 10}
    assert rows(where=pc.field("s").is_null()) == {1: (10, None), 3: (30, None)}
    assert rows(as_of=second.instant) == {1: (10, None), 2: (2, None), 3: (3, None)}
    assert table.read(as_of=first.instant).schema.field("n").type == pa.int32()
    table.compact()
    assert rows() == rows(mode="read_optimized") == expected
    table.upsert(pa.table({"id": [1], "n": [11], "ts": [7]}, narrow))
    assert rows() == {**expected, 1: (11, None)}


# --- tables that Hudi made ------------------------------------------------------------------------
THEIRS = [
    "mor_avro_v6_trips_8i1u",
    "mor_avro_v9_txns_complex_nometa",
    "mor_avro_v9_txns_nonpart_nometa",
    "mor_avro_v9_txns_simple_nometa",
    "mor_parquet_v6_nonpartitioned",
    "mor_parquet_v6_simplekeygen_nonhivestyle",
]


def everything(found: pa.Table) -> list[dict[str, Any]]:
    names = sorted(n for n in found.schema.names if not n.startswith("_hoodie_"))
    return sorted(found.select(names).to_pylist(), key=repr)


@pytest.mark.parametrize("name", THEIRS)
def test_tables_of_spark_are_written_on_and_compacted(
    golden: Callable[[str], Path], tmp_path: Path, name: str
) -> None:
    path = tmp_path / "t"
    shutil.copytree(golden(name), path)

    def hudi_rows() -> list[dict[str, Any]]:
        built = hudi.HudiTableBuilder.from_base_uri(str(path)).build()
        return everything(pa.Table.from_batches(built.read(hudi.HudiReadOptions())))

    table = hoodoo.open(str(path))
    keys, order = table.config.record_key_fields, table.config.ordering_fields
    held = {*keys, *table.config.partition_fields, *order}
    stored = table.read(columns=table.schema.names).to_arrow()
    assert everything(stored) == hudi_rows()
    texts = [f.name for f in stored.schema if f.type == pa.string() and f.name not in held]
    changed = stored.slice(0, 3)
    for text in texts:
        at = changed.schema.get_field_index(text)
        changed = changed.set_column(at, text, pa.array(["changed"] * changed.num_rows))
    done = table.upsert(changed)
    assert done.updated == changed.num_rows and any(".log." in f for f in done.files)
    expected = everything(pa.concat_tables([changed, stored.slice(changed.num_rows)]))
    assert texts and everything(table.read().to_arrow()) == hudi_rows() == expected
    gone = changed.slice(0, 1)
    assert table.delete(gone).deleted == 1
    expected = [row for row in expected if row not in everything(gone)]
    assert everything(table.read().to_arrow()) == hudi_rows() == expected
    assert table.compact().files
    assert not any(s.log_files for s in table.file_slices())
    assert everything(table.read(mode="read_optimized").to_arrow()) == hudi_rows() == expected
    table.upsert(gone)
    assert len(hudi_rows()) == len(everything(table.read().to_arrow())) == stored.num_rows


# --- Spark ----------------------------------------------------------------------------------------
@pytest.mark.sampled(3, among="on Spark")
@pytest.mark.spark
@pytest.mark.parametrize(
    ("version", "block", "index"), [(9, "parquet", "bucket"), (6, "avro", "simple")]
)
def test_on_spark(
    spark: Any, collected: Any, tmp_path: Path, version: int, block: str, index: str
) -> None:
    table = create(tmp_path, version, block, index, engine="spark")
    table.upsert(data(FIRST))
    done = table.upsert(
        spark.createDataFrame(data({1: ("oslo", 10.0, 6), 2: ("rome", 20.0, 4)}).to_pandas())
    )
    assert (done.inserted, done.updated) == (0, 2) and all(".log." in f for f in done.files)
    assert table.delete([4]).deleted == 1
    expected = {**FIRST, 1: ("oslo", 10.0, 6)}
    del expected[4]
    assert seen(table.read()) == theirs(tmp_path) == expected
    assert seen(collected(table.read().to_spark(spark))) == expected


@pytest.mark.parametrize("never", [pc.scalar(False), pc.scalar(pa.scalar(None, pa.bool_()))])
@pytest.mark.parametrize("columns", [None, [], ["id"]])
def test_count_by_a_filter_that_no_row_passes(
    tmp_path: Path, never: pc.Expression, columns: list[str] | None
) -> None:
    """It needs no column, and a table without columns has no rows."""
    schema = pa.schema([("id", pa.int64()), ("v", pa.float64())])
    table = hoodoo.create(str(tmp_path), schema, record_key="id", table_type="MERGE_ON_READ")
    table.upsert([{"id": n, "v": 1.0} for n in range(5)])
    table.upsert([{"id": 1, "v": 2.0}])
    assert table.read(columns, never).count() == 0
    assert table.read(columns, pc.scalar(True)).count() == 5
