"""Views by name for SQL, which Spark's own reader serves: columns that a query leaves out are not read.

Spark keeps of a temporary view the plan that it was made with, and so the files of that moment. Here the session's ``sql``
and ``table`` look first whether tables of views have new commits, and make the views of these anew.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

import hoodoo
from attrs import define
from hoodoo.table.table import Table

from hoodoo_spark.dataframe import to_dataframe
from hoodoo_spark.session import find

_VIEWS = "_hoodoo_views"


@define
class View:
    """What :func:`spark_view` returns."""

    name: str
    table: Table
    spark: Any
    wanted: Mapping[str, Any]
    seen: Any = None

    def refresh(self) -> None:
        """Make the view anew, if the table has commits that it does not show."""
        instants = self.table.timeline().completed()
        if instants == self.seen:
            return
        wanted = dict(self.wanted)
        if wanted.get("columns") is None:
            wanted["columns"] = list(self.table.schema.names)
        to_dataframe(self.table.read(**wanted), self.spark).createOrReplaceTempView(self.name)
        self.seen = instants

    def drop(self) -> None:
        """Take the view away."""
        vars(self.spark).get(_VIEWS, {}).pop(self.name.lower(), None)
        self.spark.catalog.dropTempView(self.name)


def spark_view(
    name: str, table: Table | str | os.PathLike[str], spark: Any = None, **wanted: Any
) -> View:
    """Make ``name`` a temporary view of ``table``, which is open or the path of one, for ``spark.sql`` and
    ``spark.table``; ``spark`` defaults to the active session. ``wanted`` are the arguments of ``table.read``: with
    ``as_of`` the view stays at that moment, without it each statement sees the commits before it.

    Raises what ``hoodoo.open`` and ``table.read`` raise.
    """
    opened = table if isinstance(table, Table) else hoodoo.open(os.fspath(table))
    session = find() if spark is None else spark
    view = View(name, opened, session, wanted)
    view.refresh()
    _watched(session)[name.lower()] = view
    return view


def _watched(session: Any) -> dict[str, View]:
    """The views of the session, which looks at them from now on before it answers ``sql`` and ``table``."""
    known: dict[str, View] | None = vars(session).get(_VIEWS)
    if known is not None:
        return known
    views: dict[str, View] = {}
    setattr(session, _VIEWS, views)
    for method in ("sql", "table"):
        setattr(session, method, _refreshing(getattr(session, method), views))
    return views


def _refreshing(method: Callable[..., Any], views: Mapping[str, View]) -> Callable[..., Any]:
    @wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        for view in list(views.values()):
            view.refresh()
        return method(*args, **kwargs)

    return call
