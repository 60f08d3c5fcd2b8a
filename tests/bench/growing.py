"""RFC-08's two ways to scale a record index past its first estimate, beside one another: tables that grow twentyfold.

Each begins with as many keys as its buckets are meant for. Lookups, writes, compactions, bytes and skew are measured
on the way; then with a hash that sends half of all keys into one bucket. Keys have 20 characters in no order.
"""

from __future__ import annotations

import shutil
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hoodoo
import numpy as np
import pyarrow as pa
from hoodoo.table.table import Table
from hoodoo_metadata.hookspecs.index_hash import KeyHash
from hoodoo_metadata.partitions.record_index.growing import Growing
from hoodoo_metadata.partitions.record_index.index import RecordIndex
from hoodoo_metadata.table.layout import GROWING_INDEX
from hoodoo_metadata.table.slice import layers
from hoodoo_services.indexes.lookup import KEYED, locations_of
from hoodoo_standard.engine.local import LocalEngine

from tests.bench import counting, key_rows
from tests.bench.index import _size
from tests.bench.measure import Figure, Report

TIMES, BUCKETS, COMPACTED_EVERY = 20, 10, 2
ASKED = (1, 4_000, 100_000)
AT = (1, 5, 10, 20)  # twentieths of the keys at which keys are looked up
SMALL = 10_000  # new keys of a small write
SCHEMA = pa.schema([("id", pa.string()), ("number", pa.int64())])
_SCALING, _FACTOR = "hoodoo.index.scaling", "hoodoo.index.scaling.factor"
WAYS: dict[str, dict[str, str]] = {
    "file groups": {_SCALING: "file_groups"},
    "bucket groups of equal size": {_SCALING: "bucket_groups", _FACTOR: "1"},
    "bucket groups, each twice as large": {_SCALING: "bucket_groups", _FACTOR: "2"},
}


