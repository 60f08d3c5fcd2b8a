"""Tables with a past, and all that readers may ask of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa

SCHEMA = pa.schema(
    [("id", pa.int64()), ("v", pa.string()), ("ts", pa.int64()), ("region", pa.string())]
)
INDEXED = {
    "hoodie.metadata.enable": "true",
    "hoodie.metadata.record.index.enable": "true",
    "hoodie.metadata.index.column.stats.enable": "true",
}
ARCHIVING = {
    "hoodie.keep.min.commits": "2",
    "hoodie.keep.max.commits": "3",
    "hoodie.clean.commits.retained": "1",
    "hoodie.clean.automatic": "false",
}
KINDS = ("COPY_ON_WRITE", "MERGE_ON_READ")
Rows = list[tuple[Any, ...]]


def batch(values: Mapping[int, str], text: str, ts: int) -> pa.Table:
    """``values`` maps id to region."""
    ids, regions = list(values), list(values.values())
    columns = {"id": ids, "v": [text] * len(ids), "ts": [ts] * len(ids), "region": regions}
    return pa.table(columns, schema=SCHEMA)


def lived(
    path: Path, version: int, kind: str, options: Mapping[str, str] | None = None, **how: Any
) -> list[str]:
    """A table in which a partition came and went, and rows were updated and deleted; the instants
    of its writes."""
    how = {"partition_by": "region", "ordering": "ts", **how}
    table = hoodoo.create(
        str(path), SCHEMA, name="t", record_key="id", table_version=version, table_type=kind,
        options=dict(options or {}), **how,
    )  # fmt: skip
    writes = [
        lambda: table.upsert(batch({1: "a", 2: "a", 3: "b", 4: "b"}, "old", 1)),
        lambda: table.upsert(batch({2: "a", 3: "b"}, "mid", 2)),
        lambda: table.upsert(batch({7: "d"}, "gone", 3)),
        lambda: table.upsert(batch({1: "a", 6: "b"}, "late", 4)),
        lambda: table.delete([4]),
    ]
    if how["partition_by"]:
        writes.insert(3, lambda: table.delete_partitions("d"))
    return [write().instant for write in writes]


def answers(path: Path, points: list[str]) -> dict[Any, Rows]:
    """What reads of every kind answer."""
    table = hoodoo.open(str(path))
    found = {"now": _sorted(table.read().to_arrow())}
    for point in points:
        found["as of", point] = _sorted(table.read(as_of=point).to_arrow())
        found["since", point] = _sorted(table.incremental(since=point).to_arrow())
        # When they completed is not known in version 6.
        found["changes", point] = _sorted(
            table.changes(since=point).to_arrow().drop_columns(["completed"])
        )
    return found


def check(path: Path, points: list[str], before: Mapping[Any, Rows], version: int) -> None:
    """Reads answer what they did, and the table is sound."""
    table = hoodoo.open(str(path))
    assert table.config.version == version
    assert answers(path, points) == before
    report = table.verify()
    assert not report.findings, report.findings


def _sorted(found: pa.Table) -> Rows:
    return sorted(tuple(map(str, row.values())) for row in found.to_pylist())
