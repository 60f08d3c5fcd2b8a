"""Data frames: the rows of a filter are the same ones wherever it is asked.

Of random tables and of golden ones, for random predicates: pyarrow's own filter of the whole read, polars' of the whole
frame, of ``hoodoo.scan_polars``, which pushes it down, and DuckDB's of the dataset, which pushes it down, too, and of
its relation, which reads plain files; of reads that have a filter of their own as well.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import hoodoo
import pytest
from draw_predicates import Drawing
from effort import effort
from golden_reads import GoldenTable
from golden_tables import READ
from predicates import Both, Predicate
from read_checks import TALLY, Read, reads, report
from render_arrow import arrow
from render_polars import polars
from render_sql import duckdb_sql
from test_metamorphic_reads import SEED, table

_TABLES = effort(4, 64)


def check_frames(read: Read, predicates: Sequence[Predicate], rng: random.Random) -> None:
    """Each predicate, pushed down by polars and by DuckDB; every other time below a filter of the read's own."""
    import duckdb

    own = predicates[0]
    whole, some = read.plan(None, None), read.plan(None, arrow(own))
    lazy, lazy_some = hoodoo.scan_polars(whole), hoodoo.scan_polars(some)
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    connection.register("whole", whole.to_dataset())
    connection.register("part", some.to_dataset())
    whole.to_duckdb(connection).create_view("whole_relation")
    some.to_duckdb(connection).create_view("part_relation")
    for n, p in enumerate(predicates):
        below = n % 2 == 1
        expected = read.expected(Both("and", own, p) if below else p)
        frame = (lazy_some if below else lazy).filter(polars(p)).select(read.id).collect()
        _compare(read, p, expected, frame[read.id].to_list(), f"polars: {polars(p)}")
        name = "part" if below else "whole"
        for one in (name, f"{name}_relation"):
            asked = f'SELECT "{read.id}" FROM {one} WHERE {duckdb_sql(p)}'
            found = [row[0] for row in connection.execute(asked).fetchall()]
            _compare(read, p, expected, found, f"DuckDB: {asked}")
        TALLY.add(f"{read.kind}, pushed down by polars and DuckDB", p, 3)
    columns = [read.id, *rng.sample(read.whole.schema.names, 2)]
    narrow = list(dict.fromkeys(columns))
    found = hoodoo.scan_polars(whole).select(narrow).collect()
    assert found.equals(read.plan(narrow, None).to_polars()), narrow


def _compare(read: Read, p: Predicate, expected: Counter[Any], found: Any, text: str) -> None:
    there = Counter(found)
    if there != expected:
        told = (
            f"{text}\n  missing: {sorted((expected - there).elements(), key=repr)}"
            f"\n  too many: {sorted((there - expected).elements(), key=repr)}"
        )
        raise AssertionError(report(read, p, told))


@pytest.mark.parametrize("group", range(4))
@pytest.mark.sampled(2)
def test_filters_that_frames_push_down(group: int) -> None:
    for seed in range(SEED + group, SEED + _TABLES, 4):
        with table(seed, 4) as (rng, found):
            for read in found:
                if not read.of_changes:
                    drawing = Drawing(rng, read.columns)
                    check_frames(read, [drawing.predicate() for _ in range(effort(6, 12))], rng)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", READ)
def test_frames_of_tables_that_hudi_made(golden: Callable[[str], Path], name: str) -> None:
    made = GoldenTable.of(name, golden(name))
    if made is None:
        return
    rng = random.Random(f"frames {SEED} {name}")
    for read in reads(made, rng, effort(1, 3) if made.writes else 1):
        if not read.of_changes:
            drawing = Drawing(rng, read.columns)
            check_frames(read, [drawing.predicate() for _ in range(effort(3, 20))], rng)