def run(report: Report, folder: str, count: int, runs: int) -> None:
    _grow(report, f"{folder}/skewed", "skewed", max(count // 10, TIMES), runs, Skewed())
    _grow(report, f"{folder}/even", "even", count, runs, None)


class Skewed:
    """A hash under which half of all keys have the same number; else Java's, as it comes."""

    def spread(self, keys: pa.Array) -> pa.Array:
        from hoodoo_rows.model.java_hash import string_hash

        found = np.abs(string_hash(keys).astype(np.int64))
        return pa.array(np.where(found % 2 == 0, 0, found // 2))


def _grow(
    report: Report, folder: str, kind: str, count: int, runs: int, hashed: KeyHash | None
) -> None:
    each = count // TIMES
    cap = max(1, each // BUCKETS)
    before = Growing.of
    if hashed is not None:
        Growing.of = classmethod(  # type: ignore[method-assign,assignment]
            lambda cls, config: _with_hash(before(config), hashed)
        )
    try:
        tables = {way: f"{folder}/{number}" for number, way in enumerate(WAYS)}
        for way, path in tables.items():
            _create(path, cap, WAYS[way])
        for step in range(1, TIMES + 1):
            for way, path in tables.items():
                _write(report, kind, way, path, (step - 1) * each, step * each, step)
            if step in AT:
                _lookups(report, kind, tables, step * each, runs)
        for way, path in tables.items():
            _small(report, kind, way, path, count, runs)
            _shape(report, kind, way, path, cap)
    finally:
        Growing.of = before  # type: ignore[method-assign]
        shutil.rmtree(folder, ignore_errors=True)


def _with_hash(growing: Growing, hashed: KeyHash) -> Growing:
    from attrs import evolve

    return evolve(growing, hash=hashed)


def _create(path: str, cap: int, options: dict[str, str]) -> None:
    hoodoo.create(
        path, SCHEMA, name="t", record_key="id", index="growing_record_index", engine=LocalEngine(2),
        options={"hoodoo.index.buckets": str(BUCKETS), "hoodoo.index.bucket.cap": str(cap), **options},
    )  # fmt: skip


def _open(path: str) -> Table:
    # Compactions are asked for, so that they can be measured by themselves.
    options = {"hoodie.metadata.compact.max.delta.commits": "100000"}
    return hoodoo.open(path, options, engine=LocalEngine(2))


def _rows(start: int, stop: int) -> pa.Table:
    numbers = np.arange(start, stop)
    return pa.table([key_rows.keys(numbers), numbers], schema=SCHEMA)


def _timed(call: Callable[[], Any]) -> tuple[float, float]:
    begun, worked = time.perf_counter(), time.process_time()
    call()
    return round(time.perf_counter() - begun, 4), round(time.process_time() - worked, 4)


def _add(report: Report, name: str, way: str, seconds: float, busy: float, **notes: float) -> None:
    """One more measurement of ``name``; sums are kept of what is noted."""
    full = f"{name}, {way}"
    figure = report.figures.setdefault(full, Figure(full, [], {}))
    figure.seconds.append(seconds)
    for key, value in {"processor_s": busy, **notes}.items():
        figure.notes[key] = round(figure.notes.get(key, 0) + value, 4)


def _write(
    report: Report, kind: str, way: str, path: str, start: int, stop: int, step: int
) -> None:
    rows, before = _rows(start, stop), _size(path, True)
    spent, busy = _timed(lambda: _open(path).append(rows))
    added = _size(path, True) - before
    _add(report, f"growing, {kind}: append", way, spent, busy, bytes=added)
    if step % COMPACTED_EVERY == 0:
        known = set(_bases(path))
        spent, busy = _timed(lambda: _open(path).compact_metadata())
        new = [f for f in _bases(path) if f not in known]
        written = sum(f.stat().st_size for f in new)
        name = f"growing, {kind}: compaction"
        _add(report, name, way, spent, busy, bytes=written, files=len(new))
        for told in (f"growing, {kind}: append", name):
            print(step, report.line(report.figures[f"{told}, {way}"]), flush=True)


def _bases(path: str) -> list[Path]:
    return list((Path(path) / ".hoodie/metadata" / GROWING_INDEX).glob("*.hfile"))


def _lookups(report: Report, kind: str, tables: dict[str, str], rows: int, runs: int) -> None:
    """Beside one another in each run; all answers are compared."""
    for asked in (a for a in ASKED if a <= rows):
        spent: dict[str, list[tuple[float, float]]] = {way: [] for way in tables}
        read: dict[str, tuple[int, int]] = {}
        for seed in range(max(runs, 5) if asked < 100_000 else 3):
            drawn = np.sort(np.random.default_rng(seed).choice(rows, asked, replace=False))
            keys = pa.table(
                [key_rows.keys(drawn), pa.array([""] * asked, pa.string())], schema=KEYED
            )
            for way, path in tables.items():
                target = _open(path).handle.write_target(None, LocalEngine(2))
                index = target.plugins.index

                def look(target: Any = target, index: Any = index, keys: pa.Table = keys) -> None:
                    found = locations_of(target, index, target.engine.source(keys))
                    assert found.num_rows == keys.num_rows, (found.num_rows, keys.num_rows)

                spent[way].append(_timed(look))
                if not seed:
                    read[way] = _read(path, keys)
        for way, pairs in spent.items():
            name = f"growing, {kind}, {rows} keys: lookup of {asked}, {way}"
            figure = Figure(name, [s for s, _ in pairs], {})
            figure.notes = {
                "processor_s": round(statistics.median(p for _, p in pairs), 4),
                "bytes_read": read[way][0],
                "hfiles": read[way][1],
            }
            report.add(figure)


def _read(path: str, keys: pa.Table) -> tuple[int, int]:
    """Bytes of the index that a lookup reads, and the HFiles that the index has."""
    table = _open(path)
    storage = counting.CountingStorage(table.handle.storage)
    index = RecordIndex.open(storage, table.timeline(), partition=GROWING_INDEX)
    index.locations(keys.column(0).combine_chunks())
    files = sum(len(s.log_files) + (s.base_file is not None) for b in index.buckets for s in b)
    return storage.read[counting.INDEX], files


def _small(report: Report, kind: str, way: str, path: str, count: int, runs: int) -> None:
    """Writes of few new keys into the table that has grown."""
    for run in range(max(runs, 5)):
        rows = _rows(count + run * SMALL, count + (run + 1) * SMALL)
        folder = Path(path) / ".hoodie/metadata" / GROWING_INDEX
        before, files = _size(path, True), len(list(folder.iterdir()))
        spent, busy = _timed(lambda rows=rows: _open(path).upsert(rows))  # type: ignore[misc]
        _add(
            report, f"growing, {kind}: upsert of {SMALL} new keys", way, spent, busy,
            bytes=_size(path, True) - before, files=len(list(folder.iterdir())) - files,
        )  # fmt: skip
    print(report.line(report.figures[f"growing, {kind}: upsert of {SMALL} new keys, {way}"]))
    spent, busy = _timed(lambda: _open(path).compact_metadata())
    _add(report, f"growing, {kind}: compaction after these", way, spent, busy)


def _shape(report: Report, kind: str, way: str, path: str, cap: int) -> None:
    """File groups, and how unevenly they are filled."""
    table = _open(path)
    index = RecordIndex.open(table.handle.storage, table.timeline(), partition=GROWING_INDEX)
    slices = [s for bucket in index.buckets for s in bucket]
    entries = [
        sum(layer.hfile.entry_count for layer in layers(index.storage, s) if layer.hfile)
        for s in slices
    ]
    depth = [len(bucket) for bucket in index.buckets]
    size = sum(s.size for s in slices)
    figure = Figure(f"growing, {kind}: shape, {way}", [], {})
    figure.notes = {
        "file_groups": len(slices), "most_in_a_family": max(depth),
        "groups": 1 + max(int(s.file_id.rsplit("-", 1)[1]) for s in slices),
        "fullest_by_cap": round(max(entries) / cap, 2),
        "median_by_cap": round(statistics.median(entries) / cap, 2),
        "bytes": size, "bytes_per_entry": round(size / max(1, sum(entries)), 2),
    }  # fmt: skip
    report.add(figure)
