"""The reports by their names: what ``table.report(name)`` finds here, each a function of the open
table."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from inspect import signature
from typing import Any

from attrs import frozen
from hoodoo.errors import ConfigError
from hoodoo.hookspecs import Settings
from hoodoo.hookspecs.read_source import ReadSource
from hoodoo.kernel.archived import load_archived
from hoodoo.options.core import SMALL_FILE_LIMIT
from hoodoo.participants.travel import bound_of

from hoodoo_cli.reports.files import SliceRow, slice_rows
from hoodoo_cli.reports.timeline import TimelinePage, timeline_page


@frozen
class FunctionReport:
    """A report that a function makes."""

    name: str
    function: Callable[..., Any]

    def report(self, source: ReadSource, **arguments: Any) -> Any:
        """What the function answers. ConfigError for arguments that it does not have."""
        known = signature(self.function)
        try:
            known.bind(source, **arguments)
        except TypeError as exc:
            names = ", ".join(list(known.parameters)[1:])
            raise ConfigError(f"report {self.name!r}", f"{exc}.", f"Arguments: {names}.") from None
        return self.function(source, **arguments)


def timeline(settings: Settings) -> FunctionReport:
    return FunctionReport("timeline", _timeline)


def files(settings: Settings) -> FunctionReport:
    return FunctionReport("files", _files)


def stats(settings: Settings) -> FunctionReport:
    from hoodoo_cli.reports.stats import table_stats

    small = SMALL_FILE_LIMIT.read(settings.options)
    return FunctionReport("stats", partial(table_stats, small_file=small))


def summary(settings: Settings) -> FunctionReport:
    from hoodoo_cli.reports.summary import table_summary

    small = SMALL_FILE_LIMIT.read(settings.options)
    return FunctionReport("summary", partial(table_summary, small_file=small))


def partitions(settings: Settings) -> FunctionReport:
    from hoodoo_cli.reports.partitions import partition_rows

    small = SMALL_FILE_LIMIT.read(settings.options)
    return FunctionReport("partitions", partial(partition_rows, small_file=small))


def verify(settings: Settings) -> FunctionReport:
    from hoodoo_cli.reports.verify.run import verify

    return FunctionReport("verify", verify)


def _timeline(
    source: ReadSource, *, every: bool = False, limit: int | None = None, pending: bool = False
) -> TimelinePage:
    """``every``: archived instants too."""
    archived = load_archived(source.storage, source.config) if every else ()
    return timeline_page(source.snapshot, archived, limit, pending)


def _files(
    source: ReadSource,
    *,
    partition: str | None = None,
    as_of: Any = None,
    every: bool = False,
) -> tuple[SliceRow, ...]:
    bound = bound_of(source, as_of)
    return slice_rows(source.snapshot, partition, bound, every)
