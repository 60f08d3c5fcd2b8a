"""Hoodoo: Apache Hudi tables in Python; everything that decides anything is a plugin."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"
__all__ = ["Table", "__version__", "create", "hookimpl", "open"]
if TYPE_CHECKING:
    from hoodoo import errors as errors
    from hoodoo.hookspecs import hookimpl
    from hoodoo.table import functions as _functions  # those of plugins: a stub, and no module
    from hoodoo.table.functions import *  # noqa: F403
    from hoodoo.table.table import Table, create, open

    __all__ += _functions.__all__


class _Moved:
    """Finds modules of this package that another distribution has now, by its entry points
    ``hoodoo.moved``: the text after ``hoodoo.`` -> the module in its place. The old name gives the
    same module, with a warning."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> Any:
        """Find ``name`` among the modules that moved into other distributions; None for all others.
        Python asks this finder last."""
        if not name.startswith("hoodoo."):
            return None
        from hoodoo.calls import elsewhere
        from hoodoo.kernel.moved import moved_spec

        if fix := elsewhere("hoodoo", name[7:]):  # `from hoodoo import DeltaTable` looks here last
            raise ImportError(f"cannot import name {name[7:]!r} from 'hoodoo'{fix}", name=name)
        return moved_spec(name)


sys.meta_path.append(_Moved)
_HOMES = dict.fromkeys(("Table", "create", "open"), "hoodoo.table.table")
_HOMES["hookimpl"] = "hoodoo.hookspecs"  # workers that import a plugin need nothing of the rest

if not TYPE_CHECKING:  # a name that is wrong is found

    def __getattr__(name: str) -> Any:
        if name in _HOMES:  # importing the package costs nothing
            return getattr(import_module(_HOMES[name]), name)
        from hoodoo.calls import lacks
        from hoodoo.kernel.functions import function

        # Python asks for an attribute first where a module is imported from the package.
        known = name[:1] == "_" or PathFinder.find_spec(f"hoodoo.{name}", __path__)  # noqa: F405
        if not known and name.isidentifier() and (found := function(name)):
            return found
        lacks("module 'hoodoo' has no attribute", "hoodoo", name)


def __dir__() -> list[str]:
    from hoodoo.kernel.functions import function_names

    return sorted({*__all__, *function_names()})
