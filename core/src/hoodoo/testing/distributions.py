"""Distributions that look installed: a dist-info folder and modules in a directory.

For tests of discovery, and for plugin authors who test how their entry point behaves when another
distribution stands in its way. Put the directory on ``sys.path`` and ``importlib.metadata`` finds
it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

from attrs import evolve

from hoodoo import hookimpl
from hoodoo.hookspecs import Settings
from hoodoo.kernel import registry
from hoodoo.kernel.discover import GROUP, Plugin
from hoodoo.kernel.resolve import resolve


def fake_distribution(
    directory: Path,
    name: str,
    version: str = "1.0",
    *,
    entry_points: Mapping[str, str] | None = None,
    modules: Mapping[str, str] | None = None,
) -> Path:
    """Write a distribution; ``directory`` is returned.

    ``entry_points``: name -> value in the group ``hoodoo``. ``modules``: dotted name -> source.
    """
    info = directory / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    lines = [f"{key} = {value}" for key, value in (entry_points or {}).items()]
    (info / "entry_points.txt").write_text("\n".join([f"[{GROUP}]", *lines, ""]))
    for module, source in (modules or {}).items():
        path = directory.joinpath(*module.split(".")).with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
    return directory


@contextmanager
def found_anew() -> Iterator[None]:
    """Plugins are looked for again: those that are on ``sys.path`` now are there within it."""
    registry.kernel.cache_clear()
    try:
        yield
    finally:
        registry.kernel.cache_clear()


@contextmanager
def installed(name: str, **hooks: Callable[..., Any]) -> Iterator[None]:
    """A distribution ``name`` with one plugin is there within it, beside those that are installed;
    its hooks are functions, by the names of the hooks.

    Example:
        >>> with installed("mine", hoodoo_mergers=lambda: [Registration("mine", MyMerger)]):
        ...     hoodoo.create(path, schema, record_key="id", merger="mine")
    """
    marked = SimpleNamespace(**{hook: hookimpl(function) for hook, function in hooks.items()})
    found = registry.discover()  # type: ignore[attr-defined]  # within another one, too
    more = evolve(found, plugins=(*found.plugins, Plugin(name, name, name, "1.0", marked)))
    with mock.patch.object(registry, "discover", return_value=more), found_anew():
        yield


def made(family: str, name: str, options: Mapping[str, str] | None = None) -> Any:
    """The plugin object that a table with these options gets for this name: ``made("index",
    "simple")``. Raises PluginError for a name that nobody offers."""
    return resolve(family, name, Settings(options=options or {})).instance
