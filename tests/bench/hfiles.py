"""HFiles of a record index: how big entries are, how fast keys are found, and when seeking pays.

On one core, and from memory: what a store adds is not in it.
"""

from __future__ import annotations

import io
import math
import os
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from hoodoo_metadata.hfile import FileWindow, HFile, write_hfile
from hoodoo_metadata.hfile import blocks as hfile_blocks
from hoodoo_metadata.hfile import inflate as hfile_inflate
from hoodoo_metadata.table.base import block_bytes
from hoodoo_metadata.table.layout import RECORD_INDEX
from hoodoo_metadata.table.schema import record_schema

from tests.bench import key_rows, plot
from tests.bench.measure import Figure, Report

ASKED = 100_000
LIMIT_MS, BYTES = 300, 50
LEAST_RUNS = 20
KINDS = {"20 characters": 20, "8 to 40 characters": None}
SHARES = (1e-6, 1e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 3e-1, 1.0)
WAYS = ("seek", "scan", "auto")
SPLITS = (1, 2, 4, 8)
PLOT = "seek-or-scan.svg"


def run(report: Report, count: int, runs: int, images: str | None) -> None:
    with _one_core():
        for kind, length in KINDS.items():
            batch = key_rows.entries(count, length)
            data = _written(report, kind, batch)
            file = HFile.open(FileWindow.on(data))
            _all(report, kind, batch, file)
            _lookups(report, kind, batch, file, runs)
            _shares(report, kind, batch, file, runs, images)
            if length is not None:
                _splits(report, batch, runs)


@contextmanager
def _one_core() -> Iterator[None]:
    """This process on the last of its cores; Arrow with one thread."""
    before = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    if before:
        os.sched_setaffinity(0, {max(before)})
    threads = pa.cpu_count()
    pa.set_cpu_count(1)
    try:
        yield
    finally:
        pa.set_cpu_count(threads)
        if before:
            os.sched_setaffinity(0, before)


def _bytes(batches: list[pa.RecordBatch]) -> bytes:
    sink = io.BytesIO()
    size = block_bytes(RECORD_INDEX)
    write_hfile(sink, batches, schema_text=record_schema(9), block_bytes=size)
    return sink.getvalue()


def _written(report: Report, kind: str, batch: pa.RecordBatch) -> bytes:
    begun = time.perf_counter()
    data = _bytes([batch])
    figure = Figure(f"hfile, {kind}: write", [round(time.perf_counter() - begun, 3)], {})
    each = len(data) / batch.num_rows
    figure.notes = {"entries": batch.num_rows, "bytes_per_entry": round(each, 2)}
    figure.against, figure.goal, figure.ratio = (
        f"{BYTES} bytes an entry",
        1.0,
        round(each / BYTES, 2),
    )
    report.add(figure)
    return data


def _all(report: Report, kind: str, batch: pa.RecordBatch, file: HFile) -> None:
    begun = time.perf_counter()
    found = pa.Table.from_batches(file.scan())
    seconds = round(time.perf_counter() - begun, 3)
    assert found.equals(pa.Table.from_batches([batch]))
    report.add(Figure(f"hfile, {kind}: read all", [seconds], {}, notes={"blocks": file.blocks}))


def _drawn(batch: pa.RecordBatch, count: int, seed: int) -> pa.Array:
    rows = np.random.default_rng(seed).choice(batch.num_rows, count, replace=False)
    return batch.column(0).take(pa.array(rows))


def _checked(found: pa.Table, asked: pa.Array) -> None:
    """Each key is there once; their bytes are those that were asked for."""
    assert found.num_rows == len(asked), (found.num_rows, len(asked))
    sizes = [pc.sum(pc.binary_length(c)).as_py() for c in (found.column("key"), asked)]
    assert sizes[0] == sizes[1], sizes
    assert found.column("key").combine_chunks().equals(asked.take(pc.sort_indices(asked)))


def _libraries() -> dict[str, Callable[..., bytes]]:
    """What can inflate: the library that is used first, zlib besides."""
    import zlib

    def slow(data: bytes | memoryview, size: int) -> bytes:
        return zlib.decompress(data, wbits=31, bufsize=size + 1)

    return {hfile_inflate.NAME: hfile_inflate.inflate, "zlib": slow}


