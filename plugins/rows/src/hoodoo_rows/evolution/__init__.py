"""Schema evolution on read: columns that have other names in older files, by Hudi's internal
schema."""

from __future__ import annotations

from typing import Any

from attrs import frozen


@frozen
class Evolved:
    """The mark of a file format that reads files of any age with the names that columns have now:
    ``stored`` reads one by its own names, ``history``
    (:class:`hoodoo_rows.evolution.history.History`) says which these are."""

    stored: Any
    history: Any
