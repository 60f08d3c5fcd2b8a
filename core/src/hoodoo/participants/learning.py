"""Learning: an index that learns from writes, as a participant of the tables that have it.

A property of the table names these indexes. Whoever decides an action after the property says so has told them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import evolve, frozen

from hoodoo.errors import ConfigError, warn
from hoodoo.hookspecs.index import LearningIndex
from hoodoo.hookspecs.participant import ActionChange, KeysCheck, RebuildRequest, Rebuilt
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.registry import kernel
from hoodoo.kernel.resolve import declared_options, make
from hoodoo.model.config import HUDI_INDEX, OWN_INDEX, TableConfig
from hoodoo.model.instant import State
from hoodoo.storage.api import Storage
from hoodoo.timeline import properties, publish
from hoodoo.timeline.codec import avro as codec_avro
from hoodoo.timeline.heartbeat import Beating
from hoodoo.timeline.publish import INDEXING, CoupledCommit
from hoodoo.timeline.timeline import Timeline, load

# The property: names of indexes that learn what is written, separated by commas. Also in the extra metadata of
# each commit that they have learned.
LEARNING = "hoodoo.indexes.learning"


def names(config: TableConfig) -> tuple[str, ...]:
    """The indexes that learn what is written into the table."""
    return tuple(name for name in (config.get(LEARNING) or "").split(",") if name)


def learners(settings: Settings) -> list[Learner]:
    """Those of them that are installed. PluginError for one that can't be made."""
    found = (kernel().find("index", name) for name in names(settings.table))
    return [Learner(o.name, make(o, settings), settings) for o in found if o is not None]


def learner(name: str, settings: Settings) -> Learner | None:
    """The index that ``name`` names, if it learns and can be made anew."""
    offer = kernel().find("index", name)
    index = None if offer is None else make(offer, settings)
    learns = isinstance(index, LearningIndex) and hasattr(index, "rebuild")
    return Learner(offer.name, index, settings) if offer is not None and learns else None


def with_learning(config: TableConfig) -> TableConfig:
    """The properties of a new table, whose own index may be one that learns."""
    own = kernel().find("index", config.get(HUDI_INDEX) or config.get(OWN_INDEX) or "")
    if own is None or not isinstance(make(own, Settings(config)), LearningIndex):
        return config
    return config.with_properties(**{LEARNING: own.name})


def without_unknown(storage: Storage, config: TableConfig) -> TableConfig:
    """Before a write is decided: indexes that nobody offers here can't learn it, and go."""
    there = names(config)
    known = [name for name in there if kernel().find("index", name) is not None]
    if len(known) == len(there):
        return config
    gone = ", ".join(sorted(set(there) - set(known)))
    warn(
        f"table {config.name}: the index {gone}, which learns what is written, is not installed, and goes before "
        "the first write; table.rebuild_index makes it anew."
    )
    return properties.update(storage, config, {LEARNING: ",".join(known) or None})


@frozen
class Learner:
    """``index``, called ``name``: a participant."""

    name: str
    index: Any
    settings: Settings

    def join(self, storage: Storage, timeline: Timeline) -> Learning:
        return Learning(self.name, self.index)

    def undone(self, storage: Storage, config: TableConfig, requested: str) -> None:
        if hasattr(self.index, "undone"):
            self.index.undone(storage, config, requested)

    def verify_keys(self, storage: Storage, timeline: Timeline) -> KeysCheck | None:
        check: KeysCheck | None = None
        if hasattr(self.index, "verify"):
            check = self.index.verify(storage, timeline)
        return check

    def makes(self, name: str) -> bool:
        return self.stores(name) and hasattr(self.index, "rebuild")

    def stores(self, index: str) -> bool:
        offer = kernel().find("index", index)
        return offer is not None and offer.name == self.name

    def lacks(self, storage: Storage, config: TableConfig, index: str) -> bool:
        return self.name not in names(config)

    def shares(self, one: str, other: str) -> bool:
        return False

    def rebuild(self, request: RebuildRequest) -> Rebuilt:
        """First every writer has to tell it: those that looked before the indexing action look again. Then it is
        made of the table as it is."""
        if not hasattr(self.index, "rebuild"):
            raise ConfigError(
                f"index {self.name}", "can't be made anew: it has no method rebuild.", "Make the table anew."
            )  # fmt: skip
        storage, config = request.storage, request.config
        there = (*names(config), self.name)
        changes = {LEARNING: ",".join(dict.fromkeys(there)), **self._own_properties()}
        config = properties.update(storage, config, changes)
        timeline = load(storage, config)
        plan = codec_avro.encode("HoodieIndexPlan", {"indexPartitionInfos": []})
        done = codec_avro.encode(
            "HoodieIndexCommitMetadata", {"operationType": "INDEX", "indexPartitionInfos": []}
        )
        with Beating(storage) as beats:
            mine = publish.request(storage, timeline, INDEXING, plan, named=beats.add)
            mine = publish.inflight(storage, timeline, mine.at(State.REQUESTED))
            outcome = publish.complete(storage, timeline, mine, done)
            publish.refuse_unknown(outcome, f"index {self.name}", "Make it again.")
        self.index.rebuild(request.look())
        return Rebuilt(config, (self.name,))

    def _own_properties(self) -> dict[str, str]:
        """What it goes by: whoever writes next has to find it."""
        options = (o for o in declared_options("index", self.name) if o.table_property)
        found = {o.key: self.settings.get(o.key, o.default) for o in options}
        return {key: value for key, value in found.items() if value is not None}


@frozen
class Learning:
    """What one look at the table brings an index that learns."""

    name: str
    index: LearningIndex

    @property
    def keys(self) -> bool:
        return True

    @property
    def noted(self) -> Mapping[str, str]:
        return {f"{LEARNING}.{self.name}": "true"}

    def begin(self, change: ActionChange) -> CoupledCommit | None:
        if change.keys is None:
            return None  # of services, which move no key
        return self.index.written(evolve(change, keys=change.keys.with_replaced()))
