"""One dictionary of options: the table that Spark Hudi makes of it, and the one of ``hoodoo.create``."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from both import Spark
from hoodoo.errors import HoodooWarning
from hoodoo.kernel.registry import kernel
from hoodoo.model.config import TableConfig
from spark_hudi import HudiError

WRITE, TIME = "hoodie.datasource.write.", "hoodie.keygen.timebased."
KEYGEN, MODEL = "org.apache.hudi.keygen.", "org.apache.hudi.common.model."
SCHEMA = pa.schema(
    [
        ("ts", pa.int64()), ("uuid", pa.string()), ("rider", pa.string()), ("driver", pa.string()),
        ("fare", pa.float64()), ("city", pa.string()),
    ]
)  # fmt: skip
# The rows of Hudi's quickstart.
TRIPS = [
    (
        1695159649087,
        "334e26e9-8355-45cc-97c6-c31daf0df330",
        "rider-A",
        "driver-K",
        19.10,
        "san_francisco",
    ),
    (
        1695091554788,
        "e96c4396-3fad-413a-a942-4cb36106d721",
        "rider-C",
        "driver-M",
        27.70,
        "san_francisco",
    ),
    (
        1695046462179,
        "9909a8b1-2d15-4d3d-8ec9-efc48c536a00",
        "rider-D",
        "driver-L",
        33.90,
        "san_francisco",
    ),
    (
        1695516137016,
        "e3cf430c-889d-4015-bc98-59bdce1e530c",
        "rider-F",
        "driver-P",
        34.15,
        "sao_paulo",
    ),
    (
        1695115999911,
        "c8abbe79-8d89-47ea-b4ce-4d224bae5bfa",
        "rider-J",
        "driver-T",
        17.85,
        "chennai",
    ),
]
# Updates: a newer row, a late one, one in the same place, and a new key.
MORE = [
    (1695159650000, *TRIPS[0][1:4], 25.0, TRIPS[0][5]),
    (1600000000000, *TRIPS[3][1:4], 0.5, TRIPS[3][5]),
    (TRIPS[4][0], *TRIPS[4][1:4], 18.0, TRIPS[4][5]),
    (1695200000000, "new", "rider-Z", "driver-Z", 1.0, "chennai"),
]
TRIP = {"hoodie.table.name": "trips_table", f"{WRITE}recordkey.field": "uuid"}
CITY = {f"{WRITE}partitionpath.field": "city"}
TS = {f"{WRITE}precombine.field": "ts"}
MOR = {f"{WRITE}table.type": "MERGE_ON_READ"}
V6 = {"hoodie.write.table.version": "6", "hoodie.write.auto.upgrade": "false"}
DATES = {f"{TIME}timestamp.type": "EPOCHMILLISECONDS", f"{TIME}output.dateformat": "yyyy-MM-dd",
         f"{TIME}timezone": "UTC"}  # fmt: skip
DICTIONARIES: dict[str, dict[str, str]] = {
    "quickstart": {**TRIP, **CITY},
    "older quickstart": {
        **TRIP, **CITY, **TS, f"{WRITE}table.name": "trips_table",
        "hoodie.upsert.shuffle.parallelism": "2", "hoodie.insert.shuffle.parallelism": "2",
    },
    "hive style": {
        **TRIP, **TS, f"{WRITE}partitionpath.field": "city,rider",
        f"{WRITE}hive_style_partitioning": "true", f"{WRITE}partitionpath.urlencode": "true",
    },
    "merge on read": {**TRIP, **CITY, **TS, **MOR},
    "two ordering columns": {**TRIP, **MOR, "hoodie.table.ordering.fields": "ts,fare"},
    "custom": {
        **TRIP, **TS, f"{WRITE}partitionpath.field": "city:SIMPLE,ts:TIMESTAMP",
        f"{WRITE}keygenerator.class": KEYGEN + "CustomKeyGenerator", **DATES,
    },
    "timestamp": {
        **TRIP, f"{WRITE}partitionpath.field": "ts",
        f"{WRITE}keygenerator.class": KEYGEN + "TimestampBasedKeyGenerator",
        "hoodie.deltastreamer.keygen.timebased.timestamp.type": "EPOCHMILLISECONDS",
        "hoodie.deltastreamer.keygen.timebased.output.dateformat": "yyyy-MM",
    },
    "composite": {**TRIP, **CITY, f"{WRITE}recordkey.field": "uuid,rider"},
    "complex of one": {**TRIP, **CITY, **TS, f"{WRITE}keygenerator.class": KEYGEN + "ComplexKeyGenerator"},
    "not partitioned": {**TRIP, f"{WRITE}keygenerator.class": KEYGEN + "NonpartitionedKeyGenerator"},
    "bucket": {
        **TRIP, **CITY, **TS, "hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "4",
        "hoodie.index.bucket.engine": "SIMPLE", "hoodie.bucket.index.hash.field": "uuid",
    },
    "virtual keys": {**TRIP, **CITY, "hoodie.populate.meta.fields": "false"},
    "latest payload": {**TRIP, **TS, f"{WRITE}payload.class": MODEL + "OverwriteWithLatestAvroPayload"},
    "default payload": {
        **TRIP, **TS, **MOR, f"{WRITE}payload.class": MODEL + "DefaultHoodieRecordPayload",
    },
    "mode": {**TRIP, **TS, "hoodie.write.record.merge.mode": "COMMIT_TIME_ORDERING"},
    "generated keys": {"hoodie.table.name": "trips_table", **CITY, f"{WRITE}operation": "insert"},
    "version 6": {**TRIP, **CITY, **TS, **V6},
    "version 6, merge on read": {**TRIP, **CITY, **TS, **MOR, **V6},
    "version 6, custom": {
        **TRIP, **TS, **V6, f"{WRITE}partitionpath.field": "city:SIMPLE,ts:TIMESTAMP",
        f"{WRITE}keygenerator.class": KEYGEN + "CustomKeyGenerator", **DATES,
    },
    "database": {**TRIP, "hoodie.database.name": "db", "hoodie.table.cdc.enabled": "true"},
}  # fmt: skip


def made(rows: list[tuple[Any, ...]]) -> pa.Table:
    return pa.table([list(column) for column in zip(*rows, strict=True)], schema=SCHEMA)


def meaning(config: TableConfig) -> dict[str, Any]:
    """What decides the bytes of keys, paths and rows, however it is written down."""
    generator = kernel().find("key_generator", config.key_generator or "")
    payload = config.get("hoodie.compaction.payload.class")
    merger = kernel().find("merger", payload or config.merge_mode or "")
    return {
        "name": config.name,
        "version": config.version,
        "layout": config.layout_version,
        "type": config.table_type,
        "keys": config.record_key_fields,
        "paths": config.partition_fields,
        "types": config.get("hoodie.table.partition.fields") or "",
        "ordering": config.ordering_fields,
        "generator": generator and generator.name,
        "merger": merger and merger.name,
        "meta": config.populate_meta_fields,
        "hive": config.hive_style,
        "encoded": config.url_encode,
        "dropped": config.drop_partition_columns,
        "format": config.base_file_format,
        "cdc": config.get("hoodie.table.cdc.enabled") or "false",
    }


def times(config: TableConfig) -> dict[str, str]:
    return {k: v for k, v in config.properties.items() if k.startswith(TIME)}


def texts(found: pa.Table, columns: list[str]) -> list[str]:
    return sorted(map(repr, found.select(columns).to_pylist()))


@pytest.mark.parametrize("name", DICTIONARIES)
def test_the_same_dictionary_makes_the_same_table(spark: Spark, tmp_path: Path, name: str) -> None:
    options = DICTIONARIES[name]
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    operation = options.get(f"{WRITE}operation", "upsert")
    batches = [made(TRIPS), made(MORE)]
    for batch in batches:
        spark.write(theirs, batch, operation, options)
    with _no_effect():
        table = hoodoo.create(str(ours), SCHEMA, options=options)
        for batch in batches:
            with _no_effect():
                job = hoodoo.open(str(ours), options)  # a job hands its options over each time
            getattr(job, operation)(batch)
    other = hoodoo.open(str(theirs))
    assert meaning(table.config) == meaning(other.config)
    # Spark notes the formats of times for the generator TIMESTAMP alone; Hoodoo for CUSTOM, too, and zones.
    assert times(other.config).items() <= times(table.config).items()
    by_time = "ts" in table.config.partition_fields
    columns = list(SCHEMA.names)
    if table.config.populate_meta_fields:
        columns.append("_hoodie_partition_path")
        columns += ["_hoodie_record_key"] if table.config.record_key_fields else []
    wanted = texts(other.read(meta=True).to_arrow(), columns)
    # Where the time says the partition, the late row goes to another one than its key is in.
    assert len(wanted) == (9 if operation == "insert" else 7 if by_time else 6)
    assert texts(table.read(meta=True).to_arrow(), columns) == wanted
    # Of such a column Spark's reader may have the text of the path; beside another one it cannot read any
    # table, its own neither.
    reads = "custom" not in name
    if not reads:
        with pytest.raises(HudiError, match="partition column"):
            spark.read(theirs)
    seen = [c for c in columns if not (by_time and c == "ts")]
    if reads:
        for path in (theirs, ours):
            assert texts(spark.read(path), seen) == texts(other.read(meta=True).to_arrow(), seen), (
                path
            )
    if operation == "insert":
        return
    # Each goes on with the other's table, by the same dictionary.
    again = made([(TRIPS[1][0] + 1, *TRIPS[1][1:4], 99.0, TRIPS[1][5])])
    spark.write(ours, again, "upsert", options)
    with _no_effect():
        hoodoo.open(str(theirs), options).upsert(again)
    wanted = texts(other.read(meta=True).to_arrow(), columns)
    assert len(wanted) == (7 if by_time else 6) and sum("99.0" in row for row in wanted) == 1
    assert texts(table.read(meta=True).to_arrow(), columns) == wanted
    if reads:
        for path in (theirs, ours):
            assert texts(spark.read(path), seen) == texts(other.read(meta=True).to_arrow(), seen), (
                path
            )


def _no_effect() -> Any:
    """Of some options Hoodoo says that they have no effect; that of a stale metadata table is expected, too."""
    return warnings.catch_warnings(action="ignore", category=HoodooWarning)
