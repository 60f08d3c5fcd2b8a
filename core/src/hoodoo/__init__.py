"""Hoodoo: Apache Hudi tables in Python; everything that decides anything is a plugin."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hoodoo.hookspecs import hookimpl
    from hoodoo.table.table import Table, create, open

__version__ = "0.2.0"

__all__ = ["Table", "__version__", "create", "hookimpl", "open"]


class _Moved:
    """Finds modules of this package that another distribution has now, by its entry points ``hoodoo.moved``: the
    text after ``hoodoo.`` -> the module in its place. What imports the old name gets the same module, with a warning.
    """

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> Any:
        if not name.startswith("hoodoo."):
            return None
        from hoodoo.kernel.moved import moved_spec

        return moved_spec(name)


sys.meta_path.append(_Moved)


def __getattr__(name: str) -> Any:
    # Importing the package costs nothing; a worker that imports a plugin needs `hookimpl` and nothing of the rest.
    if name == "hookimpl":
        from hoodoo.hookspecs import hookimpl

        return hookimpl
    if name in ("Table", "create", "open"):
        from hoodoo.table import table

        return getattr(table, name)
    free = name.isidentifier() and not name.startswith("_") and not _is_module(name)
    found = _offered(name) if free else None
    if found is None:
        from hoodoo.calls import elsewhere

        text = f"module 'hoodoo' has no attribute {name!r}{elsewhere('hoodoo', name)}"
        raise AttributeError(text, name=name)
    return found


def __dir__() -> list[str]:
    from hoodoo.kernel.functions import function_names

    return sorted({*__all__, *function_names()})


def _is_module(name: str) -> bool:
    """Python asks for an attribute first where a module is imported from the package."""
    from importlib.machinery import PathFinder

    return PathFinder.find_spec(f"{__name__}.{name}", __path__) is not None


def _offered(name: str) -> Any:
    from hoodoo.kernel.functions import function

    return function(name)
