"""Columns that were renamed, dropped and moved by hand: what reads of their files cost, beside the same files of a table
that was not altered, and what the rename of a column costs in a table of many files.

python -m tests.bench.altered [--rows 1000000] [--files 100000]

Reads are in processor time, the least of some runs by turns.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import hoodoo
import numpy as np
import pyarrow as pa

from tests.bench import data
from tests.bench.scale import fabricate

RUNS, GOAL = 9, 1.05


def drawn(count: int) -> pa.Table:
    draw = np.random.default_rng(1)
    numbers = np.arange(count)
    return pa.table(
        {
            "id": numbers,
            "text": np.char.add("text ", (numbers % 1000).astype(str)),
            "price": draw.standard_normal(count),
            "count": draw.integers(0, 1000, count),
            "spare": draw.integers(0, 1000, count),
            "when": pa.array(numbers, pa.timestamp("us")),
        }
    )


def reads(folder: str, count: int) -> None:
    given, tables = drawn(count), {}
    for name in ("plain", "altered"):
        tables[name] = table = hoodoo.create(f"{folder}/{name}", given.schema, record_key="id")
        table.bulk_insert(given)
    tables["altered"].alter(rename={"price": "cost", "text": "words"}, reorder=["when"])
    names = {"plain": ["text", "price", "count"], "altered": ["words", "cost", "count"]}
    spent: dict[tuple[str, str], list[float]] = {}
    for run in range(RUNS):
        for name, table in sorted(tables.items(), reverse=bool(run % 2)):
            price = names[name][1]
            for what, asked in (
                ("all columns", {}),
                ("three columns", {"columns": names[name]}),
                ("a filter", {"columns": names[name], "where": f"{price} > 1.5"}),
            ):
                begun = time.process_time()
                found = table.read(**asked).to_arrow()
                spent.setdefault((what, name), []).append(time.process_time() - begun)
                assert found.num_rows
    for what in dict.fromkeys(what for what, _ in spent):
        plain, altered = (min(spent[what, name]) for name in ("plain", "altered"))
        ratio = altered / plain
        held = "ok" if ratio <= GOAL else "MISSED"
        print(
            f"{what}: plain {plain:.3f} s, altered {altered:.3f} s, {ratio:.3f} x, goal {GOAL} {held}",
            flush=True,
        )


def rename(folder: str, count: int) -> None:
    path = f"{folder}/many"
    fabricate.with_files(path, count, True)
    table = hoodoo.open(path, fabricate.QUIET)
    before = files(path)
    commits = len(table.timeline().writes())
    begun = time.process_time()
    table.alter(rename={fabricate.SCHEMA.names[-1]: "renamed"})
    spent = time.process_time() - begun
    new = files(path) - before
    more = len(hoodoo.open(path).timeline().writes()) - commits
    assert not any(name.endswith((".parquet", ".log")) and ".hoodie/" not in name for name in new)
    print(
        f"rename in a table of {count:,} files: {more} commit, {len(new)} new files, none of rows, {spent:.2f} s",
        flush=True,
    )


def files(path: str) -> set[str]:
    return {str(p.relative_to(path)) for p in Path(path).rglob("*") if p.is_file()}


def main() -> None:
    asked: Any = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--rows", type=int, default=1_000_000)
    asked.add_argument("--files", type=int, default=100_000)
    given = asked.parse_args()
    folder = tempfile.mkdtemp(prefix="hoodoo-altered-", dir=data.cache())
    try:
        reads(folder, given.rows)
        rename(folder, given.files)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
