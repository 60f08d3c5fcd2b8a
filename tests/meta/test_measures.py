"""No measure of the code gets worse: `python tests/meta/measures.py` prints them."""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import measures


def test_no_measure_is_worse_than_noted() -> None:
    now, noted = measures.measured(), json.loads(measures.NOTED.read_text("utf-8"))
    assert set(noted) == set(now), "python tests/meta/measures.py --note"
    assert not measures.worse(now, noted)


def test_the_comparison_can_fail() -> None:
    noted = {"lines of core": 100, "longest module": 1000}
    assert measures.worse({"lines of core": 101, "longest module": 1000}, noted) == [
        "lines of core: 101, and 100 was noted"
    ]
    assert measures.worse({"lines of core": 99, "longest module": 1006}, noted)


def test_what_is_inside() -> None:
    source = """
import hoodoo
import hoodoo_rows.read.plan
from hoodoo import Batch, _Moved
from hoodoo.errors import ConfigError
from hoodoo.timeline.instants import order_key
from hoodoo.model.commit import WriteStat
from hoodoo_rows.api import Reads
from hoodoo_services import rewrite
from hoodoo_metadata.hfile import HFile
from hoodoo_spark.near import SMALL_BYTES
"""
    assert measures.insides(ast.parse(source)) == [
        "hoodoo_rows.read.plan",
        "hoodoo._Moved",
        "hoodoo.timeline.instants.order_key",
        "hoodoo_services.rewrite",
        "hoodoo_spark.near.SMALL_BYTES",
    ]


def test_comparisons_with_names_of_actions() -> None:
    source = """
if instant.action == "commit" or action in ("clean", "compaction"):
    commit = name == "committed" or instant.traits.deletes
"""
    assert measures.compared_actions(ast.parse(source)) == [
        "instant.action == 'commit'",
        "action in ('clean', 'compaction')",
    ]


def test_every_action_is_counted() -> None:
    from hoodoo.model.action import ACTIONS

    assert all(measures.compared_actions(ast.parse(f"action == {name!r}")) for name in ACTIONS)
