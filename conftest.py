"""Where the tests' tables are: in memory where there is room for them. And which files take longest.

Every step of a write is made durable; on a disk the tests would wait for that most of the time.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter

import pytest

_MEMORY = "/dev/shm"
_ROOM = 4 << 30  # bytes; a whole run needs less than one GiB
# pytest reads it where no --basetemp is given; whoever has set it knows better.
_VARIABLE = "PYTEST_DEBUG_TEMPROOT"


def _has_room() -> bool:
    try:
        return os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > _ROOM
    except OSError:
        return False


if _has_room():
    os.environ.setdefault(_VARIABLE, _MEMORY)

_SECONDS: Counter[str] = Counter()
_SHOWN = 40


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Sums what each file of tests takes: with several processes the longest one decides."""
    _SECONDS[report.nodeid.split("::", 1)[0]] += report.duration


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if config.getoption("durations", None) and _SECONDS:
        terminalreporter.section(f"slowest files, of {sum(_SECONDS.values()):.0f} s")
        for name, seconds in _SECONDS.most_common(_SHOWN):
            terminalreporter.line(f"{seconds:7.1f}s {name}")
