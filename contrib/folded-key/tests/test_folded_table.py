"""A table of this key generator, from end to end, by its name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.errors import ConfigError, DuplicateKeyError, OptionConflictError
from hoodoo_rows.testing.tables import Tuples

SCHEMA = pa.schema([("email", pa.string()), ("city", pa.string())])
VIRTUAL = {"hoodie.recordkey.virtual.enabled": "true"}

rows = Tuples(SCHEMA)


def cities(table: Any) -> dict[str, str]:
    found = table.read(columns=["email", "city"]).to_arrow().to_pylist()
    return {row["email"]: row["city"] for row in found}


@pytest.mark.parametrize("options", [{}, VIRTUAL], ids=["stored", "virtual"])
@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize("version", [9, 6])
def test_one_person(tmp_path: Path, version: int, table_type: str, options: dict[str, str]) -> None:
    path = str(tmp_path / "people")
    hoodoo.create(
        path, SCHEMA, record_key="email", key_generator="folded", table_version=version,
        table_type=table_type, options=options,
    )  # fmt: skip
    table = hoodoo.open(path)  # found by the name in the table
    table.upsert(rows(("Ada@X.org", "London"), ("bob@x.org", "Rome")))
    commit = hoodoo.open(path).upsert(rows(("ada@x.org ", "Turin"), ("cy@x.org", "Oslo")))
    assert (commit.inserted, commit.updated) == (1, 1)
    assert cities(table) == {"ada@x.org ": "Turin", "bob@x.org": "Rome", "cy@x.org": "Oslo"}
    table.delete(["BOB@x.org"])
    if table_type == "MERGE_ON_READ":
        table.compact()
    assert cities(table) == {"ada@x.org ": "Turin", "cy@x.org": "Oslo"}


def test_the_option_is_the_tables(tmp_path: Path) -> None:
    path, key = str(tmp_path / "people"), "hoodoo.folded_key.keep_blanks"
    hoodoo.create(path, SCHEMA, record_key="email", key_generator="folded", options={key: "true"})
    table = hoodoo.open(path)
    table.upsert(rows(("ada", "London"), ("Ada ", "Turin")))
    assert len(cities(table)) == 2
    with pytest.raises(OptionConflictError):
        hoodoo.open(path, options={key: "false"})


def test_columns_that_it_does_not_take(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match="one record key column and no partition columns, not 1 and 1"
    ):
        hoodoo.create(
            str(tmp_path / "people"), SCHEMA, record_key="email", partition_by="city",
            key_generator="folded",
        )  # fmt: skip


@pytest.mark.spark
def test_on_spark(tmp_path: Path, spark: Any) -> None:
    path = str(tmp_path / "people")
    table = hoodoo.create(
        path, SCHEMA, record_key="email", key_generator="folded", engine="spark", options=VIRTUAL
    )
    frame = spark.range(100).selectExpr("concat('P', id) AS email", "'first' AS city")
    table.upsert(frame)
    late = spark.range(50, 150).selectExpr("concat(' p', id) AS email", "'late' AS city")
    commit = table.upsert(late)
    assert (commit.inserted, commit.updated) == (50, 50)
    assert len(cities(table)) == 150


def test_a_merge_brings_in_no_key_twice(tmp_path: Path) -> None:
    """Texts that differ may be one key, and a merge compares texts."""
    table = hoodoo.create(
        str(tmp_path / "people"), SCHEMA, record_key="email", key_generator="folded"
    )
    table.upsert(rows(("ada@x.org", "London")))
    merge = table.merge(rows(("ADA@x.org", "Turin")), on="email").when_matched_update_all()
    with pytest.raises(DuplicateKeyError):
        merge.when_not_matched_insert_all().execute()
    assert cities(table) == {"ada@x.org": "London"}
