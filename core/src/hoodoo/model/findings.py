"""Findings: what ``table.verify()`` answers, and what checks of other distributions add to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attrs import asdict, frozen

# What is said while it goes on: the step, how much of it is done, and how much there is.
Progress = Callable[[str, int, int], None]


@frozen
class Finding:
    """``kind`` says what is wrong in general, such as ``file.missing``; ``obj`` a path below the
    table root, an instant, or a partition path. ``rule`` says what is wrong, ``fix`` what to do
    about it."""

    kind: str
    obj: str
    rule: str
    fix: str = ""

    def __str__(self) -> str:
        return f"{self.obj}: {self.rule}." + (f" Fix: {self.fix}" if self.fix else "")


@frozen
class Pending:
    """An instant that is not completed. ``age`` is in seconds since it was requested."""

    requested: str
    action: str
    state: str
    age: float


@frozen
class Checked:
    """How much was checked. ``keys`` counts rows of the newest slices."""

    instants: int = 0
    files: int = 0
    base_files: int = 0
    log_files: int = 0
    partitions: int = 0
    keys: int = 0


@frozen
class Report:
    """The result of ``table.verify()``. ``findings`` are sorted by kind; ``skipped`` says what
    could not be checked, and why; ``notes`` name what looks wrong but is allowed."""

    table: str
    findings: tuple[Finding, ...] = ()
    pending: tuple[Pending, ...] = ()
    checked: Checked = Checked()
    skipped: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether there is no finding. Pending instants are no findings: the next writer finishes
        or undoes them."""
        return not self.findings

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds that were found, each once."""
        return tuple(dict.fromkeys(finding.kind for finding in self.findings))

    def to_dict(self) -> dict[str, Any]:
        """The report as plain values, ``ok`` among them."""
        return {"table": self.table, "ok": self.ok, **asdict(self)}


@frozen
class Found:
    """What one part of a verification brings to the report."""

    findings: tuple[Finding, ...] = ()
    checked: Checked = Checked()
    skipped: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def silent(step: str, done: int, total: int) -> None:
    """A progress that nobody watches."""
