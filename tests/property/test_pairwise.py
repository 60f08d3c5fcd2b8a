"""Random histories over pairs of everything that a table may be: see pairwise.py, which runs many of them."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from collections import Counter
from itertools import islice, product
from pathlib import Path

import pair_space as space
import pairwise
import pytest
from effort import MORE, effort
from pair_cover import Cover, cells
from pair_history import history, try_refused
from tally import TALLY

pytestmark = pytest.mark.sampled(3)

_TEMPORARY = os.environ.get("PYTEST_DEBUG_TEMPROOT")


def seed() -> str:
    """Another one in each run; HOODOO_PAIRS says which, to run one again."""
    chosen = os.environ.get("HOODOO_PAIRS") or os.environ.get("HOODOO_SEED")
    return chosen or str(random.SystemRandom().randrange(10**6))


def test_pairs_of_everything() -> None:
    chosen, drawn = seed(), Counter[str]()
    for number, config in enumerate(islice(pairwise.configurations(chosen), effort(8, 300))):
        said = pairwise.run(chosen, number, config, drawn, steps=5)
        assert not said, f"HOODOO_PAIRS={chosen}, history {number}: {said}"
        TALLY.add("pairwise histories")


@pytest.mark.spark
@pytest.mark.skipif(not MORE, reason="HOODOO_TRIALS=more runs these")
def test_pairs_of_everything_on_spark(spark: object) -> None:
    chosen = seed()
    for number, config in enumerate(islice(pairwise.configurations(f"{chosen}.spark"), 20)):
        folder = Path(tempfile.mkdtemp(prefix="hoodoo-pairs-", dir=_TEMPORARY))
        try:
            history(config, folder, f"{chosen}-{number}", 4, engine="spark")
        finally:
            shutil.rmtree(folder)
        TALLY.add("pairwise histories on Spark")


@pytest.mark.parametrize("rule", space.REFUSALS, ids=lambda rule: "-".join(rule.where))
def test_what_is_refused_says_why(rule: space.Refusal, tmp_path: Path) -> None:
    """Each rule of tests/combinations.md, with the first value of all that it does not speak of."""
    plain = {name: values[0] for name, values in space.FACTORS.items()}
    chosen = list(product(*rule.where.values()))
    for number, values in enumerate(chosen if MORE else chosen[:1]):
        config = {**plain, **dict(zip(rule.where, values, strict=True))}
        folder = tmp_path / str(number)
        folder.mkdir()
        # Another rule may fit as well, and speak first.
        assert try_refused(config, folder).fits(config)


def test_configurations_cover_pairs() -> None:
    """The same for the same seed, none that is refused, and soon all pairs."""
    some = list(islice(pairwise.configurations("seed"), 150))
    assert some[:5] == list(islice(pairwise.configurations("seed"), 5))
    assert not any(space.refusal(config) for config in some)
    factors = {"a": ("1", "2", "3"), "b": ("1", "2", "3"), "c": ("1", "2"), "d": ("1", "2")}
    cover = Cover(factors, lambda config: (), random.Random(1), tries=20)
    drawn = Counter(cell for _ in range(16) for cell in cells(cover.next()))
    assert len(drawn) == 9 + 4 * 6 + 4
