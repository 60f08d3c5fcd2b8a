"""Functions that plugins offer to users: in the package ``hoodoo``, and as methods of reads."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from functools import cache
from typing import Any

from hoodoo.calls import checked
from hoodoo.errors import PluginError
from hoodoo.hookspecs import install
from hoodoo.kernel.registry import Offer, kernel

# Names in the family `function` before which this stands are methods of reads.
OF_READS = "Scan."
_READS = ("limit", "to_dataset", "to_duckdb", "to_pandas", "to_polars")  # for errors alone
_FRAMES = ("convert", "scan_polars", *(OF_READS + name for name in _READS))
_USUAL = dict.fromkeys(_FRAMES, "hoodoo-frames") | {"catalog": "hoodoo-catalogs"}
_USUAL |= dict.fromkeys(("session", "sql", "where"), "hoodoo-statements")


def function(name: str) -> Callable[..., Any] | None:
    """The function that is offered as ``name``: for one that is usually there, and is not, what
    says which distribution brings it; None where nobody knows of any."""
    offer = kernel().find("function", name)
    if offer is not None and offer.name == name:
        return _load(offer)
    return _absent(name, _USUAL[name]) if name in _USUAL else None


def function_names(prefix: str = "") -> list[str]:
    """Names of what is offered, sorted, without ``prefix``: those that begin with it, or have
    none."""
    names = {*_USUAL, *(offer.name for offer in kernel().offers("function"))}
    found = (n.removeprefix(prefix) for n in names if n.startswith(prefix))
    return sorted(name for name in found if "." not in name)


@cache
def _load(offer: Offer) -> Callable[..., Any]:
    factory: Any = offer.registration.factory
    try:
        found = pkgutil.resolve_name(factory) if isinstance(factory, str) else factory
    except Exception as exc:
        raise PluginError(
            str(offer), f"{factory} can't be imported: {type(exc).__name__}: {exc}.",
            f"Repair the distribution {offer.plugin.distribution}.",
        ) from exc  # fmt: skip
    return checked(found)


@cache
def _absent(name: str, distribution: str) -> Callable[..., Any]:
    shown = name if name.startswith(OF_READS) else f"hoodoo.{name}"

    def absent(*_args: Any, **_kwargs: Any) -> Any:
        """A function that no installed plugin brings."""
        raise PluginError(
            shown, "no installed plugin offers this function.", f"{install([distribution])}."
        )

    return absent
