"""Fixtures of the crash tests, and the count of their trials at the end of the run."""

from __future__ import annotations

import gc
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

# Tests are imported by file here, so their common module needs a place on the path.
sys.path.insert(0, str(Path(__file__).resolve().parent))

import crash_trials
import merge_on_read
import table_life
from hoodoo.timeline import heartbeat


@pytest.fixture(scope="session")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """``tables(version, commits=2)``: a prepared table, made once. Copy it, don't change it."""
    below = tmp_path_factory.mktemp("prepared")

    def table(version: int, commits: int = 2) -> Path:
        target = below / f"v{version}-{commits}"
        return target if target.exists() else crash_trials.build(target, version, commits)

    return table


@pytest.fixture(scope="session")
def merged(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """``merged(version, index, commits=2)``: the same, merged on read."""
    below = tmp_path_factory.mktemp("merged")

    def table(version: int, index: str, commits: int = 2) -> Path:
        target = below / f"v{version}-{index}-{commits}"
        if not target.exists():
            merge_on_read.build(target, version, index, commits)
        return target

    return table


@pytest.fixture(scope="session")
def lives(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., table_life.Life]:
    """``lives(version, kind, what="lived")``: a table with a past, made once; what: table_life.TABLES."""
    below = tmp_path_factory.mktemp("lives")
    made: dict[tuple[int, str, str], table_life.Life] = {}

    def life(version: int, kind: str, what: str = "lived") -> table_life.Life:
        if (version, kind, what) not in made:
            path = below / f"v{version}-{kind}-{what}"
            if what == "lived":
                made[version, kind, what] = table_life.live(path, version, kind)
            else:
                made[version, kind, what] = table_life.MAKERS[what](life(version, kind), path)
        return made[version, kind, what]

    return life


@pytest.fixture(autouse=True)
def heartbeats_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """No thread renews heartbeats: its puts would be storage operations at any moment."""
    beats = heartbeat._Beats()
    monkeypatch.setattr(heartbeat._Beats, "_renew", lambda self: None)
    monkeypatch.setattr(heartbeat, "_beats", lambda: beats)


@pytest.fixture
def local_temporaries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Spilled rows go here for the test, and have to be gone after it."""
    place = tmp_path / "spill"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    yield place
    gc.collect()
    assert os.listdir(place) == []


# The tests may run in several processes (pytest-xdist): one seed for all, and one sum at the end.
os.environ.setdefault("HOODOO_CRASH_SEED", str(crash_trials.SEED))
_ELSEWHERE = crash_trials.Count()


def pytest_sessionfinish(session: pytest.Session) -> None:
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        count = crash_trials.COUNT
        output["crash trials"] = (count.trials, count.damages)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    trials, damages = getattr(node, "workeroutput", {}).get("crash trials", (0, 0))
    _ELSEWHERE.trials += trials
    _ELSEWHERE.damages += damages


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    trials = crash_trials.COUNT.trials + _ELSEWHERE.trials
    damages = crash_trials.COUNT.damages + _ELSEWHERE.damages
    if trials or damages:
        terminalreporter.write_line(
            f"crash trials: {trials}, damaged files: {damages} "
            f"(HOODOO_CRASH_SEED={crash_trials.SEED})"
        )
