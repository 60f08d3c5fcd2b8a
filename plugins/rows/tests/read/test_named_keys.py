"""A read of named record keys gives what a read of all rows and the filter after it give: on every kind of table, with
log files of several commits, deletes, renamed columns, and files long enough to be read by their pages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hoodoo
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

ROWS = 50_000  # so many that single pages are read
QUIET = {"hoodie.clean.automatic": "false", "hoodie.compact.inline": "false"}
KINDS = [
    {"table_type": kind, "index": index, "options": {**QUIET, **options}, **more}
    for kind in ("COPY_ON_WRITE", "MERGE_ON_READ")
    for index, options in (
        ("simple", {}),
        ("bloom", {}),
        ("record_index", {}),
        ("bucket", {"hoodie.bucket.index.num.buckets": "2"}),
    )
    for more in ({}, {"partition_by": "part"})
]
KINDS += [
    {"table_type": "MERGE_ON_READ", "index": "simple", "options": {**QUIET, **options}}
    for options in (
        {"hoodie.logfile.data.block.format": "avro"},
        {"hoodie.populate.meta.fields": "false"},
        {"hoodie.write.record.positions": "false"},
        {"hoodie.record.merge.mode": "COMMIT_TIME_ORDERING"},
        {"hoodie.write.table.version": "6"},
        {"hoodie.write.table.version": "8"},
    )
]
# The first rows are in a log file, too, and many enough for its pages.
KINDS += [
    {
        "table_type": "MERGE_ON_READ",
        "index": "bucket",
        "options": {**QUIET, "hoodie.bucket.index.num.buckets": "1"},
    }
]


def made(ids: Any, turn: int) -> pa.Table:
    ids = np.asarray(ids)
    return pa.table(
        {
            "id": pc.utf8_lpad(pc.cast(pa.array(ids), pa.string()), 8, "0"),
            "part": pa.array(np.array(["a", "b"])[ids % 2]),
            "ts": pa.array(np.where(ids % 5 == 4, 0, turn).astype("int64")),
            "v": pa.array(ids * 10.0 + turn),
            "s": pa.array(np.char.add("row ", ids.astype(str))),
        }
    )


def _values(kind: dict[str, Any]) -> list[str]:
    return list(kind["options"].values())


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "case",
    # Tables of version 6 are not altered.
    [(kind, n) for kind in KINDS for n in (False, True) if not n or "6" not in _values(kind)],
    ids=str,
)
def test_named_keys_are_a_filter_of_all_rows(
    tmp_path: Path, case: tuple[dict[str, Any], bool]
) -> None:
    kind, evolved = case
    path = str(tmp_path / "t")
    first = made(np.arange(ROWS), 1)
    table = hoodoo.create(path, first.schema, record_key="id", ordering="ts", **kind)
    table.upsert(first)
    table.upsert(made(np.arange(0, ROWS, 100), 2))
    table.delete(made([3, 100, 40_000], 3).select(["id", *_path(kind)]))
    name = "v"
    if evolved:
        table.alter(rename={"v": "w"})
        name = "w"
    table = hoodoo.open(path, kind["options"])
    newer = made([5, 200, 45_000, ROWS + 1], 4).rename_columns(["id", "part", "ts", name, "s"])
    table.upsert(newer)
    table.upsert(newer.slice(0, 1))
    _same(path, name)
    if kind["table_type"] == "MERGE_ON_READ":
        hoodoo.open(path, kind["options"]).compact()
        _same(path, name)


def _path(kind: dict[str, Any]) -> list[str]:
    return ["part"] if "partition_by" in kind else []


def _same(path: str, name: str) -> None:
    whole = hoodoo.open(path).read().to_arrow()
    assert whole.num_rows == ROWS - 3 + 1 or whole.num_rows == ROWS - 2
    keys = made([3, 5, 7, 200, 400, 40_000, 40_001, 45_000, ROWS + 1, ROWS + 9], 0)["id"]
    asked = [[key] for key in keys.to_pylist()] + [keys.to_pylist(), []]
    for some in asked:
        for where in (
            pc.field("id").isin(pa.array(some, pa.string())),
            pc.field("id").isin(pa.array(some, pa.string())) & (pc.field(name) > 71.0),
        ):
            for columns in (None, [name, "s"]):
                found = hoodoo.open(path).read(columns=columns, where=where).to_arrow()
                expected = whole.filter(where)
                expected = expected.select(found.column_names)
                order = [(n, "ascending") for n in found.column_names if n in ("id", "s")]
                assert found.sort_by(order).equals(expected.sort_by(order)), (some, columns)
