"""Tables as Hudi's Flink writer lays them out, made by hand after its source. docs/flink-tables.md says what is from where.

Nothing of Hoodoo writes here: commits are Avro by fastavro, base files Parquet by pyarrow, log blocks are packed below.
"""

from __future__ import annotations

import io
import json
import struct
import zlib
from collections.abc import Callable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq

Row = dict[str, Any]
META = ("_hoodie_commit_time", "_hoodie_commit_seqno", "_hoodie_record_key", "_hoodie_partition_path", "_hoodie_file_name")  # fmt: skip
OPERATION = "_hoodie_operation"
UUID = "-5c1e-4b7a-9d2f-0123456789ab"
# Index of the subtask, number of subtasks, attempt.
TOKEN = "1-4-0"
TEXTS = {pa.string(): "string", pa.int64(): "long", pa.int32(): "int"}
COLUMNS = {"id": pa.string(), "v": pa.int32(), "ts": pa.int64(), "p": pa.string()}


def instant(n: int) -> str:
    return f"202506010000{n:02d}000"


def bucket(key: str, buckets: int) -> int:
    """BucketIdentifier.getBucketId of a record key of one field: the hash of a Java list that has the text."""
    code = 0
    for char in key:
        code = (31 * code + ord(char)) & 0xFFFFFFFF
    return ((31 + code) & 0x7FFFFFFF) % buckets


def schema_text(columns: Mapping[str, pa.DataType]) -> str:
    fields = [{"name": n, "type": ["null", TEXTS[t]], "default": None} for n, t in columns.items()]
    return json.dumps({"type": "record", "name": "t_record", "namespace": "hoodie.t", "fields": fields})  # fmt: skip


