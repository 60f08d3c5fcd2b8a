"""What an object of each family must be able to do, and what a given one lacks."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from hoodoo.hookspecs.action import Action
from hoodoo.hookspecs.archived_timeline import ArchivedTimeline
from hoodoo.hookspecs.change_log import ChangeLogFormat
from hoodoo.hookspecs.cleaning import CleaningPolicy
from hoodoo.hookspecs.clustering import Clustering, ClusteringPlanner, ClusteringUpdates
from hoodoo.hookspecs.compaction import CompactionStrategy
from hoodoo.hookspecs.conflict import ConflictStrategy
from hoodoo.hookspecs.engine import Engine
from hoodoo.hookspecs.file_format import BaseFileFormat
from hoodoo.hookspecs.index import ComputedIndex, LookupIndex
from hoodoo.hookspecs.index_hash import KeyHash
from hoodoo.hookspecs.key_generator import KeyGenerator
from hoodoo.hookspecs.layout import Layout
from hoodoo.hookspecs.log_block import LogBlockFormat
from hoodoo.hookspecs.merger import Merger
from hoodoo.hookspecs.metadata_partition import MetadataPartition
from hoodoo.hookspecs.participant import Participant
from hoodoo.hookspecs.pruner import Pruner
from hoodoo.hookspecs.query_type import QueryType
from hoodoo.hookspecs.report import Reporter
from hoodoo.hookspecs.serializer import Serializer
from hoodoo.kernel.deprecations import old_names
from hoodoo.storage.api import Storage
from hoodoo.storage.lock import Lock

# Family -> its Protocol; where there are several, one of them is enough. Observers have none, as they are
# called through their hook, and commands are whatever their command line runs.
PROTOCOLS: dict[str, tuple[type, ...]] = {
    "storage": (Storage,),
    "engine": (Engine,),
    "key_generator": (KeyGenerator,),
    "merger": (Merger,),
    "index": (LookupIndex, ComputedIndex),
    "index_hash": (KeyHash,),
    "layout": (Layout,),
    "serializer": (Serializer,),
    "file_format": (BaseFileFormat,),
    "log_block": (LogBlockFormat,),
    "change_log": (ChangeLogFormat,),
    "conflict": (ConflictStrategy,),
    "lock": (Lock,),
    "participant": (Participant,),
    "metadata_partition": (MetadataPartition,),
    "pruner": (Pruner,),
    "query_type": (QueryType,),
    "action": (Action,),
    "archived_timeline": (ArchivedTimeline,),
    "compaction": (CompactionStrategy,),
    "clustering_plan": (ClusteringPlanner,),
    "clustering": (Clustering,),
    "clustering_updates": (ClusteringUpdates,),
    "cleaning": (CleaningPolicy,),
    "report": (Reporter,),
}


def members(protocol: type) -> dict[str, bool]:
    """Public members of a Protocol: name -> whether it is a method."""
    found: dict[str, bool] = {}
    for kind in reversed(protocol.__mro__):
        if not getattr(kind, "_is_protocol", False):
            continue
        for name in (*inspect.get_annotations(kind), *kind.__dict__):
            if not name.startswith("_"):
                found[name] = inspect.isfunction(kind.__dict__.get(name))
    return found


def misses(obj: Any, wanted: Mapping[str, bool], family: str) -> list[str]:
    """Those of ``wanted`` (name -> whether it is a method) that ``obj`` has under no name."""
    older = {entry.new: old for old, entry in old_names("member", family).items()}
    return [
        name
        for name, method in wanted.items()
        if _lacks(obj, name, method) and (name not in older or _lacks(obj, older[name], method))
    ]


def _lacks(obj: Any, name: str, method: bool) -> bool:
    try:  # statically, because a property may compute, or fail before the object is in use
        found = inspect.getattr_static(obj, name)
    except AttributeError:  # an object that answers through __getattr__
        try:
            return not hasattr(obj, name)
        except Exception:  # it is there, and says what it lacks when it is asked
            return False
    # A slot or a property that holds the method is looked through; anything else must be callable.
    return method and not callable(found) and not callable(getattr(obj, name, None))
