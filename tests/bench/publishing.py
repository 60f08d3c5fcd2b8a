"""What Iceberg's and Delta Lake's metadata cost a commit that changes 100 files: processor time of
an upsert of one row in each, of a table that is published and of one that is not, by turns. Each
upsert cleans what the oldest one has written, as in a table that has been written for long.

``python -m tests.bench.publishing [ROWS_OF_A_FILE [REPEATS]]`` prints the ratios; the goal is 1.15.

``python -m tests.bench.publishing files [COUNT ...]`` prints how the cost of publishing a commit that
changes 100 files grows with the files of a table: of the metadata alone, whose files are not there.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from types import SimpleNamespace
from typing import Any

import hoodoo
import numpy as np
import pyarrow as pa
from hoodoo.model.commit import Operation
from hoodoo.model.filegroup import BaseFile
from hoodoo_publishing.delta.log import DeltaLog
from hoodoo_publishing.files import Step
from hoodoo_publishing.footers import Column, Footer
from hoodoo_publishing.iceberg.metadata import IcebergMetadata

FILES, GOAL = 100, 1.15
UPSERTS = 3  # of each kind in a repeat
COLUMNS = 8
BEFORE = 12  # upserts that are not measured: the clean keeps what ten have written


def made(path: str, rows: int, formats: str) -> hoodoo.Table:
    """A table of ``FILES`` files, one for each partition."""
    chance = np.random.default_rng(1)
    count = FILES * rows
    columns = {"id": np.arange(count), "part": np.arange(count) % FILES}
    columns |= {f"x{n}": chance.random(count) for n in range(COLUMNS)}
    data = pa.table({**columns, "s": [f"text {n % 1000}" for n in range(count)]})
    table = hoodoo.create(
        path, data.schema, record_key="id", partition_by="part",
        options={"hoodoo.open.formats": formats, "hoodie.metadata.enable": "false"},
    )  # fmt: skip
    table.bulk_insert(data)
    for turn in range(BEFORE):
        table.upsert(changed(data, rows, turn))
    return table


def changed(data: pa.Table, rows: int, turn: int) -> pa.Table:
    """One row of each file."""
    first = FILES * (turn % rows)
    return data.slice(first, FILES)


def measured(rows: int, repeats: int) -> list[float]:
    """The ratio of each repeat."""
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        tables = {
            formats: made(f"{folder}/{formats or 'plain'}", rows, formats)
            for formats in ("", "delta,iceberg")
        }
        data = tables[""].read().to_arrow().sort_by("id")
        turn = BEFORE
        for _ in range(repeats):
            spent = dict.fromkeys(tables, 0.0)
            for _ in range(UPSERTS):
                turn += 1
                for formats, table in tables.items():
                    given = changed(data, rows, turn)
                    begun = time.process_time()
                    table.upsert(given)
                    spent[formats] += time.process_time() - begun
            ratios.append(spent["delta,iceberg"] / spent[""])
            print(
                f"{rows} rows a file: without {spent['']:.2f} s, ratio {ratios[-1]:.3f}", flush=True
            )
    return ratios


# --- files of a table --------------------------------------------------------------------------------
SCHEMA = pa.schema([("id", pa.int64()), ("s", pa.string()), ("x", pa.float64())])


def step(number: int, added: list[BaseFile], removed: list[BaseFile]) -> Step:
    instant = f"{20260101000000000 + number * 1000}"
    return Step(instant, instant, Operation.UPSERT, SCHEMA, number, tuple(added), tuple(removed))


def published(count: int, commits: int) -> dict[str, float]:
    """Seconds of the processor that each format takes for a commit that changes ``FILES`` files of
    one part of a table of ``count``: to find what it shows, and to publish."""
    columns = {n: Column(100, 0, 400, 1, 9) for n in ("id", "x")}
    footer = Footer(100, {**columns, "s": Column(100, 0, 400, "a", "z")}, (4,))
    found = {}
    for form in (IcebergMetadata(), DeltaLog()):
        with tempfile.TemporaryDirectory() as folder:
            table = hoodoo.create(f"{folder}/t", SCHEMA, record_key="id")
            state: Any = SimpleNamespace(
                storage=table.handle.storage,
                config=table.config,
                timeline=table.timeline(),
                file_format=table.handle.file_format(),
            )

            def file(number: int, version: int) -> BaseFile:
                instant = f"{20260101000000000 + version * 1000}"
                return BaseFile(f"p{number // 1000}", f"f{number}", instant, "0-0-0", size=1000)

            newest = [file(number, 0) for number in range(count)]
            read = {one.path: footer for one in newest}
            form.publish(state, form.head(state.storage), step(0, newest, []), read)
            form.head(state.storage)
            spent = []
            for version in range(1, commits + 1):
                first = version * FILES % count
                added = [file(number, version) for number in range(first, first + FILES)]
                read = {one.path: footer for one in added}
                change = step(version, added, newest[first : first + FILES])
                newest[first : first + FILES] = added
                begun = time.process_time()
                form.publish(state, form.head(state.storage), change, read)
                spent.append(time.process_time() - begun)
            found[form.name] = statistics.median(spent)
    return found


def grown(counts: list[int]) -> None:
    seconds = [published(count, 7) for count in counts]
    for count, each in zip(counts, seconds, strict=True):
        print(f"{count} files: " + ", ".join(f"{n} {s * 1000:.0f} ms" for n, s in each.items()))
    for name in seconds[0]:
        found = np.polyfit(np.log(counts), np.log([each[name] for each in seconds]), 1)
        print(f"{name}: exponent {found[0]:.2f}")


if __name__ == "__main__" and sys.argv[1:2] == ["files"]:
    grown([int(text) for text in sys.argv[2:]] or [1_000, 10_000, 100_000])
elif __name__ == "__main__":
    given = [int(text) for text in sys.argv[1:]]
    found = measured(given[0] if given else 10_000, given[1] if len(given) > 1 else 3)
    print(f"median {statistics.median(found):.3f}, goal {GOAL}")
