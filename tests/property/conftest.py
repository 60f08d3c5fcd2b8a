"""Property tests: random writes against a dictionary."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

_HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(_HERE))  # helper modules, which are no package
sys.path.append(str(_HERE.parent / "crash"))  # what must not be on disk

import life_trial  # noqa: E402

# The tests may run in several processes (pytest-xdist): one sum at the end.
_ELSEWHERE: dict[str, int] = {}


def pytest_sessionfinish(session: pytest.Session) -> None:
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["lives"] = life_trial.TALLY.counts


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    for what, number in getattr(node, "workeroutput", {}).get("lives", {}).items():
        _ELSEWHERE[what] = _ELSEWHERE.get(what, 0) + number


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    counts = _ELSEWHERE or life_trial.TALLY.counts
    if counts:
        told = ", ".join(f"{what} {number}" for what, number in sorted(counts.items()))
        terminalreporter.write_line(f"of histories and lives: {told}")
