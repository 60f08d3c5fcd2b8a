"""Families of distributions: known in this process as soon as one of their plugins is used.

On the driver the registry asks every plugin. A worker discovers nothing: it gets ``declared_at``.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from typing import Any

from attrs import evolve

from hoodoo.errors import PluginError
from hoodoo.hookspecs import FAMILIES
from hoodoo.hookspecs.family import Family
from hoodoo.kernel.discover import Plugin


def add_family(name: str, declared_at: str) -> None:
    """The family ``name`` is there from now on. ``declared_at``: the text ``package.module:NAME``;
    empty: it is core's. Raises what importing it raises, and ValueError where another family has
    the name."""
    known = FAMILIES.get(name)
    if not declared_at or (known is not None and known.declared_at == declared_at):
        return
    if known is not None:
        raise ValueError(f"{known.declared_at or 'core'} has a family {name!r} already")
    found = pkgutil.resolve_name(declared_at)
    if not isinstance(found, Family):
        raise ValueError(f"{declared_at} is a {type(found).__name__}, not a Family")
    FAMILIES[name] = evolve(found, declared_at=declared_at)


def add_families_of(plugin: Plugin) -> None:
    """Those that ``plugin`` brings. PluginError where it can't."""
    bring = getattr(plugin.loaded, "hoodoo_families", None)
    if bring is None:
        return
    try:
        brought: Any = bring()
        if not isinstance(brought, Mapping):
            raise ValueError(f"it returned {type(brought).__name__}, not a mapping")
        for name, declared_at in brought.items():
            add_family(name, declared_at)
    except Exception as exc:
        raise PluginError(
            f"hook 'hoodoo_families' of {plugin}",
            f"the call failed: {type(exc).__name__}: {exc}.",
            f"Repair the distribution {plugin.distribution}, or uninstall it.",
        ) from exc
