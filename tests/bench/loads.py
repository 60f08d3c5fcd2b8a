"""A load of lineitem on the local engine beside deltalake's write of the same rows, with stored and with virtual keys."""

from __future__ import annotations

import shutil

import hoodoo
from deltalake import DeltaTable, write_deltalake

from tests.bench import data
from tests.bench.measure import Report

# How the keys are -> how much of deltalake's time a load may take.
WAYS = {
    "stored keys": ({}, 1.3),
    "virtual keys": ({"hoodie.populate.meta.fields": "false"}, 0.7),
}


def run(report: Report, folder: str, scale: float, runs: int) -> None:
    """Each way has its turn beside deltalake, as the goals differ."""
    table = data.plain(data.lineitem(scale))
    ours, theirs = f"{folder}/load-hoodoo", f"{folder}/load-delta"

    def delta(run: int) -> None:
        shutil.rmtree(theirs, ignore_errors=True)
        write_deltalake(theirs, table)

    for way, (options, goal) in WAYS.items():

        def load(run: int) -> None:
            shutil.rmtree(ours, ignore_errors=True)
            made = hoodoo.create(
                ours,
                table.schema,
                name="lineitem",
                record_key=data.KEY,
                options=options,  # noqa: B023
            )
            assert made.bulk_insert(table).inserted == table.num_rows

        report.in_turn(
            {f"deltalake load, beside {way}": delta, f"hoodoo load, {way}": load}, runs, goal
        )
    columns = [*data.KEY, "l_comment"]
    found = hoodoo.open(ours).read(columns=columns).to_arrow()
    assert data.checksum(found) == data.checksum(table)
    assert DeltaTable(theirs).to_pyarrow_dataset().count_rows() == table.num_rows
    shutil.rmtree(ours)
    shutil.rmtree(theirs)
