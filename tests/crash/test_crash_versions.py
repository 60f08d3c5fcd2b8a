"""A process that ends at any storage operation of an upgrade or a downgrade leaves a whole table of the
old or of the new version, all states of which can be read. A repeated call ends it, and the next write
goes on.
"""

from __future__ import annotations

import random
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from crash_leaks import leaks
from crash_runs import crashes, readable_state
from crash_trials import (
    COUNT,
    SEED,
    Operation,
    age_temporaries,
    copied,
    mutations,
    opened,
    plus_next,
    state,
    write_next,
)
from effort import ALL, effort
from merge_on_read import with_options
from table_life import ARCHIVING, KINDS, Life, as_of

SAMPLED = effort(3, 12)
BY_FILES = {"hoodie.metadata.enable": "true", "hoodie.metadata.record.index.enable": "true"}


# From, to.
WAYS = tuple(permutations((6, 8, 9), 2))


def change(before: int, after: int) -> Operation:
    """Also of a table that has been changed already."""
    return lambda table: table.downgrade(after) if after < before else table.upgrade(after)


def prepared(life: Life, path: Path) -> Path:
    """``life`` with a metadata table, archived instants and a savepoint."""
    copied(life.path, path)
    opened(path).rebuild_index("record_index")
    table = with_options(opened(path), ARCHIVING)
    table.clean()
    assert table.archive().instants
    opened(path).savepoint(opened(path).timeline().writes()[-1].requested)
    return path


def points(life: Life, path: Path) -> dict[str, Any]:
    """The states that can be read."""
    start = opened(path).timeline().start or ""
    found = {instant: rows for instant, rows in life.points if instant >= start}
    assert len(found) > 1, "too few states: the trial would prove nothing"
    assert {instant: as_of(path, instant) for instant in found} == found
    return found


@pytest.mark.sampled(1)
@pytest.mark.parametrize("way", WAYS, ids=lambda way: f"{way[0]} to {way[1]}")
@pytest.mark.parametrize("kind", KINDS)
def test_crash_in_a_change_of_the_version(
    lives: Any, tmp_path: Path, local_temporaries: Path, kind: str, way: tuple[int, int]
) -> None:
    life = lives(way[0], kind, "due")
    act = change(*way)
    base = prepared(life, tmp_path / "base")
    known, rows = points(life, base), state(base)
    steps = mutations(base, tmp_path / "whole", act)
    chance = random.Random(f"{SEED} version {kind} {way}")
    versions = set()
    for target, where in crashes(base, act, steps, tmp_path / "trial", chance, SAMPLED):
        assert readable_state(target) == rows, where
        assert {i: as_of(target, i) for i in known} == known, where
        versions.add(opened(target).config.version)
        straight = copied(target, tmp_path / "straight")
        _goes_on(straight, rows, known, where)
        age_temporaries(target)
        # Whoever wants no change any more asks for the version that the table has.
        there = copied(target, tmp_path / "there")
        change(way[1], opened(there).config.version)(opened(there))
        _goes_on(there, rows, known, where)
        act(opened(target))
        assert opened(target).config.version == way[1], where
        act(opened(target))  # takes away what was left
        _goes_on(target, rows, known, where)
        assert leaks(target) == [], where
        COUNT.trials += 1
    assert versions == set(way) or not ALL


def _goes_on(path: Path, rows: Any, known: dict[str, Any], where: str) -> None:
    age_temporaries(path)
    write_next(opened(path))
    assert state(path) == plus_next(rows), where
    assert {i: as_of(path, i) for i in known} == known, where
    assert not opened(path).verify().findings, where
