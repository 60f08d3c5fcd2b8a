"""docs/refused-tables.md: each kind of table that it lists is made, and is read, written or refused
as its row says."""

from __future__ import annotations

import base64
import io
import json
import re
import runpy
import shutil
import struct
import tarfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from attrs import Factory, frozen
from hoodoo.errors import HoodooError, HoodooWarning, UnsupportedTableError
from hoodoo.model.log_block import BlockKind
from hoodoo.testing.log_builders import new_log
from pyarrow.parquet import encryption

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/refused-tables.md"
ROW = {"id": "c", "region": "eu", "ts": 3}
LOGGED, UPDATED = "copy on write, with log files", {"id": "a", "region": "eu", "ts": 9}
CUSTOM = {
    "hoodie.record.merge.mode": "CUSTOM",
    "hoodie.compaction.payload.class": "com.acme.Payload",
    "hoodie.record.merge.strategy.id": "00000000-0000-0000-0000-000000000000",
}
KEYS: dict[str, str | None] = {
    "hoodie.table.keygenerator.class": "com.acme.Keys",
    "hoodie.table.keygenerator.type": None,
}


# What a write leaves that is undone.
UNDONE = re.compile(r"\.rollback(\.|$)|/ledger/")


@frozen
class Row:
    """Of the page."""

    table: str
    message: str
    read: str
    written: str
    why: str
    fix: str


def of_page() -> Iterator[Row]:
    for line in PAGE.read_text("utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if line.startswith("|") and len(cells) == 6 and cells[0] not in ("table", "---"):
            yield Row(cells[0], cells[1].strip("`"), *cells[2:])


@frozen
class Made:
    """A table, and the options that its user opens it with."""

    path: Path
    options: dict[str, str] = Factory(dict)

    def open(self) -> hoodoo.Table:
        return hoodoo.open(str(self.path), self.options)


def table(
    path: Path, kind: str = "MERGE_ON_READ", version: int = 9, **options: str
) -> hoodoo.Table:
    made = hoodoo.create(
        str(path), "id string, region string, ts bigint", record_key="id", partition_by="region",
        ordering="ts", table_type=kind, table_version=version, options=options,
    )  # fmt: skip
    made.upsert([{"id": "a", "region": "eu", "ts": 1}, {"id": "b", "region": "us", "ts": 1}])
    made.upsert([{"id": "a", "region": "eu", "ts": 2}])
    return hoodoo.open(str(path))


def with_properties(
    path: Path, changes: dict[str, Any], kind: str = "MERGE_ON_READ", **options: str
) -> Made:
    table(path, kind, **options).handle.change_properties(changes)
    return Made(path)


def unnoted_buckets(path: Path) -> Made:
    noted = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "2"}
    made = table(path, **noted)
    made.handle.change_properties(dict.fromkeys(noted))
    hoodoo.open(str(path), noted).upsert([UPDATED])
    return Made(path)


def with_text(path: Path, old: str, new: str) -> Made:
    """Its ``hoodie.properties`` is edited."""
    table(path)
    file = path / ".hoodie/hoodie.properties"
    text = file.read_text("utf-8")
    assert old in text
    file.write_text(text.replace(old, new), "utf-8")
    return Made(path)


def commits(path: Path, change: Callable[[dict[str, Any]], None]) -> Made:
    """What the commits of a table of version 6 say is edited."""
    for file in (path / ".hoodie").glob("*commit"):
        said = json.loads(file.read_text("utf-8"))
        change(said)
        file.write_text(json.dumps(said), "utf-8")
    return Made(path)


def with_block(path: Path, write: Callable[[Any], object]) -> Made:
    """The newest log file has that block, and no other."""
    table(path, version=6)
    (log,) = path.glob("eu/.*.log.*")
    local = path.with_suffix(".log")
    writer = new_log(local)
    write(writer)
    writer.close()
    log.write_bytes(local.read_bytes())
    size = log.stat().st_size

    def sized(said: dict[str, Any]) -> None:
        for stat in (one for stats in said["partitionToWriteStats"].values() for one in stats):
            if ".log." in stat["path"]:
                stat["fileSizeInBytes"] = size

    return commits(path, sized)


def hfile_block(writer: Any) -> None:
    schema = json.dumps(
        {"type": "record", "name": "r", "fields": [{"name": "id", "type": "string"}]}
    )
    writer.block(
        BlockKind.HFILE, "20200101000000000", schema, lambda file: file.write(b"DATABLK*" * 9)
    )


def java_deletes(writer: Any) -> None:
    content = struct.pack(">ii", 2, 4) + b"java"
    writer.block(BlockKind.DELETE, "20200101000000000", "{}", lambda file: file.write(content))


