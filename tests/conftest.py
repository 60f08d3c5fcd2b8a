"""Parts of the common tests, which several runs do."""

from __future__ import annotations

import os
import zlib

import pytest

# ``2/12``: of the collected tests only those of the third of twelve parts, which together are all.
PART = "HOODOO_TRIALS_PART"
LEFT = pytest.StashKey[str]()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A part of the tests, chosen by their names, so that it is the same in every process of a run."""
    given = os.environ.get(PART)
    if not given:
        return
    number, _slash, count = given.partition("/")
    if not (number.isdigit() and count.isdigit() and int(number) < int(count)):
        raise pytest.UsageError(f"{PART}={given}: give a number from 0 and a count, such as 2/12.")
    parts = [zlib.crc32(item.nodeid.encode()) % int(count) for item in items]
    mine = [item for item, part in zip(items, parts, strict=True) if part == int(number)]
    others = [item for item, part in zip(items, parts, strict=True) if part != int(number)]
    config.stash[LEFT] = f"part {given}: {len(mine)} of {len(items)} tests"
    config.hook.pytest_deselected(items=others)
    items[:] = mine


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if config.stash.get(LEFT, ""):
        terminalreporter.write_line(config.stash[LEFT])
    elif os.environ.get(PART):  # the tests were collected in other processes
        terminalreporter.write_line(f"{PART}={os.environ[PART]}: a part of the tests only")
