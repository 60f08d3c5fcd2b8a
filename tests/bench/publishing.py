"""What Iceberg's and Delta Lake's metadata cost a commit that changes 100 files: processor time of
an upsert of one row in each, of a table that is published and of one that is not, by turns. Each
upsert cleans what the oldest one has written, as in a table that has been written for long.

``python -m tests.bench.publishing [ROWS_OF_A_FILE [REPEATS]]`` prints the ratios; the goal is 1.15.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time

import hoodoo
import numpy as np
import pyarrow as pa

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


if __name__ == "__main__":
    given = [int(text) for text in sys.argv[1:]]
    found = measured(given[0] if given else 10_000, given[1] if len(given) > 1 else 3)
    print(f"median {statistics.median(found):.3f}, goal {GOAL}")
