"""The main job: it ends well, says so in few words, and notices when anything is wrong."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import hoodoo
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

JOB = Path(__file__).resolve().parents[2] / "docs/examples/flights.py"


@pytest.fixture(scope="module")
def job() -> Any:
    spec = importlib.util.spec_from_file_location("flights_job", JOB)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def loaded(job: Any, tmp_path: Path) -> SimpleNamespace:
    """Two short months on the local engine, and what the checks compare."""
    raw = job.raw_flights()
    raw = raw[(raw["day"] <= 2) & raw["month"].isin(job.MONTHS[:2])]
    reader = SimpleNamespace(read=SimpleNamespace(parquet=pq.read_table))
    months = job.MONTHS[:2]
    table, commits = job.load(reader, str(tmp_path / "flights"), tmp_path, raw, months)
    older = commits[months[0]][-1].instant

    def checks(raw: Any) -> list[str]:
        asked = [
            ("newest", None, job.answer(job.truth(raw, months)), months),
            ("older", older, job.answer(job.truth(raw, months[:1])), months[:1]),
        ]
        return [differs for _, differs in job.checks(table, raw, commits, asked)]

    return SimpleNamespace(raw=raw, table=table, commits=commits, checks=checks)


@pytest.mark.sampled(1, among="long")
def test_the_check_passes(loaded: Any) -> None:
    assert loaded.raw["cancelled"].sum() > 10 and loaded.raw["overnight"].sum() > 10
    assert loaded.checks(loaded.raw) == ["", "", ""]


@pytest.mark.sampled(1, among="long")
def test_the_check_sees_one_wrong_value(loaded: Any) -> None:
    row = loaded.table.read(where=pc.field("month") == "2013-02").to_arrow().slice(0, 1)
    row = row.select(loaded.table.schema.names)
    at = row.schema.get_field_index("distance")
    loaded.table.upsert(row.set_column(at, "distance", pa.array([1], pa.int64())))
    newest, older, counts = loaded.checks(loaded.raw)
    assert newest == "the columns distance" and older == "" and counts == ""


@pytest.mark.sampled(1, among="long")
def test_the_check_sees_wrong_counts(loaded: Any) -> None:
    raw = loaded.raw.copy()
    raw.loc[raw.index[0], "overnight"] = ~raw.loc[raw.index[0], "overnight"]
    assert loaded.checks(raw)[2]


@pytest.mark.spark
@pytest.mark.parametrize("how", ["classic", pytest.param("connect", marks=pytest.mark.trial)])
@pytest.mark.sampled(2, among="long, on Spark")
def test_the_job(tmp_path: Path, how: str) -> None:
    """A month of it on Spark, at the command line: quiet, plain and short."""
    if how == "connect" and importlib.util.find_spec("grpc") is None:
        pytest.skip("Spark Connect needs grpcio")
    path = tmp_path / "table"
    command = [sys.executable, str(JOB), "--months", "1", "--path", str(path)]
    command += ["--connect"] if how == "connect" else []
    given = {k: v for k, v in os.environ.items() if not k.startswith("SPARK_")}
    environment = {**given, "PYSPARK_PYTHON": sys.executable, "COLUMNS": "80"}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=1200
    )
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert max(len(line) for line in lines if str(path) not in line) <= 80
    for wanted in ("Timeline", "File groups", "Mean arrival delay", "ok  newest", "ok  as of"):
        assert wanted in done.stdout
    assert "\x1b" not in done.stdout and "DIFFERS" not in done.stdout
    table = hoodoo.open(str(path))
    assert [i.action for i in table.timeline().completed()] == ["commit"] * 3
    assert table.read().count() == 27004 - 521
    if how == "connect":  # with the trials: Spark starts before it can be refused
        again = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=1200
        )
        assert again.returncode == 1 and "Traceback" not in again.stderr
