"""What is installed, as rows."""

from __future__ import annotations

from attrs import frozen
from hoodoo.hookspecs import FAMILIES
from hoodoo.kernel.registry import Kernel, kernel


@frozen
class Row:
    """One thing that a plugin offers."""

    family: str
    name: str
    aliases: tuple[str, ...]
    distribution: str
    version: str
    summary: str
    options: tuple[str, ...] = ()


def report(using: Kernel | None = None) -> list[Row]:
    """One row per registration, families in data-flow order, then by name; and one per observer."""
    registry = kernel() if using is None else using
    rows = [
        Row(
            family,
            offer.name,
            offer.registration.aliases,
            offer.plugin.distribution,
            offer.plugin.version,
            offer.registration.summary,
            tuple(option.key for option in offer.registration.options),
        )
        for family in FAMILIES
        for offer in sorted(registry.offers(family), key=lambda offer: offer.name)
    ]
    rows += [
        Row(
            "observer",
            plugin.name,
            (),
            plugin.distribution,
            plugin.version,
            _summary(found.function),
        )
        for plugin, found in registry.implementations("hoodoo_event")
    ]
    return rows


def _summary(function: object) -> str:
    return (function.__doc__ or "").strip().split("\n")[0]
