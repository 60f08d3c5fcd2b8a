"""The glossary has every public name that users and authors of plugins meet."""

from __future__ import annotations

import re
from pathlib import Path

from hoodoo import Table
from hoodoo.hookspecs import FAMILIES
from hoodoo.kernel.registry import kernel
from hoodoo.model.action import ACTIONS

kernel()  # knows the families that distributions bring

TEXT = (Path(__file__).parents[2] / "docs/glossary.md").read_text("utf-8")


def words(section: str) -> set[str]:
    text = TEXT.split(f"\n## {section}\n", 1)[1].split("\n## ", 1)[0]
    left = " ".join(line.split("|")[1] for line in text.splitlines() if line.startswith("| "))
    return set(re.findall(r"`(\w+)`", left))


def test_methods_of_a_table() -> None:
    assert words("Methods of a table") == {n for n in dir(Table) if not n.startswith("_")}


def test_families() -> None:
    assert words("Families of plugins") == set(FAMILIES)


def test_actions() -> None:
    assert words("The timeline") == set(ACTIONS)
