"""A table that is open: its store, properties and options, and the newest timeline that it saw."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager, suppress
from datetime import datetime
from typing import Any, TypeVar

from attrs import evolve

from hoodoo.errors import HoodooError, PluginError
from hoodoo.hookspecs import USUAL, install
from hoodoo.hookspecs.engine import Engine, KnowsStorage
from hoodoo.hookspecs.registration import Settings
from hoodoo.hookspecs.rows import RowsLayer
from hoodoo.kernel.events import ActionEvents, action_events
from hoodoo.kernel.registry import kernel
from hoodoo.kernel.resolve import default_name, resolve
from hoodoo.model.config import TableConfig
from hoodoo.participants.listing import is_known
from hoodoo.participants.of_table import Participants
from hoodoo.storage.api import Storage
from hoodoo.storage.together import Asked, Listed
from hoodoo.timeline import heartbeat, ledger, properties
from hoodoo.timeline.instants import next_instant
from hoodoo.timeline.ledger import settled
from hoodoo.timeline.markers import MARKERS
from hoodoo.timeline.timeline import Timeline, from_names, load, reload

A = TypeVar("A")
# What no plugin of the family `action` does, as events name it.
PARTICIPANT_SERVICE = "participant_service"


class OpenTable:
    """What is known of one open table, and the plugins that its properties and options name."""

    storage: Storage
    config: TableConfig
    options: dict[str, str]
    default_engine: str | Engine | None
    made: dict[str, Any]  # of the properties and options, by plugins
    _installed: tuple[Settings, Participants] | None = None
    _timeline: Timeline | None = None

    @property
    def settings(self) -> Settings:
        """Properties and options, as factories of plugins get them."""
        return Settings(self.config, self.options)

    @property
    def installed(self) -> Participants:
        """All participants that are installed, made for the properties and options as they are
        now."""
        now, made = self.settings, self._installed
        if made is None or made[0].table is not now.table or made[0].options != now.options:
            # A copy: if the options of the handle change, participants are made again.
            of = Settings(now.table, dict(now.options))
            made = self._installed = (of, Participants.of(now))
        return made[1]

    def timeline(self) -> Timeline:
        """The active timeline, now. A commit that was decided, and whose writer died before it
        could be seen, is made visible first; :meth:`load_timeline` does without."""
        with suppress(HoodooError):  # who may not write reads what there is
            return self.load_timeline(settled(self.storage, self.config, reads=True))
        return self.load_timeline()

    def load_timeline(self, listed: Timeline | None = None) -> Timeline:
        """The active timeline now, or as ``listed`` shows it; changes nothing. NotATableError of a
        deleted table."""
        known = self._timeline
        if listed is None and known is not None:
            now = reload(self.storage, known)
        else:
            config = self.installed.reading(self.config)
            found = load(self.storage, config) if listed is None else evolve(listed, config=config)
            now = found if known is None else known.seen_by(found)
        if not now.instants:  # nor may there be a table any more
            properties.load(self.storage)
        self._timeline = now  # another thread may put an older one there
        return now

    def refresh(self) -> None:
        """Read the properties again: another writer may have changed them since the table was
        opened. An action calls it first."""
        self.use_properties(properties.load(self.storage))

    def use_properties(self, config: TableConfig) -> None:
        """Use the properties ``config``, which are stored already."""
        if config != self.config:
            self.config, self._timeline, self.made = config, None, {}

    def change_properties(self, changes: properties.Changes) -> None:
        """Store other values of properties, for all who open the table; None removes one."""
        self.config = properties.update(self.storage, self.config, changes)
        self._timeline, self.made = None, {}

    def _stands(self, known: Timeline | None, exactly: bool, listed: Listed) -> bool:
        """Whether no write has completed since ``known``, what this handle knew when the look began
        (another thread may know more now): all files of others were there before. ``exactly``: nor
        is anything else new, or pending."""
        found = listed(self.config.timeline_path)
        if known is None or found is None:
            return False
        names = [e.name for e in found if not e.is_dir]
        return known.is_shown_by(names) if exactly else known.has_writes_of(names)

    def _asks(self, writes: bool = False) -> list[Asked]:
        """What the first look of this handle asks of the store, where it knows the timeline of a
        moment before."""
        seen = self._timeline
        if seen is None:
            return []
        folders = [ledger.FOLDER, self.config.timeline_path, *([] if is_known(seen) else [""])]
        asks = [("get", properties.PATH), *(("list", folder) for folder in folders)]
        left = [("get", properties.BACKUP), ("list", MARKERS), ("list", heartbeat.FOLDER)]
        return asks + left if writes else asks

    def begin_with(self, names: Iterable[str]) -> None:
        """The timeline directory had these names a moment ago."""
        self._timeline = from_names(names, self.installed.reading(self.config))

    def likely_instant(self, now: datetime) -> str:
        """What the next instant will be if nobody comes before it."""
        seen = self._timeline
        after = None if seen is None else seen.last_instant_time()
        return next_instant(now, after, self.config.timezone)

    @property
    def rows(self) -> RowsLayer:
        """What turns rows into files, and files into rows. PluginError where no plugin does."""
        for _plugin, hook in kernel().implementations("hoodoo_table_rows"):
            found: Any = hook.function()
            if found is not None:
                return found
        raise PluginError(
            f"table {self.config.name}", "no installed plugin reads or writes rows.",
            f"{install(USUAL['rows'])}.",
        )  # fmt: skip

    def write_target(self, data: Any = None, engine: str | Engine | None = None, **how: Any) -> Any:
        """What a write or an action on rows works on: ``write_target`` of hoodoo-rows has the
        arguments."""
        return self.rows.write_target(self, data, engine, **how)

    def engine(self, data: Any, engine: str | Engine | None) -> Engine:
        """The engine that runs a call: ``engine`` where it is given, else the one that reads
        ``data``; the local one where there is no data."""
        if engine is None:
            # An engine registers `source:<package>` for the kinds of data that only it reads.
            package = type(data).__module__.split(".")[0]
            reader = kernel().find("engine", f"source:{package}")
            engine = default_name("engine", self.settings) if reader is None else reader.name
        found: Engine = resolve("engine", engine, self.settings).instance
        return found.on(self.storage) if isinstance(found, KnowsStorage) else found


def action_run(
    table: OpenTable, action: str, instant: str = "", *, end: str = "done", quiet: bool = False
) -> AbstractContextManager[ActionEvents]:
    """Report what is done inside as a run of ``action`` on ``table``. A run that the action reports
    itself is not reported twice."""
    name, root = table.config.name, table.storage.root
    return action_events(action, name, root, instant, end=end, quiet=quiet)


def answered(events: ActionEvents, answer: A, plans: bool = False) -> A:
    """``answer`` (the instant of a plan or None, if it ``plans``), from which the last event of the
    run gets what it can: its ``figures`` say what was done, and one whose ``instant`` is empty did
    nothing."""
    instant: Any = (answer or "") if plans else getattr(answer, "instant", None)
    figures: Any = getattr(answer, "figures", None)
    done: Any = figures if isinstance(figures, dict) else None
    events.report(done, instant=instant if isinstance(instant, str) else None)
    if instant == "":
        events.skip()
    return answer


def installed_action(table: OpenTable, name: str) -> Any:
    """The object of an action, for members that only it has. PluginError where nobody offers it."""
    return resolve("action", name, table.settings).instance
