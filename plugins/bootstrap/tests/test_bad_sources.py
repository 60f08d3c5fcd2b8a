"""Sources and arguments that can't be bootstrapped, and sources that changed afterwards: object,
rule, fix."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hoodoo.errors import (
    CallError,
    CommitConflictError,
    ConfigError,
    CorruptTableError,
    DataError,
    DuplicateKeyError,
    MissingColumnError,
    NotATableError,
    NullKeyError,
    OptionConflictError,
    SchemaError,
    TableExistsError,
    UnsupportedTableError,
)
from hoodoo.timeline.heartbeat import Beating
from hoodoo_bootstrap.index import FILES
from parquet_folders import changed, content, rows_of, source, upserted

TABLE = pa.table({"id": [1, 2], "v": [1.0, 2.0]})


def refused(tmp_path: Path, error: type[Exception], text: str, **how: Any) -> None:
    """The source stays, and no row is in a table."""
    before = content(tmp_path / "source")
    given, path = {"record_key": "id", **how}, tmp_path / f"t{len(list(tmp_path.iterdir()))}"
    with pytest.raises(error, match=text) as caught:
        hoodoo.bootstrap(tmp_path / "source", path, **given)
    assert "Fix:" in str(caught.value)
    assert content(tmp_path / "source") == before
    if path.exists():
        assert hoodoo.open(str(path)).count() == 0
        assert not hoodoo.open(str(path)).timeline().pending()


def one_file(tmp_path: Path, table: pa.Table = TABLE, name: str = "a.parquet") -> None:
    path = tmp_path / "source" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path)


def test_arguments(tmp_path: Path) -> None:
    one_file(tmp_path)
    refused(tmp_path, CallError, "lacks record_key", record_key=None)
    refused(tmp_path, SchemaError, "is to be of the record key", record_key="key")
    refused(tmp_path, ConfigError, "is neither METADATA_ONLY nor", mode="half")
    refused(tmp_path, ConfigError, "no regular expression", regex="(")
    selector = "hoodie.bootstrap.mode.selector"
    refused(tmp_path, ConfigError, "no class is loaded", options={selector: "com.acme.Mine"})
    full = "org.apache.hudi.client.bootstrap.selector.FullRecordBootstrapModeSelector"
    other = {selector: full}
    refused(tmp_path, OptionConflictError, "differ", options=other, mode="METADATA_ONLY")
    translator = {"hoodie.bootstrap.partitionpath.translator.class": "x.DecodedBootstrap"}
    refused(tmp_path, ConfigError, "is not the identity", options=translator)
    elsewhere = {"hoodie.bootstrap.base.path": "/elsewhere"}
    refused(tmp_path, ConfigError, "is not the source", options=elsewhere)
    refused(tmp_path, ConfigError, "computes the file group", index="bucket")
    (tmp_path / "empty/source").mkdir(parents=True)
    refused(tmp_path / "empty", NotATableError, "no Parquet files")


@pytest.mark.parametrize("mode", ["METADATA_ONLY", "FULL_RECORD"])
@pytest.mark.parametrize("index", ["record_index", "bucket"])
def test_an_index_that_a_bootstrap_can_not_have(tmp_path: Path, index: str, mode: str) -> None:
    """What is said leads to a table."""
    one_file(tmp_path)
    path, given = tmp_path / "t", {"record_key": "id", "index": index, "mode": mode}
    if (index, mode) != ("bucket", "FULL_RECORD"):
        said = "is no time" if index == "record_index" else "computes the file group"
        with pytest.raises(ConfigError, match=said) as caught:
            hoodoo.bootstrap(tmp_path / "source", path, **given)
        assert f"Delete the new table file://{path}, " in caught.value.fix
        assert hoodoo.open(path).count() == 0
        shutil.rmtree(path)
        given["index"] = "bloom"
    assert hoodoo.bootstrap(tmp_path / "source", path, **given).count() == TABLE.num_rows


@pytest.mark.parametrize(
    "index", ["record_index", "partitioned_record_index", "growing_record_index"]
)
def test_an_index_of_times_is_refused_and_the_table_stays(tmp_path: Path, index: str) -> None:
    one_file(tmp_path, name="city=oslo/a.parquet")
    rows = TABLE.append_column("city", pa.array(["oslo", "oslo"]))
    table = hoodoo.bootstrap(tmp_path / "source", tmp_path / "t", record_key="id")
    before = table.config.properties
    with pytest.raises(UnsupportedTableError, match="is no time"):
        table.switch_index(index)
    table = hoodoo.open(str(tmp_path / "t"))
    assert table.config.properties == before and not table.timeline().pending()
    table.upsert(rows.slice(1))
    table.cluster()  # as the message says
    table.switch_index(index)
    table.upsert(rows)
    assert table.count() == 2


def test_one_within_the_other(tmp_path: Path) -> None:
    one_file(tmp_path)
    for path in (tmp_path / "source/t", tmp_path, tmp_path / "source"):
        with pytest.raises(ConfigError, match="lie one in the other"):
            hoodoo.bootstrap(tmp_path / "source", path, record_key="id")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("notes.txt", "not a Parquet file"),
        (".hoodie/hoodie.properties", "is a Hudi table"),
        ("_delta_log/0.json", "is a Delta Lake table"),
    ],
)
def test_other_files(tmp_path: Path, name: str, text: str) -> None:
    one_file(tmp_path)
    (tmp_path / "source" / name).parent.mkdir(exist_ok=True)
    (tmp_path / "source" / name).write_text("x")
    refused(tmp_path, ConfigError, text)


def test_what_is_no_parquet(tmp_path: Path) -> None:
    one_file(tmp_path)
    (tmp_path / "source/b.parquet").write_text("no")
    refused(tmp_path, CorruptTableError, "b.parquet")


def test_hudis_own_columns(tmp_path: Path) -> None:
    one_file(tmp_path, pa.table({"id": [1], "_hoodie_commit_time": ["1"]}))
    refused(tmp_path, ConfigError, "is of a Hudi table")


def test_columns_that_do_not_go_together(tmp_path: Path) -> None:
    one_file(tmp_path)
    one_file(tmp_path, pa.table({"id": ["x"]}), "b.parquet")
    refused(tmp_path, SchemaError, "is of int64 in some files, and of string")


def test_keys(tmp_path: Path) -> None:
    one_file(tmp_path)
    one_file(tmp_path, pa.table({"id": [5, 2], "v": [0.0, 0.0]}), "b.parquet")
    refused(tmp_path, DuplicateKeyError, r"record key 2:? is that of 2 rows")
    one_file(tmp_path, pa.table({"id": [None, 7]}), "b.parquet")
    refused(tmp_path, NullKeyError, "b.parquet")
    one_file(tmp_path, pa.table({"v": [1.5]}), "b.parquet")
    refused(tmp_path, MissingColumnError, "lacks the column id")


def test_one_key_in_two_partitions(tmp_path: Path) -> None:
    """It is the key of two rows, unless the index takes it for one."""
    for city in ("oslo", "rome"):
        one_file(tmp_path, TABLE, f"city={city}/a.parquet")
    refused(tmp_path, DuplicateKeyError, "rows of the source", index="global_bloom")
    table = hoodoo.bootstrap(tmp_path / "source", tmp_path / "local", record_key="id")
    assert table.count() == 4


def test_folders(tmp_path: Path) -> None:
    one_file(tmp_path, TABLE, "2024/a.parquet")
    refused(tmp_path, DataError, "lies in the folder '2024'")
    refused(tmp_path, SchemaError, "has 1 levels", partition_by=["year", "month"])
    table = hoodoo.bootstrap(
        tmp_path / "source", tmp_path / "dated", record_key="id", partition_by="year"
    )
    assert table.read().to_arrow()["year"].to_pylist() == [2024, 2024]
    one_file(tmp_path / "other", pa.table({"id": [1], "city": ["rome"]}), "city=oslo/a.parquet")
    refused(tmp_path / "other", DataError, "row of partition path 'city=rome'")
    copied = hoodoo.bootstrap(
        tmp_path / "other/source", tmp_path / "copied", record_key="id", mode="FULL_RECORD"
    )
    assert copied.file_slices()[0].partition_path == "city=rome"


def test_partition_columns_as_create_takes_them(tmp_path: Path) -> None:
    """A text with commas is several columns, and a type that no key generator knows is refused by
    the plan, too: it is no part of a name."""
    folder = tmp_path / "source/1/2"
    folder.mkdir(parents=True)
    pq.write_table(pa.table({"id": [1]}), folder / "f.parquet")
    for wrong in ("a:b, c:SIMPLE", ["a:b", "c:SIMPLE"]):
        with pytest.raises(ConfigError, match="type b is not one of SIMPLE, TIMESTAMP"):
            hoodoo.plan_bootstrap(tmp_path / "source", partition_by=wrong)
        refused(tmp_path, ConfigError, "type b is not one of SIMPLE", partition_by=wrong)
    plan = hoodoo.plan_bootstrap(tmp_path / "source", partition_by="a:SIMPLE, c:SIMPLE")
    assert plan.partition_by == ("a", "c")
    table = hoodoo.bootstrap(
        tmp_path / "source", tmp_path / "both", record_key="id, c", partition_by="a, c"
    )
    assert table.to_arrow().to_pylist() == [{"id": 1, "a": 1, "c": 2}]
    assert table.config.record_key_fields == ("id", "c")


def test_tables_that_are_there(tmp_path: Path) -> None:
    one_file(tmp_path)
    table = hoodoo.bootstrap(tmp_path / "source", tmp_path / "t", record_key="id")
    with pytest.raises(TableExistsError, match="is bootstrapped already"):
        hoodoo.bootstrap(tmp_path / "source", tmp_path / "t", record_key="id")
    table.upsert([{"id": 3, "v": 1.0}])
    with pytest.raises(TableExistsError, match="with commits or of another source"):
        hoodoo.bootstrap(tmp_path / "source", tmp_path / "t", record_key="id")
    hoodoo.create(str(tmp_path / "plain"), TABLE.schema, record_key="id")
    with pytest.raises(TableExistsError, match="of another source"):
        hoodoo.bootstrap(tmp_path / "source", tmp_path / "plain", record_key="id")


def test_while_another_process_is_at_it(tmp_path: Path) -> None:
    expected = source(tmp_path / "source")
    with pytest.raises(DuplicateKeyError):  # leaves the table, empty
        hoodoo.bootstrap(tmp_path / "source", tmp_path / "t", record_key="city")
    again = {"record_key": "city", "partition_by": "city"}
    table = hoodoo.open(str(tmp_path / "t"))
    pending = tmp_path / "t/.hoodie/timeline/00000000000001.commit.requested"
    with Beating(table.handle.storage) as beats:
        beats.add("00000000000001")
        pending.touch()
        with pytest.raises(CommitConflictError, match="another process, which bootstraps"):
            hoodoo.bootstrap(tmp_path / "source", tmp_path / "t", **again)
        assert pending.exists()
    with pytest.raises(DuplicateKeyError):  # the dead one's request is taken back before
        hoodoo.bootstrap(tmp_path / "source", tmp_path / "t", **again)
    assert not pending.exists() and len(expected) == 24


# --- sources that changed since -------------------------------------------------------------------
@pytest.fixture
def table(tmp_path: Path) -> hoodoo.Table:
    source(tmp_path / "source")
    return hoodoo.bootstrap(tmp_path / "source", tmp_path / "t", record_key="id")


def fails(table: hoodoo.Table, error: type[Exception], text: str) -> None:
    """Reads and writes of the file's rows say why; others work."""
    for columns in (None, ["fare"], ["id", "_hoodie_record_key"]):
        with pytest.raises(error, match=text) as caught:
            table.read(columns=columns, where="city = 'oslo'").to_arrow()
        assert "Fix:" in str(caught.value)
    with pytest.raises(error, match=text):
        table.upsert(changed([0]))
    assert not table.timeline().pending()
    assert table.read(where="city = 'rome'").count() == 12
    assert table.upsert(changed([1000])).updated == 1