class Flink:
    """One table, and a writer's view of it."""

    def __init__(
        self, path: Path, table_type: str, version: int = 9, changelog: bool = False, **properties: str
    ) -> None:  # fmt: skip
        self.path, self.version, self.changelog = path, version, changelog
        self.delta = table_type == "MERGE_ON_READ"
        hudi = path / ".hoodie"
        self.timeline = hudi / "timeline" if version > 6 else hudi
        for folder in (self.timeline, hudi / ".aux/ckp_meta", hudi / ".temp"):
            folder.mkdir(parents=True, exist_ok=True)
        if version > 6:
            (self.timeline / "history").mkdir()
        # Of its embedded server for file listings (ViewStorageProperties).
        (hudi / ".aux/view_storage_conf.properties").write_text("#Filesystem view storage properties saved on 2025\nhoodie.filesystem.view.type=REMOTE_FIRST\n")  # fmt: skip
        said = {
            "hoodie.table.name": "t", "hoodie.table.type": table_type, "hoodie.table.version": str(version),
            "hoodie.timeline.layout.version": "2" if version > 6 else "1", "hoodie.table.base.file.format": "PARQUET",
            "hoodie.datasource.write.hive_style_partitioning": "false", "hoodie.datasource.write.partitionpath.urlencode": "false",
            "hoodie.populate.meta.fields": "true", "hoodie.table.cdc.enabled": "false",
            "hoodie.table.checksum": str(zlib.crc32(b".t")), "hoodie.table.timeline.timezone": "UTC", **properties,
        }  # fmt: skip
        if version > 6:
            said |= {"hoodie.timeline.path": "timeline", "hoodie.timeline.history.path": "history", "hoodie.table.initial.version": str(version)}  # fmt: skip
        lines = [f"{key}={value}" for key, value in sorted(said.items())]
        (hudi / "hoodie.properties").write_text("#Updated\n#Sun Jun 01 00:00:00 UTC 2025\n" + "\n".join(lines) + "\n")  # fmt: skip

    # --- files ----------------------------------------------------------------------------------
    def rows(self, at: str, rows: Sequence[Row], file: str, keys: Sequence[str]) -> pa.Table:
        """With meta columns, and the operation as the sixth of them (BulkInsertWriterHelper.addMetadataFields)."""
        columns: dict[str, pa.Array] = {
            META[0]: pa.array([at] * len(rows)),
            META[1]: pa.array([f"{at}_1_{n}" for n in range(len(rows))]),
            META[2]: pa.array(keys, pa.string()),
            META[3]: pa.array([str(row.get("p", "")) for row in rows]),
            META[4]: pa.array([file] * len(rows)),
        }
        if self.changelog:
            columns[OPERATION] = pa.array([row["op"] for row in rows])
        for name, kind in self.columns.items():
            columns[name] = pa.array([row[name] for row in rows], kind)
        return pa.table(columns)

    columns = {n: COLUMNS[n] for n in ("id", "v", "ts")}

    def stat(self, group: str, path: Path, rows: int, **more: Any) -> dict[str, Any]:
        said = {
            "fileId": group, "path": str(path.relative_to(self.path)), "prevCommit": "null",
            "numWrites": rows, "numDeletes": 0, "numUpdateWrites": 0, "numInserts": rows,
            "totalWriteBytes": path.stat().st_size, "totalWriteErrors": 0,
            "partitionPath": "" if path.parent == self.path else path.parent.name,
            "fileSizeInBytes": path.stat().st_size,
        }  # fmt: skip
        return said | more

    def base(
        self, at: str, group: str, rows: Sequence[Row], token: str = TOKEN, part: str = "",
        keys: Sequence[str] = (), **more: Any,
    ) -> dict[str, Any]:  # fmt: skip
        name = f"{group}_{token}_{at}.parquet"
        folder = self.folder(at, part)
        table = self.rows(at, rows, name, keys or [row["id"] for row in rows])
        pq.write_table(table, folder / name, compression="gzip")
        return self.stat(group, folder / name, len(rows), **more)

    def folder(self, at: str, part: str) -> Path:
        folder = self.path / part if part else self.path
        folder.mkdir(exist_ok=True)
        depth = 1 if part else 0
        mark = folder / ".hoodie_partition_metadata"
        if not mark.exists():
            mark.write_text(f"#partition metadata\n#Sun Jun 01 00:00:00 UTC 2025\ncommitTime={at}\npartitionDepth={depth}\n")  # fmt: skip
        return folder

    def log(
        self, at: str, group: str, rows: Sequence[Row], named: str = "", token: str = TOKEN,
        parquet: bool = True, **more: Any,
    ) -> dict[str, Any]:  # fmt: skip
        """One block at the end of a log file, which is named after the writer, or before version 8 after the slice."""
        file = self.folder(at, "") / f".{group}_{named or at}.log.1_{token}"
        table = self.rows(at, rows, file.name, [row["id"] for row in rows])
        text = schema_text({n: table.schema.field(n).type for n in table.column_names})
        with file.open("ab") as out:
            out.write(block(at, text, parquet_content(table) if parquet else avro_content(table, text), 5 if parquet else 3))  # fmt: skip
        stat = self.stat(group, file, len(rows))
        return stat | {"logVersion": 1, "logOffset": 0, "baseFile": "", "logFiles": [file.name]} | more  # fmt: skip

    # --- timeline -------------------------------------------------------------------------------
    def commit(self, at: str, ended: str, stats: Sequence[Mapping[str, Any]], operation: str = "UPSERT") -> None:  # fmt: skip
        action = "deltacommit" if self.delta else "commit"
        for state in ("INFLIGHT", "COMPLETED"):  # CkpMessage.getFileName
            (self.path / f".hoodie/.aux/ckp_meta/{at}.{state}").write_bytes(b"")
        inflight = f"{at}.{action}.inflight" if self.delta else f"{at}.inflight"
        for name in (f"{at}.{action}.requested", inflight):
            (self.timeline / name).write_bytes(b"")
        parts: dict[str, list[Any]] = {}
        for stat in stats:
            parts.setdefault(stat["partitionPath"], []).append(dict(stat))
        # The schema of a commit has no meta columns, and the operation is one.
        extra = {"schema": schema_text(self.columns), "flink_checkpoint_id": str(int(at[12:14]))}
        record = {"partitionToWriteStats": parts, "compacted": False, "extraMetadata": extra, "operationType": operation}  # fmt: skip
        if self.version == 6:
            (self.timeline / f"{at}.{action}").write_text(json.dumps(record, indent=2))
            return
        avsc = resources.files("hoodoo.timeline").joinpath("schemas/HoodieCommitMetadata.avsc")
        out = io.BytesIO()
        fastavro.writer(out, fastavro.parse_schema(json.loads(avsc.read_text("utf-8"))), [record])
        (self.timeline / f"{at}_{ended}.{action}").write_bytes(out.getvalue())


