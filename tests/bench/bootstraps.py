"""A bootstrap of many files: the driver's memory and processor time as files become more, and the first read beside two
of the same files as plain Parquet: file by file, and the folder as pyarrow reads it, one table with the folders' column.

``python -m tests.bench.bootstraps --files 500,2000,8000 --rows 20`` fabricates the files, each in a process of its
own, and prints a row for each number, the exponent of each cost, and the bytes of a file in the commit and in the index.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import hoodoo
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests.bench.processor import most_memory
from tests.bench.scale.run import exponent

_A_FOLDER = 100  # files
_WIDTH = 8  # columns of numbers


def fabricate(source: Path, files: int, rows: int) -> None:
    """Files of as many rows, with keys that go on from file to file."""
    rng = np.random.default_rng(files)
    values = {f"v{n}": rng.random(rows) for n in range(_WIDTH)}
    for number in range(files):
        folder = source / f"part={number // _A_FOLDER:05}"
        folder.mkdir(parents=True, exist_ok=True)
        ids = np.arange(number * rows, (number + 1) * rows)
        pq.write_table(pa.table({"id": ids, **values}), folder / f"f{number:06}.parquet")


def _bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def bootstrapped(source: Path, path: Path) -> dict[str, float]:
    before, busy = most_memory(), time.process_time()
    hoodoo.bootstrap(source, path, record_key="id")
    return {
        "seconds": time.process_time() - busy,
        "memory_before": before,
        "memory": most_memory(),
        "commit_bytes": _bytes(path / ".hoodie/timeline"),
        "index_bytes": _bytes(path / ".hoodie/.aux"),
    }


def first_read(source: Path, path: Path) -> dict[str, float]:
    """All columns of the table, in a process that has read nothing of it; and of the files
    alone."""
    names = sorted(source.rglob("*.parquet"))
    pq.read_table(names[0].parent)  # what is imported by then is no part of it
    _of_one_file(names[0], path.with_suffix(".one"))
    busy = time.process_time()
    plain = sum(pq.ParquetFile(name).read(use_threads=False).num_rows for name in names)
    between = time.process_time()
    assert pq.read_table(source).num_rows == plain
    folder = time.process_time()
    table = hoodoo.open(path)
    opened = time.process_time()
    assert table.read().to_arrow().num_rows == plain
    took = time.process_time() - opened
    return {"plain": between - busy, "folder": folder - between, "read": took}


def _of_one_file(file: Path, folder: Path) -> None:
    source, path = folder / "source", folder / "table"
    source.mkdir(parents=True)
    shutil.copy(file, source)
    hoodoo.bootstrap(source, path, record_key="id").read().to_arrow()
    shutil.rmtree(folder)


_CALLS = {"bootstrapped": bootstrapped, "first_read": first_read}


def _apart(name: str, *paths: Path) -> dict[str, float]:
    call = [sys.executable, "-W", "ignore", "-m", "tests.bench.bootstraps", "--call", name]
    done = subprocess.run([*call, *map(str, paths)], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{name} failed:\n{done.stderr[-3000:]}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", default="500,2000,8000")
    parser.add_argument("--rows", type=int, default=20, help="of each file")
    parser.add_argument("--folder", type=Path, help="where the files are made")
    parser.add_argument("--call", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.call:
        name, source, path = given.call
        print(json.dumps(_CALLS[name](Path(source), Path(path))))
        return
    sizes, found = [int(size) for size in given.files.split(",")], []
    folder = Path(tempfile.mkdtemp(prefix="hoodoo-bootstraps-", dir=given.folder))
    try:
        print(
            "| files | driver, MB | seconds | first read beside each file | beside the folder |\n"
            "|---|---|---|---|---|"
        )
        for size in sizes:
            source, path = folder / f"source{size}", folder / f"t{size}"
            fabricate(source, size, given.rows)
            one = {**_apart("bootstrapped", source, path), **_apart("first_read", source, path)}
            found.append(one)
            ratios = " | ".join(f"{one['read'] / one[name]:.2f}" for name in ("plain", "folder"))
            print(
                f"| {size:,} | {one['memory']:.0f} | {one['seconds']:.1f} | {ratios} |", flush=True
            )
            shutil.rmtree(source)
            shutil.rmtree(path)
    finally:
        shutil.rmtree(folder)
    for name in ("seconds", "read", "plain", "folder"):
        print(f"{name}: exponent {exponent(sizes, [one[name] for one in found]):.2f}")
    if len(sizes) > 1:
        more = (found[-1]["memory"] - found[0]["memory"]) / (sizes[-1] - sizes[0])
        print(f"driver: {more * 1024:.1f} KiB for each file more")
    for name in ("commit_bytes", "index_bytes"):
        print(f"{name}: {found[-1][name] / sizes[-1]:,.0f} for each file")


if __name__ == "__main__":
    main()
