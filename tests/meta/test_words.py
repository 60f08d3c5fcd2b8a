"""The names that errors lead to are there: hoodoo/model/words.txt speaks of what is installed."""

from __future__ import annotations

import re

import hoodoo
import pytest
from hoodoo.calls import noted
from hoodoo.kernel.functions import OF_READS, function_names
from hoodoo.table.table import Table
from hoodoo_rows.read.rows import Rows

WORDS = noted("words.txt")
CALLED = re.compile(r"\b(table|scan|hoodoo)\.([a-z_]+)")
OWNERS = {"table": Table, "scan": Rows, "hoodoo": hoodoo}


@pytest.mark.parametrize("name", sorted(WORDS))
def test_what_is_said_is_there(name: str) -> None:
    names = CALLED.findall(WORDS[name])
    for owner, member in names:
        kind = OWNERS[owner]
        brought = function_names(OF_READS) if owner == "scan" else ()
        there = hasattr(kind, member) or member in brought or member == "plan"
        assert there, f"{name}: {owner}.{member}"
    owner, _, own = name.partition(".")
    if owner == "hoodoo":
        assert not hasattr(hoodoo, own), f"{name} is there: no word is needed"
