"""Payload classes of Hudi: tables of real Spark Hudi and of Hoodoo, which both go on to write."""

from __future__ import annotations

from pathlib import Path

import hoodoo
import pyarrow as pa
import pytest
from both import Spark, same_rows

MODEL = "org.apache.hudi.common.model."
UNAVAILABLE = "__debezium_unavailable_value"
CLASSES = {
    "partial_update": f"{MODEL}PartialUpdateAvroPayload",
    "overwrite_non_defaults": f"{MODEL}OverwriteNonDefaultsWithLatestAvroPayload",
    "aws_dms": f"{MODEL}AWSDmsAvroPayload",
    "postgres_debezium": f"{MODEL}debezium.PostgresDebeziumAvroPayload",
    "mysql_debezium": f"{MODEL}debezium.MySqlDebeziumAvroPayload",
}
ORDERING = {
    "partial_update": "ts",
    "postgres_debezium": "_event_lsn",
    "mysql_debezium": "_event_bin_file,_event_pos",
}
SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("notes", pa.string()),
        ("raw", pa.binary()),
        ("ts", pa.int64()),
        ("_event_lsn", pa.int64()),
        ("_event_seq", pa.string()),
        ("_event_bin_file", pa.string()),
        ("_event_pos", pa.int64()),
        ("_change_operation_type", pa.string()),
        ("Op", pa.string()),
    ]
)
SAYS = ("hoodie.record.merge", "payload", "partial.update", "ordering", "precombine")


def events(*given: tuple[int, str | None, int, str]) -> pa.Table:
    return pa.Table.from_pylist(
        [
            {
                "id": id,
                "notes": notes,
                "raw": None if notes is None else notes.encode(),
                "ts": at,
                "_event_lsn": at,
                "_event_seq": f"{at:06}.{at}",
                "_event_bin_file": f"mysql-bin.{at:06}",
                "_event_pos": at,
                "_change_operation_type": operation,
                "Op": operation.upper(),
            }
            for id, notes, at, operation in given
        ],
        SCHEMA,
    )


def options(merger: str, table_type: str, version: int) -> dict[str, str]:
    write = "hoodie.datasource.write."
    found = {
        "hoodie.table.name": "t",
        f"{write}recordkey.field": "id",
        f"{write}table.type": table_type,
        f"{write}payload.class": CLASSES[merger],
        "hoodie.metadata.enable": "false",
        "hoodie.compact.inline": "false",
    }
    if version != 9:
        found["hoodie.write.table.version"] = str(version)
        found["hoodie.write.auto.upgrade"] = "false"
    ordering = ORDERING.get(merger)
    if ordering is not None:
        before = merger == "mysql_debezium" and version != 9
        found["hoodie.table.ordering.fields"] = "_event_seq" if before else ordering
    return found


def said(path: Path) -> dict[str, str]:
    properties = hoodoo.open(str(path)).config.properties
    return {key: properties[key] for key in properties if any(part in key for part in SAYS)}


@pytest.mark.parametrize("version", [9, 8])
@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize("merger", CLASSES)
def test_both_write(
    tmp_path: Path, spark: Spark, merger: str, table_type: str, version: int
) -> None:
    """A table that Spark made, and one that Hoodoo made: they say the same, and rows become the same."""
    given = options(merger, table_type, version)
    first = events(*((n, "old", 5, "c") for n in range(1, 8)))
    missing = UNAVAILABLE if merger == "postgres_debezium" else None
    second = events(
        (1, "new", 6, "u"), (2, missing, 6, "u"), (3, "late", 4, "u"), (4, "old", 7, "d")
    )
    third = events(
        (5, missing, 8, "u"), (6, "late", 3, "u"), (7, "old", 9, "d"), (8, "first", 1, "c"),
        (4, "again", 9, "c"),
    )  # fmt: skip
    by_time = merger in ORDERING
    deletes = merger not in ("partial_update", "overwrite_non_defaults")
    filled = "old" if merger not in ("aws_dms", "mysql_debezium") else None
    expected = {1: "new", 2: filled, 3: "old" if by_time else "late", 4: "again"}
    expected |= {5: filled, 6: "old" if by_time else "late", 8: "first"}
    expected |= {} if deletes else {7: "old"}

    def check(path: Path, wanted: dict[int, str | None]) -> None:
        ours = hoodoo.open(str(path)).read(meta=True).to_arrow()
        theirs = spark.read(path, {"hoodie.metadata.enable": "false"})
        assert {one["id"]: one["notes"] for one in ours.to_pylist()} == wanted
        # Readers in Spark fill texts, but no bytes.
        values = [n for n in SCHEMA.names if n != "raw" or merger != "postgres_debezium"]
        same_rows(ours.select(values), theirs.select(values), path.name)

    def by_hoodoo(path: Path, data: pa.Table) -> None:
        hoodoo.open(str(path)).upsert(data)

    def by_spark(path: Path, data: pa.Table) -> None:
        spark.write(path, data, "upsert", given)

    made = []
    for name, turns in {
        "spark": (by_spark, by_hoodoo, by_spark),
        "hoodoo": (by_hoodoo, by_spark, by_hoodoo),
    }.items():
        path = tmp_path / name
        if name == "hoodoo":
            ordering = "ts" if merger == "partial_update" else ()
            hoodoo.create(
                str(path), SCHEMA, name="t", record_key="id", ordering=ordering, merger=merger,
                table_type=table_type, table_version=version,
            )  # fmt: skip
        for write, data in zip(turns, (first, second, third), strict=True):
            write(path, data)
        check(path, expected)
        if table_type == "MERGE_ON_READ":
            hoodoo.open(str(path)).compact()
            check(path, expected)
        made.append(said(path))
    assert made[0] == made[1]
