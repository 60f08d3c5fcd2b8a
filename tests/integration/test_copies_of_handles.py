"""A handle may be pickled at any time, for example in a closure of Spark or in a process pool, and its copy writes."""

from __future__ import annotations

import pickle
from pathlib import Path

import hoodoo
import pyarrow as pa
import pytest

SCHEMA = pa.schema([("id", pa.int64()), ("p", pa.string()), ("v", pa.int64())])
INDEXES = (
    "simple",
    "global_simple",
    "bloom",
    "bucket",
    "record_index",
    "partitioned_record_index",
    "growing_record_index",
)


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize("index", INDEXES)
@pytest.mark.sampled(2)
def test_a_copy_of_a_handle_that_has_written(tmp_path: Path, kind: str, index: str) -> None:
    options = {"hoodie.bucket.index.num.buckets": 2} if index == "bucket" else {}
    table = hoodoo.create(
        str(tmp_path / "t"),
        SCHEMA,
        record_key="id",
        partition_by="p",
        table_type=kind,
        index=index,
        options=options,
    )
    for turn in range(3):
        copy = pickle.loads(pickle.dumps(table))
        scan = copy.read()
        copy.upsert([{"id": 1, "p": "x", "v": turn}, {"id": 10 + turn, "p": "y", "v": turn}])
        table.update({"v": "v + 100"}, where="id = 1")
        assert pickle.loads(pickle.dumps(scan)).count() == (turn and turn + 1)
        for handle in (table, copy):
            found = sorted((r["id"], r["v"]) for r in handle.read().to_pylist())
            assert found == [(1, turn + 100), *((10 + n, n) for n in range(turn + 1))]
