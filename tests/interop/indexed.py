"""What the tests of the metadata table share: a table with all four partitions, and what must hold of it
after each step."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import hoodoo
import pyarrow as pa
import pyarrow.compute as pc
from both import Both, same_rows
from hoodoo_metadata.partitions.record_index.index import RecordIndex
from hoodoo_standard.storage.local import LocalStorage
from model import Model, Row, table
from mor import wheel

# Spark removes partitions that its own options do not ask for.
KEPT = {
    "hoodie.metadata.enable": "true",
    "hoodie.metadata.index.column.stats.enable": "true",
    "hoodie.metadata.global.record.level.index.enable": "true",
}
# As Hudi 0.15 calls it; 1.2 knows these names, too.
KEPT_BY_0_15 = {
    "hoodie.metadata.record.index.enable": "true",
    "hoodie.index.type": "RECORD_INDEX",
    "hoodie.datasource.write.precombine.field": "ts",
}
SKIPPING = {"hoodie.metadata.enable": "true", "hoodie.enable.data.skipping": "true"}
PLAIN = {"hoodie.metadata.enable": "false", "hoodie.enable.data.skipping": "false"}
KINDS = [
    ("COPY_ON_WRITE", "region"),
    ("COPY_ON_WRITE", ""),
    ("MERGE_ON_READ", "region"),
    ("MERGE_ON_READ", ""),
]
IDS = ["cow", "cow-plain", "mor", "mor-plain"]
SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("name", pa.string()),
        ("ts", pa.int64()),
        ("region", pa.string()),
        ("n", pa.int32()),
        ("d", pa.float64()),
        ("day", pa.date32()),
        ("at", pa.timestamp("us", "UTC")),
        ("amount", pa.decimal128(10, 2)),
        ("flag", pa.bool_()),
    ]
)
GONE = [f"k{n}" for n in range(60)]
STRANGE = ["a,b", "c:d", "ключ", "𝄞 clef", "with space", "x:1,y:2", "'q'", "-", "_.%2F"]
NOON = datetime(2024, 2, 29, 12, tzinfo=timezone.utc)
# What Spark says when it does without the metadata table or its index.
_DOES_WITHOUT = re.compile(
    r"re-?initiali[sz]|[Ff]alling back|[Ff]all back|not initialized|[Ff]ailed to (instantiate|initialize)"
    r"|Deleting Metadata|[Ss]purious|Deleting MDT|does not exist.*[Mm]etadata|Could not (read|load).*metadata"
)


def setup(both: Both, kind: str, partition: str, index: str = "GLOBAL_RECORD_LEVEL_INDEX") -> Both:
    """A table, still to be made, with a record index on both sides; of version 6 where ``both`` says so."""
    parts = [partition] if partition else []
    both.setup(Model(("id",)), SCHEMA, both.version, index, True, parts, table_type=kind)
    both.options.update(KEPT)
    if both.version == 6:
        both.options.update(KEPT_BY_0_15)
    both.options["hoodie.metadata.index.partition.stats.enable"] = str(bool(partition)).lower()
    both.opened = {"options": {"hoodie.index.type": "RECORD_INDEX"}}
    return both


def made(both: Both, kind: str, partition: str, **options: str) -> Both:
    """Made by Hoodoo."""
    setup(both, kind, partition)
    both.opened["options"].update({k.replace("__", "."): v for k, v in options.items()})
    both.create(both.opened["options"], index="record_index")
    del both.opened["options"]["hoodie.index.type"]  # the table says it
    return both


def rows(numbers: Iterable[int | str], ts: int, name: str) -> list[Row]:
    """The region follows from the key; the other columns from key and ``ts``."""
    return [_row(key, ts, name) for key in numbers]


def _row(key: int | str, ts: int, name: str) -> Row:
    n = key if isinstance(key, int) else 1000 + len(key)
    return {
        "id": f"k{key}" if isinstance(key, int) else key,
        "name": f"{name}-{key}",
        "ts": ts,
        "region": "eu" if n % 2 else "us",
        "n": None if n % 7 == 6 else n,
        "d": n / 3 - ts,
        "day": date(2024, 1, 1) + timedelta(days=n),
        "at": NOON + timedelta(hours=n, microseconds=ts),
        "amount": Decimal(n * 25 - 500) / 100,
        "flag": None if n % 5 == 4 else n % 3 == 0,
    }


def partitions_of(both: Both) -> set[str]:
    listed = {"files", "column_stats", "record_index"}
    if both.version == 6:
        return listed
    parted = "hoodie.datasource.write.partitionpath.field" in both.options
    return listed | ({"partition_stats"} if parted else set())


def check(both: Both, where: str, spark: bool = True, keys: Sequence[str] = ()) -> None:
    """Three readers see the model; nothing is wrong with the table; the index names the file group of each
    live key and none of any other of ``keys``; Spark said nothing of doing without its metadata table."""
    opened = both.hoodoo()
    assert set(opened.config.metadata_partitions) == partitions_of(both), where
    ours = opened.read(meta=True).to_arrow()
    both.model.expect(ours, f"{where}, read by Hoodoo")
    theirs = wheel(both.path)
    assert theirs is not None or not ours.num_rows, where
    if theirs is not None:
        same_rows(ours, theirs, f"{where}, read by hudi")
    if spark:
        at = said(both)
        seen = both.spark_read(**{k.replace(".", "__"): v for k, v in SKIPPING.items()})
        same_rows(ours, seen, f"{where}, read by Spark")
        assert doubts(both, at) == [], where
    report = opened.verify()
    assert not report.findings, (where, [str(f) for f in report.findings[:3]])
    check_index(both, ours, where, keys)


def check_index(both: Both, found: pa.Table, where: str, more: Sequence[str] = ()) -> None:
    """``found`` are all rows, with meta columns."""
    asked = {*found.column("_hoodie_record_key").to_pylist(), *more, "no such key"}
    storage = LocalStorage(str(both.path))
    index = RecordIndex.open(storage, both.hoodoo().timeline())
    told = index.locations(pa.array(sorted(asked), pa.string()))
    said_of = {
        key: (path, file_id)
        for key, path, file_id in zip(
            *(told.column(n).to_pylist() for n in ("record_key", "partition_path", "file_id")),
            strict=True,
        )
    }
    assert len(said_of) == told.num_rows, where
    # A row of a log file bears the bare file id, one of a base file the file's name.
    names = pc.list_element(pc.split_pattern(found.column("_hoodie_file_name"), "_"), 0)
    lies = {
        key: (path, name)
        for key, path, name in zip(
            found.column("_hoodie_record_key").to_pylist(),
            found.column("_hoodie_partition_path").to_pylist(),
            names.to_pylist(),
            strict=True,
        )
    }
    assert said_of == lies, where


# --- Spark ----------------------------------------------------------------------------------------
def said(both: Both) -> int:
    """How much Spark has said by now."""
    return both.spark.worker.log_path.stat().st_size


def doubts(both: Both, since: int) -> list[str]:
    """The lines of Spark's log, after the first ``since`` bytes, on doing without the metadata table."""
    with both.spark.worker.log_path.open("rb") as log:
        log.seek(since)
        lines = log.read().decode("utf-8", "replace").splitlines()
    return [line for line in lines if _DOES_WITHOUT.search(line)]


