"""Property tests: random writes against a dictionary."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

_HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(_HERE))  # helper modules, which are no package
sys.path.append(str(_HERE.parent / "crash"))  # what must not be on disk

import life_trial  # noqa: E402


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    counts = life_trial.TALLY.counts
    if counts:
        told = ", ".join(f"{what} {number}" for what, number in sorted(counts.items()))
        terminalreporter.write_line(f"of tables' lives: {told}")
