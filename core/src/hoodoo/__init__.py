"""Hoodoo: Apache Hudi tables in Python; everything that decides anything is a plugin."""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hoodoo import errors as errors
    from hoodoo.hookspecs import hookimpl
    from hoodoo.table import functions as _functions  # those of plugins: a stub, and no module
    from hoodoo.table.functions import *  # noqa: F403
    from hoodoo.table.table import Table, create, open

__version__ = "0.2.0"

__all__ = ["Table", "__version__", "create", "hookimpl", "open"]
if TYPE_CHECKING:
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


if not TYPE_CHECKING:  # a name that is wrong is found

    def __getattr__(name: str) -> Any:
        # Importing the package costs nothing; a worker that imports a plugin needs `hookimpl`
        # and nothing of the rest.
        if name == "hookimpl":
            from hoodoo.hookspecs import hookimpl

            return hookimpl
        if name in ("Table", "create", "open"):
            from hoodoo.table import table

            return getattr(table, name)
        from hoodoo.calls import lacks
        from hoodoo.kernel.functions import function

        # Python asks for an attribute first where a module is imported from the package.
        at = f"{__name__}.{name}"
        known = name[:1] == "_" or PathFinder.find_spec(at, __path__) is not None  # noqa: F405
        if not known and name.isidentifier() and (found := function(name)):
            return found
        lacks("module 'hoodoo' has no attribute", "hoodoo", name)


def __dir__() -> list[str]:
    from hoodoo.kernel.functions import function_names

    return sorted({*__all__, *function_names()})
