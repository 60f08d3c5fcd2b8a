"""Plugins on a worker: loaded by name, never discovered.

A worker may have other distributions installed than the driver, or other versions of them, and
would then decide keys and bytes differently without anyone noticing."""

from __future__ import annotations

import pkgutil
import sys
import threading
from importlib import metadata
from typing import Any

from hoodoo.errors import PluginError
from hoodoo.hookspecs import PluginRef
from hoodoo.kernel.answers import Who, checked
from hoodoo.kernel.discover import Plugin
from hoodoo.kernel.families import add_family
from hoodoo.kernel.registry import Kernel
from hoodoo.kernel.resolve import make

_SHIP = (
    "Give the workers the driver's environment (one image, one virtual environment, or a packed "
    "one with --archives), or send the wheel of {0} with --py-files."
)

_lock = threading.RLock()  # a factory may load another plugin
_loaded: dict[tuple[object, ...], Any] = {}
_kernels: dict[tuple[str, str, str], Kernel] = {}


def load(ref: PluginRef) -> Any:
    """The object that ``ref`` stands for; made once per process and settings.

    Raises :class:`~hoodoo.errors.PluginError` naming what this worker lacks: the module, the right
    version of the distribution, or the registration.
    """
    add_family(ref.family, ref.family_at)
    if not ref.module:
        return checked(ref.family, ref.instance, Who(ref.family, ref.name))
    key = (
        ref.family,
        ref.name,
        ref.module,
        ref.distribution,
        ref.version,
        frozenset(ref.settings.table.properties.items()),
        frozenset(ref.settings.options.items()),
    )
    with _lock:
        if key not in _loaded:
            _loaded[key] = _make(ref)
        return _loaded[key]


def _make(ref: PluginRef) -> Any:
    offer = _kernel(ref).find(ref.family, ref.name)
    if offer is None:
        raise PluginError(
            _label(ref),
            f"{ref.module} on this worker does not offer it.",
            _SHIP.format(ref.distribution),
        )
    return make(offer, ref.settings)


def _kernel(ref: PluginRef) -> Kernel:
    """A registry of that one plugin."""
    key = (ref.module, ref.distribution, ref.version)
    if key not in _kernels:
        try:
            loaded = pkgutil.resolve_name(ref.module)
        except (Exception, SystemExit) as exc:
            raise PluginError(
                _label(ref),
                f"this worker can't import {ref.module}: {type(exc).__name__}: {exc}.",
                _SHIP.format(ref.distribution),
            ) from exc
        found = _version(ref)
        if found != ref.version:
            raise PluginError(
                _label(ref),
                f"this worker has {ref.distribution} {found or 'without a version'}, the driver "
                f"has {ref.version}.",
                _SHIP.format(ref.distribution),
            )
        _kernels[key] = Kernel(
            [Plugin(ref.module, ref.module, ref.distribution, found, loaded)], on_worker=True
        )
    return _kernels[key]


def _version(ref: PluginRef) -> str:
    try:
        return metadata.version(ref.distribution)
    except metadata.PackageNotFoundError:  # sent as bare modules, which carry no metadata
        package = sys.modules.get(ref.module.partition(":")[0].partition(".")[0])
        return str(getattr(package, "__version__", ""))


def _label(ref: PluginRef) -> str:
    return f"{ref.family} {ref.name!r} of distribution {ref.distribution} {ref.version}"
