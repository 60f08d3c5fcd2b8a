"""Rows with `_hoodie_operation`, as Flink's changelog tables have them: D and -U are deletes that compare like any row."""

from __future__ import annotations

import json
import re
from pathlib import Path

import hoodoo
import pyarrow as pa
import pytest
from hoodoo_rows.testing.tables import Tuples

SCHEMA = pa.schema(
    [("id", pa.string()), ("n", pa.int32()), ("ts", pa.int64()), ("_hoodie_operation", pa.string())]
)
FIRST = [(str(key), 0, 5, "I") for key in range(8)]
LATER = [
    ("0", 1, 6, "U"), ("1", 1, 6, "D"), ("2", 1, 6, "-U"), ("3", 1, 4, "D"), ("4", 1, 5, "D"),
    ("5", 1, 6, "I"), ("6", 1, 6, None),
]  # fmt: skip
LEFT = {"0": 1, "3": 0, "5": 1, "6": 1, "7": 0}

rows = Tuples(SCHEMA)


def written(path: Path, version: int, table_type: str, **options: str) -> hoodoo.Table:
    table = hoodoo.create(
        str(path), SCHEMA, name="t", record_key="id", ordering="ts", table_version=version,
        table_type=table_type, options=options,
    )  # fmt: skip
    table.upsert(rows(*FIRST))
    table.upsert(rows(*LATER))
    return table


def left(table: hoodoo.Table) -> dict[str, int]:
    found = table.read(columns=["id", "n"]).to_arrow().to_pydict()
    return dict(zip(found["id"], found["n"], strict=True))


@pytest.mark.parametrize("version", [6, 9])
@pytest.mark.parametrize("blocks", ["avro", "parquet"])
def test_in_log_files(tmp_path: Path, blocks: str, version: int) -> None:
    options = {"hoodie.logfile.data.block.format": blocks}
    table = written(tmp_path / "t", version, "MERGE_ON_READ", **options)
    assert list((tmp_path / "t").glob(".*.log.*"))
    assert left(table) == LEFT
    assert table.read().count() == len(LEFT)
    table.compact()
    assert left(table) == LEFT


@pytest.mark.parametrize("version", [6, 9])
def test_copied_on_write(tmp_path: Path, version: int) -> None:
    assert left(written(tmp_path / "t", version, "COPY_ON_WRITE")) == LEFT


def test_where_the_commits_do_not_name_the_column(tmp_path: Path) -> None:
    """Flink's commits say the schema without it, as it is a meta column there."""
    path = tmp_path / "t"
    written(path, 6, "MERGE_ON_READ")
    field = r',\{"name":"_hoodie_operation"[^}]*\}'
    for file in (path / ".hoodie").glob("*.deltacommit"):
        commit = json.loads(file.read_text())
        commit["extraMetadata"]["schema"], count = re.subn(
            field, "", commit["extraMetadata"]["schema"]
        )
        assert count == 1
        file.write_text(json.dumps(commit))
    table = hoodoo.open(str(path))
    assert table.schema.names == SCHEMA.names[:-1]
    assert left(table) == LEFT
