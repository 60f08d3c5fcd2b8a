"""What a clone has to have: the commands of the README, the licence, the version in the changelog."""

from __future__ import annotations

import configparser
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import hoodoo
import pytest

REPO = Path(__file__).parents[2]
README = (REPO / "README.md").read_text("utf-8")


def tox() -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None)
    parser.read(REPO / "tox.ini", encoding="utf-8")
    return parser


def test_the_readme_begins_with_what_it_is_in_five_lines() -> None:
    title, text = README.split("\n\n")[:2]
    assert title == "# Hoodoo"
    assert len(text.splitlines()) == 5


def test_the_two_commands_set_up_all_they_need() -> None:
    lines = [line for line in README.splitlines() if line.startswith("python3 -m venv")]
    start = "python3 -m venv .venv && .venv/bin/pip install -q tox && .venv/bin/tox run -e "
    assert lines == [start + "flights", start + "tests"]
    assert "python docs/examples/flights.py" in tox()["testenv:flights"]["commands"]
    assert (REPO / "docs/examples/flights.py").exists()
    # `tests` has no section of its own: it is the common one.
    assert "testenv:tests" not in tox()
    assert "pytest" in tox()["testenv"]["commands"]


def test_ci_runs_the_tests() -> None:
    script = REPO / ".ci/run"
    assert os.access(script, os.X_OK)
    assert "tox run -e tests" in script.read_text("utf-8")


def test_what_is_marked_a_trial_runs_in_the_trials() -> None:
    command = tox()["testenv:trials"]["commands"]
    assert '-m "not spark or trial or sampled"' in command
    paths = command.split()
    marked = [
        str(path.relative_to(REPO))
        for path in REPO.rglob("test_*.py")
        if re.search(r"pytest\.mark\.(trial|sampled)", path.read_text("utf-8"))
        and path != Path(__file__)
    ]
    assert marked
    lost = [
        name
        for name in marked
        if not any(name.startswith(p.rstrip("}")) for p in paths if "/" in p)
    ]
    assert not lost, f"no environment runs the trials of {lost}: add them to `trials` in tox.ini"


def test_what_is_a_trial_is_left_out_of_the_default_run(tmp_path: Path) -> None:
    shutil.copy(REPO / "conftest.py", tmp_path / "conftest.py")
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = trial\n", "utf-8")
    test = "import pytest\n@pytest.mark.trial\ndef test_long(): pass\ndef test_short(): pass\n"
    (tmp_path / "test_some.py").write_text(test, "utf-8")

    def run(trials: str, *what: str) -> str:
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *what]
        environment = {
            **os.environ,
            "HOODOO_TRIALS": trials,
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        }
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        ).stdout

    left = run("some", "test_some.py")
    assert "1 passed, 1 deselected" in left and "1 long tests and 0 cases" in left
    assert "1 long tests and 0 cases" in run("some", "-p", "xdist.plugin", "-n2", "test_some.py")
    assert "2 passed" in run("more", "test_some.py")
    assert "1 passed" in run("some", "test_some.py::test_long")


SAMPLED = """
import pytest
INDEXES = pytest.mark.parametrize("index", ["bloom", "bucket", "simple", "record"])
@pytest.mark.sampled
@pytest.mark.parametrize("n", range(9))
def test_some(n): pass
@pytest.mark.sampled
def test_one(): pass
@pytest.mark.sampled(2)
@pytest.mark.parametrize("merged", [False, True])
@INDEXES
@pytest.mark.parametrize("seed", range(6))
def test_many(merged, index, seed): pass
@pytest.mark.sampled(9)
@INDEXES
@pytest.mark.parametrize("clock", ["late", "early"])
def test_few(index, clock): pass
ALIKE = pytest.mark.sampled(3, among="some that are alike")
@ALIKE
def test_alike(): pass
@ALIKE
def test_alike_too(): pass
@ALIKE
def test_alike_as_well(): pass
class Suite:
    def test_a(self): pass
    def test_b(self): pass
@pytest.mark.sampled(3)
class TestOne(Suite): pass
@pytest.mark.sampled(3)
class TestOther(Suite): pass
@pytest.mark.sampled(3)
class TestThird(Suite): pass
class TestAll(Suite): pass
"""


