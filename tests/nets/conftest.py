"""Nets: where helper modules are, and what was checked, at the end of the run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

_HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(_HERE))  # helper modules, which are no package
sys.path.append(str(_HERE.parent / "crash"))  # how much is tried
sys.path.append(str(_HERE.parent / "golden"))  # which real tables can be read

import read_checks  # noqa: E402

_OUTPUT = "metamorphic reads"
# The tests may run in several processes (pytest-xdist): one sum at the end.
_ELSEWHERE = read_checks.Tally()


def pytest_sessionfinish(session: pytest.Session) -> None:
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        tally = read_checks.TALLY
        output[_OUTPUT] = (tally.checks, dict(tally.reads), dict(tally.predicates))


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    checks, reads, predicates = getattr(node, "workeroutput", {}).get(_OUTPUT, (0, {}, {}))
    _ELSEWHERE.checks += checks
    _ELSEWHERE.reads.update(reads)
    _ELSEWHERE.predicates.update(predicates)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    tally = read_checks.TALLY if read_checks.TALLY.checks else _ELSEWHERE
    if not tally.checks:
        return
    terminalreporter.write_line(f"metamorphic checks: {tally.checks}")
    for what, counts in (("read", tally.reads), ("predicate", tally.predicates)):
        told = ", ".join(f"{name} {number}" for name, number in sorted(counts.items()))
        terminalreporter.write_line(f"  by kind of {what}: {told}")
