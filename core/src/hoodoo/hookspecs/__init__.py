"""Every extension point, in the order in which data meets them. This package is the design in code.

A plugin distribution has an entry point in the group ``hoodoo`` that names a module; functions of
that module marked ``@hoodoo.hookimpl`` answer the hooks below. Every family has one *registration
hook*, called once on the driver, that returns :class:`Registration` values, and one *Protocol*,
that the objects made by the registered factories obey and that tasks call directly.

Core works with the families of this package. A family that only a distribution works with is
brought by it (``hoodoo_families``)."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module

from hoodoo.hookspecs.family import Family
from hoodoo.hookspecs.registration import (
    Option,
    PluginRef,
    Registration,
    Settings,
    hookimpl,
    hookspec,
)

# The families of core, each a module, in the order in which a row that is written meets them.
_ORDER = (
    "family storage creation logical_type rows engine key_generator merger index layout serializer "
    "file_format log_format log_block change_log conflict lock participant pruner query_type "
    "action archived_timeline clustering_updates report command function observer"
)
# Those of core, and those that distributions have brought to this process (hoodoo.kernel.families).
FAMILIES: dict[str, Family] = {
    name: import_module(f"{__name__}.{name}").FAMILY for name in _ORDER.split()
}

# The distributions that have the usual members of a family: for errors alone.
_BRINGS = {
    "hoodoo-formats": "file_format log_format log_block",
    "hoodoo-metadata": "participant metadata_partition index_hash key_filters pruner",
    "hoodoo-services": "action archived_timeline compaction cleaning",
    "hoodoo-clustering": "clustering_plan clustering clustering_updates partition_filter",
    "hoodoo-rows": "rows",
    "hoodoo-history": "change_log",
    "hoodoo-serve": "service_policy",
    "hoodoo-catalogs": "catalog",
    "hoodoo-ingest": "source",
    "hoodoo-vector-index": "vector_index",
    "hoodoo-cli": "report command check inspector",
    "hoodoo-frames": "function",
}
USUAL: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(FAMILIES, ("hoodoo-standard",)),
    **{family: (name,) for name, families in _BRINGS.items() for family in families.split()},
    "logical_type": ("hoodoo-vectors", "hoodoo-variant", "hoodoo-blob"),
    "action": ("hoodoo-rows", "hoodoo-services", "hoodoo-statements"),
    "query_type": ("hoodoo-rows", "hoodoo-history"),
    "engine": ("hoodoo-standard", "hoodoo-spark"),
    "storage": ("hoodoo-standard", "hoodoo-cloud"),
}
# Those that have a member which is no usual one: for errors alone.
MEMBERS = {
    ("action", "retention"): "hoodoo-retention",
    ("clustering", "route_geography"): "hoodoo-route-geography",
    ("index", "sqlite"): "hoodoo-sqlite-index",
    ("key_generator", "folded"): "hoodoo-folded-key",
    ("lock", "zookeeper"): "hoodoo-zookeeper-lock",
    ("lock", "ZookeeperBasedLockProvider"): "hoodoo-zookeeper-lock",
    ("merger", "keep_first"): "hoodoo-keep-first",
    ("serializer", "arrow_lz4"): "hoodoo-lz4-serializer",
    ("file_format", "LANCE"): "hoodoo-lance",
    ("file_format", "ARROW"): "hoodoo-arrow-format",
}
# What pip installs where it is not the distribution alone.
_EXTRAS = {"hoodoo-spark": '"hoodoo[spark]"', "hoodoo-cloud": '"hoodoo[cloud]"'}


def install(distributions: Iterable[str]) -> str:
    """The command that brings ``distributions``."""
    return f"pip install {' '.join(_EXTRAS.get(name, name) for name in distributions)}"


# The API numbers of each family of core, oldest first: those that `Registration.api` may say.
APIS: dict[str, tuple[int, ...]] = {name: one.api for name, one in FAMILIES.items()}

__all__ = ["APIS", "FAMILIES", "MEMBERS", "USUAL", "Option", "PluginRef", "Registration"]
__all__ += ["Settings", "hookimpl", "hookspec", "install"]
