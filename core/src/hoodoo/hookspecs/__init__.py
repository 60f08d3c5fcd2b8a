"""Every extension point, in the order in which data meets them. This package is the design in code.

A plugin distribution has an entry point in the group ``hoodoo`` that names a module; functions of
that module marked ``@hoodoo.hookimpl`` answer the hooks below. Every family has one *registration
hook*, called once on the driver, that returns :class:`Registration` values, and one *Protocol*, that
the objects made by the registered factories obey and that tasks call directly.

Order of the families, as a row meets them on its way into a table:

storage -> creation -> engine -> key generator -> merger -> index -> index hash -> layout -> serializer -> file format
-> log block format -> change log -> conflict -> lock -> participant -> metadata partition -> pruner -> query type -> action -> archived timeline -> compaction -> clustering plan -> clustering -> clustering updates -> cleaning -> report
-> command -> observer
"""

from __future__ import annotations

from hoodoo.hookspecs.action import ActionHooks
from hoodoo.hookspecs.archived_timeline import ArchivedTimelineHooks
from hoodoo.hookspecs.change_log import ChangeLogHooks
from hoodoo.hookspecs.cleaning import CleaningHooks
from hoodoo.hookspecs.clustering import (
    ClusteringHooks,
    ClusteringPlanHooks,
    ClusteringUpdatesHooks,
)
from hoodoo.hookspecs.command import CommandHooks
from hoodoo.hookspecs.compaction import CompactionHooks
from hoodoo.hookspecs.conflict import ConflictHooks
from hoodoo.hookspecs.creation import CreationHooks
from hoodoo.hookspecs.engine import EngineHooks
from hoodoo.hookspecs.file_format import FileFormatHooks
from hoodoo.hookspecs.index import IndexHooks
from hoodoo.hookspecs.index_hash import IndexHashHooks
from hoodoo.hookspecs.key_generator import KeyGeneratorHooks
from hoodoo.hookspecs.layout import LayoutHooks
from hoodoo.hookspecs.lock import LockHooks
from hoodoo.hookspecs.log_block import LogBlockHooks
from hoodoo.hookspecs.marks import hookimpl, hookspec
from hoodoo.hookspecs.merger import MergerHooks
from hoodoo.hookspecs.metadata_partition import MetadataPartitionHooks
from hoodoo.hookspecs.observer import ObserverHooks
from hoodoo.hookspecs.participant import ParticipantHooks
from hoodoo.hookspecs.pruner import PrunerHooks
from hoodoo.hookspecs.query_type import QueryTypeHooks
from hoodoo.hookspecs.registration import Option, PluginRef, Registration, Settings
from hoodoo.hookspecs.report import ReportHooks
from hoodoo.hookspecs.serializer import SerializerHooks
from hoodoo.hookspecs.storage import StorageHooks

# One entry per family: family name -> the class that holds its hookspecs.
FAMILIES: dict[str, type] = {
    "storage": StorageHooks,
    "creation": CreationHooks,
    "engine": EngineHooks,
    "key_generator": KeyGeneratorHooks,
    "merger": MergerHooks,
    "index": IndexHooks,
    "index_hash": IndexHashHooks,
    "layout": LayoutHooks,
    "serializer": SerializerHooks,
    "file_format": FileFormatHooks,
    "log_block": LogBlockHooks,
    "change_log": ChangeLogHooks,
    "conflict": ConflictHooks,
    "lock": LockHooks,
    "participant": ParticipantHooks,
    "metadata_partition": MetadataPartitionHooks,
    "pruner": PrunerHooks,
    "query_type": QueryTypeHooks,
    "action": ActionHooks,
    "archived_timeline": ArchivedTimelineHooks,
    "compaction": CompactionHooks,
    "clustering_plan": ClusteringPlanHooks,
    "clustering": ClusteringHooks,
    "clustering_updates": ClusteringUpdatesHooks,
    "cleaning": CleaningHooks,
    "report": ReportHooks,
    "command": CommandHooks,
    "observer": ObserverHooks,
}

# The distribution that has the usual members of a family, and what pip installs to bring it: for errors alone.
_BRINGS = {
    "hoodoo-core": ("storage",),
    "hoodoo-formats": ("file_format", "log_block"),
    "hoodoo-metadata": ("participant", "metadata_partition", "pruner"),
    "hoodoo-services": ("action", "archived_timeline", "compaction", "cleaning"),
    "hoodoo-clustering": ("clustering_plan", "clustering", "clustering_updates"),
    "hoodoo-history": ("change_log", "query_type"),
    "hoodoo-cli": ("report", "command"),
}
USUAL: dict[str, tuple[str, str]] = {
    **dict.fromkeys(FAMILIES, ("hoodoo-standard", "hoodoo-standard")),
    **{family: (name, name) for name, families in _BRINGS.items() for family in families},
    "engine": ("hoodoo-spark", '"hoodoo[spark]"'),
}

# Those of another distribution than the usual members of their family.
BRINGS_NAMED: dict[tuple[str, str], tuple[str, str]] = {
    ("engine", "local"): ("hoodoo-standard", "hoodoo-standard"),
}

# The API numbers of each family that this core works with, oldest first: those that `Registration.api` may say.
APIS: dict[str, tuple[int, ...]] = dict.fromkeys(FAMILIES, (1,))

__all__ = [
    "APIS",
    "BRINGS_NAMED",
    "FAMILIES",
    "USUAL",
    "Option",
    "PluginRef",
    "Registration",
    "Settings",
    "hookimpl",
    "hookspec",
]
