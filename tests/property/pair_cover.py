"""Configurations that cover pairs: each next one is the best of a few random ones, by how seldom its pairs were drawn.

A greedy covering array of our own: with any number of them it goes on to level the counts, takes rules for what
does not go together as they are, and is the same for the same seed.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import combinations

from attrs import define, field

Config = Mapping[str, str]
Cell = tuple[tuple[str, str], tuple[str, str]]


def cells(config: Config) -> Iterator[Cell]:
    """The pairs of a configuration."""
    return combinations(sorted(config.items()), 2)


@define
class Cover:
    """``factors``: what may be chosen, and among what. ``broken``: the factors of a rule that a configuration
    breaks, none if it may be."""

    factors: Mapping[str, tuple[str, ...]]
    broken: Callable[[Config], tuple[str, ...]]
    draw: random.Random
    counts: Counter[Cell] = field(factory=Counter)
    tries: int = 8

    def next(self) -> dict[str, str]:
        found = max((self._random() for _ in range(self.tries)), key=self._worth)
        self.counts.update(cells(found))
        return found

    def _worth(self, config: Config) -> float:
        return sum(1 / (1 + self.counts[cell]) ** 2 for cell in cells(config))

    def _random(self) -> dict[str, str]:
        chosen = {name: self.draw.choice(values) for name, values in self.factors.items()}
        while wrong := self.broken(chosen):
            name = self.draw.choice(wrong)
            chosen[name] = self.draw.choice(self.factors[name])
        return chosen
