"""How cost grows: fabricated tables of rising sizes, each call in a process of its own, and the exponent that fits.

``tox run -e scale``, or ``python -m tests.bench.scale.run --most 1000000 --only files,batch``. Prints the tables of
docs/scale.md. Seconds are processor time.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tests.bench.scale import fabricate

Figures = dict[str, float]


def measured(name: str, **arguments: Any) -> Figures:
    """The figures of one call of :mod:`tests.bench.scale.child`, in a new process."""
    call = [sys.executable, "-m", "tests.bench.scale.child", json.dumps([name, arguments])]
    done = subprocess.run(call, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{name} {arguments} failed:\n{done.stderr[-3000:]}")
    found: Figures = json.loads(done.stdout.splitlines()[-1])
    return found


def exponent(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """Of the power of the size that fits the costs best: the slope in logarithms."""
    xs = [math.log(size) for size in sizes]
    ys = [math.log(max(cost, 1e-4)) for cost in costs]
    x, y = sum(xs) / len(xs), sum(ys) / len(ys)
    across = sum((a - x) ** 2 for a in xs)
    return sum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True)) / across if across else 0.0


def show(
    title: str, sizes: Sequence[int], rows: Iterable[tuple[str, Sequence[float], str]]
) -> None:
    """One table: a row for each cost; ``form`` of a number, such as ``.3f``."""
    print(f"\n{title}\n")
    print("| | " + " | ".join(f"{size:,}" for size in sizes) + " | exponent |")
    print("|---" * (len(sizes) + 2) + "|")
    for name, costs, form in rows:
        cells = " | ".join(f"{cost:{form}}" for cost in costs)
        print(f"| {name} | {cells} | {exponent(sizes, costs):.2f} |")
    sys.stdout.flush()


def tens(first: int, most: int) -> list[int]:
    return [10**n for n in range(round(math.log10(first)), math.floor(math.log10(most)) + 1)]


def files(folder: str, most: int) -> None:
    sizes = tens(1000, most)
    for metadata in (False, True):
        path, found = f"{folder}/files", []
        for size in sizes:
            fabricate.with_files(path, size, metadata)
            upserts, reads = measured("upserts", path=path), measured("reads", path=path)
            found.append({**reads, **upserts, "mb": max(upserts["mb"], reads["mb"])})
        shutil.rmtree(path)
        show(
            f"File groups, {'with a metadata table' if metadata else 'listed'}", sizes,
            [
                ("first upsert of 10 rows, seconds", [f["first"] for f in found], ".3f"),
                ("the next ones", [f["upsert"] for f in found], ".3f"),
                ("open, and read of one partition path", [f["read"] for f in found], ".3f"),
                ("memory, MB", [f["mb"] for f in found], ".0f"),
            ],
        )  # fmt: skip


def large_commit(folder: str, most: int, turns: int = 5) -> None:
    """Small writes after a commit of many files: medians of tables made anew, as single
    processes scatter by half."""
    sizes = tens(100, most)
    for metadata in (False, True):
        path = f"{folder}/large"
        found: dict[int, list[Figures]] = {size: [] for size in sizes}
        for _ in range(turns):
            for size in sizes:
                fabricate.with_files(path, size, metadata, named=True)
                updates = measured("upserts", path=path)
                fabricate.with_files(path, size, metadata, named=True)
                inserts = measured("inserts", path=path)
                new = {"new": inserts["first"], "insert": inserts["insert"]}
                found[size].append(updates | new)
        shutil.rmtree(path)

        def medians(name: str, found: dict[int, list[Figures]] = found) -> list[float]:
            return [statistics.median(one[name] for one in each) for each in found.values()]

        beside = "with a metadata table" if metadata else "listed"
        show(
            f"Files of the commit before, {beside}",
            sizes,
            [
                ("first upsert of 10 rows, seconds", medians("first"), ".3f"),
                ("the next ones", medians("upsert"), ".3f"),
                ("first upsert of 10 new rows", medians("new"), ".3f"),
                ("the next ones", medians("insert"), ".3f"),
            ],
        )


def commits(folder: str, most: int) -> None:
    for action in ("commit", "replacecommit"):
        sizes, path, found = tens(10, most), f"{folder}/commits", []
        for size in sizes:
            fabricate.with_commits(path, size, action)
            found.append({**measured("reads", path=path), **measured("upserts", path=path)})
        shutil.rmtree(path)
        show(
            f"Active instants, each a {action}", sizes,
            [
                ("first upsert of 10 rows, seconds", [f["first"] for f in found], ".3f"),
                ("the next ones", [f["upsert"] for f in found], ".3f"),
                ("open, and read of one partition path", [f["read"] for f in found], ".3f"),
            ],
        )  # fmt: skip


def columns(folder: str, most: int) -> None:
    del most
    for kind, rows, sizes in (
        ("COPY_ON_WRITE", 10, [100, 1000, 5000]),
        ("MERGE_ON_READ", 1000, [100, 1000]),
    ):
        found = [
            measured("columns", path=f"{folder}/columns", count=size, kind=kind) for size in sizes
        ]
        show(
            f"Columns, {rows} rows, {kind.lower().replace('_', ' ')}", sizes,
            [(name, [f[name] for f in found], ".2f") for name in ("insert", "upsert", "read")],
        )  # fmt: skip
    shutil.rmtree(f"{folder}/columns")


def batch(folder: str, most: int, call: str = "batches", where: str = "") -> None:
    for index in ("simple", "record_index", "bucket"):
        sizes, found = tens(100_000, max(most, 1_000_000)), []
        for size in sizes:
            path = f"{folder}/batch"
            found.append(measured(call, path=path, count=size, index=index))
            shutil.rmtree(path)
        show(
            f"Updated keys, index {index}{where}", sizes,
            [
                ("upsert, seconds", [f["upsert"] for f in found], ".2f"),
                ("elapsed", [f["upsert_wall"] for f in found], ".2f"),
                ("memory, MB", [f["mb"] for f in found], ".0f"),
            ],
        )  # fmt: skip


def batch_spark(folder: str, most: int) -> None:
    batch(folder, most, "spark_batches", " on Spark (memory of the driver's Python)")


def partitions(folder: str, most: int) -> None:
    for how in ("bulk_insert", "upsert"):
        sizes, found = tens(10, min(most, 1000)), []
        for size in sizes:
            path = f"{folder}/partitions"
            found.append(measured("partitions", path=path, count=size, how=how))
            shutil.rmtree(path)
        each = [1000 * f[how] / size for f, size in zip(found, sizes, strict=True)]
        show(
            f"Partition paths of one {how}, 5 rows in each", sizes,
            [
                ("seconds", [f[how] for f in found], ".2f"),
                ("milliseconds for a path", each, ".2f"),
            ],
        )  # fmt: skip
    _loads(f"{folder}/loads")


def _loads(path: str) -> None:
    """One bulk insert of a GiB by one task, within a budget of memory."""
    counts, rows = [1, 1000, 10_000], []
    for budget in (128, 256, 1024):
        found = []
        for count in counts:
            found.append(measured("loads", path=path, paths=count, size=1024, budget=budget))
            shutil.rmtree(path)
        rows.append((f"{budget} MiB: peak memory, MB", [f["mb"] for f in found], ".0f"))
        rows.append((f"{budget} MiB: microseconds a row", [f["row"] for f in found], ".2f"))
    show("Partition paths of one bulk_insert of 1 GiB, by budget", counts, rows)


PARTS: dict[str, Callable[[str, int], None]] = {
    "files": files,
    "large_commit": large_commit,
    "commits": commits,
    "columns": columns,
    "batch": batch,
    "batch_spark": batch_spark,
    "partitions": partitions,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=100_000, help="files of the largest table")
    parser.add_argument(
        "--commits", type=int, default=1000, help="instants of the longest timeline"
    )
    parser.add_argument("--only", default=",".join(PARTS), help="of " + ",".join(PARTS))
    chosen = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="hoodoo-scale-")
    try:
        for name in chosen.only.split(","):
            PARTS[name](folder, chosen.commits if name == "commits" else chosen.most)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