def select(both: Both, where: str, options: dict[str, str] = SKIPPING) -> list[str]:
    """Ids of the rows that Spark finds by a predicate in SQL."""
    given = ", ".join(f"`{key}` '{value}'" for key, value in options.items())
    sql = both.spark.worker.sql
    sql(f"CREATE OR REPLACE TEMPORARY VIEW seen USING hudi OPTIONS (path '{both.path}', {given})")
    return sorted(row["id"] for row in sql(f"SELECT id FROM seen WHERE {where}"))


def procedure(both: Both, name: str, **arguments: Any) -> list[dict[str, Any]]:
    """A stored procedure on the table, by a session that keeps all partitions."""
    given = ", ".join(
        f"{key} => {value!r}" for key, value in {"path": str(both.path), **arguments}.items()
    )
    session = {**KEPT, "hoodie.metadata.index.partition.stats.enable": both.options[
        "hoodie.metadata.index.partition.stats.enable"]}  # fmt: skip
    both.spark.worker.set(session)
    try:
        return both.spark.worker.call(f"{name}({given})")
    finally:
        both.spark.worker.unset(list(session))


# --- Hoodoo ---------------------------------------------------------------------------------------
def written(both: Both, found: list[Row]) -> pa.Table:
    return table(found, both.schema)


def compact_metadata(both: Both) -> None:
    assert both.hoodoo().compact_metadata()


def newest(both: Both) -> str:
    writes: tuple[hoodoo.Instant, ...] = both.hoodoo().timeline().writes()
    return str(writes[-1].requested)


# --- both -----------------------------------------------------------------------------------------
def by_turns(both: Both, first: int) -> None:
    """Each side updates, inserts and deletes what the other one wrote last."""
    at = said(both)
    both.spark_upsert(rows([*range(10, 30), "ключ", "a,b"], first, "spark"))
    both.spark_write("insert", both.model.upsert(rows(range(40, 46), first, "spark")))
    both.spark_delete(rows([2, 3, 25, "c:d"], first, ""))
    check(both, "Spark deletes", keys=GONE)
    both.hoodoo_upsert(rows([*range(2, 16), 44, 50, 51, "c:d"], first + 1, "hoodoo"))
    check(both, "Hoodoo upserts", spark=False, keys=GONE)
    both.hoodoo_delete(rows([2, 11, 26, 45, "-"], first + 1, ""))
    both.hoodoo().insert(written(both, both.model.upsert(rows([26, 52], first + 1, "hoodoo"))))
    check(both, "Hoodoo deletes and inserts", keys=GONE)
    # By the older name of the same index.
    older = {"hoodie.index.type": "RECORD_INDEX"}
    found = both.model.upsert(rows([1, 2, 11, 26, 45, 51, 53, "-"], first + 2, "again"))
    both.spark_write("upsert", found, older)
    check(both, "Spark upserts again", keys=GONE)
    assert doubts(both, at) == []
