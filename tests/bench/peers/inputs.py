"""The rows of each step, as Parquet files that every contender reads: lineitem of TPC-H with one key of text."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tests.bench import data

SHARES = {"upsert 1 %": 0.01, "upsert 1 % again": 0.01, "upsert 10 %": 0.1}
SMALL_ROWS = 100
MODES = ("AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK")


def made(scale: float, small: int) -> dict[str, str]:
    """Paths by step; ``small``: how many small commits there are. Made once for a scale."""
    folder = data.cache() / f"peers-sf{scale:g}-{small}"
    if not folder.exists():
        part = folder.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir()
        _make(data.plain(data.lineitem(scale)), part, small)
        part.rename(folder)
    return {path.stem: str(path) for path in sorted(folder.iterdir())}


def _make(rows: pa.Table, folder: Path, small: int) -> None:
    keys = pc.binary_join_element_wise(
        *(rows.column(name).cast(pa.string()) for name in data.KEY), "-"
    )
    rows = rows.add_column(0, "id", keys).combine_chunks()
    order = rows.column("l_orderkey").to_numpy()
    draw = np.random.default_rng(1)

    def put(name: str, table: pa.Table) -> None:
        pq.write_table(table, folder / f"{name}.parquet", row_group_size=250_000)

    put("load", rows)
    for number, (name, share) in enumerate(SHARES.items()):
        put(name, data.change(rows, share, number))
    # All of them in the last tenth of the orders, as those of yesterday.
    recent = rows.filter(pa.array(order > np.quantile(order, 0.9)))
    put("upsert skewed", data.change(recent, 0.1, 10))
    fresh = data.change(rows, 0.01, 11)
    put("insert 1 %", fresh.set_column(0, "id", pc.binary_join_element_wise(fresh["id"], "new", "-")))  # fmt: skip
    put("delete 1 %", data.change(rows, 0.01, 12).select(["id", "l_shipmode"]))
    moved = data.change(rows, 0.01, 13)
    turned = pc.index_in(moved["l_shipmode"], pa.array(MODES)).to_numpy() + 1
    at = moved.schema.get_field_index("l_shipmode")
    put("move 1 %", moved.set_column(at, "l_shipmode", pa.array(MODES).take(pa.array(turned % len(MODES)))))  # fmt: skip
    for number in range(small):
        drawn = draw.choice(rows.num_rows, SMALL_ROWS, replace=False)
        put(f"small {number:03}", data.change(rows.take(pa.array(drawn)), 1.0, 100 + number))
