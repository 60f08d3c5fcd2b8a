"""Compaction strategies: the contract, what each of them takes first, and what it leaves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hoodoo.errors import ConfigError
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.registry import kernel
from hoodoo.kernel.resolve import resolve
from hoodoo_services.compaction.strategies import BoundedIO, DayBased, LogCount, LogSize, Unbounded
from hoodoo_services.hookspecs.compaction import Candidate, CompactionStrategy
from hoodoo_services.testing.compaction import CompactionContract, made_candidate
from hypothesis import given
from hypothesis import strategies as st

MB = 1024 * 1024
SIZE = "hoodie.compaction.logfile.size.threshold"
COUNT = "hoodie.compaction.logfile.num.threshold"
TARGET = "hoodie.compaction.target.io"
DAYS = "hoodie.compaction.daybased.target.partitions"
JAVA = "org.apache.hudi.table.action.compact.strategy."
NAMES = {
    "log_size": "LogFileSizeBasedCompactionStrategy",
    "log_count": "LogFileNumBasedCompactionStrategy",
    "bounded_io": "BoundedIOCompactionStrategy",
    "day_based": "DayBasedCompactionStrategy",
    "unbounded": "UnBoundedCompactionStrategy",
}


def named(name: str, **options: Any) -> CompactionStrategy:
    """The strategy as a table makes it; options are named by their last words."""
    given = {key: str(options[short]) for short, key in SHORT.items() if short in options}
    made = resolve("compaction", name, Settings(options=given)).instance
    assert isinstance(made, CompactionStrategy)
    return made


SHORT = {"size": SIZE, "count": COUNT, "target": TARGET, "days": DAYS}


class TestUnbounded(CompactionContract):
    @pytest.fixture
    def strategy(self) -> CompactionStrategy:
        return named("unbounded")


class TestBoundedIO(CompactionContract):
    @pytest.fixture
    def strategy(self) -> CompactionStrategy:
        return named("bounded_io", target=250)


class TestLogSize(CompactionContract):
    @pytest.fixture
    def strategy(self) -> CompactionStrategy:
        return named("log_size", size=1000, target=100)


class TestLogCount(CompactionContract):
    @pytest.fixture
    def strategy(self) -> CompactionStrategy:
        return named("log_count", count=2, target=1)


class TestDayBased(CompactionContract):
    @pytest.fixture
    def strategy(self) -> CompactionStrategy:
        return named("day_based", days=2)


# 0 to 5: partition path, base bytes, bytes of each log file.
MADE = [
    made_candidate("2024/01/01", 0, 10 * MB, [1 * MB, 1 * MB]),
    made_candidate("2024/01/01", 1, 10 * MB, [5 * MB]),
    made_candidate("2024/01/02", 2, None, [5 * MB]),
    made_candidate("2024/01/03", 3, 1 * MB, [1, 1, 1]),
    made_candidate("2024/01/10", 4, 90 * MB, [9 * MB, 1]),
    made_candidate("2024/02/01", 5, 0, [1]),
]


def taken(strategy: CompactionStrategy, some: Sequence[Candidate] = MADE) -> list[int]:
    """The numbers of what is chosen, in order."""
    return [MADE.index(candidate) for candidate in strategy.choose(some)]


def test_what_a_candidate_costs() -> None:
    both, logs_only, new_base = MADE[0], MADE[2], MADE[5]
    assert (both.log_files, both.log_bytes) == (2, 2 * MB)
    assert (both.read_bytes, both.write_bytes) == (12 * MB, 10 * MB)
    assert (logs_only.read_bytes, logs_only.write_bytes) == (5 * MB, 5 * MB)
    assert (new_base.read_bytes, new_base.write_bytes) == (1, 0)


def test_unbounded_takes_all_as_they_come() -> None:
    assert taken(Unbounded()) == [0, 1, 2, 3, 4, 5]


def test_largest_logs_first_and_ties_as_they_come() -> None:
    assert taken(LogSize()) == [4, 1, 2, 0, 3, 5]
    assert taken(LogSize(), MADE[::-1]) == [4, 2, 1, 0, 3, 5]


@pytest.mark.parametrize(
    ("threshold", "expected"),
    [(2 * MB, [4, 1, 2, 0]), (2 * MB + 1, [4, 1, 2]), (3, [4, 1, 2, 0, 3]), (100 * MB, [])],
)
def test_logs_below_the_size_wait(threshold: int, expected: list[int]) -> None:
    assert taken(named("log_size", size=threshold)) == expected


def test_most_logs_first_and_ties_as_they_come() -> None:
    assert taken(LogCount()) == [3, 0, 4, 1, 2, 5]


@pytest.mark.parametrize(
    ("threshold", "expected"), [(1, [3, 0, 4, 1, 2, 5]), (2, [3, 0, 4]), (3, [3]), (4, [])]
)
def test_fewer_logs_than_the_threshold_wait(threshold: int, expected: list[int]) -> None:
    assert taken(named("log_count", count=threshold)) == expected


@pytest.mark.parametrize(
    ("target", "expected"),
    # 22, 25 and 10 MB are read and written for the first three, 2 MB and 3 bytes for the fourth.
    [(1, [0]), (22, [0]), (23, [0, 1]), (47, [0, 1]), (48, [0, 1, 2]), (59, [0, 1, 2, 3]),
     (60, [0, 1, 2, 3, 4]), (512_000, [0, 1, 2, 3, 4, 5])],
)  # fmt: skip
def test_the_one_that_passes_the_bound_is_the_last(target: int, expected: list[int]) -> None:
    assert taken(named("bounded_io", target=target)) == expected


def test_bound_and_order_together() -> None:
    assert taken(named("log_size", target=1)) == [4]  # reads 99 MB
    assert taken(named("log_size", target=189)) == [4]
    assert taken(named("log_size", target=190)) == [4, 1]
    assert taken(named("log_count", target=3)) == [3, 0]
    assert taken(named("log_size", size=6 * MB, target=500)) == [4]


@pytest.mark.parametrize(
    ("days", "expected"),
    [(1, [5]), (2, [5, 4]), (3, [5, 4, 3]), (5, [5, 4, 3, 2, 0, 1]), (50, [5, 4, 3, 2, 0, 1])],
)
def test_the_newest_days_first(days: int, expected: list[int]) -> None:
    assert taken(named("day_based", days=days)) == expected


def test_days_without_log_files_do_not_count() -> None:
    assert taken(DayBased(1), MADE[:3]) == [2]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["", "a", "b"]),
            st.none() | st.integers(0, 9),
            st.lists(st.integers(0, 9), min_size=1, max_size=4),
        ),
        max_size=12,
    ),
    st.integers(0, 60),
)
def test_the_bound_is_passed_by_one_at_most(
    drawn: list[tuple[str, int | None, list[int]]], bound: int
) -> None:
    candidates = [made_candidate(p, i, base, logs) for i, (p, base, logs) in enumerate(drawn)]

    def cost(some: Sequence[Candidate]) -> int:
        return sum(c.read_bytes + c.write_bytes for c in some)

    for strategy, order in (
        (BoundedIO(bound), candidates),
        (LogSize(0, bound), sorted(candidates, key=lambda c: -c.log_bytes)),
        (LogCount(0, bound), sorted(candidates, key=lambda c: -c.log_files)),
    ):
        chosen = list(strategy.choose(candidates))
        assert chosen == order[: len(chosen)]
        assert not chosen or cost(chosen[:-1]) < bound
        assert len(chosen) == len(order) or cost(chosen) >= bound


@pytest.mark.parametrize("name", NAMES)
def test_names_and_java_classes(name: str) -> None:
    assert named(JAVA + NAMES[name]) == named(name)
    offer = kernel().find("compaction", name)
    assert offer is not None and offer.plugin.distribution == "hoodoo-services"


def test_defaults_are_those_of_hudi() -> None:
    assert named("log_size") == LogSize(0, 512_000 * MB)
    assert named("log_count") == LogCount(0, 512_000 * MB)
    assert named("bounded_io") == BoundedIO(512_000 * MB)
    assert named("day_based") == DayBased(10)


@pytest.mark.parametrize(
    ("name", "key", "bad"),
    [
        ("log_size", SIZE, "-1"), ("log_size", SIZE, "1.5"), ("log_size", TARGET, "0"),
        ("log_count", COUNT, "-1"), ("log_count", COUNT, "few"), ("log_count", TARGET, ""),
        ("bounded_io", TARGET, "0"), ("bounded_io", TARGET, "much"),
        ("day_based", DAYS, "0"), ("day_based", DAYS, "all"),
    ],
)  # fmt: skip
def test_bad_options_are_named(name: str, key: str, bad: str) -> None:
    short = next(word for word, long in SHORT.items() if long == key)
    with pytest.raises(ConfigError, match=key.replace(".", r"\.")) as caught:
        named(name, **{short: bad})
    assert caught.value.fix


@pytest.mark.parametrize("name", ["unbounded", "day_based"])
def test_options_of_others_are_not_looked_at(name: str) -> None:
    assert taken(named(name, target="much", size="x", count="y"))
