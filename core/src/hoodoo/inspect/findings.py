"""Findings: what a verification answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attrs import asdict, frozen

# What is said while it goes on: the step, how much of it is done, and how much there is.
Progress = Callable[[str, int, int], None]

# Every kind of finding, in the order in which a report lists them, and what it means.
KINDS: dict[str, str] = {
    "properties.unreadable": "hoodie.properties is missing, cut short, or has a wrong checksum",
    "properties.version": "table version and timeline layout are not a pair that is read",
    "properties.key": "a property is missing, or names a column that the table lacks",
    "properties.backup": "an update of hoodie.properties was not finished",
    "timeline.unreadable": "an instant can't be decoded",
    "timeline.twice": "an instant is completed twice",
    "timeline.inflight": "a pending instant has lost its requested file",
    "file.missing": "a file of a commit or savepoint is lost",
    "file.size": "a file is not as long as its commit says",
    "file.twice": "a file group has two base files of one instant",
    "file.unnamed": "a file that its commit does not name",
    "file.stray": "a file whose instant is unknown, or undone",
    "partition.metadata": "a partition without a good .hoodie_partition_metadata",
    "base.unreadable": "a base file whose footer can't be read",
    "base.rows": "a base file with more or fewer rows than its commit says",
    "log.damaged": "a log file with damaged bytes",
    "read.failed": "rows that can't be read",
    "key.null": "rows without a record key",
    "key.twice": "a record key that occurs more than once",
    "key.filter": "a footer that denies keys which the file has",
    "row.placement": "rows in another partition path than their columns say",
    "metadata.unreadable": "the metadata table can't be read",
    "metadata.files": "the metadata table lists other files than there are",
    "metadata.keys": "the record index does not say where keys are",
    "meta.file_name": "rows with a wrong _hoodie_file_name",
    "meta.partition_path": "rows with a wrong _hoodie_partition_path",
    "meta.commit_time": "rows with a wrong _hoodie_commit_time",
}


@frozen
class Finding:
    """``kind`` is one of :data:`KINDS`; ``obj`` a path below the table root, an instant, or a
    partition path. ``rule`` says what is wrong, ``fix`` what to do about it."""

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
    """How much was looked at. ``keys`` counts rows of the newest slices."""

    instants: int = 0
    files: int = 0
    base_files: int = 0
    log_files: int = 0
    partitions: int = 0
    keys: int = 0


@frozen
class Report:
    """``findings`` are sorted by kind; ``skipped`` says what could not be looked at, and why;
    ``notes`` tell of what looks odd and is allowed."""

    table: str
    findings: tuple[Finding, ...] = ()
    pending: tuple[Pending, ...] = ()
    checked: Checked = Checked()
    skipped: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing was found. Pending instants are no findings: the next writer sees to them."""
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
