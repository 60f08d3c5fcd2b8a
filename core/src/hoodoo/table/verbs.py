"""Verbs: functions over a table's handle become methods of :class:`hoodoo.Table`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from hoodoo.calls import wrong_call
from hoodoo.table.handle import TableHandle

P = ParamSpec("P")
R = TypeVar("R")


def verb(function: Callable[Concatenate[TableHandle, P], R]) -> Callable[Concatenate[Any, P], R]:
    """A method that calls ``function`` with the table's handle. Its name, signature and docstring stay; calls with
    wrong arguments raise CallError."""

    @wraps(function)
    def method(self: Any, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(self._handle, *args, **kwargs)
        except TypeError as error:
            found = wrong_call(error, function, (self, *args), kwargs)
            if found is None:
                raise
            raise found from None

    return cast(Callable[Concatenate[Any, P], R], method)
