"""Report: what is said of a table without changing it: its timeline, files, sizes, and what is
wrong with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from hoodoo.hookspecs.family import Family

if TYPE_CHECKING:
    from hoodoo.hookspecs.read_source import ReadSource


@runtime_checkable
class Reporter(Protocol):
    """Looks at a table, and changes nothing."""

    def report(self, source: ReadSource, **arguments: Any) -> Any:
        """The report on the table that ``source`` is of: its storage, properties, timeline and file
        format, as a read that begins now would see them. ``arguments`` are the keyword arguments of
        ``table.report``, which returns the answer as it is. Writers may go on meanwhile.

        Raises errors of :mod:`hoodoo.errors`.
        """


FAMILY = Family(
    "hoodoo_reports",
    """Offer reports. When: ``table.report(name)`` is called, or a method that stands for one, such
    as ``table.verify()``. Default: ``timeline``, ``files``, ``stats``, ``layout``, ``verify``
    (hoodoo-cli).

    The factory returns a :class:`Reporter`; its settings have the options that the table was opened
    with.""",
    (Reporter,),
)
