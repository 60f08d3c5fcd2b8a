"""Cleaning policies: each obeys the contract, and keeps what Hudi's keeps."""

from __future__ import annotations

import pytest
from hoodoo.errors import ConfigError
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.resolve import resolve
from hoodoo_services.clean.policies.by_versions import ByVersions
from hoodoo_services.clean.policies.by_writes import ByCommits, ByHours
from hoodoo_services.hookspecs.cleaning import Aged, History
from hoodoo_services.testing.cleaning import (
    CleaningContract,
    instant_of,
    made_group,
    made_history,
)


class TestByCommits(CleaningContract):
    @pytest.fixture
    def policy(self) -> ByCommits:
        return ByCommits(10)


class TestByHours(CleaningContract):
    @pytest.fixture
    def policy(self) -> ByHours:
        return ByHours(24)


class TestByVersions(CleaningContract):
    @pytest.fixture
    def policy(self) -> ByVersions:
        return ByVersions(3)


def left(policy: ByCommits | ByHours | ByVersions, history: History, aged: Aged) -> list[float]:
    """Hours ago of the slices that stay."""
    earliest = policy.earliest(history)
    if policy.by_writes and earliest is None:
        gone = []
    else:
        gone = [s.instant for s in policy.surplus(aged, earliest and earliest.requested)]
    hours = {instant_of(h): h for h in range(100)}
    return [hours[s.instant] for s in aged.group.slices if s.instant not in gone]


def test_by_commits_as_spark_does() -> None:
    """Two retained leave three slices of a group that every write updates."""
    hours = [5, 4, 3, 2, 1]
    assert left(ByCommits(2), made_history(hours), made_group("a", 1, hours)) == [1, 2, 3]
    assert left(ByCommits(2), made_history(hours), made_group("a", 1, [5, 4])) == [4]
    assert left(ByCommits(4), made_history(hours), made_group("a", 1, hours)) == [1, 2, 3, 4, 5]
    assert left(ByCommits(5), made_history(hours), made_group("a", 1, hours)) == [1, 2, 3, 4, 5]
    assert ByCommits(5).earliest(made_history(hours)) is None
    first = ByCommits(2).earliest(made_history(hours))
    assert first is not None and first.requested == instant_of(2)


def test_replaced_groups() -> None:
    history = made_history([5, 4, 3, 2, 1])
    assert left(ByCommits(2), history, made_group("a", 1, [5, 4], replaced=3)) == []
    assert left(ByCommits(2), history, made_group("a", 1, [5, 4], replaced=2)) == [4, 5]
    assert left(ByVersions(2), history, made_group("a", 1, [5, 4], replaced=1)) == []


def test_by_hours() -> None:
    hours = [50, 40, 30, 20, 10]
    group = made_group("a", 1, hours)
    assert left(ByHours(24), made_history(hours), group) == [10, 20, 30]
    assert left(ByHours(20), made_history(hours), group) == [10, 20, 30]
    assert left(ByHours(19.5), made_history(hours), group) == [10, 20]
    assert left(ByHours(90), made_history(hours), group) == hours[::-1]
    assert left(ByHours(0), made_history(hours), group) == [10, 20], "the last write's stay"


def test_by_versions() -> None:
    assert left(ByVersions(2), made_history([9]), made_group("a", 1, [5, 4, 3], logs=2)) == [3, 4]
    assert left(ByVersions(3), made_history([9]), made_group("a", 1, [5, 4, 3])) == [3, 4, 5]


@pytest.mark.parametrize(
    ("name", "given", "made"),
    [
        ("by_commits", {}, ByCommits(10)),
        ("KEEP_LATEST_COMMITS", {"hoodie.clean.commits.retained": "3"}, ByCommits(3)),
        ("by_commits", {"hoodie.cleaner.commits.retained": "4"}, ByCommits(4)),
        ("keep_latest_file_versions", {}, ByVersions(3)),
        ("by_versions", {"hoodie.cleaner.fileversions.retained": "1"}, ByVersions(1)),
        ("by_hours", {}, ByHours(24)),
        ("KEEP_LATEST_BY_HOURS", {"hoodie.clean.hours.retained": "0.5"}, ByHours(0.5)),
    ],
)
def test_options(name: str, given: dict[str, str], made: object) -> None:
    assert resolve("cleaning", name, Settings(options=given)).instance == made


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("by_commits", "hoodie.clean.commits.retained", "0"),
        ("by_commits", "hoodie.cleaner.commits.retained", "1.5"),
        ("by_versions", "hoodie.clean.fileversions.retained", "many"),
        ("by_hours", "hoodie.clean.hours.retained", "-1"),
        ("by_hours", "hoodie.clean.hours.retained", "nan"),
    ],
)
def test_bad_options(name: str, key: str, value: str) -> None:
    with pytest.raises(ConfigError, match=key):
        resolve("cleaning", name, Settings(options={key: value}))