def block(at: str, text: str, content: bytes, kind: int) -> bytes:
    """Magic, size, format version, kind, headers (0 instant, 2 schema), content, no footers, size with the magic."""
    heads = struct.pack(">i", 2)
    for key, value in ((0, at), (2, text)):
        heads += struct.pack(">ii", key, len(value)) + value.encode()
    inner = struct.pack(">ii", 1, kind) + heads + struct.pack(">q", len(content)) + content + struct.pack(">i", 0)  # fmt: skip
    return b"#HUDI#" + struct.pack(">q", len(inner) + 8) + inner + struct.pack(">q", len(inner) + 14)  # fmt: skip


def parquet_content(table: pa.Table) -> bytes:
    out = io.BytesIO()
    pq.write_table(table, out, compression="gzip")
    return out.getvalue()


def avro_content(table: pa.Table, text: str) -> bytes:
    out = struct.pack(">ii", 3, table.num_rows)
    for row in table.to_pylist():
        one = io.BytesIO()
        fastavro.schemaless_writer(one, fastavro.parse_schema(json.loads(text)), row)
        out += struct.pack(">i", one.tell()) + one.getvalue()
    return out


# --- the tables: each makes one, and says its rows ----------------------------------------------------
KEYED = {"hoodie.table.recordkey.fields": "id", "hoodie.table.keygenerator.type": "NON_PARTITION_AVRO"}  # fmt: skip
BY_TIME = {"hoodie.table.ordering.fields": "ts", "hoodie.record.merge.mode": "EVENT_TIME_ORDERING"}
BUCKETS = 4


def row(key: str, v: int, ts: int, op: str = "I") -> Row:
    return {"id": key, "v": v, "ts": ts, "op": op}


def by_bucket(rows: Sequence[Row], suffix: str = UUID) -> dict[str, list[Row]]:
    """File id -> rows. BucketIdentifier.newBucketFileIdPrefix: eight digits in the place of the first eight of a UUID, and
    nothing behind, as BucketStreamWriteFunction takes the prefix for the file id."""
    found: dict[str, list[Row]] = {}
    for one in rows:
        found.setdefault(f"{bucket(one['id'], BUCKETS):08d}{suffix}", []).append(one)
    return found


FIRST = [row(f"k{n}", n, 10) for n in range(12)]
LATER = [row("k1", 101, 11), row("k2", 102, 9), row("k20", 20, 11)]
MERGED = {**{f"k{n}": n for n in range(12)}, "k1": 101, "k20": 20}  # k2 came late


def buckets_mor(path: Path) -> dict[str, int]:
    """Merge on read with a bucket index: inserts go into log files, too, so slices have no base file."""
    table = Flink(path, "MERGE_ON_READ", **KEYED, **BY_TIME)
    for n, rows in ((1, FIRST), (3, LATER)):
        at = instant(n)
        table.commit(at, instant(n + 1), [table.log(at, group, some) for group, some in by_bucket(rows).items()])  # fmt: skip
    return MERGED


def buckets_mor_v6(path: Path) -> dict[str, int]:
    """Before version 8: Avro blocks of two commits in one log file, which FlinkAppendHandle appends to."""
    table = Flink(
        path, "MERGE_ON_READ", 6, **{"hoodie.table.recordkey.fields": "id", "hoodie.table.precombine.field": "ts"},
        **{"hoodie.table.keygenerator.class": "org.apache.hudi.keygen.NonpartitionedAvroKeyGenerator",
           "hoodie.compaction.payload.class": "org.apache.hudi.common.model.EventTimeAvroPayload"},
    )  # fmt: skip
    began: dict[str, str] = {}
    for n, rows in ((1, FIRST), (3, LATER)):
        at, stats = instant(n), []
        for group, some in by_bucket(rows).items():
            named = began.setdefault(group, at)
            stats.append(table.log(at, group, some, named, parquet=False) | {"prevCommit": named})
        table.commit(at, at, stats)
    return MERGED


