"""How long a clustering is planned for: tables of many small files, of which only the timeline and the metadata table
are there. A plan opens no data file, so that none has to be.

The files of each commit are of all partitions; the first half of the commits lies in base files of the metadata
table, the others in its log files. Half of the files are small enough to be clustered.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import hoodoo
import numpy as np
import pyarrow as pa
from hoodoo.actions.transaction import Transaction
from hoodoo.hookspecs.file_format import BaseRanges
from hoodoo.hookspecs.participant import ActionChange
from hoodoo.model.column_range import ColumnRange
from hoodoo.model.commit import CommitMetadata, Operation, WriteStat
from hoodoo.model.schema.avro import avro_text
from hoodoo.participants.of_table import Participants
from hoodoo.table.table import Table
from hoodoo.timeline.names import parse_path
from hoodoo.timeline.snapshot import Snapshot
from hoodoo_rows.api import StoredFiles
from hoodoo_standard.engine.local import LocalEngine

from tests.bench.measure import Figure, Report

GOAL = 5.0  # seconds for 100,000 files
COMMITS, PARTITIONS = 10, 50
MIB = 1 << 20
SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("city", pa.string()),
        ("number", pa.int64()),
        ("at", pa.timestamp("us", "UTC")),
    ]
)
INDEXED = ("number", "at")
PLANS: dict[str, dict[str, Any]] = {
    "size": {},
    "size, sorted": {"plan": "size", "columns": ["number"]},
    "commit_time": {},
    "random": {},
    "single_file": {"columns": ["number"]},
    "key_range": {},
    "overlap": {"columns": ["number"]},
    "overlap of two": {"plan": "overlap", "columns": ["number", "at"]},
}


def run(report: Report, folder: str, files: int, runs: int) -> None:
    path = f"{folder}/many-files"
    make(path, files)
    try:
        for name, asked in PLANS.items():
            arguments = {"plan": name, **asked}
            figure = Figure(f"plans: {name}, {files} files", [], {}, goal=None)
            worked = []
            for _ in range(runs):
                table = hoodoo.open(path, engine=LocalEngine(2))
                begun, busy = time.perf_counter(), time.process_time()
                instant = table.schedule_clustering(**arguments)
                figure.seconds.append(round(time.perf_counter() - begun, 3))
                worked.append(time.process_time() - busy)
                assert instant is not None
                figure.notes["groups"] = table.clusterings()[0].groups
                table.cancel_clustering(instant)
            figure.notes["processor_s"] = round(sorted(worked)[len(worked) // 2], 3)
            figure.notes["goal_s"] = GOAL
            report.add(figure)
    finally:
        shutil.rmtree(path, ignore_errors=True)


def make(
    path: str, files: int, columns: tuple[str, ...] = ("_hoodie_record_key", *INDEXED)
) -> Table:
    """A table of so many files, none of which is there."""
    table = hoodoo.create(
        path, SCHEMA, name="t", record_key="id", partition_by="city", engine=LocalEngine(2),
        options={
            "hoodie.metadata.enable": "true",
            "hoodie.metadata.index.column.stats.enable": "true",
            "hoodie.metadata.index.column.stats.column.list": ",".join(columns),
            "hoodie.metadata.compact.max.delta.commits": "100000",
        },
    )  # fmt: skip
    table.upsert(pa.table([["0"], ["p00"], [0], [0]], schema=SCHEMA))
    each = files // COMMITS
    with _described():
        for commit in range(COMMITS):
            _commit(path, range(commit * each, (commit + 1) * each))
            if commit == COMMITS // 2:
                hoodoo.open(path, engine=LocalEngine(2)).compact_metadata()
    return hoodoo.open(path, engine=LocalEngine(2))


def _commit(path: str, numbers: range) -> None:
    table = hoodoo.open(path, {"hoodie.metadata.compact.max.delta.commits": "100000"})
    handle = table.handle
    storage, timeline = handle.storage, table.timeline()
    transaction = Transaction.begin(Snapshot(storage, timeline), "commit")
    transaction.inflight()
    stats = tuple(_stat(number, transaction.requested) for number in numbers)
    joined = Participants.of_table(handle.config).join(storage, timeline)
    assert joined is not None
    change = ActionChange(
        storage,
        timeline,
        transaction.instant,
        Operation.INSERT,
        SCHEMA,
        stats,
        engine=LocalEngine(2),
    )
    beside = joined.begin(change)
    metadata = CommitMetadata(Operation.INSERT, stats, extra={"schema": avro_text(SCHEMA, "t")})
    transaction.complete(timeline.layout.encode_commit(metadata, "commit"), beside=beside)


def _stat(number: int, instant: str) -> WriteStat:
    partition = f"p{number % PARTITIONS:02d}"
    file_id = f"{(number * 2654435761) % (1 << 32):08x}-0000-4000-8000-{number:012x}-0"
    size = (1 + number % 199) * MIB if number % 2 else 350 * MIB + number
    name = f"{file_id}_{number}-0-0_{instant}.parquet"
    return WriteStat(partition, file_id, f"{partition}/{name}", num_writes=1000, num_inserts=1000,
                     file_size=size)  # fmt: skip


@contextmanager
def _described() -> Iterator[None]:
    """What footers would say is made up of the numbers of the files."""

    def ranges(storage: Any, file_format: Any, path: str, columns: Any) -> BaseRanges:
        file = parse_path(path)
        assert file is not None
        number = int(file.write_token.split("-")[0])
        low = int(np.random.default_rng(number).integers(0, 10**9))
        found = {
            "number": (low, low + 10**5, pa.int64()),
            "at": (number * 10**6, (number + 20 * PARTITIONS) * 10**6, pa.timestamp("us", "UTC")),
            "_hoodie_record_key": (f"{low:020d}", f"{low + 10**6:020d}", pa.string()),
        }
        known = {
            column: ColumnRange(column, file.name, *found[column], 1000, 0, 8000, 8000)
            for column in columns
            if column in found
        }
        return BaseRanges(1000, None, frozenset(known), known)

    with patch.object(StoredFiles, "ranges", staticmethod(ranges)):
        yield
