"""Participants of a table: who takes part in what happens to it, each asked in turn."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from attrs import evolve, frozen

from hoodoo.errors import PluginError, UnsupportedTableError
from hoodoo.hookspecs import USUAL, install
from hoodoo.hookspecs.engine import Engine
from hoodoo.hookspecs.participant import (
    ActionChange,
    Changes,
    KeysCheck,
    Participant,
    Participation,
    RebuildRequest,
)
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.answers import checked, who_is
from hoodoo.kernel.registry import Kernel, kernel
from hoodoo.kernel.resolve import make
from hoodoo.model.column_range import ColumnRange
from hoodoo.model.config import BUILT_METADATA, USABLE_METADATA, TableConfig
from hoodoo.model.filegroup import BaseFile
from hoodoo.model.findings import Finding
from hoodoo.storage.api import Storage
from hoodoo.timeline.instants import order_key
from hoodoo.timeline.publish import CoupledCommit
from hoodoo.timeline.timeline import Timeline


@frozen
class Joined:
    """``each``, in the order in which their plugins were discovered. A :class:`Participation`
    itself."""

    each: tuple[Participation, ...]

    @property
    def keys(self) -> bool:
        """Whether one of the participants needs the keys that a write changes."""
        return any(one.keys for one in self.each)

    @property
    def noted(self) -> Mapping[str, str]:
        """What the participants add to the commit: keys and texts of ``extraMetadata``."""
        return {key: text for one in self.each for key, text in one.noted.items()}

    def begin(self, change: ActionChange) -> CoupledCommit | None:
        """What is decided together with the action; None where nobody has anything to say."""
        begun = [found for one in self.each if (found := one.begin(change)) is not None]
        return begun[0] if len(begun) == 1 else _together(begun) if begun else None


def _together(begun: list[CoupledCommit]) -> CoupledCommit:
    return CoupledCommit(
        lambda: max(filter(None, (one.newest() for one in begun)), key=order_key, default=None),
        lambda done: tuple(file for one in begun for file in one.files(done)),
    )


# Properties that say that more is kept of a table than its files and its timeline: what is written
# without whoever answers for them makes them wrong.
_ANSWERED = (USABLE_METADATA, BUILT_METADATA)
_BRINGS = install(USUAL["participant"])
_LAST: dict[type, tuple[Kernel, TableConfig, Participants]] = {}


@frozen
class Participants:
    """``each``, in the order in which their plugins were discovered; those that others have as
    parts come last."""

    each: tuple[Participant, ...]

    @classmethod
    def of(cls, settings: Settings) -> Participants:
        """All that are installed, made for the table and the options of ``settings``. PluginError
        for one that fails, ConfigError for an option that it refuses."""
        keys = {*settings.table.properties, *settings.options}
        every = ((offer, offer.registration.given) for offer in kernel().offers("participant"))
        offered = [make(offer, settings) for offer, given in every if not given or keys & {*given}]
        pairs = [(part, who_is(one)) for one in offered for part in getattr(one, "parts", ())]
        parts = (checked("participant", part, who) for part, who in pairs if who)
        return cls((*offered, *parts))

    @classmethod
    def of_table(cls, config: TableConfig) -> Participants:
        """The same, without options. Made once for the last ``config``: a read needs it often."""
        last = _LAST.get(cls)
        if last is None or last[0] is not kernel() or last[1] is not config:
            last = _LAST[cls] = (kernel(), config, cls.of(Settings(config)))
        return last[2]

    # --- properties -------------------------------------------------------------------------------
    def refuse_unanswered(self, config: TableConfig) -> None:
        """UnsupportedTableError for a table with a property that nobody here answers for."""
        answered = {name for one in self.each for name in getattr(one, "properties", ())}
        for name in _ANSWERED:
            if config.get(name) and name not in answered:
                raise UnsupportedTableError(
                    f"table {config.name}",
                    f"has {name} = {config.get(name)}, and no installed plugin updates it when "
                    "rows are written.",
                    f"Install a plugin that does: {_BRINGS}. Reading works without it.",
                )

    def hidden(self, config: TableConfig) -> TableConfig:
        """``config`` as of a table that nobody has a part in."""
        return self._folded("hidden", config)

    def reading(self, config: TableConfig) -> TableConfig:
        """``config`` as reads use it."""
        return self._folded("reading", config)

    def check(self) -> None:
        """ConfigError for options that contradict each other."""
        self._tell("check")

    def new_table(self, config: TableConfig) -> TableConfig:
        """The properties of a table that is about to be made."""
        return self._folded("new_table", config)

    def created(self, storage: Storage, config: TableConfig) -> None:
        """The table is there."""
        self._tell("created", storage, config)

    def stale(self, storage: Storage, config: TableConfig) -> TableConfig:
        """Before a write is decided, what would be wrong after it goes; the properties as they are
        then."""
        return self._folded("stale", config, storage)

    # --- life of actions --------------------------------------------------------------------------
    def join(self, storage: Storage, timeline: Timeline) -> Joined | None:
        """Who takes part in what is made of ``timeline``, whose properties were read after it; None
        if nobody does."""
        found = [one.join(storage, timeline) for one in self.each]
        joined = tuple(one for one in found if one is not None)
        return Joined(joined) if joined else None

    def undone(self, storage: Storage, config: TableConfig, requested: str) -> None:
        """The action of ``requested`` is being undone."""
        self._tell("undone", storage, config, requested)

    def sweep(self, storage: Storage, undone: Collection[str]) -> None:
        """What late tasks put for instants that were undone goes."""
        self._tell("sweep", storage, undone)

    def holds(self, storage: Storage, timeline: Timeline, requested: str) -> bool:
        """Whether the completed ``requested`` can't be taken out of all of them."""
        return any(self._tell("holds", storage, timeline, requested))

    def refuse_undo(self, storage: Storage, timeline: Timeline, requested: str) -> None:
        """CommitConflictError where ``requested`` may not be undone now."""
        self._tell("refuse_undo", storage, timeline, requested)

    def kept_from(self, storage: Storage, timeline: Timeline) -> tuple[str, ...]:
        """Instants from which on all have to stay on the active timeline."""
        return tuple(i for i in self._tell("kept_from", storage, timeline) if i is not None)

    def retire(self, storage: Storage, config: TableConfig) -> TableConfig:
        """Their answers must not be used until they are rebuilt."""
        return self._folded("retire", config, storage)

    def repair(self, request: RebuildRequest) -> TableConfig:
        """What was begun to be made is completed."""
        return self._made("repair", request)

    def service(
        self, storage: Storage, timeline: Timeline, engine: Callable[[], Engine], due: bool
    ) -> tuple[str, ...]:
        """The upkeep of all of them; what was done."""
        return sum(self._tell("service", storage, timeline, engine, due), ())

    def after_action(self, request: RebuildRequest, timeline: Timeline) -> tuple[str, ...]:
        """The work of all of them after an action; what was done."""
        done: tuple[str, ...] = ()
        failed: Exception | None = None
        for tell in self._having("after_action"):  # one that fails does not stop the others
            try:
                done += tell(request, timeline)
            except Exception as error:
                failed = failed or error
        if failed is not None:
            raise failed
        return done

    def before_clean(self, request: RebuildRequest, paths: Sequence[str]) -> None:
        """A clean is about to delete ``paths``."""
        self._tell("before_clean", request, paths)

    # --- indexes ----------------------------------------------------------------------------------
    def maker(self, name: str | None) -> Any:
        """Who rebuilds ``name``; without a name, the first who makes anything. PluginError if
        nobody does."""
        every: list[Any] = [one for one in self.each if hasattr(one, "rebuild")]
        makers = [one for one in every if name is None or one.makes(name)]
        if not every:
            raise nobody_makes(name)
        return (makers or every)[0]  # it says which names it knows

    def store_of(self, index: str) -> Any:
        """Who stores the entries of the index of this name; None if nobody does."""
        having = (one for one in self.each if hasattr(one, "stores"))
        return next((one for one in having if one.stores(index)), None)

    def make(self, virtual: bool, request: RebuildRequest) -> TableConfig:
        """What goes on with virtual keys, or with stored ones, is made; the properties as they are
        then."""
        return self._made("make_virtual" if virtual else "make_stored", request)

    def keys_are_virtual(self, config: TableConfig) -> Changes:
        """The changes of properties of a table that stores record keys no longer."""
        found = self._having("keys_are_virtual")
        return {key: value for changes in found for key, value in changes(config).items()}

    def delete_given_up(self, storage: Storage, config: TableConfig) -> None:
        """What the properties do not name any more is deleted."""
        self._tell("delete_given_up", storage, config)

    # --- what they know ---------------------------------------------------------------------------
    def column_ranges(
        self,
        storage: Storage,
        timeline: Timeline,
        files: Sequence[BaseFile],
        columns: Sequence[str],
    ) -> dict[BaseFile, dict[str, ColumnRange]]:
        """What somebody knows of some of ``files`` in ``columns``."""
        known: dict[BaseFile, dict[str, ColumnRange]] = {}
        for ranges in self._having("column_ranges"):
            for file, found in ranges(storage, timeline, files, columns).items():
                known.setdefault(file, {}).update(found)
        return known

    def verify_files(
        self,
        storage: Storage,
        timeline: Timeline,
        files: Mapping[str, int],
        expected: Callable[[str], bool],
        removed: Callable[[str], bool],
    ) -> tuple[Finding | str, ...]:
        """Where what they say of files is not what is there; a text is a note."""
        found = self._tell("verify_files", storage, timeline, files, expected, removed)
        return tuple(one for each in found for one in each)

    def verify_keys(self, storage: Storage, timeline: Timeline) -> tuple[KeysCheck, ...]:
        """What compares the record keys with what they say."""
        return tuple(c for c in self._tell("verify_keys", storage, timeline) if c is not None)

    # --- inside -----------------------------------------------------------------------------------
    def _having(self, member: str) -> Iterator[Any]:
        return (getattr(one, member) for one in self.each if hasattr(one, member))

    def _folded(self, member: str, config: TableConfig, *before: Storage) -> TableConfig:
        for change in self._having(member):
            config = change(*before, config)
        return config

    def _made(self, member: str, request: RebuildRequest) -> TableConfig:
        for change in self._having(member):
            request = evolve(request, config=change(request))
        return request.config

    def _tell(self, member: str, *arguments: Any) -> tuple[Any, ...]:
        return tuple(tell(*arguments) for tell in self._having(member))


def nobody_makes(name: str | None) -> PluginError:
    """What is said of a rebuild of ``name`` that is no participant's."""
    return PluginError(
        f"rebuilding {name or 'what is stored of a table'!r}",
        "no installed plugin can build it.",
        f"Install a plugin that can; for the indexes of Hudi: {_BRINGS}.",
    )