def test_a_file_is_gone(table: hoodoo.Table, tmp_path: Path) -> None:
    (tmp_path / "source/city=oslo/part-0.parquet").unlink()
    fails(table, CorruptTableError, r"source file .*part-0.parquet.*was deleted")


def test_a_file_has_other_rows(table: hoodoo.Table, tmp_path: Path) -> None:
    path = tmp_path / "source/city=oslo/part-0.parquet"
    pq.write_table(pq.read_table(path, partitioning=None).slice(1), path)
    fails(table, CorruptTableError, r"bytes, and had \d+ at the bootstrap")


def test_a_file_of_the_same_size_has_other_rows(table: hoodoo.Table, tmp_path: Path) -> None:
    path = tmp_path / "source/city=oslo/part-0.parquet"
    size = path.stat().st_size
    pq.write_table(pq.read_table(path, partitioning=None).slice(3), path, row_group_size=2)
    short = path.read_bytes()
    path.write_bytes(short[:4] + b"\0" * (size - len(short)) + short[4:])
    with pytest.raises(CorruptTableError, match="source file .*part-0.parquet"):
        table.read(where="city = 'oslo'").to_arrow()


def test_a_file_is_damaged(table: hoodoo.Table, tmp_path: Path) -> None:
    path = tmp_path / "source/city=oslo/part-0.parquet"
    path.write_bytes(b"x" * path.stat().st_size)
    fails(table, CorruptTableError, "source file .*can't be read")


