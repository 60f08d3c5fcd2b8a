"""Views by name for SQL, which Spark's own reader serves: columns that a query leaves out are not
read.

Spark keeps of a temporary view the plan that it was made with, and so the files of that moment.
Here the session's ``sql`` and ``table`` look first whether tables of views have new commits, and
make the views of these anew. Where that fails, the view has no rows but the error: of those
statements alone that use it."""

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
from hoodoo_spark.session import find, functions, is_connect
from hoodoo_spark.stream import numbers

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
    error: Exception | None = None  # why it does not show the newest commits

    def refresh(self) -> None:
        """Make the view again, if the table has commits that it does not show. Without a table
        there is no view; it comes back with the table. A view of one state stays as it was made.

        Raises the errors of ``hoodoo.open`` and ``table.read``."""
        if self.seen is not None and self.wanted.get("as_of") is not None:
            return
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
            if not self.lost and self._is_gone():
                return
            raise
        seen = self.seen if self.error is None else ()
        if not self.lost and (instants == seen or (self.seen is not None and self._is_gone())):
            return
        found = to_dataframe(self.table.read(**self.wanted), self.spark)
        found.createOrReplaceTempView(self.name)
        self.seen, self.lost, self.error = instants, False, None

    def look(self) -> None:
        """:meth:`refresh` before a statement that may be about something else: after an error, only
        reading the view fails, with this error."""
        try:
            self.refresh()
        except Exception as error:
            if self.lost or self._is_gone():  # there is no view that could say it
                return
            if self.error is None or str(error) != str(self.error):
                self._fail(error)

    @property
    def _mark(self) -> str:
        return f"view {self.name}: can't show the newest commits"

    def _fail(self, error: Exception) -> None:
        F = functions(self.spark)
        said = F.raise_error(F.lit(f"{self._mark}: {error}")).cast("boolean")
        rows = numbers(self.spark, 1).where(said)
        shape = type(self.spark).table(self.spark, self.name).schema
        columns = [F.lit(None).cast(f.dataType).alias(f.name) for f in shape]
        rows.select(*columns).createOrReplaceTempView(self.name)
        self.error = error

    def refuse(self, found: Any) -> None:
        """Raise the error of the view where the DataFrame ``found`` reads it. Over Spark Connect,
        reading it does."""
        if self.error is None or is_connect(self.spark) or not hasattr(found, "_jdf"):
            return
        if self._mark in found._jdf.queryExecution().analyzed().toString():
            raise self.error

    def _is_gone(self) -> bool:
        """Whether ``DROP VIEW`` or ``spark.catalog`` took it away: then it is not looked after any
        more."""
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
    """Create a temporary view ``name`` of ``table`` for ``spark.sql`` and ``spark.table``.
    ``table`` is an open table or a path.

    ``spark`` is by default the active session. ``wanted`` are the arguments of ``table.read``. With
    ``as_of`` the view always shows that state; without it, each statement sees the newest commits.
    Where they can't be read, the statements that use the view fail with the reason, and no others.

    Raises the errors of ``hoodoo.open`` and ``table.read``.
    """
    opened = table if isinstance(table, Table) else hoodoo.open(os.fspath(table))
    session = find() if spark is None else spark
    view = View(name, opened, session, wanted)
    view.refresh()
    _watched(session)[name.lower()] = view
    return view


def _watched(session: Any) -> dict[str, View]:
    """The views of the session, which looks at them from now on before it answers ``sql`` and
    ``table``."""
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
        known = list(views.values())
        for view in known:
            view.look()
        found = method(*args, **kwargs)
        for view in known:
            view.refuse(found)
        return found

    return call
