"""Learning: an index that learns from writes, as a participant of the tables that have it.

A property of the table names these indexes. Whoever decides an action after the property says so
has told them."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from attrs import evolve, frozen
from hoodoo.errors import CommitConflictError, ConfigError, warn
from hoodoo.hookspecs.index import LearningIndex
from hoodoo.hookspecs.participant import (
    ActionChange,
    Changes,
    KeysCheck,
    Participant,
    RebuildRequest,
    Rebuilt,
)
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.registry import kernel
from hoodoo.kernel.resolve import declared_options, make
from hoodoo.model.config import HUDI_INDEX, OWN_INDEX, TableConfig
from hoodoo.model.instant import State
from hoodoo.participants.of_table import nobody_makes
from hoodoo.storage.api import Storage
from hoodoo.timeline import properties, publish
from hoodoo.timeline.codec import avro as codec_avro
from hoodoo.timeline.fence import INDEXING
from hoodoo.timeline.heartbeat import Beating
from hoodoo.timeline.instants import order_key
from hoodoo.timeline.publish import CoupledCommit
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import Timeline, load

# The property: names of indexes that learn what is written, separated by commas. Also in the extra
# metadata of each commit that they have learned.
LEARNING = "hoodoo.indexes.learning"
# ``name=instant,...`` of those that were made of a table with rows: the newest write whose keys
# went into it together with those of all before. No single one of these can be taken out again.
REBUILT = "hoodoo.indexes.rebuilt"
# Names of indexes that hold keys of writes that are undone: they are rebuilt before the next write.
STALE = "hoodoo.indexes.stale"
_ATTEMPTS = 5


def names(config: TableConfig) -> tuple[str, ...]:
    """The indexes that learn what is written into the table."""
    return tuple(name for name in (config.get(LEARNING) or "").split(",") if name)


def _rebuilt(config: TableConfig) -> dict[str, str]:
    """Index -> the newest write that it was made of."""
    found = (one.partition("=") for one in (config.get(REBUILT) or "").split(",") if one)
    return {name: instant for name, _, instant in found}


def _stale(config: TableConfig) -> tuple[str, ...]:
    return tuple(name for name in (config.get(STALE) or "").split(",") if name)


@frozen
class LearningIndexes:
    """The participant that has one part for each index that learns what is written into the table.
    It also answers for those that don't yet, and could."""

    settings: Settings

    @classmethod
    def from_settings(cls, settings: Settings) -> LearningIndexes:
        return cls(settings)

    @property
    def parts(self) -> tuple[Participant, ...]:
        """Those that are installed. PluginError for one that can't be made."""
        settings = self.settings
        found = (kernel().find("index", name) for name in names(settings.table))
        return tuple(Learner(o.name, make(o, settings), settings) for o in found if o is not None)

    def join(self, storage: Storage, timeline: Timeline) -> None:
        return None

    def new_table(self, config: TableConfig) -> TableConfig:
        """Its own index may be one that learns."""
        own = kernel().find("index", config.get(HUDI_INDEX) or config.get(OWN_INDEX) or "")
        if own is None or not isinstance(make(own, Settings(config)), LearningIndex):
            return config
        return config.with_properties(**{LEARNING: own.name})

    def stale(self, storage: Storage, config: TableConfig) -> TableConfig:
        """Indexes that nobody offers here can't learn a write, and go before it."""
        there = names(config)
        known = [name for name in there if kernel().find("index", name) is not None]
        if len(known) == len(there):
            return config
        gone = ", ".join(sorted(set(there) - set(known)))
        warn(
            f"table {config.name}: the index {gone}, which learns what is written, is not "
            "installed, and goes before "
            "the first write; table.rebuild_index rebuilds it."
        )

        def changes(now: TableConfig) -> Changes:
            return {LEARNING: ",".join(n for n in names(now) if kernel().find("index", n)) or None}

        return properties.update(storage, config, changes)

    def makes(self, name: str) -> bool:
        return learner(name, self.settings) is not None

    def stores(self, index: str) -> bool:
        return self.makes(index)

    def lacks(self, storage: Storage, config: TableConfig, index: str) -> bool:
        return index_of(index) not in names(config)

    def shares(self, one: str, other: str) -> bool:
        return False

    def rebuild(self, request: RebuildRequest) -> Rebuilt:
        found = None if request.name is None else learner(request.name, self.settings)
        if found is None:
            raise nobody_makes(request.name)
        return found.rebuild(request)


def index_of(name: str) -> str:
    """The index's own name, of one that may be an alias."""
    offer = kernel().find("index", name)
    return name if offer is None else offer.name


