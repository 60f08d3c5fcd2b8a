"""Verbs: functions over a table's handle become methods of :class:`hoodoo.Table`, core's own and
those of plugins."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from functools import cache
from operator import attrgetter
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from hoodoo.calls import checked
from hoodoo.errors import PluginError
from hoodoo.kernel.registry import kernel
from hoodoo.table.handle import TableHandle

P = ParamSpec("P")
R = TypeVar("R")


def verb(function: Callable[Concatenate[TableHandle, P], R]) -> Callable[Concatenate[Any, P], R]:
    """A method that calls ``function`` with the table's handle. Its name, signature and docstring
    stay; calls with wrong arguments raise CallError."""
    return cast(Callable[Concatenate[Any, P], R], checked(function, attrgetter("_handle")))


class Offered:
    """A method that a plugin brings by the ``verbs`` of a registration: usually one of
    ``distribution``, which is what the error names where nobody does. It has the name, signature
    and docstring of the plugin's function."""

    def __init__(self, name: str, distribution: str) -> None:
        self.name, self.distribution = name, distribution

    def __get__(self, table: Any, owner: type | None = None) -> Callable[..., Any]:
        found = offered(self.name)
        if found is None:
            return self
        return cast(Callable[..., Any], found if table is None else found.__get__(table))

    def __call__(self, *_args: Any, **_kwargs: Any) -> Any:
        """A method that no installed plugin brings."""
        raise PluginError(
            f"table.{self.name}",
            "no installed plugin offers this method.",
            f"pip install {self.distribution}.",
        )


def offered(name: str) -> Any:
    """The method of a table that a plugin brings under ``name``; None where none does."""
    function = kernel().verbs.get(name)
    return None if function is None else _method(function)


@cache
def _method(function: str) -> Any:
    return verb(pkgutil.resolve_name(function))
