"""What every cleaning policy promises: the contract of
:class:`hoodoo_services.hookspecs.cleaning.CleaningPolicy` as tests.

Usage::

    class TestMine(CleaningContract):
        @pytest.fixture
        def policy(self):
            return MyPolicy(...)

The policy should find something to clean in the suite's ``history`` and ``groups``, or answer these
fixtures, too.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone

import pytest
from attrs import evolve
from hoodoo.model.filegroup import BaseFile, FileGroup, FileSlice, LogFile
from hoodoo.model.instant import Instant, State
from hoodoo.timeline.instants import from_datetime

from hoodoo_services.hookspecs.cleaning import Aged, CleaningPolicy, History

_NOW = datetime(2024, 3, 10, 12, tzinfo=timezone.utc)
_HUDIS = {"KEEP_LATEST_COMMITS", "KEEP_LATEST_FILE_VERSIONS", "KEEP_LATEST_BY_HOURS"}


def instant_of(hours_ago: float) -> str:
    return from_datetime(_NOW - timedelta(hours=hours_ago))


def made_history(hours: Sequence[float]) -> History:
    """One write for each of ``hours`` ago, the oldest first."""
    writes = [
        Instant(instant_of(h), "commit", State.COMPLETED, instant_of(h - 0.01)) for h in hours
    ]
    return History(tuple(sorted(writes)), _NOW)


def made_group(
    path: str, number: int, hours: Sequence[float], replaced: float | None = None, logs: int = 0
) -> Aged:
    """A group with a slice for each of ``hours`` ago; ``logs`` log files in each."""
    file_id = f"00000000-0000-4000-8000-{number:012d}-0"
    slices = []
    for at in sorted(hours):  # the newest first
        instant = instant_of(at)
        base = BaseFile(path, file_id, instant, "0-0-0", size=1000)
        found = tuple(LogFile(path, file_id, instant, i + 1, "0-0-0", size=10) for i in range(logs))
        slices.append(FileSlice(path, file_id, instant, base, found))
    group = FileGroup(path, file_id, tuple(slices))
    return Aged(group, None if replaced is None else instant_of(replaced))


class CleaningContract:
    """Subclass, and answer the fixture ``policy``."""

    @pytest.fixture
    def policy(self) -> CleaningPolicy:
        raise NotImplementedError("override the fixture `policy`")

    @pytest.fixture
    def history(self) -> History:
        """Forty writes, one every two hours."""
        return made_history([2.0 * n for n in range(40)])

    @pytest.fixture
    def groups(self) -> list[Aged]:
        return [
            made_group("", 1, [2.0 * n for n in range(40)]),
            made_group("2024/01/01", 2, [78], logs=3),
            made_group("2024/01/01", 3, [70, 60, 50, 40, 30, 20, 10, 0], logs=2),
            made_group("2024/01/02", 4, [78, 76], replaced=74),
            made_group("2024/01/02", 5, [0]),
        ]

    @pytest.fixture
    def earliest(self, policy: CleaningPolicy, history: History) -> str | None:
        found = policy.earliest(history) if policy.by_writes else None
        return None if found is None else found.requested

    def test_obeys_the_protocol(self, policy: CleaningPolicy) -> None:
        assert isinstance(policy, CleaningPolicy)
        assert policy.policy in _HUDIS

    def test_cleans_something(
        self, policy: CleaningPolicy, groups: list[Aged], earliest: str | None
    ) -> None:
        assert any(policy.surplus(aged, earliest) for aged in groups), "this proves nothing"

    def test_goes_by_writes_or_by_groups(self, policy: CleaningPolicy, history: History) -> None:
        found = policy.earliest(history)
        assert found in history.writes if policy.by_writes else found is None

    def test_without_writes_nothing_goes(self, policy: CleaningPolicy) -> None:
        assert policy.earliest(made_history([])) is None

    def test_chooses_among_the_slices_of_the_group(
        self, policy: CleaningPolicy, groups: list[Aged], earliest: str | None
    ) -> None:
        for aged in groups:
            found = policy.surplus(aged, earliest)
            assert isinstance(found, Sequence)
            assert all(slice_ in aged.group.slices for slice_ in found)
            assert len({slice_.instant for slice_ in found}) == len(found)

    def test_the_newest_slice_stays(
        self, policy: CleaningPolicy, groups: list[Aged], earliest: str | None
    ) -> None:
        for aged in groups:
            if aged.replaced_by is None:
                assert aged.group.slices[0] not in policy.surplus(aged, earliest)

    def test_what_the_earliest_write_and_later_ones_made_stays(
        self, policy: CleaningPolicy, groups: list[Aged], earliest: str | None
    ) -> None:
        if earliest is not None:
            gone = [s for aged in groups for s in policy.surplus(aged, earliest)]
            assert all(slice_.instant < earliest for slice_ in gone)

    def test_an_earlier_write_keeps_more(
        self, policy: CleaningPolicy, history: History, groups: list[Aged], earliest: str | None
    ) -> None:
        """Core moves the answer back where something older is needed."""
        if earliest is None:
            return
        for write in history.writes:
            if write.requested <= earliest:
                for aged in groups:
                    now = {s.instant for s in policy.surplus(aged, earliest)}
                    assert {s.instant for s in policy.surplus(aged, write.requested)} <= now

    def test_is_a_pure_function(
        self, policy: CleaningPolicy, history: History, groups: list[Aged], earliest: str | None
    ) -> None:
        again = pickle.loads(pickle.dumps(policy))
        assert again.earliest(history) == policy.earliest(history)
        for aged in groups:
            first = list(policy.surplus(aged, earliest))
            assert list(policy.surplus(aged, earliest)) == first
            assert list(again.surplus(aged, earliest)) == first

    def test_what_is_cleaned_is_not_named_again(
        self, policy: CleaningPolicy, groups: list[Aged], earliest: str | None
    ) -> None:
        for aged in groups:
            gone = list(policy.surplus(aged, earliest))
            left = tuple(s for s in aged.group.slices if s not in gone)
            again = Aged(evolve(aged.group, slices=left), aged.replaced_by)
            assert list(policy.surplus(again, earliest)) == []
