"""Find and import the plugins that are installed: entry points of the group ``hoodoo``.

pluggy has a loader of its own (``load_setuptools_entrypoints``); it takes distributions in the order
of the file system, drops the second of two entry points with one name silently, and lets an import
error through without saying whose it is.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from attrs import field, frozen

from hoodoo.errors import PluginError

GROUP = "hoodoo"


@frozen(eq=False)
class Plugin:
    """One imported entry point. ``module`` is its value, ``loaded`` what that names."""

    name: str
    module: str
    distribution: str
    version: str
    loaded: Any = field(repr=False, default=None)

    def __str__(self) -> str:
        return f"plugin {self.name!r} (distribution {self.distribution} {self.version})"


def discover() -> tuple[Plugin, ...]:
    """All plugins of this environment, imported one by one in the order (name, distribution).

    Raises :class:`~hoodoo.errors.PluginError` for a failing import, naming entry point, module and
    distribution, and for two entry points with one name, naming both distributions.
    """
    return tuple(_import(point) for point in _ordered(entry_points(group=GROUP)))


def _ordered(points: Iterable[EntryPoint]) -> list[EntryPoint]:
    ordered = sorted(points, key=lambda point: (point.name, *_origin(point), point.value))
    for one, other in itertools.pairwise(ordered):
        if one.name == other.name:
            raise PluginError(
                f"plugin {one.name!r}",
                f"two distributions have this entry point in the group {GROUP!r}: "
                f"{' '.join(_origin(one))} ({one.value}) and "
                f"{' '.join(_origin(other))} ({other.value}).",
                "Uninstall one of them, or rename the entry point of the one you maintain.",
            )
    return ordered


def _import(point: EntryPoint) -> Plugin:
    distribution, version = _origin(point)
    plugin = Plugin(point.name, point.value, distribution, version)
    try:
        loaded = point.load()
    except (Exception, SystemExit) as exc:  # a module that exits must not take the user along
        raise PluginError(
            str(plugin),
            f"importing {point.value} failed: {type(exc).__name__}: {exc}.",
            f"Repair the distribution {distribution}, or uninstall it.",
        ) from exc
    return Plugin(point.name, point.value, distribution, version, loaded)


def _origin(point: EntryPoint) -> tuple[str, str]:
    if point.dist is None:
        return "unknown", ""
    return str(point.dist.name), str(point.dist.version)
