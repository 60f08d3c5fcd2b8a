"""Interop tests run only where they are asked for by path: they need real Spark Hudi.

``tox run -e interop`` fetches it and runs them.  Asked for without it, they are an error, not
skipped; a run that collects the folder above says that it leaves them out.

Those with hudi-rs need its program alone (``tox run -e hudi-rs``). A run of all that has no program leaves them out, and
says so in its last lines; asked for by their path without it, they are an error, too.
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
from hudi_rs_peer import PEER_VARIABLE, HudiRs  # noqa: E402
from spark_hudi import (  # noqa: E402
    JAR_VARIABLE,
    OLD_JAR_VARIABLE,
    PYTHON_VARIABLE,
    SparkHudi,
    available,
)

LEFT_OUT, NO_PEER = pytest.StashKey[bool](), pytest.StashKey[bool]()
WITH_HUDI_RS = "test_hudi_rs.py"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """True (leave out) unless an argument names this folder or something in it."""
    if not any(_inside(argument, config) for argument in config.args):
        config.stash[LEFT_OUT] = True
        return True
    if not collection_path.name.startswith("test_"):
        return None
    asked = [argument for argument in config.args if WITH_HUDI_RS in argument]
    if collection_path.name == WITH_HUDI_RS:
        if os.environ.get(PEER_VARIABLE):
            return None
        if asked:
            raise pytest.UsageError(
                f"{WITH_HUDI_RS}: {PEER_VARIABLE} must name the program in which hudi-rs writes. "
                f"Run `tox run -e hudi-rs`, or: python tests/interop/prepare.py --hudi-rs -- "
                f"python -m pytest tests/interop/{WITH_HUDI_RS}"
            )
        config.stash[NO_PEER] = True
        return True
    if not available() and len(asked) < len(config.args):
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
    if config.stash.get(NO_PEER, False):
        terminalreporter.write_line(
            f"LEFT OUT: tests/interop/{WITH_HUDI_RS} (hudi-rs is not built; run `tox run -e hudi-rs`)"
        )


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
    # Of files that were not asked for nothing is known; one that is gone was.
    there = {item.path.name for item in mine.values()}
    files = {name: name.partition("::")[0] for name in wanted}
    gone = {name for name, file in files.items() if file in there or not (HERE / file).exists()}
    if missing := sorted(gone - mine.keys()):
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


@pytest.fixture(scope="session")
def hudi_rs() -> Iterator[HudiRs]:
    """One process of hudi-rs for all tests."""
    with HudiRs() as running:
        yield running


@pytest.fixture
def spark(worker: SparkHudi, tmp_path: Path) -> Spark:
    """Spark Hudi with a folder for what goes in and out."""
    return Spark(worker, tmp_path / "exchange")


@pytest.fixture
def both(spark: Spark, tmp_path: Path) -> Both:
    """One table, still to be made, that Hoodoo and Spark Hudi work on by turns."""
    return Both(spark, tmp_path / "t")
