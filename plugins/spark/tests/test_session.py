"""Finding a session, and saying what is missing."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest
from hoodoo.errors import EngineError
from hoodoo.hookspecs.registration import Settings


def test_no_java(monkeypatch: pytest.MonkeyPatch) -> None:
    from hoodoo_spark.session import start

    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(EngineError, match="Install a JDK"):
        start()
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    with pytest.raises(EngineError, match="/nowhere/bin/java"):
        start()


def test_old_pyspark(monkeypatch: pytest.MonkeyPatch) -> None:
    from hoodoo_spark.session import check_pyspark

    old = types.ModuleType("pyspark")
    old.__version__ = "3.4.1"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pyspark", old)
    with pytest.raises(EngineError, match=r"PySpark 3\.4\.1: is too old"):
        check_pyspark()
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(EngineError, match=r'pip install "hoodoo\[spark\]"'):
        check_pyspark()


@pytest.mark.sampled(1, among="long")
def test_everything_of_spark_says_how_it_is_installed(tmp_path: Path) -> None:
    """In a process that can't import it: the plugin is there, PySpark is not."""
    code = """
import sys
sys.modules["pyspark"] = None
import hoodoo, pyarrow as pa
from hoodoo.errors import EngineError
rows = pa.table({"id": [1]})
table = hoodoo.create(sys.argv[1], rows.schema, record_key="id")
assert table.upsert(rows).inserted == 1
Frame = type("DataFrame", (), {"__module__": "pyspark.sql.dataframe"})
for call in (
    lambda: table.read().to_spark(),
    lambda: table.upsert(rows, engine="spark"),
    lambda: table.upsert(Frame()),
):
    try:
        call()
    except EngineError as error:
        assert 'pip install "hoodoo[spark]"' in str(error), error
    else:
        raise AssertionError("no error")
"""
    arguments = [sys.executable, "-c", code, str(tmp_path / "t")]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.spark
@pytest.mark.trial
def test_connect(tmp_path: Path) -> None:
    """In a process of its own: sessions of both kinds do not start in one."""
    if importlib.util.find_spec("grpc") is None:
        pytest.skip("Spark Connect needs grpcio")
    job = Path(__file__).with_name("connect_job.py")
    given = {k: v for k, v in os.environ.items() if not k.startswith("SPARK_")}
    given["PYSPARK_PYTHON"] = sys.executable
    done = subprocess.run(
        [sys.executable, str(job), str(tmp_path)], capture_output=True, text=True, check=False, env=given, cwd=tmp_path
    )  # fmt: skip
    assert done.returncode == 0 and "connected" in done.stdout, done.stderr[-4000:]


def test_registered() -> None:
    from importlib import metadata

    from hoodoo_spark import registrations

    (offer,) = registrations.hoodoo_engines()
    assert offer.name == "spark"
    (point,) = [p for p in metadata.entry_points(group="hoodoo") if p.name == "spark"]
    assert point.load() is registrations


@pytest.mark.spark
def test_the_users_session(spark: Any) -> None:
    from hoodoo_spark.near import from_settings

    before = dict(spark.sparkContext.getConf().getAll())
    engine = from_settings(Settings())
    assert engine.spark.sparkContext is spark.sparkContext
    assert engine.parallelism == 2
    assert dict(spark.sparkContext.getConf().getAll()) == before
    assert engine.accepts(spark.range(1))
