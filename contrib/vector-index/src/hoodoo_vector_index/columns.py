"""Which columns are indexed, and how their distances are measured."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

from attrs import frozen
from hoodoo.errors import ConfigError

from hoodoo_vector_index.plugin import COLUMNS

METRICS = ("l2", "cosine", "dot")
HOME = ".hoodie/.hoodoo/vectors"


@frozen
class Indexed:
    """A column, with the metric of its index."""

    column: str
    metric: str

    @property
    def folder(self) -> str:
        """Where its segments lie, below the table's folder."""
        return f"{HOME}/{quote(self.column, safe='')}/{self.metric}"


def indexed(options: Mapping[str, str]) -> tuple[Indexed, ...]:
    """What ``options``, or the properties of a table, say. ConfigError for an unknown metric."""
    found = []
    for part in filter(None, (part.strip() for part in (COLUMNS.stored(options) or "").split(","))):
        column, _space, metric = part.rpartition(" ")
        if not column:
            column, metric = part, "l2"
        if metric not in METRICS:
            raise ConfigError(
                f"option {COLUMNS.key}",
                f"has {part!r}, and {metric} is no metric.",
                f"Write a column and one of {', '.join(METRICS)}, as `embedding cosine`.",
            )
        found.append(Indexed(column.strip(), metric))
    return tuple(found)