class Keys(encryption.KmsClient):
    def __init__(self) -> None:
        encryption.KmsClient.__init__(self)

    def wrap_key(self, key_bytes: bytes, master_key_identifier: str) -> bytes:
        return base64.b64encode(key_bytes)


def encrypted(path: Path) -> Made:
    table(path, "COPY_ON_WRITE", 6)
    factory = encryption.CryptoFactory(lambda _connection: Keys())
    sizes = {}
    for file in path.glob("*/*.parquet"):
        found = pq.ParquetFile(file).read()
        how = factory.file_encryption_properties(
            encryption.KmsConnectionConfig(),
            encryption.EncryptionConfiguration(
                footer_key="f", column_keys={"c": found.column_names}
            ),
        )
        out = io.BytesIO()
        with pq.ParquetWriter(out, found.schema, encryption_properties=how) as writer:
            writer.write_table(found)
        file.write_bytes(out.getvalue())
        sizes[file.name] = file.stat().st_size

    def sized(said: dict[str, Any]) -> None:
        for stat in (one for stats in said["partitionToWriteStats"].values() for one in stats):
            stat["fileSizeInBytes"] = sizes[Path(stat["path"]).name]

    return commits(path, sized)


def bootstrapped(path: Path) -> Made:
    with tarfile.open(ROOT / "tests/golden/data/bootstrap/metadata_only.tar.xz") as archive:
        archive.extractall(path, filter="data")
    return Made(path / "metadata_only")


def by_xtable(path: Path) -> Made:
    synced = runpy.run_path(str(ROOT / "plugins/publishing/tests/xtable.py"))["synced"]
    (path / "eu").mkdir(parents=True)
    rows = pa.table({"id": ["a"], "region": ["eu"], "ts": pa.array([1], pa.int64())})
    pq.write_table(rows, path / "eu/part-0.parquet")
    synced(path, rows.schema, {"eu/part-0.parquet"}, keys="id", partition="region")
    return Made(path)


def with_type(path: Path, kind: Any) -> Made:
    made = table(path, "COPY_ON_WRITE", 6)
    made.handle.change_properties({"hoodie.table.create.schema": None})

    def typed(said: dict[str, Any]) -> None:
        schema = json.loads(said["extraMetadata"]["schema"])
        schema["fields"].append({"name": "odd", "type": kind})
        said["extraMetadata"]["schema"] = json.dumps(schema)

    return commits(path, typed)


LIST = {
    "type": "record", "name": "chain", "fields": [{"name": "next", "type": ["null", "chain"]}],
}  # fmt: skip


def nested(path: Path) -> Made:
    table(path, "COPY_ON_WRITE", **{"hoodie.metadata.enable": "false"})
    table(path.with_name("inner"))
    shutil.copytree(path.with_name("inner") / ".hoodie", path / "eu/.hoodie")
    return Made(path)


def with_parts(path: Path, *names: str) -> Made:
    """The properties name more partitions of the metadata table, as of another writer."""
    made = table(path, **{"hoodie.metadata.enable": "true"})
    parts = ",".join([*made.config.metadata_partitions, *names])
    made.handle.change_properties({"hoodie.table.metadata.partitions": parts})
    return Made(path)


def expressions(path: Path) -> Made:
    made = with_parts(path, "expr_index_day")
    file = path / ".hoodie/.index_defs/index.json"
    file.parent.mkdir(exist_ok=True)
    said = json.loads(file.read_text("utf-8")) if file.exists() else {"indexDefinitions": {}}
    said["indexDefinitions"]["expr_index_day"] = {
        "indexName": "expr_index_day", "indexType": "column_stats", "indexFunction": "split",
        "sourceFields": ["ts"], "indexOptions": {"pattern": ","}, "version": "V2",
    }  # fmt: skip
    file.write_text(json.dumps(said), "utf-8")
    return made


def indexed(path: Path, index: str) -> Made:
    table(path)
    return Made(path, {"hoodie.index.type": index})


