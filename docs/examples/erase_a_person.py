"""Deletes the rows of one person from three tables, and then from every file of these tables.

A delete alone hides the rows: older file slices, log files, savepoints and the metadata table keep them. This script
removes those too, and then unpacks every file that is left, to look for the person in it.

    python docs/examples/erase_a_person.py [FOLDER]
"""

from __future__ import annotations

import re
import sys
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import hoodoo
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

PERSON = "person-0042"
PEOPLE = [f"person-{number:04d}" for number in range(50)]


def make_tables(folder: Path) -> list[hoodoo.Table]:
    """Three tables of different kinds, each with some history."""
    profiles = hoodoo.create(
        str(folder / "profiles"),
        pa.schema([("person", pa.string()), ("city", pa.string())]),
        record_key="person",
    )
    orders = hoodoo.create(
        str(folder / "orders"),
        pa.schema(
            [("number", pa.int64()), ("person", pa.string()), ("country", pa.string()), ("total", pa.float64())]
        ),
        record_key="number", partition_by="country", options={"hoodie.metadata.enable": True},
    )  # fmt: skip
    clicks = hoodoo.create(
        str(folder / "clicks"),
        pa.schema([("click", pa.string()), ("person", pa.string()), ("page", pa.string()), ("at", pa.int64())]),
        record_key="click", ordering="at", table_type="MERGE_ON_READ", index="record_index",
    )  # fmt: skip
    profiles.insert([{"person": person, "city": "Oslo"} for person in PEOPLE])
    profiles.upsert([{"person": person, "city": "Rome"} for person in PEOPLE[::2]])
    profiles.savepoint(comment="before the move")
    for total in (10.0, 20.0):  # the second write updates all orders: there are older file slices
        orders.upsert(
            [
                {
                    "number": n,
                    "person": PEOPLE[n % 50],
                    "country": ("no", "it")[n % 2],
                    "total": total,
                }
                for n in range(200)
            ]
        )
    for page in ("start", "basket"):  # the second write goes into log files
        clicks.upsert(
            [
                {"click": f"{PEOPLE[n % 50]}/{n}", "person": PEOPLE[n % 50], "page": page, "at": n}
                for n in range(200)
            ]
        )
    return [profiles, orders, clicks]


def erase(table: hoodoo.Table, person: str) -> int:
    """Deletes the rows of ``person``, and all that is left of them in files. The number of rows."""
    done = table.erase(
        pc.field("person") == person,
        look_for=[person],  # in all files, beside the record keys
        prove=True,
        drop_savepoints=True,  # they protect old files
    )
    assert done.proven, done.report
    return int(done.deleted)


# --- the check, which does not use Hoodoo ---------------------------------------------------------
def unpacked(data: bytes) -> Iterator[bytes]:
    """The bytes of a file, and what is compressed in them: gzip streams, and Parquet files, also inside log files."""
    yield data
    for found in re.finditer(b"\x1f\x8b\x08", data):
        try:
            yield zlib.decompressobj(31).decompress(data[found.start() :])
        except zlib.error:
            continue  # these bytes are no gzip stream
    marks = [found.start() for found in re.finditer(b"PAR1", data)]
    for start, end in zip(marks, marks[1:], strict=False):
        try:
            rows = pq.read_table(pa.BufferReader(data[start : end + 4]))
        except (pa.ArrowException, OSError):
            continue  # the space between two Parquet files
        yield "\n".join(str(column.to_pylist()) for column in rows.columns).encode()


def files_with(folder: Path, text: str) -> list[str]:
    """The files below ``folder`` in which ``text`` is."""
    return [
        path.relative_to(folder).as_posix()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and any(text.encode() in part for part in unpacked(path.read_bytes()))
    ]


def kinds(paths: list[str]) -> str:
    in_metadata = sum("/metadata/" in path for path in paths)
    base = sum(path.endswith(".parquet") for path in paths)
    log = len(paths) - in_metadata - base
    return f"{base} base files, {log} log files, {in_metadata} files of metadata tables"


def rows_left(folder: Path, name: str) -> tuple[int, int]:
    """(all rows, rows of the person) in the base files of a table, as DuckDB reads them."""
    files = f"{folder / name}/**/*.parquet"
    query = "SELECT count(*), count(*) FILTER (person = ?) FROM read_parquet(?)"
    (found,) = duckdb.execute(query, [PERSON, files]).fetchall()
    return found


def main(folder: str | Path) -> dict[str, Any]:
    folder = Path(folder)
    tables = make_tables(folder)
    names = [Path(table.path).name for table in tables]
    before = files_with(folder, PERSON)
    print(f"files that have {PERSON} in them: {kinds(before)}")

    deleted: dict[str, int] = {}
    for name, table in zip(names, tables, strict=True):
        deleted[name] = erase(table, PERSON)
        print(f"{name}: {deleted[name]} rows deleted")

    after = files_with(folder, PERSON)
    left = {name: rows_left(folder, name) for name in names}
    print(f"files that have {PERSON} in them: {kinds(after)}")
    print(f"the other rows are there: {', '.join(f'{n} {left[n][0]}' for n in names)}")
    assert before and not after, after
    assert deleted == {"profiles": 1, "orders": 4, "clicks": 4}
    assert left == {"profiles": (49, 0), "orders": (196, 0), "clicks": (196, 0)}
    assert all(table.verify().ok for table in tables)
    return {"before": before, "deleted": deleted, "after": after, "left": left}


if __name__ == "__main__":
    main(sys.argv[1] if sys.argv[1:] else tempfile.mkdtemp(prefix="erase-"))