def buckets_cow(path: Path) -> dict[str, int]:
    """Copy on write with a bucket index. The second merge of a checkpoint rolls over to a name with a token of four
    parts (FlinkMergeHandle.newFileNameWithRollover)."""
    table = Flink(path, "COPY_ON_WRITE", **KEYED, **BY_TIME)
    first, later = by_bucket(FIRST), by_bucket(LATER)
    at = instant(1)
    table.commit(at, instant(2), [table.base(at, group, some) for group, some in first.items()])
    at, stats = instant(3), []
    for group, some in later.items():
        whole = {one["id"]: one for one in first[group]}
        whole |= {new["id"]: new for new in some if new["ts"] >= whole.get(new["id"], new)["ts"]}
        stats.append(table.base(at, group, list(whole.values()), f"{TOKEN}-0", prevCommit=instant(1)))  # fmt: skip
    table.commit(at, instant(4), stats)
    return MERGED


def non_blocking(path: Path) -> dict[str, int]:
    """Two writers at the same time (NON_BLOCKING_CONCURRENCY_CONTROL): the file id of a bucket is fixed, so that both
    write log files of one group; the first to begin is the last to end."""
    table = Flink(path, "MERGE_ON_READ", **KEYED, **BY_TIME)
    fixed = "-0000-0000-0000-000000000000-0"
    writers = [(instant(1), instant(4), FIRST, "0-2-0"), (instant(2), instant(3), LATER, "1-2-0")]
    for at, ended, rows, token in writers:
        stats = [table.log(at, g, some, token=token) for g, some in by_bucket(rows, fixed).items()]
        table.commit(at, ended, stats)
    return MERGED


def changelog(path: Path) -> dict[str, int]:
    """`changelog.enabled`: the operation of each row is stored; those before an update are deletes for who merges."""
    table = Flink(path, "MERGE_ON_READ", changelog=True, **KEYED, **BY_TIME)
    at = instant(1)
    table.commit(at, instant(2), [table.base(at, group, some) for group, some in by_bucket(FIRST).items()])  # fmt: skip
    at = instant(3)
    rows = [row("k1", 1, 11, "-U"), row("k1", 101, 12, "U"), row("k2", 2, 11, "D"), row("k20", 20, 11)]  # fmt: skip
    stats = [table.log(at, group, some, baseFile=f"{group}_{TOKEN}_{instant(1)}.parquet", prevCommit=instant(1)) for group, some in by_bucket(rows).items()]  # fmt: skip
    table.commit(at, instant(4), stats)
    return {**{k: v for k, v in MERGED.items() if k != "k2"}}


def appended(path: Path) -> dict[str, int]:
    """Append mode without a primary key: keys are made (AutoRowDataKeyGen), files are new ones of UUID and number."""
    table = Flink(
        path, "COPY_ON_WRITE", **{"hoodie.table.partition.fields": "p", "hoodie.table.keygenerator.type": "SIMPLE_AVRO", "hoodie.record.merge.mode": "COMMIT_TIME_ORDERING"},
    )  # fmt: skip
    table.columns = COLUMNS
    for n in (1, 3):
        at, stats = instant(n), []
        for number, part in enumerate(("a", "b")):
            rows = [{**row(f"k{n}{part}{i}", i, n), "p": part} for i in range(3)]
            keys = [f"{at}_1_{number * 3 + i}" for i in range(3)]
            stats.append(table.base(at, f"0f{n}d8a4b{UUID}-{number}", rows, part=part, keys=keys))
        table.commit(at, instant(n + 1), stats, "INSERT")
    return {f"k{n}{part}{i}": i for n in (1, 3) for part in "ab" for i in range(3)}


TABLES: dict[str, Callable[[Path], dict[str, int]]] = {
    made.__name__: made
    for made in (buckets_mor, buckets_mor_v6, buckets_cow, non_blocking, changelog, appended)
}
