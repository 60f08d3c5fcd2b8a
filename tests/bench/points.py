"""Point reads by each kind of record index: how many data files one key opens, and what is read of them."""

from __future__ import annotations

import shutil
import statistics
import time

import hoodoo
import numpy as np
import pyarrow.compute as pc
from hoodoo.storage.api import Storage
from hoodoo.table import settings as tables
from hoodoo.table.table import Table
from hoodoo.timeline import properties
from hoodoo_standard.engine.local import LocalEngine

from tests.bench import counting
from tests.bench.index import LOADS, SCHEMA, batches_of, rows_of
from tests.bench.measure import Figure, Report

KEYS = 5  # that are read
VIRTUAL = {"hoodie.recordkey.virtual.enabled": "true"}
KINDS: dict[str, tuple[str, dict[str, str]]] = {
    "record_index": ("record_index", {}),
    "partitioned_record_index": ("partitioned_record_index", {}),
    "growing_record_index": ("growing_record_index", {}),
    "record_index of virtual keys": ("record_index", VIRTUAL),
    "partitioned_record_index of virtual keys": ("partitioned_record_index", VIRTUAL),
}


class Opened(counting.CountingStorage):
    """``files``: the data files that were opened."""

    def __init__(self, inner: Storage) -> None:
        super().__init__(inner)
        self.files: set[str] = set()

    def told(self, path: str, size: int) -> None:
        if counting.kind_of(path) == counting.DATA:
            self.files.add(path)
        super().told(path, size)


def run(report: Report, folder: str, rows: int) -> None:
    rows = rows // LOADS * LOADS
    for kind, (index, options) in KINDS.items():
        path = f"{folder}/points"
        made = hoodoo.create(
            path, SCHEMA, name="t", record_key="id", partition_by="part", index=index,
            engine=LocalEngine(2), options=options,
        )  # fmt: skip
        for start in range(0, rows, rows // LOADS):
            assert (
                made.bulk_insert(batches_of(start, start + rows // LOADS)).inserted == rows // LOADS
            )
        _read(report, kind, path, rows)
        shutil.rmtree(path)


def _opened(path: str) -> tuple[Table, Opened]:
    storage = Opened(tables.open_storage(path, {}))
    config = properties.load(storage)
    options = tables.check_options({"hoodoo.local.threads": "2"}, config)
    return Table(storage, config, options), storage


def _read(report: Report, kind: str, path: str, rows: int) -> None:
    there = len(hoodoo.open(path).handle.newest_slices()[1])
    spent, opened, bytes_read = [], [], []
    for number in np.random.default_rng(3).integers(0, rows, KEYS).tolist():
        key = rows_of(np.array([number])).column("id")[0].as_py()
        table, storage = _opened(path)
        begun = time.perf_counter()
        found = table.read(columns=SCHEMA.names, where=pc.field("id") == key).to_arrow()
        spent.append(round(time.perf_counter() - begun, 4))
        assert found.num_rows == 1, found
        assert found.column("amount")[0].as_py() == number * 3
        opened.append(len(storage.files))
        bytes_read.append(sum(storage.read[what] for what in (counting.DATA, counting.INDEX)))
    figure = Figure(f"one of {rows} keys, {kind}", spent, {})
    figure.notes = {
        "files": there, "most_opened": max(opened), "bytes": statistics.median(bytes_read),
    }  # fmt: skip
    report.add(figure)
    assert max(opened) == 1, (kind, opened)
