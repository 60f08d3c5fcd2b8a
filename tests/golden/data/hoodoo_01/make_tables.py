"""Tables as Hoodoo 0.1.0 wrote them: ``python make_tables.py FOLDER``, with that version installed.

Each has four writes, a savepoint, and what is left of a service: a plan of a compaction that nobody
ran, or a clustering. ``states.json`` beside them says which rows each had after which write.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa

SCHEMA = pa.schema(
    [("id", pa.int64()), ("city", pa.string()), ("fare", pa.float64()), ("ts", pa.int64())]
)
KINDS = [
    ("COPY_ON_WRITE", 6, "simple", ["city"]),
    ("COPY_ON_WRITE", 9, "record_index", []),
    ("MERGE_ON_READ", 6, "bloom", ["city"]),
    ("MERGE_ON_READ", 9, "bucket", ["city"]),
    ("MERGE_ON_READ", 9, "global_bloom", []),
]


def some(ids: range, ts: int) -> list[dict[str, Any]]:
    return [{"id": i, "city": "ab"[i % 2], "fare": i / 2, "ts": ts} for i in ids]


def make(path: Path, kind: str, version: int, index: str, partition_by: list[str]) -> list[Any]:
    table = hoodoo.create(
        str(path), SCHEMA, record_key="id", partition_by=partition_by, ordering="ts",
        table_type=kind, table_version=version, index=index,
        options={"hoodie.bucket.index.num.buckets": "2"} if index == "bucket" else {},
    )  # fmt: skip
    states: list[Any] = []

    def noted() -> None:
        now = hoodoo.open(str(path))
        found = now.read(["id", "fare", "ts"]).to_arrow().to_pylist()
        instant = now.timeline().writes()[-1].requested
        states.append([instant, sorted([row["id"], row["fare"], row["ts"]] for row in found)])

    table.insert(some(range(20), 1))
    noted()
    table.upsert(some(range(5, 25), 2))
    noted()
    table.delete([1, 2])
    noted()
    table.savepoint()
    if kind == "MERGE_ON_READ":
        table.compact()
        table.upsert(some(range(3), 3))
        table.schedule("compaction")
    else:
        table.cluster(columns=["ts"])
        table.upsert(some(range(3), 3))
    noted()
    return states


if __name__ == "__main__":
    assert hoodoo.__version__ == "0.1.0", hoodoo.__version__
    folder = Path(sys.argv[1])
    found = {f"{k}-{v}-{i}": make(folder / f"{k}-{v}-{i}", k, v, i, p) for k, v, i, p in KINDS}
    (folder / "states.json").write_text(json.dumps(found))
