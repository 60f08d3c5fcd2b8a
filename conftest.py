"""Where the tests' tables are, in memory where there is room for them; what is left to the trials; what takes longest;
and that what is to run in Spark does.

Every step of a write is made durable; on a disk the tests would wait for that most of the time.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import random
import shutil
from collections import Counter
from collections.abc import Iterator

import pytest
from attrs import evolve

_MEMORY = "/dev/shm"
_ROOM = 4 << 30  # bytes; a whole run needs less than one GiB
# pytest reads it where no --basetemp is given; whoever has set it knows better.
_VARIABLE = "PYTEST_DEBUG_TEMPROOT"


def _has_room() -> bool:
    try:
        return os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > _ROOM
    except OSError:
        return False


if _has_room():
    os.environ.setdefault(_VARIABLE, _MEMORY)

# ``some`` is the default run.
_TRIALS = (os.environ.get("HOODOO_TRIALS") or "some") != "some"
_LEFT = pytest.StashKey[int]()
# A number that all random draws follow from, hypothesis's too: the same number draws the same. Without one each run has
# its own, which the processes of the run share.
_SEED = "HOODOO_SEED"
os.environ[_SEED] = os.environ.get(_SEED) or str(random.randrange(1 << 32))


@pytest.hookimpl(tryfirst=True)  # before hypothesis reads its own option
def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("hypothesis_seed", None) is None:
        config.option.hypothesis_seed = os.environ[_SEED]


def pytest_report_header() -> str:
    return f"{_SEED}={os.environ[_SEED]}"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests that are marked ``trial`` run in the trials, and where somebody names one; so does the other half of the
    cases of those that are marked ``sampled``."""
    if _TRIALS or any("::" in argument for argument in config.args):
        return
    left = {item for item in items if item.get_closest_marker("trial")}
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("sampled") and item not in left:
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for name, found in cases.items():
        chance = random.Random(f"{os.environ[_SEED]} {name}")
        left.update(chance.sample(found, len(found) // 2))
    if left:
        config.stash[_LEFT] = len(left)
        config.hook.pytest_deselected(items=[item for item in items if item in left])
        items[:] = [item for item in items if item not in left]


@pytest.fixture(scope="session", autouse=True)
def spark_does_small_things_itself() -> Iterator[None]:
    """All data of tests is small, and would be written in the driver's process. ``HOODOO_SPARK_SMALL=here`` leaves that as
    users have it."""
    near = importlib.util.find_spec("hoodoo_spark") and importlib.import_module("hoodoo_spark.near")
    if not near or os.environ.get("HOODOO_SPARK_SMALL"):
        yield
        return
    usual = near.SMALL_BYTES
    near.SMALL_BYTES = evolve(usual, default="0")
    yield
    near.SMALL_BYTES = usual


_SECONDS: Counter[str] = Counter()
_SHOWN = 40


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Sums what each file of tests takes: with several processes the longest one decides."""
    _SECONDS[report.nodeid.split("::", 1)[0]] += report.duration


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if not _TRIALS:
        count = config.stash.get(_LEFT, 0)
        terminalreporter.write_line(f"{count or 'tests marked trial'} left to `tox run -e trials`")
    if config.getoption("durations", None) and _SECONDS:
        terminalreporter.section(f"slowest files, of {sum(_SECONDS.values()):.0f} s")
        for name, seconds in _SECONDS.most_common(_SHOWN):
            terminalreporter.line(f"{seconds:7.1f}s {name}")
