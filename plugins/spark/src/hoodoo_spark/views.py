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
from hoodoo.errors import HoodooError, NotATableError
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
    lost: bool = False  # the table was deleted, and the view with it

    def refresh(self) -> None:
        """Make the view again, if the table has commits that it does not show. Without a table there is no view; it
        comes back with the table."""
        try:
            self._refresh()
        except NotATableError:
            if self.seen is None:  # it has never been there
                raise
            if not (self.lost or self._is_gone()):
                self.spark.catalog.dropTempView(self.name)
                self.lost = True

    def _refresh(self) -> None:
        try:
            instants = self.table.timeline().completed()
        except HoodooError:
            if self._is_gone():
                return
            raise
        if not self.lost and (instants == self.seen or (self.seen is not None and self._is_gone())):
            return
        wanted = dict(self.wanted)
        if wanted.get("columns") is None:
            wanted["columns"] = list(self.table.schema.names)
        to_dataframe(self.table.read(**wanted), self.spark).createOrReplaceTempView(self.name)
        self.seen, self.lost = instants, False

    def _is_gone(self) -> bool:
        """Whether ``DROP VIEW`` or ``spark.catalog`` took it away: then it is not looked after any more."""
        try:
            gone = not self.spark.catalog.getTable(self.name).isTemporary
        except Exception:  # of several classes; Spark has nothing of that name
            gone = True
        if gone:
            self._forget()
        return gone

    def _forget(self) -> bool:
        views = vars(self.spark).get(_VIEWS, {})
        known = views.get(self.name.lower()) is self
        if known:
            del views[self.name.lower()]
        return known

    def drop(self) -> None:
        """Take the view away; not another one that has got its name."""
        if self._forget():
            self.spark.catalog.dropTempView(self.name)


def spark_view(
    name: str, table: Table | str | os.PathLike[str], spark: Any = None, **wanted: Any
) -> View:
    """Create a temporary view ``name`` of ``table`` for ``spark.sql`` and ``spark.table``. ``table`` is an open table
    or a path.

    ``spark`` is by default the active session. ``wanted`` are the arguments of ``table.read``. With ``as_of`` the
    view always shows that state; without it, each statement sees the newest commits.

    Raises the errors of ``hoodoo.open`` and ``table.read``.
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
