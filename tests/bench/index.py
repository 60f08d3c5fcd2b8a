"""The record index of whole tables: lookups beside ``global_simple``, what they exchange and how they grow,
point reads, and what an upsert pays for it.

Rows are made as they are needed: keys of 20 characters in no order, two partition paths, 60 base files (40 in
tables that are upserted to).
"""

from __future__ import annotations

import shutil
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hoodoo
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from hoodoo.kernel.resolve import resolve
from hoodoo.table import settings as tables
from hoodoo.table.table import Table
from hoodoo.timeline import properties
from hoodoo_metadata.partitions.record_index import index as record_index
from hoodoo_rows.testing.metered import MeteredEngine
from hoodoo_services.indexes.lookup import KEYED, locations_of
from hoodoo_standard.engine.local import LocalEngine

from tests.bench import counting, key_rows
from tests.bench.measure import Figure, Report

ASKED = 4000
LOADS, UPSERT_LOADS = 30, 20  # bulk inserts that make a table, a file in each partition path
PATHS = ("p0", "p1")
SHARES = (0.05, 0.25, 1.0)  # of the keys: tables whose growth is looked at
RECORD, SIMPLE = "record_index", "global_simple"
LOOKUP, EXCHANGE, POINT, UPSERT = 1 / 3.6, 1 / 100, 1 / 50, 1.15
UPSERTED = 5_000_000  # rows at most of the tables that are upserted to
_BATCH = 250_000
_NOTE = 24
SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("part", pa.string()),
        ("amount", pa.int64()),
        ("at", pa.int64()),
        ("note", pa.string()),
    ]
)
# Rows as wide as those of an order line: sixteen columns, some 150 bytes in memory.
WIDE = pa.schema(
    [
        *SCHEMA,
        *((f"quantity_{n}", pa.float64()) for n in range(4)),
        *((f"day_{n}", pa.date32()) for n in range(3)),
        *((f"code_{n}", pa.string()) for n in range(2)),
        *((f"number_{n}", pa.int64()) for n in range(2)),
    ]
)
# How a table keeps what finds its keys.
WAYS: dict[str, tuple[str, dict[str, str]]] = {
    "bucket, no metadata table": ("bucket", {"hoodie.metadata.enable": "false"}),
    "record_index": (RECORD, {}),
    "record_index without column_stats": (
        RECORD,
        {"hoodie.metadata.index.column.stats.enable": "false"},
    ),
}


