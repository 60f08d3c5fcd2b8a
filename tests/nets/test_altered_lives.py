"""Columns are renamed, dropped and added between writes, plans, services and undone writes: rows are the model's."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from altered_life import AlteredLife
from effort import MORE, effort
from long_life import kinds

LIVES = effort(2, 200)
STEPS = effort(20, 60)
_FIRST = 0 if MORE else random.Random(os.environ["HOODOO_SEED"]).randrange(1 << 20)


def born(number: int, path: Path) -> AlteredLife:
    """A new table of the kind of this number: numbers that follow each other have other kinds."""
    every = [kind for kind in kinds() if not kind.ordering]
    random.Random(7).shuffle(every)
    chance = random.Random(number)
    kind = every[number % len(every)]
    partitioned = kind.index == "partitioned_record_index" or chance.random() < 0.7
    life = AlteredLife(kind, partitioned, path, chance)
    life.begin()
    return life


@pytest.mark.sampled(1, among="long")
@pytest.mark.parametrize("number", range(_FIRST, _FIRST + LIVES))
def test_rows_keep_their_values_whatever_columns_are_called(number: int, tmp_path: Path) -> None:
    life = born(number, tmp_path / "t")
    life.live(STEPS)
    assert life.table.verify().findings == ()
