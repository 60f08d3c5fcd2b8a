"""Interop tests run only where they are asked for by path: they need real Spark Hudi.

``tox run -e interop`` fetches it and runs them.  Asked for without it, they are an error, not
skipped; a run that collects the folder above says that it leaves them out.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))  # helper modules of these tests, which are no package

from both import Both, Spark  # noqa: E402
from fixed_part import chosen  # noqa: E402
from spark_hudi import (  # noqa: E402
    JAR_VARIABLE,
    OLD_JAR_VARIABLE,
    PYTHON_VARIABLE,
    SparkHudi,
    available,
)

LEFT_OUT = pytest.StashKey[bool]()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """True (leave out) unless an argument names this folder or something in it."""
    if not any(_inside(argument, config) for argument in config.args):
        config.stash[LEFT_OUT] = True
        return True
    if not available():
        raise pytest.UsageError(
            f"interop tests: {PYTHON_VARIABLE} and {JAR_VARIABLE} must name an interpreter with "
            "PySpark and the Hudi bundle for it. "
            "Run `tox run -e interop`, or: "
            "python tests/interop/prepare.py -- python -m pytest tests/interop"
        )
    return None


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if config.stash.get(LEFT_OUT, False):
        terminalreporter.write_line("left out: tests/interop (run `tox run -e interop`)")


def _inside(argument: str, config: pytest.Config) -> bool:
    path = (Path(config.invocation_params.dir) / argument.split("::")[0]).resolve()
    return path == HERE or HERE in path.parents


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    mine = {_name(item): item for item in items if HERE in item.path.parents}
    for item in mine.values():
        item.add_marker(pytest.mark.interop)
    try:
        wanted = chosen()
    except ValueError as error:
        raise pytest.UsageError(str(error)) from None
    if wanted is None or not mine:
        return
    if missing := sorted(wanted - mine.keys()):
        raise pytest.UsageError(f"fixed_part.py names tests that are not there: {missing}")
    config.hook.pytest_deselected(items=[i for name, i in mine.items() if name not in wanted])
    items[:] = [i for i in items if HERE not in i.path.parents or _name(i) in wanted]


def _name(item: pytest.Item) -> str:
    return f"{item.path.name}::{item.name}"


@pytest.fixture(scope="session")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkHudi]:
    """One running Spark Hudi for all tests."""
    log = Path(os.environ.get("HOODOO_INTEROP_LOG") or tmp_path_factory.mktemp("log") / "spark.log")
    with SparkHudi(log=log) as running:
        yield running


@pytest.fixture(scope="session")
def old_worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkHudi]:
    """One of Hudi 0.15, the last that writes tables of version 6 alone."""
    jar = os.environ.get(OLD_JAR_VARIABLE)
    if not jar:
        pytest.fail(f"{OLD_JAR_VARIABLE} must name the bundle of Hudi 0.15 (prepare.py fetches it)")
    with SparkHudi(jar=jar, log=tmp_path_factory.mktemp("log") / "spark-0.15.log") as running:
        yield running


@pytest.fixture
def spark(worker: SparkHudi, tmp_path: Path) -> Spark:
    """Spark Hudi with a folder for what goes in and out."""
    return Spark(worker, tmp_path / "exchange")


@pytest.fixture
def both(spark: Spark, tmp_path: Path) -> Both:
    """One table, still to be made, that Hoodoo and Spark Hudi work on by turns."""
    return Both(spark, tmp_path / "t")