def run(report: Report, folder: str, count: int, runs: int) -> None:
    for share in SHARES:
        rows = int(count * share) // LOADS * LOADS
        path = f"{folder}/index-{rows}"
        _build(report, path, rows)
        _compact(report, path, rows)
        _lookups(report, path, rows, runs, share == SHARES[-1])
        if share == SHARES[-1]:
            _exchanged(report, path, rows)
            _point(report, path, rows)
        shutil.rmtree(path)
    _growth(report, [int(count * share) // LOADS * LOADS for share in SHARES])
    rows = min(count, UPSERTED) // UPSERT_LOADS * UPSERT_LOADS
    _upserts(report, folder, rows, runs, SCHEMA)
    _upserts(report, folder, rows // 2 // UPSERT_LOADS * UPSERT_LOADS, runs, WIDE)


# --- rows ---------------------------------------------------------------------------------------------
def rows_of(numbers: Any, change: int = 0, schema: pa.Schema = SCHEMA) -> pa.Table:
    """The rows of some numbers."""
    ids = key_rows.keys(numbers)
    paths = pa.DictionaryArray.from_arrays(pa.array(numbers % len(PATHS)), pa.array(PATHS))
    letters = np.random.default_rng(int(numbers[0]) + change).integers(
        97, 123, len(numbers) * _NOTE, dtype=np.uint8
    )
    offsets = np.arange(0, len(letters) + 1, _NOTE, dtype=np.int32)
    notes = pa.StringArray.from_buffers(len(numbers), pa.py_buffer(offsets), pa.py_buffer(letters))
    at = 1_767_225_600 + numbers // 100
    columns = [ids, paths.cast(pa.string()), pa.array(numbers * 3 + change), pa.array(at), notes]
    columns += [
        _more(field.type, numbers, place) for place, field in enumerate(schema) if place >= 5
    ]
    return pa.table(columns, schema=schema)


def _more(kind: pa.DataType, numbers: Any, place: int) -> pa.Array:
    """A column of some thousand different values."""
    drawn = (numbers * (2 * place + 1) + place) % 2503
    if pa.types.is_string(kind):
        codes = pa.array([f"{place}-{n:06d}" for n in range(2503)])
        return pa.DictionaryArray.from_arrays(pa.array(drawn), codes).cast(pa.string())
    if pa.types.is_date(kind):
        return pa.array(drawn.astype(np.int32)).cast(kind)
    return pa.array(drawn / 7 if pa.types.is_floating(kind) else drawn * numbers).cast(kind)


def batches_of(start: int, stop: int, schema: pa.Schema = SCHEMA) -> pa.RecordBatchReader:
    def made() -> Iterator[pa.RecordBatch]:
        for first in range(start, stop, _BATCH):
            some = np.arange(first, min(first + _BATCH, stop))
            yield from rows_of(some, schema=schema).to_batches()

    return pa.RecordBatchReader.from_batches(schema, made())


def _keys(rows: int, count: int, seed: int) -> pa.Table:
    drawn = np.sort(np.random.default_rng(seed).choice(rows, count, replace=False))
    drawn_rows = rows_of(drawn)
    return pa.table([drawn_rows.column("id"), drawn_rows.column("part")], schema=KEYED)


# --- tables -------------------------------------------------------------------------------------------
def _build(report: Report, path: str, rows: int) -> None:
    table = hoodoo.create(
        path,
        SCHEMA,
        name="t",
        record_key="id",
        partition_by="part",
        index=RECORD,
        engine=LocalEngine(2),
    )
    each, spent = rows // LOADS, []
    for start in range(0, rows, each):
        begun = time.perf_counter()
        assert table.bulk_insert(batches_of(start, start + each)).inserted == each
        spent.append(round(time.perf_counter() - begun, 3))
    figure = Figure(f"index, {rows} keys: bulk insert of a {LOADS}th", spent, {})
    figure.notes = {"data_bytes": _size(path, False), "index_bytes": _size(path, True)}
    report.add(figure)


def _size(path: str, metadata: bool) -> int:
    """Bytes of the data files, or of the metadata table's."""
    root = Path(path)
    below = root / ".hoodie" / "metadata"
    if metadata:
        return (
            sum(f.stat().st_size for f in below.rglob("*") if f.is_file()) if below.exists() else 0
        )
    return sum(f.stat().st_size for f in root.rglob("*.parquet") if ".hoodie" not in f.parts)


def _compact(report: Report, path: str, rows: int) -> None:
    begun = time.perf_counter()
    hoodoo.open(path, engine=LocalEngine(2)).compact_metadata()
    seconds = round(time.perf_counter() - begun, 3)
    index = Path(path) / ".hoodie" / "metadata" / "record_index"
    newest = {f.name.split("_")[0]: f for f in sorted(index.glob("*.hfile"), key=_instant)}
    size = sum(f.stat().st_size for f in newest.values())
    figure = Figure(f"index, {rows} keys: compaction of the metadata table", [seconds], {})
    figure.notes = {
        "groups": len(newest), "bytes": size, "bytes_per_key": round(size / rows, 2),
        "keys_per_second": round(rows / max(seconds, 0.001)),
    }  # fmt: skip
    report.add(figure)


def _instant(file: Path) -> str:
    return file.stem.rsplit("_", 1)[-1]


def _index(table: Table, name: str) -> Any:
    return resolve("index", name, table.handle.settings).instance


def _asked(path: str, name: str, keys: pa.Table, engine: Any, options: dict[str, str]) -> pa.Table:
    table = hoodoo.open(path, options)
    target = table.handle.write_target(None, engine)
    return locations_of(target, _index(table, name), target.engine.source(keys))


def _lookups(report: Report, path: str, rows: int, runs: int, goal: bool) -> None:
    """Of :data:`ASKED` keys that are there, beside one another in each run."""
    engine = LocalEngine(2)
    spent: dict[str, list[float]] = {SIMPLE: [], RECORD: []}
    busy: dict[str, list[float]] = {SIMPLE: [], RECORD: []}
    asked = min(ASKED, rows)
    for seed in range(max(runs, 5)):
        keys = _keys(rows, asked, seed)
        found = {}
        for name in spent:
            table = hoodoo.open(path)
            target = table.handle.write_target(None, engine)
            index = _index(table, name)
            begun, worked = time.perf_counter(), time.process_time()
            found[name] = locations_of(target, index, target.engine.source(keys))
            spent[name].append(round(time.perf_counter() - begun, 4))
            busy[name].append(time.process_time() - worked)
        _agree(found, asked)
    for name, seconds in spent.items():
        figure = Figure(f"index, {rows} keys: lookup of {asked}, {name}", seconds, {})
        worked = statistics.median(busy[name])
        figure.notes = {"processor_s": round(worked, 3)}
        if name == RECORD:
            ratio = worked / statistics.median(busy[SIMPLE])
            figure.notes["processor_ratio"] = round(ratio, 3)
            figure.against = f"index, {rows} keys: lookup of {asked}, {SIMPLE}"
            figure.ratio = round(figure.median / statistics.median(spent[SIMPLE]), 3)
            figure.goal = round(LOOKUP, 3) if goal else None
        report.add(figure)


def _agree(found: dict[str, pa.Table], asked: int) -> None:
    ordered = [t.sort_by([(name, "ascending") for name in t.column_names]) for t in found.values()]
    assert all(t.num_rows == asked for t in ordered), [t.num_rows for t in ordered]
    assert all(t.equals(ordered[0]) for t in ordered)


def _exchanged(report: Report, path: str, rows: int) -> None:
    """What crosses an exchange in a lookup that has to exchange, as one does of many keys."""
    asked = min(ASKED, rows)
    keys = _keys(rows, asked, 1)
    found = {}
    forced = {SIMPLE: {"hoodoo.index.simple.side.bytes": "1"}, RECORD: {}}
    before = record_index._SIDE_BYTES
    record_index._SIDE_BYTES = 0
    try:
        for name, options in forced.items():
            engine = MeteredEngine(LocalEngine(2))
            found[name] = _asked(path, name, keys, engine, options)
            total = engine.total()
            figure = Figure(f"index, {rows} keys: bytes exchanged, {name}", [], {})
            figure.notes = {"rows": total.rows, "bytes": total.bytes}
            if name == RECORD:
                figure.against = f"index, {rows} keys: bytes exchanged, {SIMPLE}"
                figure.goal = EXCHANGE
                figure.ratio = round(total.bytes / report.figures[figure.against].notes["bytes"], 6)
            report.add(figure)
    finally:
        record_index._SIDE_BYTES = before
    _agree(found, asked)
    figure = Figure(f"index, {rows} keys: bytes of a side table, either index", [], {})
    figure.notes = {"bytes": keys.nbytes}
    report.add(figure)


# --- reads --------------------------------------------------------------------------------------------
def _counted(path: str) -> tuple[Table, counting.CountingStorage]:
    storage = counting.CountingStorage(tables.open_storage(path, {}))
    config = properties.load(storage)
    options = tables.check_options({"hoodoo.local.threads": "2"}, config)
    return Table(storage, config, options), storage


def _point(report: Report, path: str, rows: int) -> None:
    """Bytes of data and index files, read for one key and for all rows."""
    table, storage = _counted(path)
    there = sum(batch.num_rows for batch in table.read().to_batches())
    assert there == rows, there
    whole = Figure(f"index, {rows} keys: read of all rows", [], {}, notes=_told(storage))
    report.add(whole)
    spent, sizes = [], []
    for number in (np.random.default_rng(3).integers(0, rows, 5)).tolist():
        wanted = rows_of(np.array([number]))
        table, storage = _counted(path)
        begun = time.perf_counter()
        found = table.read(
            columns=SCHEMA.names, where=pc.field("id") == wanted.column("id")[0].as_py()
        ).to_arrow()
        spent.append(round(time.perf_counter() - begun, 4))
        assert found.num_rows == 1, found
        assert found.column("amount")[0].as_py() == number * 3
        sizes.append(_told(storage))
    figure = Figure(f"index, {rows} keys: read of one key", spent, {})
    figure.notes = {name: statistics.median(s[name] for s in sizes) for name in sizes[0]}
    figure.against, figure.goal = whole.name, POINT
    figure.ratio = round(figure.notes["bytes"] / whole.notes["bytes"], 5)
    report.add(figure)


def _told(storage: counting.CountingStorage) -> dict[str, float]:
    data, index = storage.read[counting.DATA], storage.read[counting.INDEX]
    return {
        "bytes": data + index, "of_data": data, "of_index": index,
        "requests": storage.requests[counting.DATA] + storage.requests[counting.INDEX],
    }  # fmt: skip


# --- growth and upserts ---------------------------------------------------------------------------------
def _growth(report: Report, sizes: list[int]) -> None:
    """The power of the number of keys with which a lookup grows: 0 is flat, 1 is in step."""
    for name in (SIMPLE, RECORD):
        medians = [
            report.figures[f"index, {rows} keys: lookup of {min(ASKED, rows)}, {name}"].median
            for rows in sizes
        ]
        power = float(np.polyfit(np.log(sizes), np.log(medians), 1)[0])
        last = float(np.log(medians[-1] / medians[-2]) / np.log(sizes[-1] / sizes[-2]))
        notes = {"power": round(power, 2), "power_of_last_step": round(last, 2)}
        report.add(Figure(f"index: growth of a lookup, {name}", [], {}, notes=notes))


def _upserts(report: Report, folder: str, rows: int, runs: int, schema: pa.Schema) -> None:
    what = f"1 % of {rows} rows of {len(schema)} columns"
    paths = {way: f"{folder}/upsert-{number}" for number, way in enumerate(WAYS)}
    for way, path in paths.items():
        _fill(way, path, rows, schema)
    groups = {way: len({s.file_id for s in _slices(path)}) for way, path in paths.items()}
    assert len(set(groups.values())) == 1, groups
    spent: dict[str, list[float]] = {way: [] for way in WAYS}
    busy: dict[str, list[float]] = {way: [] for way in WAYS}
    added: dict[str, list[int]] = {way: [] for way in WAYS}
    for seed in range(max(runs, 5)):
        drawn = np.sort(np.random.default_rng(seed).choice(rows, rows // 100, replace=False))
        change = rows_of(drawn, seed + 1, schema)
        for way, path in paths.items():
            before = _size(path, True)
            table = hoodoo.open(path, _options(way), engine=LocalEngine(2))
            begun, worked = time.perf_counter(), time.process_time()
            done = table.upsert(change)
            spent[way].append(round(time.perf_counter() - begun, 3))
            busy[way].append(time.process_time() - worked)
            assert (done.updated, done.inserted) == (len(drawn), 0), done
            added[way].append(_size(path, True) - before)
    base = next(iter(WAYS))
    for way, seconds in spent.items():
        figure = Figure(f"index: upsert of {what}, {way}", seconds, {})
        figure.notes = {
            "processor_s": round(statistics.median(busy[way]), 3), "groups": groups[way],
            "metadata_bytes": statistics.median(added[way]),
            "metadata_bytes_per_key": round(statistics.median(added[way]) / (rows // 100), 1),
        }  # fmt: skip
        if way != base:
            figure.against = f"index: upsert of {what}, {base}"
            figure.ratio = round(figure.median / statistics.median(spent[base]), 3)
            figure.goal = UPSERT
            figure.notes["processor_ratio"] = round(
                statistics.median(busy[way]) / statistics.median(busy[base]), 3
            )
        report.add(figure)
    sums = {way: _sum(path) for way, path in paths.items()}
    assert len(set(sums.values())) == 1, sums
    for path in paths.values():
        shutil.rmtree(path)


def _options(way: str) -> dict[str, str]:
    # One commit more than the newest is kept: base files are rewritten as a whole by every upsert.
    return {
        "hoodie.clean.commits.retained": "1",
        "hoodie.clean.trigger.max.commits": "1",
        **WAYS[way][1],
    }


def _fill(way: str, path: str, rows: int, schema: pa.Schema) -> None:
    index, options = WAYS[way]
    if index == "bucket":
        options = {**options, "hoodie.bucket.index.num.buckets": str(UPSERT_LOADS)}
    table = hoodoo.create(
        path, schema, name="t", record_key="id", partition_by="part", index=index, options=options,
        engine=LocalEngine(2),
    )  # fmt: skip
    if index == "bucket":
        assert table.bulk_insert(batches_of(0, rows, schema)).inserted == rows
        return
    for start in range(0, rows, rows // UPSERT_LOADS):
        table.bulk_insert(batches_of(start, start + rows // UPSERT_LOADS, schema))
    hoodoo.open(path, options, engine=LocalEngine(2)).compact_metadata()


def _slices(path: str) -> Any:
    return hoodoo.open(path).handle.write_target(None, "local").slices


def _sum(path: str) -> tuple[object, ...]:
    rows = total = 0
    for batch in hoodoo.open(path).read(columns=["amount"]).to_batches():
        rows += batch.num_rows
        total += pc.sum(batch.column(0)).as_py()
    return rows, total
