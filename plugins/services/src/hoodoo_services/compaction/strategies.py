"""Hudi's compaction strategies, under its own option names.

Source: ``org.apache.hudi.table.action.compact.strategy``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from attrs import frozen
from hoodoo.hookspecs.registration import Settings

from hoodoo_services import options
from hoodoo_services.hookspecs.compaction import Candidate

_MB = 1024 * 1024


@frozen
class Unbounded:
    """Everything that has log files."""

    @classmethod
    def from_settings(cls, settings: Settings) -> Unbounded:
        return cls()

    def choose(self, candidates: Sequence[Candidate]) -> Sequence[Candidate]:
        return candidates


@frozen
class BoundedIO:
    """As they come, while reading and writing stay within ``target_bytes``; the slice that passes
    the bound is the last."""

    target_bytes: int = 512_000 * _MB

    @classmethod
    def from_settings(cls, settings: Settings) -> BoundedIO:
        return cls(_target(settings))

    def choose(self, candidates: Sequence[Candidate]) -> Sequence[Candidate]:
        return _within(candidates, self.target_bytes)


@frozen
class LogSize:
    """The largest log files first, those below ``threshold`` bytes never; within ``target_bytes``.
    Hudi's default."""

    threshold: int = 0
    target_bytes: int = 512_000 * _MB

    @classmethod
    def from_settings(cls, settings: Settings) -> LogSize:
        return cls(settings.value(options.LOG_SIZE), _target(settings))

    def choose(self, candidates: Sequence[Candidate]) -> Sequence[Candidate]:
        large = [c for c in candidates if c.log_bytes >= self.threshold]
        return _within(sorted(large, key=lambda c: -c.log_bytes), self.target_bytes)


@frozen
class LogCount:
    """Most log files first, those with fewer than ``threshold`` never; within ``target_bytes``."""

    threshold: int = 0
    target_bytes: int = 512_000 * _MB

    @classmethod
    def from_settings(cls, settings: Settings) -> LogCount:
        return cls(settings.value(options.LOG_COUNT), _target(settings))

    def choose(self, candidates: Sequence[Candidate]) -> Sequence[Candidate]:
        many = [c for c in candidates if c.log_files >= self.threshold]
        return _within(sorted(many, key=lambda c: -c.log_files), self.target_bytes)


@frozen
class DayBased:
    """The newest ``partitions`` partition paths, newest first: they are compared as text, so name
    days yyyy/mm/dd or yyyy-mm-dd."""

    partitions: int = 10

    @classmethod
    def from_settings(cls, settings: Settings) -> DayBased:
        return cls(settings.value(options.DAYS))

    def choose(self, candidates: Sequence[Candidate]) -> Sequence[Candidate]:
        paths = sorted({c.slice.partition_path for c in candidates}, reverse=True)
        rank = {path: i for i, path in enumerate(paths[: self.partitions])}
        chosen = (c for c in candidates if c.slice.partition_path in rank)
        return sorted(chosen, key=lambda c: rank[c.slice.partition_path])


def _target(settings: Settings) -> int:
    return settings.value(options.TARGET_IO) * _MB


def _within(candidates: Iterable[Candidate], bound: int) -> list[Candidate]:
    chosen = []
    for candidate in candidates:
        if bound <= 0:
            break
        bound -= candidate.read_bytes + candidate.write_bytes
        chosen.append(candidate)
    return chosen
