"""docs/rfcs.md: each row has an answer, and each answer its proof: tests that exist, pages that say why."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

REPO = Path(__file__).parents[2]
TEXT = (REPO / "docs/rfcs.md").read_text("utf-8")
ROW = re.compile(r"^\| (.+?) \| (yes|other way|refused|not yet|[^|]+) \| (.*) \|$")
PROOF = re.compile(r"`((?:core|plugins|contrib|tests)/[\w/.-]+\.py)(?:::(\w+))?`")
LINK = re.compile(r"\]\([^)]+\)")
ANSWERS = ("yes", "other way", "refused", "not yet")


def rows() -> list[tuple[str, str, str]]:
    """Promise, answer and proof of all tables behind the one that explains the answers."""
    text = TEXT.split("\n## ", 1)[1]
    found = [m.groups() for m in map(ROW.match, text.splitlines()) if m]
    return [(p, a, proof) for p, a, proof in found if p != "promise" and set(p) != {"-"}]


@cache
def functions(path: Path) -> frozenset[str]:
    tree = ast.parse(path.read_text("utf-8"))
    return frozenset(n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef))


def test_every_row_has_one_of_the_answers() -> None:
    assert len(rows()) > 150
    lines = [line for line in TEXT.split("\n## ", 1)[1].splitlines() if line.startswith("| ")]
    assert len(lines) - len(rows()) == TEXT.count("| promise | answer |")
    assert not [promise for promise, answer, _ in rows() if answer not in ANSWERS]


def test_every_test_named_exists() -> None:
    wrong = [
        f"{path}::{name}"
        for path, name in PROOF.findall(TEXT)
        if not (REPO / path).exists() or (name and name not in functions(REPO / path))
    ]
    assert not wrong


def test_what_works_names_a_test_or_a_page() -> None:
    """What is measured stands on a page. What is missing says in words what it is."""
    bare = [
        promise
        for promise, answer, proof in rows()
        if answer in ("yes", "other way") and not PROOF.search(proof) and not LINK.search(proof)
    ]
    assert not bare
    assert not [p for p, a, proof in rows() if a in ("refused", "not yet") and len(proof) < 20]


def test_all_four_are_there() -> None:
    for number in ("21", "08", "19", "84"):
        assert f"\n## RFC-{number}: " in TEXT