def test_the_index_is_gone(table: hoodoo.Table, tmp_path: Path) -> None:
    (tmp_path / "t" / FILES).unlink()
    now = hoodoo.open(table.path)
    with pytest.raises(UnsupportedTableError, match="METADATA_ONLY.*is not there"):
        now.to_arrow()
    with pytest.raises(UnsupportedTableError, match="METADATA_ONLY.*is not there"):
        now.upsert(changed([0]))


def test_the_index_lacks_a_file(table: hoodoo.Table, tmp_path: Path) -> None:
    old = next((tmp_path / "t/city=oslo").glob("*.parquet"))
    old.rename(old.with_name("0" * 8 + old.name[8:]))
    with pytest.raises(CorruptTableError):
        hoodoo.open(table.path, {"hoodie.metadata.enable": "false"}).to_arrow()


def test_the_index_is_damaged(table: hoodoo.Table, tmp_path: Path) -> None:
    path = tmp_path / "t" / FILES
    data = bytearray(path.read_bytes())
    at = re.search(rb"org.apache.hudi.avro.model.*?HoodieFileStatus|HoodieBootstrapFile", data)
    assert at is not None
    data[at.start() : at.end()] = b"?" * (at.end() - at.start())
    path.write_bytes(bytes(data))
    with pytest.raises(CorruptTableError, match="hfile|fileids"):
        hoodoo.open(table.path).to_arrow()


def test_files_of_the_source_that_came_later(table: hoodoo.Table, tmp_path: Path) -> None:
    """They are no part of the table."""
    extra = pa.table({"id": [9], "fare": [9.0], "note": ["x"]})
    pq.write_table(extra, tmp_path / "source/city=oslo/late.parquet")
    assert table.count() == 24
    done = table.upsert(changed([9]))
    assert done.inserted == 1
    assert rows_of(table.read())[9]["fare"] == -1.0 and upserted({}, [9])


def test_other_formats_are_refused(tmp_path: Path) -> None:
    source(tmp_path / "source")
    with pytest.raises(UnsupportedTableError, match="outside of the table"):
        hoodoo.bootstrap(
            tmp_path / "source",
            tmp_path / "t",
            record_key="id",
            options={"hoodoo.open.formats": "delta"},
        ).publish()
