"""Fixtures that the distributions' common tests share."""

from __future__ import annotations

import os
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
VARIABLE = "HOODOO_GOLDEN"
# ``2/12``: of the collected tests only those of the third of twelve parts, which together are all.
PART = "HOODOO_TRIALS_PART"
LEFT = pytest.StashKey[str]()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A part of the tests, chosen by their names, so that it is the same in every process of a run."""
    given = os.environ.get(PART)
    if not given:
        return
    number, _slash, count = given.partition("/")
    if not (number.isdigit() and count.isdigit() and int(number) < int(count)):
        raise pytest.UsageError(f"{PART}={given}: give a number from 0 and a count, such as 2/12.")
    parts = [zlib.crc32(item.nodeid.encode()) % int(count) for item in items]
    mine = [item for item, part in zip(items, parts, strict=True) if part == int(number)]
    others = [item for item, part in zip(items, parts, strict=True) if part != int(number)]
    config.stash[LEFT] = f"part {given}: {len(mine)} of {len(items)} tests"
    config.hook.pytest_deselected(items=others)
    items[:] = mine


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if config.stash.get(LEFT, ""):
        terminalreporter.write_line(config.stash[LEFT])
    elif os.environ.get(PART):  # the tests were collected in other processes
        terminalreporter.write_line(f"{PART}={os.environ[PART]}: a part of the tests only")


@pytest.fixture(scope="session")
def golden_home() -> Path:
    """The folder of golden files; a run without it fails: a silent skip would prove nothing."""
    home = Path(os.environ.get(VARIABLE) or ROOT / "tests/golden/data")
    if not (home / "tables").is_dir():
        pytest.fail(f"There are no golden tables in {home}: set {VARIABLE} to the folder of them.")
    return home


@pytest.fixture(scope="session")
def golden(golden_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """``golden(name)``: the directory of that real table, unzipped once. Do not change it."""
    below = tmp_path_factory.mktemp("golden")

    def table(name: str) -> Path:
        target = below / name
        if not target.exists():
            with zipfile.ZipFile(golden_home / "tables" / f"{name}.zip") as archive:
                archive.extractall(target)
        (found,) = (path.parent for path in target.glob("*/.hoodie"))
        return Path(found)

    return table


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """One Spark session for all tests: two cores, tasks tried four times."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    running = SparkContext._active_spark_context
    if running is not None and running.master != "local[2,4]":
        # A test without this fixture made Hoodoo start a session of its own, whose tasks are tried once.
        SparkSession.builder.getOrCreate().stop()
    # Workers run what the tests run; PySpark's own default is whatever the PATH calls python3.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    session = (
        SparkSession.builder.master("local[2,4]")
        .appName("hoodoo-tests")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")  # tests of failing tasks would bury the report
    assert session.sparkContext.master == "local[2,4]", session.sparkContext.master
    yield session
    session.stop()


@pytest.fixture(scope="session")
def collected() -> Callable[[Any], Any]:
    """``collected(frame)``: the rows of a DataFrame as a pyarrow Table with Hoodoo's types."""
    import pyarrow as pa

    def collect(frame: Any) -> Any:
        from hoodoo_spark.types import arrow_schema

        schema = arrow_schema(frame.schema)
        if hasattr(frame, "toArrow"):  # from PySpark 4.0 on
            return frame.toArrow().cast(schema)
        batches = frame._collect_as_arrow()
        return pa.Table.from_batches(batches).cast(schema) if batches else schema.empty_table()

    return collect
