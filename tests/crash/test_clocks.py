"""Clocks that repeat, go back or run ahead: nothing is overwritten, and the order of writes is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from itertools import count, cycle, repeat
from pathlib import Path

import pytest
from crash_leaks import leaks
from crash_trials import (
    COUNT,
    VERSIONS,
    WHEN,
    Row,
    age_temporaries,
    build,
    crash,
    opened,
    rows,
    state,
)
from hoodoo.errors import HoodooError
from hoodoo.model.instant import Instant
from hoodoo.timeline import publish
from hoodoo.timeline.instants import from_datetime, order_key

pytestmark = pytest.mark.sampled(4)

NOON = datetime(2026, 3, 29, 12, tzinfo=timezone.utc)
HOUR, MILLISECOND = timedelta(hours=1), timedelta(milliseconds=1)

# Each is what the clock says at one look after the other.
CLOCKS: dict[str, Callable[[], Iterator[datetime]]] = {
    "stands-still": lambda: repeat(NOON),
    "goes-back": lambda: (NOON - n * MILLISECOND for n in count()),
    "back-an-hour-each-time": lambda: (NOON - n * HOUR for n in count()),
    "two-writers-an-hour-apart": lambda: cycle([NOON + HOUR, NOON]),
    "ahead-once": lambda: (NOON + HOUR if n == 3 else NOON + n * MILLISECOND for n in count()),
}


@pytest.fixture
def set_clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    def set_to(name: str) -> None:
        ticks = CLOCKS[name]()
        monkeypatch.setattr(publish, "_at", lambda now: now or next(ticks))

    return set_to


def _files(path: Path) -> dict[str, bytes]:
    """What may never be overwritten: timeline and base files, with their bytes."""
    folder = path / opened(path).config.timeline_path
    timeline = [p for p in folder.iterdir() if p.is_file() and p.name[0].isdigit()]
    return {str(p.relative_to(path)): p.read_bytes() for p in [*timeline, *path.rglob("*.parquet")]}


def _instants(path: Path) -> tuple[Instant, ...]:
    return opened(path).timeline().instants


def _check(path: Path, expected: dict[int, Row], before: dict[str, bytes], where: str) -> None:
    assert state(path) == tuple(sorted(expected.values())), where
    now = _files(path)
    assert {name: now[name] for name in before} == before, f"{where}: a file was overwritten"
    assert leaks(path) == [], where


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("clock", CLOCKS)
def test_writes_in_order(
    tmp_path: Path, set_clock: Callable[[str], None], clock: str, version: int
) -> None:
    """Each write sees the ones before it, and each read as of an instant what was there then."""
    path = build(tmp_path / "trial", version, commits=0)
    set_clock(clock)
    expected: dict[int, Row] = {}
    history: list[tuple[str, tuple[Row, ...]]] = []

    for number in range(6):
        before = _files(path)
        text = f"w{number}"
        data = {key: "ab"[key % 2] for key in (number, number + 1, 100)}
        opened(path).upsert(rows(data, text, number))
        expected.update({key: (key, text, region) for key, region in data.items()})
        _check(path, expected, before, f"write {number}")
        history.append((_instants(path)[-1].requested, state(path)))
        COUNT.trials += 1
    times = [instant.requested for instant in _instants(path)]
    assert times == sorted(set(times))
    completed = [instant.completion_order for instant in _instants(path)]
    assert completed == sorted(completed)
    for instant, found in history:
        then = opened(path).read(["id", "v"], as_of=instant).to_arrow().to_pylist()
        assert sorted((row["id"], row["v"]) for row in then) == [row[:2] for row in found]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("clock", CLOCKS)
def test_crashes_between_the_writes(
    tmp_path: Path, set_clock: Callable[[str], None], clock: str, version: int
) -> None:
    """Also the rollback of a dead writer gets an instant past everything, and its files go."""
    path = build(tmp_path / "trial", version, commits=0)
    set_clock(clock)
    opened(path).insert(rows({1: "a", 2: "b"}, "w0", 0))
    expected: dict[int, Row] = {1: (1, "w0", "a"), 2: (2, "w0", "b")}
    for number, at in enumerate((1, 2, 4, 6), 1):
        before = _files(path)
        crash(path, lambda t: t.upsert(rows({1: "a", 7: "b"}, "dead", 99)), at, WHEN[number % 3])
        assert state(path) == tuple(sorted(expected.values()))
        age_temporaries(path)
        opened(path).upsert(rows({1: "a", number + 10: "b"}, f"w{number}", number))
        expected[1] = (1, f"w{number}", "a")
        expected[number + 10] = (number + 10, f"w{number}", "b")
        _check(path, expected, before, f"write {number}")
        COUNT.trials += 1
    times = [order_key(instant.requested) for instant in _instants(path)]
    assert times == sorted(set(times))


@pytest.mark.parametrize("version", VERSIONS)
def test_a_refused_write_at_a_clock_that_stands_still(
    tmp_path: Path, set_clock: Callable[[str], None], version: int
) -> None:
    """Its request is taken back; the next write may then have the very same instant."""
    path = build(tmp_path / "trial", version, commits=0)
    set_clock("stands-still")
    opened(path).insert(rows({1: "a"}, "w0", 0))
    with pytest.raises(HoodooError):
        opened(path).upsert(rows({1: "a"}, "bad", 1).drop_columns(["id"]))
    opened(path).upsert(rows({1: "a", 2: "b"}, "w1", 1))
    assert state(path) == ((1, "w1", "a"), (2, "w1", "b"))
    assert leaks(path) == []
    assert _instants(path)[0].requested == from_datetime(NOON)
    COUNT.trials += 1
