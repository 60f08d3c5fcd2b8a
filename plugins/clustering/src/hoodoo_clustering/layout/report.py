"""The report ``layout``: which values of columns each file holds."""

from __future__ import annotations

from typing import Any

from attrs import frozen
from hoodoo.hookspecs import Settings
from hoodoo.hookspecs.read_source import ReadSource

from hoodoo_clustering.layout.files import LayoutReport, table_layout


@frozen
class LayoutReporter:
    """Implements :class:`~hoodoo.hookspecs.report.Reporter`."""

    @classmethod
    def from_settings(cls, settings: Settings) -> LayoutReporter:
        return cls()

    def report(self, source: ReadSource, **arguments: Any) -> LayoutReport:
        return table_layout(source, **arguments)
