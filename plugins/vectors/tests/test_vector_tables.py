"""Tables with columns of the type VECTOR: what is taken, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hoodoo
import numpy as np
import pyarrow as pa
import pytest
from hoodoo.errors import ConfigError, SchemaError


def rows_of(table: Any) -> dict[int, dict[str, Any]]:
    return {one["id"]: one for one in table.read().to_pylist()}


def test_every_way_into_a_table_gives_the_same_vectors(tmp_path: Path) -> None:
    table = hoodoo.create(tmp_path / "t", "id bigint, emb VECTOR(2)", record_key="id")
    given: list[Any] = [
        pa.array([[1, 2]], pa.list_(pa.float32(), 2)),
        pa.array([[1, 2]], pa.large_list(pa.float64())),
        pa.array([[1, 2]], pa.list_(pa.int64())),
        pa.array([np.array([1, 2], "<f4").tobytes()], pa.binary()),
        pa.array([np.array([1, 2], "<f4").tobytes()], pa.binary(8)),
        pa.array([[1, 2]], hoodoo.vector(2)),
        pa.FixedSizeListArray.from_arrays(pa.array([0.0, 0, 1, 2], pa.float32()), 2).slice(1),
    ]
    for number, array in enumerate(given):
        table.upsert(pa.table({"id": [number], "emb": array}))
    table.upsert(pa.table({"id": [100], "emb": pa.nulls(1)}))
    found = {r["id"]: r["emb"] for r in table.read().to_pylist()}
    assert found == {**{n: [1.0, 2.0] for n in range(len(given))}, 100: None}


@pytest.mark.parametrize("how", ["bulk_insert", "insert", "upsert"])
def test_arrow_lists_of_the_same_length_are_vectors_of_the_table(tmp_path: Path, how: str) -> None:
    """Arrow takes the type of such lists for equal to that of the column."""
    table = hoodoo.create(str(tmp_path / "t"), "id bigint, v VECTOR(2)", record_key="id")
    lists = pa.FixedSizeListArray.from_arrays(pa.array([1, 2, 3, 4], pa.float32()), 2)
    rows = pa.table({"id": [1, 2], "v": lists})
    getattr(table, how)(rows)
    assert table.to_arrow().sort_by("id")["v"].to_pylist() == [[1.0, 2.0], [3.0, 4.0]]
    wrong = pa.FixedSizeListArray.from_arrays(pa.array([1, np.nan], pa.float32()), 2)
    with pytest.raises(SchemaError, match="NaN"):
        getattr(table, how)(pa.table({"id": [3], "v": wrong}))


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([[1.0]], "a vector of 1 elements came"),
        ([[1.0, float("nan")]], "NaN or infinity"),
        ([[1.0, None]], "with null"),
        ([["a", "b"]], "column emb"),
        ([b"1234"], "4 bytes"),
        ([1.0], "the incoming one is double"),
    ],
)
def test_bad_vectors_are_refused_and_nothing_is_written(
    tmp_path: Path, values: list[Any], words: str
) -> None:
    table = hoodoo.create(tmp_path / "t", "id bigint, emb VECTOR(2)", record_key="id")
    table.upsert([{"id": 1, "emb": [1, 2]}])
    before = sorted(tmp_path.rglob("*.parquet"))
    with pytest.raises(SchemaError, match=words):
        table.upsert(pa.table({"id": [2], "emb": values}))
    assert sorted(tmp_path.rglob("*.parquet")) == before
    assert rows_of(table) == {1: {"id": 1, "emb": [1.0, 2.0]}}


def test_whole_numbers_alone_are_int8(tmp_path: Path) -> None:
    table = hoodoo.create(tmp_path / "t", "id bigint, i VECTOR(2, INT8)", record_key="id")
    table.upsert(pa.table({"id": [1], "i": [[1.0, -128.0]]}))
    for wrong in ([1.5, 0.0], [128, 0]):
        with pytest.raises(SchemaError, match="column i"):
            table.upsert(pa.table({"id": [1], "i": [wrong]}))
    assert rows_of(table)[1]["i"] == [1, -128]


def test_a_dimension_stays(tmp_path: Path) -> None:
    table = hoodoo.create(tmp_path / "t", "id bigint, emb VECTOR(2)", record_key="id")
    longer = pa.table({"id": [1], "emb": pa.array([[1, 2, 3]], hoodoo.vector(3))})
    with pytest.raises(SchemaError, match=r"type is VECTOR\(2\), and a vector of 3 elements"):
        table.upsert(longer)
    with pytest.raises((SchemaError, ConfigError)):
        table.alter(widen={"emb": hoodoo.vector(3)})
    table.alter(rename={"emb": "embedding"})
    with pytest.raises(SchemaError, match=r"type is VECTOR\(2\), and a vector of 3 elements"):
        table.upsert(longer.rename_columns(["id", "embedding"]))


@pytest.mark.parametrize("text", ["VECTOR", "VECTOR(0)", "VECTOR(2, HALF)", "array<VECTOR(2)>"])
def test_types_that_are_none_are_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(SchemaError, match="column"):
        hoodoo.create(tmp_path / "t", f"id bigint, emb {text}", record_key="id")
    assert not (tmp_path / "t").exists()
