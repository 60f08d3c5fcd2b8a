"""Keys and paths that would be read as those of other rows are refused, and rows beside them are not lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.errors import DataError
from hoodoo_rows.testing.tables import Tuples

pytestmark = pytest.mark.sampled(4)

TYPES = ["COPY_ON_WRITE", "MERGE_ON_READ"]
HIVE = "hoodie.datasource.write.hive_style_partitioning"
ENCODE = "hoodie.datasource.write.partitionpath.urlencode"
tables = pytest.mark.parametrize("kind", TYPES)
versions = pytest.mark.parametrize("version", [9, 6])
# The other version runs on Spark in the trials.
engines = pytest.mark.parametrize(
    ("engine", "version"),
    [
        ("local", 9),
        ("local", 6),
        pytest.param("spark", 9, marks=pytest.mark.spark),
        pytest.param("spark", 6, marks=[pytest.mark.spark, pytest.mark.trial]),
    ],
)
WRITES = ["upsert", "insert", "append", "bulk_insert", "insert_overwrite", "insert_overwrite_table"]
SCHEMA = pa.schema([(name, pa.string()) for name in "abcd"])

rows = Tuples(SCHEMA)


def create(path: Path, kind: str = "COPY_ON_WRITE", version: int = 9, **more: Any) -> Any:
    return hoodoo.create(str(path), SCHEMA, table_type=kind, table_version=version, **more)


def stored(table: Any) -> list[tuple[Any, ...]]:
    found = table.read(SCHEMA.names).to_arrow().to_pylist()
    return sorted((tuple(row.values()) for row in found), key=repr)


@tables
@engines
def test_fault_a8_key_parts_that_hold_a_separator(
    tmp_path: Path, kind: str, version: int, engine: str, request: pytest.FixtureRequest
) -> None:
    if engine == "spark":
        request.getfixturevalue("spark")
    table = create(tmp_path / "t", kind, version, record_key=["a", "b"], engine=engine)
    table.upsert(rows(("x,b", "y:z", "", "1"), ("x", "y,c:z", "", "2")))
    before = stored(table)
    wrong = rows(("x,b:y", "z", "", "3"), ("x", "y,b:z", "", "4"))
    for name in [*WRITES, "delete"] if engine == "local" else ["upsert", "delete"]:
        for part in (wrong, wrong.slice(0, 1), wrong.slice(1)):
            with pytest.raises(DataError, match="',b:'.*concatenator"):
                getattr(table, name)(part)
    assert stored(table) == before and len(table.timeline().writes()) == 1


@tables
def test_fault_a8_words_that_stand_for_null_and_empty(tmp_path: Path, kind: str) -> None:
    table = create(tmp_path / "t", kind, record_key=["a", "b"])
    table.upsert(rows((None, "z", "", "1"), ("", "z", "", "2")))
    for word in ("__null__", "__empty__"):
        with pytest.raises(DataError, match=f"{word}.*stands for"):
            table.upsert(rows((word, "z", "", "3")))
    table.upsert(rows(("x__null__", "z", "", "3")))
    assert [row[3] for row in stored(table)] == ["2", "3", "1"]
    # In a key of one column they are words as any other.
    alone = create(tmp_path / "alone", kind, record_key="a")
    alone.upsert(
        rows(("__null__", "z", "", "1"), ("__empty__", "z", "", "2"), ("x,a:y", "", "", "3"))
    )
    assert len(stored(alone)) == 3


@tables
@engines
def test_fault_a8_paths_that_are_those_of_other_rows(
    tmp_path: Path, kind: str, version: int, engine: str, request: pytest.FixtureRequest
) -> None:
    if engine == "spark":
        request.getfixturevalue("spark")
    more = {"record_key": "d", "partition_by": ["a", "b"], "engine": engine}
    one, other = rows(("x/y", "z", "", "1")), rows(("x", "y/z", "", "2"))
    table = create(tmp_path / "plain", kind, version, **more)
    table.upsert(rows(("x", "y", "", "0")))
    for name in WRITES if engine == "local" else ["upsert"]:
        for part in (one, other):
            with pytest.raises(DataError, match=f"'[xyz]/[xyz]'.*{ENCODE}=true"):
                getattr(table, name)(part)
    assert stored(table) == [("x", "y", "", "0")]
    for options in ({HIVE: True}, {ENCODE: True}, {HIVE: True, ENCODE: True}):
        table = create(tmp_path / "-".join(options), kind, version, **more, options=options)
        table.upsert(one)
        table.upsert(other)
        table.insert_overwrite(one)
        assert [row[3] for row in stored(table)] == ["2", "1"]
    table = create(tmp_path / "hive", kind, version, **more, options={HIVE: True})
    for row in (("x/b=y", "z", "", "1"), ("x", "y/a=z", "", "2")):
        with pytest.raises(DataError, match="stands between"):
            table.upsert(rows(row))


@versions
def test_separators_that_mean_one_thing_stay(tmp_path: Path, version: int) -> None:
    """Beside numbers: where a text ends is known."""
    schema = pa.schema([("a", pa.string()), ("n", pa.int32()), ("d", pa.string())])
    path = str(tmp_path / "t")
    table = hoodoo.create(path, schema, record_key=["a", "n"], table_version=version)
    data = pa.table({"a": ["x", "x,n:1"], "n": [1, 1], "d": ["0", "1"]}, schema)
    table.upsert(data)
    assert table.upsert(data).updated == table.read().count() == 2


@versions
def test_slashes_that_mean_one_thing_stay(tmp_path: Path, version: int) -> None:
    """One text column beside others, or the only partition column."""
    table = create(tmp_path / "one", version=version, record_key="d", partition_by="a")
    table.upsert(rows(("x", "", "", "0"), ("x/y", "", "", "1"), ("2024/01/02", "", "", "2")))
    table.insert_overwrite(rows(("x", "", "", "3")))
    assert [row[3] for row in stored(table)] == ["2", "3", "1"]
    schema = pa.schema([("a", pa.string()), ("n", pa.int32()), ("d", pa.string())])
    path = str(tmp_path / "two")
    two = hoodoo.create(
        path, schema, record_key="d", partition_by=["a", "n"], table_version=version
    )
    two.upsert(pa.table({"a": ["x", "x/1"], "n": [1, 1], "d": ["0", "1"]}, schema))
    assert two.read().count() == 2


@tables
@pytest.mark.parametrize("options", [{}, {HIVE: True}, {ENCODE: True}], ids=str)
def test_fault_a8_the_partition_of_null(tmp_path: Path, kind: str, options: dict[str, Any]) -> None:
    table = create(tmp_path / "t", kind, record_key="d", partition_by="a", options=options)
    table.upsert(rows((None, "", "", "1"), ("", "", "", "2")))
    with pytest.raises(DataError, match="path is that of rows with null"):
        table.insert_overwrite(rows(("__HIVE_DEFAULT_PARTITION__", "", "", "3")))
    assert len(stored(table)) == 2


def test_fault_a8_names_that_listings_pass_over(tmp_path: Path) -> None:
    """A directory ``.hoodie_x`` was written, and nobody read its rows again."""
    table = create(tmp_path / "t", record_key="d", partition_by="a")
    for value in (".hoodie", ".hoodie_x", "x/.hoodie_partition_metadata", "a\0b", "..", "x//y"):
        with pytest.raises(DataError, match=f"{HIVE}=true"):
            table.upsert(rows((value, "", "", "1")))
    fine = [".x", "_x", "a b", "a\nb", "%2F", "x=y", "..x", "a\x01"]
    table.upsert(rows(*((value, "", "", value) for value in fine)))
    both = {HIVE: True, ENCODE: True}
    quoted = create(tmp_path / "q", record_key="d", partition_by="a", options=both)
    fine += [".hoodie", ".hoodie_x", "x/.hoodie_partition_metadata", "a\0b", "..", "x//y"]
    quoted.upsert(rows(*((value, "", "", value) for value in fine)))
    assert sorted(row[0] for row in stored(quoted)) == sorted(fine)
    assert len(stored(table)) == len(fine) - 6


def test_stored_rows_are_read_whatever_their_keys(tmp_path: Path) -> None:
    """Of virtual keys a read makes the keys again; only rows on their way in are refused."""
    options = {"hoodie.populate.meta.fields": False}
    table = create(tmp_path / "t", "MERGE_ON_READ", record_key=["a", "b"], options=options)
    generator = table.handle.plugins().generator
    batch = rows(("x,b:y", "z", "", "1")).to_batches()[0]
    assert generator.record_keys(batch).to_pylist() == ["a:x,b:y,b:z"]
    with pytest.raises(DataError):
        table.upsert(batch)
