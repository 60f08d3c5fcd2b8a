"""In a notebook: a real Jupyter kernel, whose event loop runs, and classes defined in cells."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

pytestmark = [pytest.mark.spark, pytest.mark.trial]

RUN = """
import sys, nbformat
from nbclient import NotebookClient
notebook = nbformat.read(sys.argv[1], 4)
try:
    NotebookClient(notebook, timeout=1200, kernel_name="python3").execute()
finally:
    nbformat.write(notebook, sys.argv[1])
"""
CELLS = [
    """
from pyspark.sql import SparkSession
spark = (SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
         .config("spark.driver.host", "127.0.0.1").getOrCreate())
trips = spark.range(100).selectExpr("id", "concat('c', id % 2) city", "id * 1D fare", "1 ts")
trips.count()
""",
    """
import asyncio
await asyncio.sleep(0)
assert asyncio.get_running_loop().is_running()
before = set(spark.sparkContext.getConf().getAll()), {r.key: r.value for r in spark.sql("SET").collect()}
""",
    """
import hoodoo
table = hoodoo.create("trips", trips.schema, record_key="id", partition_by="city", ordering="ts")
first = table.insert(trips)
table.upsert(trips.where("id < 5").selectExpr("id", "city", "-1D fare", "2 ts"))
table.delete([7, 8])
""",
    """
import pyarrow as pa
from hoodoo.hookspecs.merger import Merged

class Dearest:  # travels to the workers, which have no such module
    merge_mode = "CUSTOM"
    strategy_id = "6c6b4bd2-43ad-44fb-b9e2-1f7d6ed5e1a3"
    columns = ("fare",)

    def merge(self, older, newer):
        wins = pa.compute.greater(newer["fare"], older["fare"])
        return Merged(newer_wins=wins.combine_chunks())

in_tasks = {"hoodoo.spark.small.bytes": "0"}
dear = hoodoo.create("dear", trips.schema, record_key="id", merger=Dearest(), options=in_tasks)
dear.insert(trips)
dear.upsert(trips.selectExpr("id", "city", "50D fare", "0 ts"))
""",
    """
frame = table.read().to_spark(spark)
found = frame.selectExpr("count(*)", "sum(fare)").first()
assert tuple(found) == (98, sum(range(5, 100)) - 5 - 7 - 8), found
assert table.read(as_of=first.instant).to_spark(spark).count() == 100
dearest = dear.read().to_spark(spark).selectExpr("min(fare)", "max(fare)").first()
assert tuple(dearest) == (50, 99), dearest
after = set(spark.sparkContext.getConf().getAll()), {r.key: r.value for r in spark.sql("SET").collect()}
assert before == after, (before[0] ^ after[0], before[1].items() ^ after[1].items())
spark.stop()
table
""",
]


def test_a_notebook(tmp_path: Path) -> None:
    file = tmp_path / "trips.ipynb"
    cells = [nbformat.v4.new_code_cell(cell.strip()) for cell in CELLS]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), file)
    folders = {name: str(tmp_path / name) for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "HOME")}
    environment = {**os.environ, **folders, "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(file)],
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=1200,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    ran = nbformat.read(file, 4).cells
    assert [cell.execution_count for cell in ran] == [1, 2, 3, 4, 5]
    # Cells show what they end with, and Hoodoo says nothing by itself.
    said = [
        "".join(out.get("text") or out["data"]["text/plain"])
        for cell in ran[1:]
        for out in cell.outputs
        if out.output_type != "stream" or out.name == "stdout"
    ]
    assert len(said) == 3 and said[0].startswith("Commit(") and said[2].startswith("<hoodoo.Table")
