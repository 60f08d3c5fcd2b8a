"""Hoodoo: Apache Hudi tables in Python; everything that decides anything is a plugin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hoodoo.hookspecs import hookimpl
    from hoodoo.table.table import Table, create, open

__version__ = "0.1.0"

__all__ = ["Table", "__version__", "create", "hookimpl", "open"]


def __getattr__(name: str) -> Any:
    # Importing the package costs nothing; a worker that imports a plugin needs `hookimpl` and nothing of the rest.
    if name == "hookimpl":
        from hoodoo.hookspecs import hookimpl

        return hookimpl
    if name in ("Table", "create", "open"):
        from hoodoo.table import table

        return getattr(table, name)
    raise AttributeError(f"module 'hoodoo' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
