"""tests/README.md names tests and environments that exist, and all that there are."""

from __future__ import annotations

import ast
import configparser
import re
from pathlib import Path

REPO = Path(__file__).parents[2]
TEXT = (REPO / "tests/README.md").read_text("utf-8")
PATH = re.compile(r"`((?:core|plugins|contrib|tests)/[\w/.-]+\.py)(?:::(\w+))?`")


def functions(path: Path) -> set[str]:
    tree = ast.parse(path.read_text("utf-8"))
    return {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}


def test_every_test_named_exists() -> None:
    named = PATH.findall(TEXT)
    assert len(named) > 60
    wrong = [
        f"{path}::{name}"
        for path, name in named
        if not (REPO / path).exists() or (name and name not in functions(REPO / path))
    ]
    assert not wrong


def test_every_promise_has_a_test() -> None:
    text = TEXT.split("## What fails without what", 1)[1]
    promises = re.findall(r"^\| (?!promise |---)(.+?) \| (.+) \|$", text, re.M)
    assert len(promises) > 40
    assert not [p for p, tests in promises if not PATH.search(tests) and "environment" not in tests]
    for part in re.split(r"^### ", text, flags=re.M)[1:]:
        assert PATH.search(part), part.splitlines()[0]


def test_every_file_of_common_tests_is_named() -> None:
    named = {path for path, _ in PATH.findall(TEXT)}
    there = {str(path.relative_to(REPO)) for path in (REPO / "tests").rglob("test_*.py")}
    assert not there - named


def test_every_environment_is_told_and_exists() -> None:
    tox = configparser.ConfigParser(interpolation=None)
    tox.read(REPO / "tox.ini", encoding="utf-8")
    there = {s.removeprefix("testenv:") for s in tox.sections() if s.startswith("testenv:")}
    table = TEXT.split("| environment |", 1)[1].split("\n\n", 1)[0]
    assert set(re.findall(r"^\| `([\w-]+)` \|", table, re.M)) == there | {"tests"}
    assert set(re.findall(r"environment `(\w+)`", TEXT)) <= there
