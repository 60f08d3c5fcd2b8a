"""Fixtures of the trials with several writers, and their counts at the end of the run."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

# Tests are imported by file here, so their common modules need a place on the path.
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "crash")]

import tables  # noqa: E402
import trials  # noqa: E402
import world  # noqa: E402
from memory_store import Objects  # noqa: E402


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[tables.Kind], Objects]:
    """``made(kind)``: the objects of a table of that kind, made once."""
    found: dict[tables.Kind, Objects] = {}

    def make(kind: tables.Kind) -> Objects:
        if kind not in found:
            with world.fixed():
                found[kind] = tables.build(tmp_path_factory.mktemp("made") / str(kind), kind)
        return found[kind]

    return make


@pytest.fixture
def still() -> Iterator[world.World]:
    with world.fixed() as found:
        yield found


# The tests may run in several processes (pytest-xdist): one seed for all, and one sum at the end.
os.environ.setdefault("HOODOO_CRASH_SEED", str(trials.SEED))
_ELSEWHERE = trials.Count()


def pytest_sessionfinish(session: pytest.Session) -> None:
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["schedules"] = (trials.COUNT.schedules, trials.COUNT.three, trials.REPORTS)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    two, three, reports = getattr(node, "workeroutput", {}).get("schedules", (0, 0, []))
    _ELSEWHERE.schedules += two
    _ELSEWHERE.three += three
    trials.REPORTS += reports


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    two = trials.COUNT.schedules + _ELSEWHERE.schedules
    three = trials.COUNT.three + _ELSEWHERE.three
    if two or three:
        terminalreporter.write_line(
            f"two-writer schedules: {two}, of three writers a sample of {three} "
            f"(HOODOO_CRASH_SEED={trials.SEED})"
        )
    for line in trials.REPORTS:
        terminalreporter.write_line(line)
