"""The data: TPC-H lineitem from tpchgen-cli, made once into a cache directory."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

KEY = ["l_orderkey", "l_linenumber"]


def cache() -> Path:
    """Where data is kept between runs (env HOODOO_BENCH_HOME)."""
    folder = Path(os.environ.get("HOODOO_BENCH_HOME", Path(tempfile.gettempdir()) / "hoodoo-bench"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def lineitem(scale: float) -> str:
    """A Parquet file of lineitem at ``scale``; 6,001,215 rows at 1."""
    return made_table("lineitem", scale)


def made_table(name: str, scale: float) -> str:
    """A Parquet file of the TPC-H table ``name`` at ``scale``."""
    # Of lineitem alone, as the folders of all runs before have it.
    folder = cache() / (f"sf{scale:g}" if name == "lineitem" else f"sf{scale:g}-{name}")
    made = folder / f"{name}.parquet"
    if not made.exists():
        tool = shutil.which(
            "tpchgen-cli", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        )
        assert tool, "tpchgen-cli is not installed"
        part = folder.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir()
        command = [tool, "parquet", "-s", f"{scale:g}", f"--tables={name}", f"--output-dir={part}"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        part.rename(folder)
    return str(made)


def plain(path: str) -> pa.Table:
    """The file as a table of plain types (no string views), as all contenders take them."""
    table = pq.read_table(path)
    fields = [
        pa.field(f.name, pa.string() if "string" in str(f.type) else f.type) for f in table.schema
    ]
    return table.cast(pa.schema(fields))


def change(table: pa.Table, share: float, seed: int) -> pa.Table:
    """``share`` of the rows, uniformly drawn, each with another comment (or first text column)."""
    rows = np.sort(
        np.random.default_rng(seed).choice(
            table.num_rows, int(table.num_rows * share), replace=False
        )
    )
    drawn = table.take(pa.array(rows)).combine_chunks()
    name = next(f.name for f in reversed(list(table.schema)) if pa.types.is_string(f.type))
    at = drawn.schema.get_field_index(name)
    return drawn.set_column(at, name, pc.binary_join_element_wise(drawn.column(at), f"#{seed}", ""))


def checksum(table: pa.Table) -> tuple[int, int, int]:
    """Rows, sum of order keys, total length of comments: what every contender must agree on."""
    text = next(f.name for f in reversed(list(table.schema)) if pa.types.is_string(f.type))
    return (
        table.num_rows,
        pc.sum(table.column(KEY[0])).as_py(),
        pc.sum(pc.binary_length(table.column(text))).as_py(),
    )


def wide(table: pa.Table, columns: int, size: int) -> pa.Table:
    """The rows of ``table`` with ``columns`` columns and about ``size`` bytes in all.

    Beside the key, texts of equal length: the same bytes, cut into few or many columns.
    """
    rows = table.num_rows
    each = max(1, (size // rows - 12) // (columns - 2) - 4)
    letters = np.random.default_rng(7).integers(97, 101, rows + each * columns, dtype=np.uint8)
    offsets = pa.py_buffer((np.arange(rows + 1) * each).astype(np.int32))
    made = {name: table.column(name).combine_chunks() for name in KEY}
    for number in range(columns - 2):
        # Overlapping windows of random letters: cheap to make, different in each row and column.
        windows = np.lib.stride_tricks.sliding_window_view(letters[number * each :], each)[:rows]
        content = pa.py_buffer(np.ascontiguousarray(windows))
        made[f"c{number}"] = pa.StringArray.from_buffers(rows, offsets, content)
    return pa.table(made)