def learner(name: str, settings: Settings) -> Learner | None:
    """The index that ``name`` names, if it learns and can be rebuilt."""
    offer = kernel().find("index", name)
    index = None if offer is None else make(offer, settings)
    learns = isinstance(index, LearningIndex) and hasattr(index, "rebuild")
    return Learner(offer.name, index, settings) if offer is not None and learns else None


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

    def holds(self, storage: Storage, timeline: Timeline, requested: str) -> bool:
        newest = _rebuilt(properties.load(storage)).get(self.name)
        return newest is not None and order_key(requested) <= order_key(newest)

    def refuse_undo(self, storage: Storage, timeline: Timeline, requested: str) -> None:
        if self.name in _stale(properties.load(storage)):
            return
        if self.holds(storage, timeline, requested):
            raise CommitConflictError(
                f"{storage.root}: instant {requested}",
                f"was put into the index {self.name}, which was rebuilt meanwhile.",
                "Roll it back again: the index is rebuilt then.",
            )

    def retire(self, storage: Storage, config: TableConfig) -> TableConfig:
        now = properties.load(storage)
        if self.name not in _rebuilt(now) or self.name in _stale(now):
            return config
        return properties.update(
            storage, config, lambda old: {STALE: ",".join((*_stale(old), self.name))}
        )

    def repair(self, request: RebuildRequest) -> TableConfig:
        if self.name not in _stale(request.config):
            return request.config
        timeline = load(request.storage, request.config)
        if any(i.traits.undoes for i in timeline.pending()):
            return request.config  # whoever undoes rebuilds it then
        with suppress(CommitConflictError):  # another one undoes something
            return self.rebuild(request).config
        return request.config

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
        """First every writer has to tell it: those that looked before the indexing action look
        again. Then it is made of the table as it is."""
        if not hasattr(self.index, "rebuild"):
            raise ConfigError(
                f"index {self.name}",
                "can't be rebuilt: it has no method rebuild.",
                "Create the table again.",
            )
        if request.shape:
            raise ConfigError(
                f"index {self.name}",
                f"is not made by {', '.join(sorted(request.shape))}.",
                "Leave that out.",
            )
        storage, config = request.storage, request.config
        own = self._own_properties()

        def changes(now: TableConfig) -> Changes:
            return {LEARNING: ",".join(dict.fromkeys((*names(now), self.name))), **own}

        config = properties.update(storage, config, changes)
        timeline = load(storage, config)
        plan = codec_avro.encode("HoodieIndexPlan", {"indexPartitionInfos": []})
        done = codec_avro.encode(
            "HoodieIndexCommitMetadata", {"operationType": "INDEX", "indexPartitionInfos": []}
        )
        with Beating(storage) as beats:
            mine = publish.request(Snapshot(storage, timeline), INDEXING, plan, named=beats.add)
            mine = publish.inflight(Snapshot(storage, timeline), mine.at(State.REQUESTED))
            outcome = publish.complete(Snapshot(storage, timeline), mine, done)
            publish.refuse_unknown(outcome, f"index {self.name}", "Make it again.")
        for _ in range(_ATTEMPTS):
            state = request.look()
            self._note(storage, config, state.timeline)
            self.index.rebuild(state)
            fresh = load(storage, properties.load(storage))
            if all(fresh.contains_or_before_start(i.requested) for i in state.timeline.writes()):
                return Rebuilt(self._fresh(Snapshot(storage, fresh)), (self.name,))
        raise self._undone_meanwhile(storage)

    def _note(self, storage: Storage, config: TableConfig, timeline: Timeline) -> None:
        """Before it is made: which writes it can't forget one by one."""
        newest = max((i.requested for i in timeline.writes()), key=order_key, default=None)

        def changes(old: TableConfig) -> Changes:
            found = _rebuilt(old)
            if newest is not None:
                found[self.name] = newest
            return {REBUILT: ",".join(f"{n}={i}" for n, i in found.items()) or None}

        properties.update(storage, config, changes)

    def _fresh(self, fresh: Snapshot) -> TableConfig:
        """It says what the table says, as ``fresh`` was seen after it was made."""
        config = fresh.config
        if self.name not in _stale(config):
            return config
        if any(i.traits.undoes for i in fresh.pending()):
            raise self._undone_meanwhile(fresh.storage)

        def changes(old: TableConfig) -> Changes:
            return {STALE: ",".join(n for n in _stale(old) if n != self.name) or None}

        return properties.update(fresh.storage, config, changes)

    def _undone_meanwhile(self, storage: Storage) -> CommitConflictError:
        return CommitConflictError(
            f"{storage.root}: index {self.name}",
            "was made of writes that are being undone.",
            "Make it again.",
        )

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
