"""Every extension point, in the order in which data meets them. This package is the design in code.

A plugin distribution has an entry point in the group ``hoodoo`` that names a module; functions of
that module marked ``@hoodoo.hookimpl`` answer the hooks below. Every family has one *registration
hook*, called once on the driver, that returns :class:`Registration` values, and one *Protocol*, that
the objects made by the registered factories obey and that tasks call directly.

Order of the families, as a row meets them on its way into a table:

family -> storage -> creation -> engine -> key generator -> merger -> index -> layout -> serializer -> file format ->
log format -> log block format -> change log -> conflict -> lock -> participant -> pruner -> query type -> action ->
archived timeline -> clustering updates -> report -> command -> function -> observer

Core works with these. A family that only a distribution works with is brought by it (``hoodoo_families``).
"""

from __future__ import annotations

from collections.abc import Iterable

from hoodoo.hookspecs import (
    action,
    archived_timeline,
    change_log,
    clustering_updates,
    command,
    conflict,
    creation,
    engine,
    family,
    file_format,
    function,
    index,
    key_generator,
    layout,
    lock,
    log_block,
    log_format,
    merger,
    observer,
    participant,
    pruner,
    query_type,
    report,
    serializer,
    storage,
)
from hoodoo.hookspecs.family import Family
from hoodoo.hookspecs.marks import hookimpl, hookspec
from hoodoo.hookspecs.registration import Option, PluginRef, Registration, Settings

# Those of core, and those that distributions have brought to this process (hoodoo.kernel.families).
FAMILIES: dict[str, Family] = {
    "family": family.FAMILY,
    "storage": storage.FAMILY,
    "creation": creation.FAMILY,
    "engine": engine.FAMILY,
    "key_generator": key_generator.FAMILY,
    "merger": merger.FAMILY,
    "index": index.FAMILY,
    "layout": layout.FAMILY,
    "serializer": serializer.FAMILY,
    "file_format": file_format.FAMILY,
    "log_format": log_format.FAMILY,
    "log_block": log_block.FAMILY,
    "change_log": change_log.FAMILY,
    "conflict": conflict.FAMILY,
    "lock": lock.FAMILY,
    "participant": participant.FAMILY,
    "pruner": pruner.FAMILY,
    "query_type": query_type.FAMILY,
    "action": action.FAMILY,
    "archived_timeline": archived_timeline.FAMILY,
    "clustering_updates": clustering_updates.FAMILY,
    "report": report.FAMILY,
    "command": command.FAMILY,
    "function": function.FAMILY,
    "observer": observer.FAMILY,
}

# The distributions that have the usual members of a family: for errors alone.
_BRINGS = {
    "hoodoo-formats": ("file_format", "log_format", "log_block"),
    "hoodoo-metadata": ("participant", "metadata_partition", "index_hash", "key_filters", "pruner"),
    "hoodoo-services": ("action", "archived_timeline", "compaction", "cleaning"),
    "hoodoo-clustering": (
        "clustering_plan",
        "clustering",
        "clustering_updates",
        "partition_filter",
    ),
    "hoodoo-history": ("change_log", "query_type"),
    "hoodoo-serve": ("service_policy",),
    "hoodoo-cli": ("report", "command", "check", "inspector"),
    "hoodoo-frames": ("function",),
}
USUAL: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(FAMILIES, ("hoodoo-standard",)),
    **{family: (name,) for name, families in _BRINGS.items() for family in families},
    "action": ("hoodoo-services", "hoodoo-statements"),
    "engine": ("hoodoo-standard", "hoodoo-spark"),
    "storage": ("hoodoo-standard", "hoodoo-cloud"),
}
# Those that have a member which is no usual one: for errors alone.
MEMBERS = {
    ("action", "retention"): "hoodoo-retention", ("clustering", "route_geography"): "hoodoo-route-geography",
    ("index", "sqlite"): "hoodoo-sqlite-index", ("key_generator", "folded"): "hoodoo-folded-key",
    ("merger", "keep_first"): "hoodoo-keep-first", ("serializer", "arrow_lz4"): "hoodoo-lz4-serializer",
}  # fmt: skip
# What pip installs where it is not the distribution alone.
_EXTRAS = {"hoodoo-spark": '"hoodoo[spark]"', "hoodoo-cloud": '"hoodoo[cloud]"'}


def install(distributions: Iterable[str]) -> str:
    """The command that brings ``distributions``."""
    return f"pip install {' '.join(_EXTRAS.get(name, name) for name in distributions)}"


# The API numbers of each family of core, oldest first: those that `Registration.api` may say.
APIS: dict[str, tuple[int, ...]] = {name: one.api for name, one in FAMILIES.items()}

__all__ = [
    "APIS",
    "FAMILIES",
    "MEMBERS",
    "USUAL",
    "Option",
    "PluginRef",
    "Registration",
    "Settings",
    "hookimpl",
    "hookspec",
    "install",
]
