"""Modules that moved: an old name of core's is the module that a distribution has in its place."""

from __future__ import annotations

import sys
from functools import cache, partial
from importlib import import_module, metadata
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, cast

from hoodoo.errors import warn
from hoodoo.kernel.functions import function


@cache
def moved() -> dict[str, str]:
    """Old name -> new name, as installed distributions say it by entry points."""
    return {f"hoodoo.{e.name}": e.value for e in metadata.entry_points(group="hoodoo.moved")}


def moved_spec(name: str) -> ModuleSpec | None:
    """How Python imports the module ``name`` of before; None where nothing has its place."""
    for old, new in moved().items():
        if name == old or name.startswith(f"{old}."):
            return ModuleSpec(name, _OldName(new + name.removeprefix(old)), is_package=True)
    return None


class _Package(ModuleType):
    """A package of before whose name is a function's today: it is called as that."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return cast(Any, function(self.__name__.partition(".")[2]))(*args, **kwargs)


class _OldName(Loader):
    def __init__(self, new: str) -> None:
        self.new = new

    def exec_module(self, module: ModuleType) -> None:
        """Put the new module in the place of ``module``; a package stays, for its modules."""
        name, new = module.__name__, import_module(self.new)
        warn(f"{name} is an old name, which will be removed in 0.3. Fix: import {self.new!r}.")
        if hasattr(new, "__path__"):
            vars(module)["__getattr__"] = partial(getattr, new)
            module.__class__ = _Package
        else:
            sys.modules[name] = new
