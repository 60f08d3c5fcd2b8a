"""Metamorphic reads: random tables, random predicates, and reads that have to agree with each other.

Each table follows from its number: HOODOO_NET_SEED is the first one, HOODOO_NET_TABLES how many there are.
What a check is, says read_checks.py; the end of the run says how many there were of which kind.
"""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from draw_predicates import Drawing
from effort import effort
from golden_reads import GoldenTable
from golden_tables import READ
from other_checks import check_duckdb, check_polars, check_spark, check_spark_truths
from random_tables import RandomTable
from read_checks import Read, check_local, reads

pytestmark = pytest.mark.sampled(4)

SEED = int(os.environ.get("HOODOO_NET_SEED") or 1)
TABLES = int(os.environ.get("HOODOO_NET_TABLES") or effort(4, 64))
SPARK_TABLES = int(os.environ.get("HOODOO_NET_TABLES") or effort(1, 16))
_STREAMED = max(1, TABLES // 2)
_GROUPS = 8  # tests, so that a run can be divided
# In memory where there is room: conftest.py at the top says so.
_TEMPORARY = os.environ.get("PYTEST_DEBUG_TEMPROOT")


def groups(tables: int) -> pytest.MarkDecorator:
    """As many tests as have tables: the default run draws some of them."""
    return pytest.mark.parametrize("group", range(min(_GROUPS, tables)))


def numbers(group: int, tables: int) -> range:
    return range(SEED + group, SEED + tables, _GROUPS)


@contextmanager
def table(seed: int, most: int) -> Iterator[tuple[random.Random, list[Read]]]:
    """The table of that number, and some of its reads."""
    folder = tempfile.mkdtemp(prefix="hoodoo-net-", dir=_TEMPORARY)
    try:
        made = RandomTable.of(seed, f"{folder}/t")
        rng = random.Random(f"checks {seed}")
        yield rng, reads(made, rng, most)
    finally:
        shutil.rmtree(folder)


@pytest.mark.sampled
@groups(TABLES)
def test_reads_of_the_local_engine(group: int) -> None:
    for seed in numbers(group, TABLES):
        with table(seed, 5) as (rng, found):
            for read in found:
                drawing = Drawing(rng, read.columns)
                for _ in range(effort(5, 8)):
                    check_local(read, drawing.predicate(), rng)


@groups(_STREAMED)
@pytest.mark.parametrize("check", [check_duckdb, check_polars], ids=["duckdb", "polars"])
def test_other_engines_over_the_stream(group: int, check: Any) -> None:
    for seed in numbers(group, _STREAMED):
        with table(seed, 3) as (rng, found):
            for read in found:
                drawing = Drawing(rng, read.columns)
                if not read.of_changes:
                    check(read, [drawing.predicate() for _ in range(25)])


@pytest.mark.parametrize("name", READ)
def test_reads_of_tables_that_hudi_made(golden: Callable[[str], Path], name: str) -> None:
    made = GoldenTable.of(name, golden(name))
    if made is None:
        assert "no_metafields" in name  # nothing there tells rows apart
        return
    rng = random.Random(f"golden {SEED} {name}")
    for read in reads(made, rng, 4 if made.writes else 1):
        drawing = Drawing(rng, read.columns)
        for _ in range(effort(2, 20)):
            check_local(read, drawing.predicate(), rng)


@pytest.mark.spark
@groups(SPARK_TABLES)
def test_reads_of_spark(spark: Any, group: int) -> None:
    for seed in numbers(group, SPARK_TABLES):
        with table(seed, 2) as (rng, found):
            for read in found:
                drawing = Drawing(rng, read.columns)
                check_spark(read, [drawing.predicate() for _ in range(4)], spark)
                if not read.of_changes:
                    check_spark_truths(
                        read, [drawing.predicate() for _ in range(effort(30, 60))], spark
                    )


def test_a_read_that_leaves_rows_out_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The net itself: where a row group is lost under each filter, it says which table and what was asked."""
    from hoodoo_formats.parquet.row_groups import RowGroups

    with table(SEED, 1) as (rng, found):
        lost = RowGroups.left
        monkeypatch.setattr(
            RowGroups, "left",
            lambda self, where: lost(self, where)[1 if where is not None else 0 :],
        )  # fmt: skip
        drawing = Drawing(rng, found[0].columns)
        with pytest.raises(AssertionError, match=rf"(?s)seed {SEED}, read.*missing: \[\d"):
            for _ in range(20):
                check_local(found[0], drawing.predicate(), rng)
