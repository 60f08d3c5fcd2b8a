"""Folders of Parquet files, and the rows in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pyarrow.parquet as pq

CITIES = ("oslo", "rome")
SCHEMA = pa.schema([("id", pa.int64()), ("fare", pa.float64()), ("note", pa.string())])
Rows = dict[int, dict[str, Any]]


def source(folder: Path, inside: bool = False, files: int = 2, rows: int = 6) -> Rows:
    """``files`` in each of two partitions, with row groups of two rows; the rows by key.
    ``inside``: the partition column is in the files, too."""
    expected: Rows = {}
    schema = SCHEMA.append(pa.field("city", pa.string())) if inside else SCHEMA
    for place, city in enumerate(CITIES):
        for number in range(files):
            first = 1000 * place + 100 * number
            made = [
                {"id": first + n, "fare": first + n / 4, "note": None if n % 3 else f"n{n}"}
                for n in range(rows)
            ]
            expected |= {row["id"]: {**row, "city": city} for row in made}
            if inside:
                made = [{**row, "city": city} for row in made]
            path = folder / f"city={city}" / f"part-{number}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(pa.Table.from_pylist(made, schema), path, row_group_size=2)
    return expected


def rows_of(found: Any) -> Rows:
    """The rows of a table or a read, by key, each there once."""
    table = found if isinstance(found, pa.Table) else found.to_arrow()
    rows = table.select(["id", "fare", "note", "city"]).to_pylist()
    assert len({row["id"] for row in rows}) == len(rows)
    return {row["id"]: row for row in rows}


def changed(ids: list[int], fare: float = -1.0) -> list[dict[str, Any]]:
    """New values of rows, as an upsert takes them."""
    return [{"id": i, "fare": fare, "note": "new", "city": CITIES[i // 1000 % 2]} for i in ids]


def upserted(expected: Rows, ids: list[int], fare: float = -1.0) -> Rows:
    return expected | {row["id"]: row for row in changed(ids, fare)}


def content(folder: Path) -> dict[str, bytes]:
    """Every file of the source, to see that it stays as it is."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def reopened(table: hoodoo.Table) -> hoodoo.Table:
    """The table as another process opens it."""
    return hoodoo.open(table.path)
