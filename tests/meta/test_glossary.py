"""The glossary has the actions of the timeline, the reference of a table each method in a group."""

from __future__ import annotations

import re
from pathlib import Path

from hoodoo import Table
from hoodoo.kernel.registry import kernel
from hoodoo.model.action import ACTIONS

from tests.meta.reference_examples import METHODS

kernel()  # knows the families that distributions bring

TEXT = (Path(__file__).parents[2] / "docs/glossary.md").read_text("utf-8")


def words(section: str) -> set[str]:
    text = TEXT.split(f"\n## {section}\n", 1)[1].split("\n## ", 1)[0]
    left = " ".join(line.split("|")[1] for line in text.splitlines() if line.startswith("| "))
    return set(re.findall(r"`(\w+)`", left))


def test_methods_of_a_table() -> None:
    """By what they are for, as headings of the page."""
    named = " ".join(METHODS.values()).split()
    assert sorted(named) == sorted(n for n in dir(Table) if not n.startswith("_"))


def test_actions() -> None:
    assert words("The timeline") == set(ACTIONS)