FORMAT = "hoodie.table.base.file.format"
MAKERS: dict[str, Callable[[Path], Made]] = {
    "of versions 0 to 5 and 7": lambda p: with_text(p, "version=9", "version=5"),
    "of a version after 9": lambda p: with_text(p, "version=9", "version=10"),
    "an upgrade was interrupted": lambda p: with_text(p, "layout.version=2", "layout.version=1"),
    "a type that is not known": lambda p: with_text(p, "MERGE_ON_READ", "MERGE_SOMEHOW"),
    LOGGED: lambda p: with_text(p, "MERGE_ON_READ", "COPY_ON_WRITE"),
    "files without the partition columns": lambda p: with_properties(
        p, {"hoodie.datasource.write.drop.partition.columns": "true"}
    ),
    "base files in ORC": lambda p: with_properties(p, {FORMAT: "ORC"}),
    "base files in HFile": lambda p: with_properties(p, {FORMAT: "HFILE"}),
    "base files in Lance": lambda p: with_properties(p, {FORMAT: "LANCE"}),
    "encrypted base files": encrypted,
    "log blocks in HFile": lambda p: with_block(p, hfile_block),
    "delete blocks of Java objects": lambda p: with_block(p, java_deletes),
    "a payload class or merger of one's own": lambda p: with_properties(p, CUSTOM),
    "the same, copy on write": lambda p: with_properties(p, CUSTOM, "COPY_ON_WRITE"),
    "a key generator of one's own": lambda p: with_properties(p, KEYS),
    "the same, with virtual keys": lambda p: with_properties(
        p, KEYS, **{"hoodie.populate.meta.fields": "false"}
    ),
    "paths of times by `CUSTOM`, or of Hudi 0.15": lambda p: with_properties(
        p,
        {
            "hoodie.table.keygenerator.type": "CUSTOM",
            "hoodie.table.keygenerator.class": None,
            "hoodie.table.partition.fields": "region:TIMESTAMP",
        },
    ),
    "buckets of Spark Hudi or Flink": unnoted_buckets,
    "bootstrapped, without its index": bootstrapped,
    "made by Apache XTable of a Delta Lake or Iceberg table": by_xtable,
    "of another table format of Hudi (`hoodie.table.format`)": lambda p: with_properties(
        p, {"hoodie.table.format": "ICEBERG"}, "COPY_ON_WRITE"
    ),
    "a column of a union of types": lambda p: with_type(p, ["int", "string"]),
    "a column whose type contains itself": lambda p: with_type(p, LIST),
    "a partition path that is another table": nested,
    "parts of the metadata table of newer releases": lambda p: with_parts(p, "geo_index_places"),
    "indexes of expressions that are not known": expressions,
    "the index HBASE": lambda p: indexed(p, "HBASE"),
    "the index FLINK_STATE": lambda p: indexed(p, "FLINK_STATE"),
}


def test_each_row_of_the_page_is_made() -> None:
    assert [row.table for row in of_page()] == [*MAKERS]
    assert all(row.why and row.fix for row in of_page())


@pytest.mark.sampled
@pytest.mark.parametrize("row", tuple(of_page()), ids=lambda row: row.table)
def test_what_happens_is_what_the_page_says(row: Row, tmp_path: Path) -> None:
    made = MAKERS[row.table](tmp_path / "t")
    plain, told = Made(made.path), []

    def tried(act: Callable[[], object]) -> str:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                act()
            except HoodooError as error:
                told.append(str(error))
                return "no"
        said = [str(w.message) for w in caught if issubclass(w.category, HoodooWarning)]
        told.extend(said)
        return "warns" if said else "yes"

    found = tried(lambda: plain.open().read().to_arrow())
    if (
        found == "no"
        and tried(lambda: plain.open().read(mode="read_optimized").to_arrow()) == "yes"
    ):
        found = "base files"
    assert found == row.read, told
    before = {p: p.stat().st_mtime_ns for p in made.path.rglob("*") if p.is_file()}
    schema = tried(lambda: plain.open().schema)
    data = [ROW]
    if "bootstrapped" in row.table and schema == "yes":
        data = pa.table({"id": ["a"], "a": pa.array([9], pa.int32()), "ts": [5]}).to_pylist()
    if row.table == LOGGED:
        data = [UPDATED]  # a row of another file group is written
    assert tried(lambda: made.open().upsert(data)) == row.written, told
    if row.written == "no":
        after = {p: p.stat().st_mtime_ns for p in made.path.rglob("*") if p.is_file()}
        left = {p: t for p, t in after.items() if p.suffix != ".crc" and not UNDONE.search(str(p))}
        assert left == {p: t for p, t in before.items() if not UNDONE.search(str(p))}
    assert any(row.message in text for text in told), told


def test_who_follows_the_fix_of_log_files_writes_on(tmp_path: Path) -> None:
    """The table becomes one that is merged on read, or again one that is copied on write."""
    made = MAKERS[LOGGED](tmp_path / "t")
    file = made.path / ".hoodie/hoodie.properties"
    text = file.read_text("utf-8")
    with pytest.raises(UnsupportedTableError, match="set hoodie.table.type=MERGE_ON_READ"):
        made.open().upsert([UPDATED])
    file.write_text(text.replace("COPY_ON_WRITE", "MERGE_ON_READ"), "utf-8")
    made.open().upsert([UPDATED, ROW])
    assert made.open().compact("unbounded").instant
    file.write_text(text, "utf-8")
    made.open().upsert([{**UPDATED, "ts": 11}])
    table = made.open()
    rows = {row["id"]: row["ts"] for row in table.read().to_pylist()}
    assert rows == {"a": 11, "b": 1, "c": 3}
    assert table.verify().findings == ()