def _lookups(report: Report, kind: str, batch: pa.RecordBatch, file: HFile, runs: int) -> None:
    asked = min(ASKED, batch.num_rows)
    seconds: dict[str, list[float]] = {name: [] for name in _libraries()}
    busy: dict[str, list[float]] = {name: [] for name in seconds}
    for seed in range(max(runs, LEAST_RUNS)):
        wanted = _drawn(batch, asked, seed)
        for name, call in _libraries().items():
            setattr(hfile_blocks, "inflate", call)  # noqa: B010
            try:
                begun, worked = time.perf_counter(), time.process_time()
                found = file.get(wanted)
                seconds[name].append(round(time.perf_counter() - begun, 4))
                busy[name].append(time.process_time() - worked)
            finally:
                setattr(hfile_blocks, "inflate", hfile_inflate.inflate)  # noqa: B010
            _checked(found, wanted)
    for name, spent in seconds.items():
        figure = Figure(f"hfile, {kind}: {asked} keys looked up, {name}", spent, {})
        late = float(np.percentile(spent, 95)) * 1000
        figure.notes = {
            "p50_ms": round(1000 * figure.median, 1),
            "p95_ms": round(late, 1),
            "processor_p50_ms": round(1000 * float(np.percentile(busy[name], 50)), 1),
            "processor_p95_ms": round(1000 * float(np.percentile(busy[name], 95)), 1),
        }
        figure.against, figure.goal = f"{LIMIT_MS} ms at p95", 1.0
        figure.ratio = round(late / LIMIT_MS, 2)
        report.add(figure)


def _timed(call: Callable[[], object]) -> float:
    """Seconds of the processor: what else the machine does counts less."""
    begun = time.process_time()
    call()
    return time.process_time() - begun


def _shares(
    report: Report, kind: str, batch: pa.RecordBatch, file: HFile, runs: int, images: str | None
) -> None:
    lines: dict[str, list[tuple[float, float]]] = {way: [] for way in WAYS}
    for share in SHARES:
        count = max(1, round(share * batch.num_rows))
        found: dict[str, list[float]] = {way: [] for way in WAYS}
        for seed in range(max(runs, 5) * (4 if count <= 100 else 1)):
            wanted = _drawn(batch, count, seed)
            first = seed % len(WAYS)  # they take turns at being the one that finds all in the cache
            for way in (*WAYS[first:], *WAYS[:first]):
                found[way].append(_timed(lambda: file.get(wanted, way)))  # noqa: B023
        for way in WAYS:
            lines[way].append((count / batch.num_rows, 1000 * statistics.median(found[way])))
        best = min(statistics.median(found[way]) for way in ("seek", "scan"))
        figure = Figure(f"hfile, {kind}: {share:g} of the keys, auto", found["auto"], {})
        figure.notes = {f"{way}_ms": round(lines[way][-1][1], 2) for way in WAYS}
        figure.notes["keys"] = count
        figure.against, figure.goal = "the faster of seek and scan", 1.2
        figure.ratio = round(figure.median / best, 2)
        figure.seconds = [round(s, 5) for s in figure.seconds]
        report.add(figure)
    crossing = _crossing(lines["seek"], lines["scan"])
    figure = Figure(f"hfile, {kind}: seek and scan cross", [], {}, notes={"share": crossing})
    figure.notes["keys_per_block"] = round(crossing * batch.num_rows / file.blocks, 2)
    report.add(figure)
    if images and kind == next(iter(KINDS)):
        title = f"Keys looked up in an HFile of {batch.num_rows:,} entries, one core"
        plot.save(
            f"{images}/{PLOT}", title, "share of the keys looked up", "milliseconds", lines,
            crossing if crossing < 1 else None,
        )  # fmt: skip


def _crossing(seek: list[tuple[float, float]], scan: list[tuple[float, float]]) -> float:
    """The share from which on seeking takes as long as scanning, on a line between two that were measured;
    1 if it is never so. "As long": within 5 %, as with all blocks touched both do the same."""
    excess = [math.log(a / (0.95 * b)) for (_, a), (_, b) in zip(seek, scan, strict=True)]
    if excess[0] >= 0:
        return seek[0][0]
    for i in range(1, len(excess)):
        if excess[i] >= 0:
            part = -excess[i - 1] / (excess[i] - excess[i - 1])
            low, high = math.log(seek[i - 1][0]), math.log(seek[i][0])
            return float(f"{math.exp(low + part * (high - low)):.3g}")
    return 1.0


def _splits(report: Report, batch: pa.RecordBatch, runs: int) -> None:
    """The same entries in more and more HFiles, all of which are asked for every key."""
    whole: dict[int, str] = {}
    for parts in SPLITS:
        files = []
        for part in range(parts):
            rows = np.arange(part, batch.num_rows, parts)
            files.append(HFile.open(FileWindow.on(_bytes([batch.take(pa.array(rows))]))))
        for count in (1, 100, min(ASKED, batch.num_rows)):
            spent = []
            for seed in range(max(runs, 5) * (1 if count > 100 else 5)):
                wanted = _drawn(batch, count, seed)
                begun = time.process_time()
                found = [file.get(wanted) for file in files]
                spent.append(round(time.process_time() - begun, 5))
                assert sum(table.num_rows for table in found) == count
            figure = Figure(f"hfile: {count} keys looked up in {parts} HFiles", spent, {})
            if parts > 1:
                figure.against = whole[count]
                figure.ratio = round(figure.median / report.figures[whole[count]].median, 2)
            else:
                whole[count] = figure.name
            report.add(figure)
