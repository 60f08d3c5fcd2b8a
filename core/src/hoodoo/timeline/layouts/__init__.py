"""Timeline layouts: all in which tables of different versions differ on the timeline, each in one
object."""

from __future__ import annotations

from hoodoo.errors import UnsupportedTableError
from hoodoo.model.config import TableConfig
from hoodoo.model.table_version import version_of
from hoodoo.timeline.layouts.base import NewLog, TimelineLayout
from hoodoo.timeline.layouts.layout1 import Layout1
from hoodoo.timeline.layouts.layout2 import Layout2

__all__ = ["LAYOUTS", "NewLog", "TimelineLayout", "first_layout_of", "layout_of"]

LAYOUTS: dict[int, TimelineLayout] = {found.number: found for found in (Layout1(), Layout2())}


def layout_of(config: TableConfig) -> TimelineLayout:
    """The layout of the table that has these properties. Raises
    :class:`~hoodoo.errors.UnsupportedTableError` for one that is not known."""
    found = LAYOUTS.get(config.layout_version)
    if found is None:
        raise UnsupportedTableError(
            f"table {config.name}",
            f"its timeline has the layout {config.layout_version}; "
            f"{' and '.join(map(str, LAYOUTS))} are read.",
            "Correct hoodie.timeline.layout.version.",
        )
    return found


def first_layout_of(config: TableConfig) -> TimelineLayout:
    """The layout that the table was made with: an upgraded one has files of before."""
    return LAYOUTS[version_of(config.initial_version).layout]
