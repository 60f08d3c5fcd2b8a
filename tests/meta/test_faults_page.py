"""tests/faults.md has each fault of version 0.1, with a test that exists, or with a page."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

REPO = Path(__file__).parents[2]
ROW = re.compile(r"^\| ((?:A'|[A-I])\d*),? (.+?) \| (.+?) \| (.*)\|$", re.M)
ROWS = ROW.findall((REPO / "tests/faults.md").read_text("utf-8"))
# How many faults each part has; E has no numbers.
PARTS = {"A": 8, "A'": 1, "B": 11, "C": 6, "D": 1, "F": 10, "G": 7, "H": 6, "I": 6}
TEST = re.compile(r"`([\w/-]+\.py)(?:::(\w+))?`")
PAGE = re.compile(r"\]\(\.\./([\w/-]+\.md)\)")
FAULTS = [f"{part}{number}" for part, most in PARTS.items() for number in range(1, most + 1)]


@cache
def functions(path: str) -> set[str]:
    tree = ast.parse((REPO / path).read_text("utf-8"))
    return {each.name for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)}


@pytest.mark.parametrize("fault", [*FAULTS, "E"])
def test_fault_has_a_test_or_a_page(fault: str) -> None:
    cells = [tests for number, _, tests, _ in ROWS if number == fault]
    assert cells
    for cell in cells:
        assert TEST.search(cell) or PAGE.search(cell), cell


def test_what_the_page_names_is_there() -> None:
    named = [one for _, _, tests, remark in ROWS for one in TEST.findall(tests + remark)]
    assert len(named) > 200
    missing = {path for path, _ in named if not (REPO / path).exists()}
    assert not missing
    assert not [(path, name) for path, name in named if name and name not in functions(path)]
    pages = {page for _, _, tests, remark in ROWS for page in PAGE.findall(tests + remark)}
    assert not [page for page in pages if not (REPO / page).exists()]


def test_every_row_is_of_a_fault() -> None:
    text = (REPO / "tests/faults.md").read_text("utf-8")
    assert text.count("\n| ") - 1 == len(ROWS)
    assert not {number for number, *_ in ROWS} - {*FAULTS, "A", "E", "F"}
