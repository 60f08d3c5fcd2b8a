"""Find and import the plugins that are installed: entry points of the group ``hoodoo``.

pluggy has a loader of its own (``load_setuptools_entrypoints``); it takes distributions in the
order of the file system, drops the second of two entry points with one name silently, and lets an
import error through without saying whose it is."""

from __future__ import annotations

import itertools
import os
from importlib.metadata import EntryPoint, entry_points
from operator import attrgetter
from typing import Any

from attrs import evolve, field, frozen

from hoodoo.errors import PluginError

GROUP = "hoodoo"
# Names of plugins, or of distributions, that this process does without:
# ``HOODOO_DISABLE=spark,other-dist``.
DISABLE = "HOODOO_DISABLE"


@frozen(eq=False)
class Plugin:
    """One imported entry point. ``module``: its text; ``loaded``: the module that it names."""

    name: str
    module: str
    distribution: str
    version: str
    loaded: Any = field(repr=False, default=None)

    def __str__(self) -> str:
        return f"plugin {self.name!r} (distribution {self.distribution} {self.version})"


@frozen(eq=False)
class Broken:
    """A plugin that is left out, and why. It is an error only if a table needs the plugin."""

    plugin: Plugin
    error: PluginError


@frozen(eq=False)
class Found:
    """What an environment has: ``plugins`` that were imported, and those that could not be.
    ``disabled``: names of the entry points that ``HOODOO_DISABLE`` switched off; ``unknown``: names
    in it that match no entry point and no distribution."""

    plugins: tuple[Plugin, ...] = ()
    broken: tuple[Broken, ...] = ()
    disabled: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


def discover() -> Found:
    """All plugins of this environment, imported one by one in the order (name, distribution).

    A plugin whose import fails is among the broken ones, with an error that names entry point,
    module and distribution. Those that ``HOODOO_DISABLE`` names are not imported. Raises
    :class:`~hoodoo.errors.PluginError` for two entry points with one name, naming both
    distributions, because Hoodoo cannot know which of them a table means.
    """
    points = [(Plugin(p.name, p.value, *_origin(p)), p) for p in entry_points(group=GROUP)]
    off = {name.strip() for name in os.environ.get(DISABLE, "").split(",") if name.strip()}
    names = {name for one, _ in points for name in (one.name, one.distribution)}
    without = [o for o, _ in points if o.name in off or o.distribution in off]
    plugins: list[Plugin] = []
    broken: list[Broken] = []
    for plugin, point in _ordered([(o, p) for o, p in points if o not in without]):
        try:
            plugins.append(_import(plugin, point))
        except PluginError as error:
            broken.append(Broken(plugin, error))
    disabled = tuple(sorted(one.name for one in without))
    return Found(tuple(plugins), tuple(broken), disabled, tuple(sorted(off - names)))


def _ordered(points: list[tuple[Plugin, EntryPoint]]) -> list[tuple[Plugin, EntryPoint]]:
    key = attrgetter("name", "distribution", "version", "module")
    ordered = sorted(points, key=lambda each: key(each[0]))
    for (one, _), (other, _) in itertools.pairwise(ordered):
        if one.name == other.name:
            raise PluginError(
                f"plugin {one.name!r}",
                f"two distributions define this entry point in the group {GROUP!r}: "
                f"{one.distribution} {one.version} ({one.module}) and "
                f"{other.distribution} {other.version} ({other.module}).",
                f"Uninstall one of them, disable one with {DISABLE}=<its distribution>, or rename "
                "the entry point if you maintain one of them.",
            )
    return ordered


def _import(plugin: Plugin, point: EntryPoint) -> Plugin:
    try:
        loaded = point.load()
    except (Exception, SystemExit) as exc:  # a module that exits must not end the process
        raise PluginError(
            str(plugin),
            f"importing {point.value} failed: {type(exc).__name__}: {exc}.",
            f"Repair the distribution {plugin.distribution}, uninstall it, or disable it with "
            f"{DISABLE}={plugin.name}.",
        ) from exc
    return evolve(plugin, loaded=loaded)


def _origin(point: EntryPoint) -> tuple[str, str]:
    found = None if point.dist is None else point.dist.metadata  # each access parses the file
    return ("unknown", "") if found is None else (str(found["Name"]), str(found["Version"]))
