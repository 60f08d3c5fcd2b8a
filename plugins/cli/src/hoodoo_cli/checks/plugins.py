"""Plugins: is what is installed whole, does it fit together, and can it be loaded?"""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib import metadata

from attrs import frozen
from hoodoo.errors import PluginError
from hoodoo.hookspecs import USUAL, install
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.discover import DISABLE, GROUP, discover
from hoodoo.kernel.registry import Kernel
from hoodoo.model.findings import Finding, Found
from hoodoo.storage.api import Storage
from packaging.requirements import InvalidRequirement, Requirement
from packaging.version import InvalidVersion

# Without one member of each of these no table can be written.
_NEEDED = (
    "storage",
    "engine",
    "key_generator",
    "merger",
    "index",
    "layout",
    "serializer",
    "file_format",
    "conflict",
    "lock",
)


@frozen
class PluginsCheck:
    """Needs no plugin that works: it looks at what is installed."""

    @classmethod
    def from_settings(cls, settings: Settings) -> PluginsCheck:
        return cls()

    def environment(self, engine: str | None) -> Found:
        needs = tuple(_unmet())
        try:
            found = discover()
            made = Kernel(found.plugins, found.broken, found.disabled, strict=False)
        except PluginError as error:
            twice = Finding("plugins.twice", error.obj, error.rule.rstrip("."), error.fix)
            return Found((*needs, twice))
        broken = (
            Finding("plugins.broken", one.error.obj, one.error.rule.rstrip("."), one.error.fix)
            for one in made.broken
        )
        unknown = (
            Finding(
                "plugins.unknown",
                f"{DISABLE}={os.environ.get(DISABLE, '')}",
                f"names {name!r}, which is no plugin and no distribution",
                "Correct the name: `hoodoo plugins` lists them.",
            )
            for name in found.unknown
        )
        there = {plugin.distribution: plugin.version for plugin in made.plugins}
        notes = [f"plugins: {', '.join(f'{name} {said}' for name, said in sorted(there.items()))}"]
        if found.disabled:
            notes.append(f"{DISABLE} switches off: {', '.join(found.disabled)}")
        findings = (*needs, *broken, *unknown, *_lacking(made, engine))
        return Found(findings, notes=tuple(notes))

    def table(self, storage: Storage, probe: bool) -> Found:
        return Found()


def _lacking(made: Kernel, engine: str | None) -> Iterator[Finding]:
    """Families without a member, one finding for all that the same distribution brings."""
    empty = [family for family in _NEEDED if not made.offers(family)]
    by_distribution: dict[str, list[str]] = {}
    for family in empty:
        by_distribution.setdefault(USUAL[family][0], []).append(family.replace("_", " "))
    for distribution, families in by_distribution.items():
        yield Finding(
            "plugins.lacking",
            distribution,
            f"nothing that is installed offers: {', '.join(families)}",
            f"{install([distribution])}.",
        )
    if engine is not None and "engine" not in empty and made.find("engine", engine) is None:
        names = ", ".join(sorted(offer.name for offer in made.offers("engine")))
        yield Finding(
            "plugins.lacking",
            f"engine {engine!r}",
            "nothing that is installed offers it",
            f"Use one of {names}, or: {install(USUAL['engine'])}.",
        )


def _unmet() -> Iterator[Finding]:
    """What the distributions of Hoodoo and of its plugins need, and is not there, or of another
    version."""
    points = metadata.entry_points(group=GROUP)
    names = {point.dist.name for point in points if point.dist is not None}
    for name in sorted(names | {"hoodoo-core"}):
        try:
            one = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue  # core from a folder of sources
        for text in one.requires or ():
            try:
                needed = Requirement(text)
                if needed.marker is not None and not needed.marker.evaluate({"extra": ""}):
                    continue
                there = metadata.version(needed.name)
                if needed.specifier.contains(there, prereleases=True):
                    continue
                state = f"and {there} is installed"
            except metadata.PackageNotFoundError:
                state = "which is not installed"
            except (InvalidRequirement, InvalidVersion):
                continue
            wanted = f"{needed.name}{needed.specifier}"
            yield Finding(
                "plugins.versions",
                f"{name} {one.version}",
                f"needs {wanted}, {state}",
                f'pip install "{wanted}", or a version of {name} that fits.',
            )
