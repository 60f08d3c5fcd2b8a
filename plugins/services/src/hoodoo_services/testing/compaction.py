"""What every compaction strategy promises: the contract of
:class:`hoodoo_services.hookspecs.compaction.CompactionStrategy` as tests.

Usage::

    class TestMine(CompactionContract):
        @pytest.fixture
        def strategy(self):
            return MyStrategy(...)

The strategy should choose some of the suite's ``candidates``, or answer that fixture, too.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence

import pytest
from hoodoo.model.filegroup import BaseFile, FileSlice, LogFile

from hoodoo_services.hookspecs.compaction import Candidate, CompactionStrategy

_INSTANT = "20240101000000000"
_MIB = 1 << 20


def made_candidate(path: str, number: int, base: int | None, logs: Sequence[int]) -> Candidate:
    """A slice in ``path`` whose base file (None: there is none) and log files have these bytes."""
    file_id = f"00000000-0000-4000-8000-{number:012d}-0"
    file = None if base is None else BaseFile(path, file_id, _INSTANT, "0-0-0", size=base)
    files = tuple(
        LogFile(path, file_id, _INSTANT, i + 1, "0-0-0", size=size) for i, size in enumerate(logs)
    )
    return Candidate(FileSlice(path, file_id, _INSTANT, file, files))


class CompactionContract:
    """Subclass, and answer the fixture ``strategy``."""

    @pytest.fixture
    def strategy(self) -> CompactionStrategy:
        raise NotImplementedError("override the fixture `strategy`")

    @pytest.fixture
    def candidates(self) -> list[Candidate]:
        """As the kernel hands them over: sorted by partition path and file id."""
        return [
            made_candidate("", 1, 5 * _MIB, [1]),
            made_candidate("2024/01/01", 2, 100 * _MIB, [50, 20 * _MIB]),
            made_candidate("2024/01/01", 3, None, [3 * _MIB] * 3),
            made_candidate("2024/01/02", 4, 0, [10 * _MIB]),
            made_candidate("2024/01/02", 5, 2 * _MIB, [10 * _MIB]),
            made_candidate("2024/02/01", 6, 700 * _MIB, [7] * 20),
        ]

    def test_obeys_the_protocol(self, strategy: CompactionStrategy) -> None:
        assert isinstance(strategy, CompactionStrategy)

    def test_chooses_among_the_candidates(
        self, strategy: CompactionStrategy, candidates: list[Candidate]
    ) -> None:
        chosen = strategy.choose(candidates)
        assert isinstance(chosen, Sequence)
        assert all(candidate in candidates for candidate in chosen)
        groups = [(c.slice.partition_path, c.slice.file_id) for c in chosen]
        assert len(groups) == len(set(groups)), "a file group is chosen twice"

    def test_chooses_something(
        self, strategy: CompactionStrategy, candidates: list[Candidate]
    ) -> None:
        assert strategy.choose(candidates), "a suite over nothing proves nothing"

    def test_no_candidates_none_chosen(self, strategy: CompactionStrategy) -> None:
        assert list(strategy.choose([])) == []

    def test_one_candidate(self, strategy: CompactionStrategy, candidates: list[Candidate]) -> None:
        for candidate in candidates:
            assert list(strategy.choose([candidate])) in ([], [candidate])

    def test_is_a_pure_function(
        self, strategy: CompactionStrategy, candidates: list[Candidate]
    ) -> None:
        before = list(candidates)
        first = list(strategy.choose(candidates))
        assert candidates == before, "it changed its argument"
        assert list(strategy.choose(tuple(candidates))) == first
        again = pickle.loads(pickle.dumps(strategy))
        assert list(again.choose(candidates)) == first

    def test_what_is_left_is_reached_in_the_end(
        self, strategy: CompactionStrategy, candidates: list[Candidate]
    ) -> None:
        """What was chosen has no log files any more: round after round, nothing comes twice, and
        the rounds end."""
        left, done = list(candidates), []
        while chosen := list(strategy.choose(left)):
            done += chosen
            left = [candidate for candidate in left if candidate not in chosen]
        assert len(done) + len(left) == len(candidates)
        assert list(strategy.choose(left)) == []
