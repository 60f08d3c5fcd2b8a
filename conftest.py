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
import sys
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

_REPO = Path(__file__).resolve().parent
_GOLDEN = "HOODOO_GOLDEN"
# Helper modules of plugins' tests, which are no package.
sys.path += map(str, sorted(_REPO.glob("plugins/*/tests")))
sys.path += [str(_REPO / "contrib" / name / "tests") for name in ("rest-catalogs", "zookeeper-lock")]

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

# A busy machine is no failure.
if importlib.util.find_spec("hypothesis"):
    from hypothesis import HealthCheck, settings

    settings.register_profile("hoodoo", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("hoodoo")

# ``some`` is the default run.
_TRIALS = (os.environ.get("HOODOO_TRIALS") or "some") != "some"
# ``all``: every case of the tests that are marked ``sampled``, which no commit's draw leaves out.
_ALL_CASES = os.environ.get("HOODOO_CASES") == "all"
# How many tests, and how many cases of others.
_LEFT = pytest.StashKey[tuple[int, int]]()
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
    """Tests that are marked ``trial`` run in the trials, and where somebody names one; so do the other cases of those
    that are marked ``sampled``."""
    if _TRIALS or any("::" in argument for argument in config.args):
        return
    left = {item for item in items if item.get_closest_marker("trial")}
    files: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item not in left:
            files.setdefault(_group(item) or item.nodeid.partition("::")[0], []).append(item)
    count = len(left)
    for name, found in files.items() if not _ALL_CASES else ():
        left.update(_not_drawn(found, random.Random(f"{os.environ[_SEED]} {name}")))
    config.stash[_LEFT] = (count, len(left) - count)
    if left:
        config.hook.pytest_deselected(items=[item for item in items if item in left])
        items[:] = [item for item in items if item not in left]


# The default run is to stay under 15 minutes: of what marks say, it takes one in so many.
_FEWER = 4
# A number with more values than these is a seed or a place, not a kind of something.
_FEW = 4


def _not_drawn(items: list[pytest.Item], chance: random.Random) -> set[pytest.Item]:
    """Of a file, the cases of ``sampled`` tests that the default run does without.

    Of each test one in eight stays, or in four times as many as the mark says, chosen so that they
    differ as much as they can. Each value that several cases of the file share, such as a type of
    table, stays in one case of the file at least. Tests that are marked with the same ``among`` are
    cases of one, in whatever files they are.
    """
    tests: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("sampled"):
            # One test of a suite that several classes pass is one test, its classes are its cases.
            name = _group(item) or getattr(item, "originalname", item.name)
            tests.setdefault(name, []).append(item)
    if not tests:
        return set()
    values = {item: _values(item) for item in items}
    sampled = {item for cases in tests.values() for item in cases}
    seen = {value for item in items if item not in sampled for value in values[item]}
    drawn: set[pytest.Item] = set()

    def draw(item: pytest.Item) -> None:
        drawn.add(item)
        seen.update(values[item])

    for cases in tests.values():
        chance.shuffle(cases)
        here: set[object] = set()
        for _ in range(-(-len(cases) // max(_one_in(item) for item in cases))):
            rest = [item for item in cases if item not in drawn]
            best = max(rest, key=lambda item: (len(values[item] - here), len(values[item] - seen)))
            here |= values[best]
            draw(best)
    shared = Counter(value for item in sampled for value in values[item])
    numbers = Counter(name for name, value in shared if type(value) in (int, float))
    for item in chance.sample(rest := [i for i in items if i in sampled - drawn], len(rest)):
        if any(
            shared[name, value] > 1 and (type(value) not in (int, float) or numbers[name] <= _FEW)
            for name, value in values[item] - seen
        ):
            draw(item)
    return sampled - drawn


def _group(item: pytest.Item) -> str:
    """Tests of several files of which some are drawn, as if they were cases of one; empty for others."""
    mark = item.get_closest_marker("sampled")
    return str(mark.kwargs.get("among", "")) if mark else ""


def _one_in(item: pytest.Item) -> int:
    mark = item.get_closest_marker("sampled")
    assert mark is not None
    return _FEWER * (int(mark.args[0]) if mark.args else 2)


def _values(item: pytest.Item) -> set[tuple[str, object]]:
    """Names of the case's parameters, and what they are: of an object of attrs, its fields. Its class is one, too."""
    found: set[tuple[str, object]] = {("class", getattr(item, "cls", None))}
    given = list(getattr(getattr(item, "callspec", None), "params", {}).items())
    for name, value in given:
        if not isinstance(value, type) and attrs.has(type(value)):
            given += [
                (f"{name}.{field.name}", getattr(value, field.name))
                for field in attrs.fields(type(value))
            ]
            continue
        try:
            hash(value)
        except TypeError:
            value = repr(value)
        found.add((name, value))
    return found


@pytest.fixture(scope="session", autouse=True)
def spark_does_small_things_itself() -> Iterator[None]:
    """All data of tests is small, and would be written in the driver's process. ``HOODOO_SPARK_SMALL=here`` leaves that as
    users have it."""
    near = importlib.util.find_spec("hoodoo_spark") and importlib.import_module("hoodoo_spark.near")
    if not near or os.environ.get("HOODOO_SPARK_SMALL"):
        yield
        return
    usual = near.SMALL_BYTES
    near.SMALL_BYTES = attrs.evolve(usual, default="0")
    yield
    near.SMALL_BYTES = usual


_TOLD = "left to the trials"
_SECONDS: Counter[str] = Counter()
_SHOWN = 40


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    """``structlog.testing.capture_logs`` leaves structlog configured, with its defaults: each line of the library
    would go to the standard output of the tests that follow in the process."""
    is_configured = getattr(sys.modules.get("structlog"), "is_configured", None)
    if is_configured is not None and is_configured():
        sys.modules["structlog"].reset_defaults()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Sums what each file of tests takes: with several processes the longest one decides."""
    _SECONDS[report.nodeid.split("::", 1)[0]] += report.duration


def pytest_sessionfinish(session: pytest.Session) -> None:
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output[_TOLD] = session.config.stash.get(_LEFT, (0, 0))


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """All processes collect the same."""
    if found := getattr(node, "workeroutput", {}).get(_TOLD):
        node.config.stash[_LEFT] = tuple(found)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if not _TRIALS:
        long, cases = config.stash.get(_LEFT, (0, 0))
        terminalreporter.write_line(
            f"{long} long tests and {cases} cases of sampled tests left to `tox run -e trials`"
        )
    if config.getoption("durations", None) and _SECONDS:
        terminalreporter.section(f"slowest files, of {sum(_SECONDS.values()):.0f} s")
        for name, seconds in _SECONDS.most_common(_SHOWN):
            terminalreporter.line(f"{seconds:7.1f}s {name}")


@pytest.fixture(scope="session")
def golden_home() -> Path:
    """The folder of golden files; a run without it fails: a silent skip would prove nothing."""
    home = Path(os.environ.get(_GOLDEN) or _REPO / "tests/golden/data")
    if not (home / "tables").is_dir():
        pytest.fail(f"There are no golden tables in {home}: set {_GOLDEN} to the folder of them.")
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