def test_of_sampled_cases_the_default_run_takes_some(tmp_path: Path) -> None:
    """Which ones follows from the seed; each test has one at least, and each value that several share."""
    shutil.copy(REPO / "conftest.py", tmp_path / "conftest.py")
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = sampled\n", "utf-8")
    (tmp_path / "test_some.py").write_text(SAMPLED, "utf-8")

    def ran(seed: int, trials: str = "some") -> set[str]:
        command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "test_some.py"]
        environment = {
            **os.environ,
            "HOODOO_TRIALS": trials,
            "HOODOO_SEED": str(seed),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        }
        text = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        ).stdout
        found = set(re.findall(r"^test_some.py::(\S+)$", text, re.M))
        cases = 9 + 1 + 48 + 8 + 3 + 8 - len(found)
        assert trials != "some" or f"0 long tests and {cases} cases of sampled tests left" in text
        return found

    some = [ran(seed) for seed in range(5)]
    for found in some:
        assert "test_one" in found and {"TestAll::test_a", "TestAll::test_b"} <= found
        text = " ".join(sorted(found))
        assert text.count("test_some[") == 2 and text.count("test_alike") == 1
        many = re.findall(r"test_many\[(\d)-(\w+)-(\w+)", text)
        assert len(many) == 6
        # All are there: by two cases of a test whatever it has, else by a case more.
        assert [len(set(column)) for column in zip(*many, strict=True)] == [6, 4, 2]
        assert len(set(re.findall(r"test_few\[(\w+)-", text))) == 2 == text.count("test_few[")
        assert len(set(re.findall(r"(TestO\w+|TestThird)::", text))) == 3
    assert some[0] == ran(0) and len(set().union(*some)) > 40
    assert len(ran(0, "more")) == 77


def test_the_parts_of_the_trials_are_all_of_them(tmp_path: Path) -> None:
    """What .ci/run chooses by the commit: every test is in one part, and a part says that it is one."""
    shutil.copy(REPO / "tests/conftest.py", tmp_path / "conftest.py")
    test = "import pytest\n@pytest.mark.parametrize('n', range(20))\ndef test_some(n): pass\n"
    (tmp_path / "test_some.py").write_text(test, "utf-8")

    def run(part: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", str(tmp_path)]
        environment = {**os.environ, "HOODOO_TRIALS_PART": part}
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )

    seen: list[str] = []
    for part in range(3):
        text = run(f"{part}/3").stdout
        found = re.findall(r"test_some\[(\d+)\] PASSED", text)
        assert f"part {part}/3: {len(found)} of 20 tests" in text
        seen += found
    assert sorted(map(int, seen)) == list(range(20))
    assert run("3/3").returncode == pytest.ExitCode.USAGE_ERROR


def test_the_readme_says_what_is_needed() -> None:
    assert "Python 3.10" in README and "Java 17" in README
    found = [REPO / "setup.cfg", *REPO.glob("*/setup.cfg"), *REPO.glob("*/*/setup.cfg")]
    assert len(found) >= 8
    for setup in found:
        parser = configparser.ConfigParser()
        parser.read(setup, encoding="utf-8")
        if parser.has_section("options"):
            assert parser["options"]["python_requires"] == ">=3.10", setup


def test_pyspark_comes_with_an_extra_alone() -> None:
    def setup(directory: Path) -> configparser.ConfigParser:
        parser = configparser.ConfigParser()
        parser.read(directory / "setup.cfg", encoding="utf-8")
        return parser

    every = [REPO, REPO / "core", *(path.parent for path in REPO.glob("plugins/*/setup.cfg"))]
    for directory in every:
        needs = setup(directory)["options"].get("install_requires", "")
        assert "pyspark" not in needs and "pandas" not in needs, directory
    usual = setup(REPO)["options"]["install_requires"]
    names = {setup(directory)["metadata"]["name"] for directory in every} - {"hoodoo"}
    extras = {"hoodoo-cloud"}
    assert set(re.findall(r"^hoodoo-\w+", usual, re.M)) == names - extras, (
        "`pip install hoodoo` brings all"
    )
    assert "hoodoo-cloud" in setup(REPO)["options.extras_require"]["cloud"]
    assert "hoodoo-spark[pyspark]" in setup(REPO)["options.extras_require"]["spark"]
    assert "pyspark>=3.5" in setup(REPO / "plugins/spark")["options.extras_require"]["pyspark"]


def test_licence_and_changelog() -> None:
    licence = (REPO / "LICENSE").read_text("utf-8")
    assert "Apache License" in licence and "Version 2.0" in licence
    text = (REPO / "CHANGELOG.md").read_text("utf-8")
    versions = re.findall(r"^## (\d\S+)", text, re.M)  # above: "Coming: ..."
    assert versions[0] == hoodoo.__version__


@pytest.mark.parametrize(
    ("environment", "module"),
    [
        ("bench", "tests.bench.run"),
        ("bench-spark", "tests.bench.peers.run"),
        ("bench-tpcds", "tests.bench.peers.tpcds"),
    ],
)
def test_the_bench_starts(environment: str, module: str) -> None:
    assert module in tox()[f"testenv:{environment}"]["commands"]
    done = subprocess.run(
        [sys.executable, "-m", module, "--help"],
        cwd=REPO,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "--scale" in done.stdout
