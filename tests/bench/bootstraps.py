"""A bootstrap of many files: the driver's memory and processor time as files become more, and the first read beside two
of the same files as plain Parquet: file by file, and the folder as pyarrow reads it, one table with the folders' column.

``python -m tests.bench.bootstraps --files 500,2000,8000 --rows 20`` fabricates the files, each in a process of its
own, and prints a row for each number, the exponent of each cost, and the bytes of a file in the commit and in the index.
``--driver`` measures the driver alone, as where tasks run elsewhere: it lists the source, deals out tasks, and makes
commit and index of what they say; tasks put empty files. The source is one file under as many names.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import Any

import hoodoo
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from attrs import frozen
from hoodoo.hookspecs.engine import Step, Stream, Task
from hoodoo.model.commit import WriteStat
from hoodoo.model.filegroup import BaseFile
from hoodoo.storage.temporaries import scratch_file
from hoodoo.timeline.markers import CREATE
from hoodoo_bootstrap import skeletons
from hoodoo_rows.api import NewFiles
from hoodoo_standard.engine.local import LocalEngine

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


def link(source: Path, files: int, rows: int) -> None:
    """One file of as many rows under as many names."""
    first = source / "part=00000/f000000.parquet"
    first.parent.mkdir(parents=True)
    pq.write_table(pa.table({"id": np.arange(rows)}), first)
    for number in range(1, files):
        folder = source / f"part={number // _A_FOLDER:05}"
        folder.mkdir(exist_ok=True)
        os.link(first, folder / f"f{number:06}.parquet")


@frozen
class _Footers:
    """Says of each file what the first one says."""

    step: skeletons.ReadFooters
    out_schema = skeletons.FOOTERS

    def __call__(self, batches: skeletons.Batches, task: Task) -> skeletons.Batches:
        with self.step.file_format.reader(self.step.source, "part=00000/f000000.parquet") as reader:
            rows, text = reader.num_rows, reader.schema.serialize().to_pybytes()
        files = skeletons._files(batches)
        # As many in a batch as the step itself yields: a batch of one row takes some KiB.
        while some := list(islice(files, skeletons._AT_ONCE)):
            found = [(f.path, rows, b"" if n % _A_FOLDER else text) for f, n in some]
            yield pa.record_batch(list(zip(*found, strict=True)), schema=self.out_schema)


@frozen
class _NoKeys:
    """The keys of no file."""

    step: skeletons.RouteKeys
    out_schema = skeletons.RouteKeys.out_schema

    def __call__(self, batches: skeletons.Batches, task: Task) -> skeletons.Batches:
        yield from ()


@frozen
class _Empty:
    """Puts an empty file for each file."""

    step: skeletons.MakeSkeletons
    out_schema = skeletons.MakeSkeletons.out_schema

    def __call__(self, batches: skeletons.Batches, task: Task) -> skeletons.Batches:
        yield from NewFiles.stats_batches(self._made(*of) for of in skeletons._files(batches))

    def _made(self, file: skeletons.SourceFile, number: int) -> WriteStat:
        step, requested = self.step, self.step.pending.requested
        file_id = NewFiles.uuid(requested, step.seed, number)
        base = BaseFile(file.folder, file_id, requested, f"{number}-0-0")
        with scratch_file(step.storage) as local:
            Path(local).touch()
            step.pending.put(step.storage, file.folder, base.name, local, CREATE, 0)
        return WriteStat(file.folder, file_id, base.path, num_writes=9, num_inserts=9, file_size=9)


class _DriverAlone(LocalEngine):
    """Tasks answer as those of a bootstrap do, and read and write nothing."""

    def map(self, stream: Stream, step: Step) -> Stream:
        made = {"ReadFooters": _Footers, "RouteKeys": _NoKeys, "MakeSkeletons": _Empty}
        inner: Any = getattr(step, "step", step)  # what watches it
        stand_in: Any = made.get(type(inner).__name__)
        return super().map(stream, step if stand_in is None else stand_in(inner))


def _bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def driver(source: Path, path: Path) -> dict[str, float]:
    _of_one_file(next(source.rglob("*.parquet")), path.with_suffix(".first"))
    return bootstrapped(source, path, _DriverAlone(2))


def bootstrapped(source: Path, path: Path, engine: LocalEngine | None = None) -> dict[str, float]:
    before, busy = most_memory(), time.process_time()
    hoodoo.bootstrap(source, path, record_key="id", engine=engine)
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


_CALLS = {"bootstrapped": bootstrapped, "first_read": first_read, "driver": driver}


def _apart(name: str, *paths: Path) -> dict[str, float]:
    call = [sys.executable, "-W", "ignore", "-m", "tests.bench.bootstraps", "--call", name]
    done = subprocess.run([*call, *map(str, paths)], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{name} failed:\n{done.stderr[-3000:]}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def _of_driver(folder: Path, sizes: list[int], rows: int) -> None:
    found = []
    print("| files | before, MB | driver, MB | seconds |\n|---|---|---|---|")
    for size in sizes:
        source, path = folder / f"source{size}", folder / f"t{size}"
        link(source, size, rows)
        found.append(one := _apart("driver", source, path))
        print(
            f"| {size:,} | {one['memory_before']:.0f} | {one['memory']:.0f} | {one['seconds']:.1f} |",
            flush=True,
        )
        shutil.rmtree(source)
        shutil.rmtree(path)
    if len(sizes) > 1:
        print(f"seconds: exponent {exponent(sizes, [one['seconds'] for one in found]):.2f}")
        more = (found[-1]["memory"] - found[0]["memory"]) / (sizes[-1] - sizes[0])
        print(f"driver: {more * 1024:.2f} KiB for each file more")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", default="500,2000,8000")
    parser.add_argument("--rows", type=int, default=20, help="of each file")
    parser.add_argument("--folder", type=Path, help="where the files are made")
    parser.add_argument("--driver", action="store_true", help="the driver alone")
    parser.add_argument("--call", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.call:
        name, source, path = given.call
        print(json.dumps(_CALLS[name](Path(source), Path(path))))
        return
    sizes, found = [int(size) for size in given.files.split(",")], []
    folder = Path(tempfile.mkdtemp(prefix="hoodoo-bootstraps-", dir=given.folder))
    try:
        if given.driver:
            _of_driver(folder, sizes, given.rows)
            return
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
        shutil.rmtree(folder, ignore_errors=True)
    for name in ("seconds", "read", "plain", "folder"):
        print(f"{name}: exponent {exponent(sizes, [one[name] for one in found]):.2f}")
    if len(sizes) > 1:
        more = (found[-1]["memory"] - found[0]["memory"]) / (sizes[-1] - sizes[0])
        print(f"driver: {more * 1024:.1f} KiB for each file more")
    for name in ("commit_bytes", "index_bytes"):
        print(f"{name}: {found[-1][name] / sizes[-1]:,.0f} for each file")


if __name__ == "__main__":
    main()
