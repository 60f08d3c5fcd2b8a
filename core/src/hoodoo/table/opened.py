"""An open table: its store, properties, options and plugins; what reading, writing and services share."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import pyarrow as pa
from attrs import evolve

from hoodoo.calls import checked_methods
from hoodoo.errors import HoodooError, PluginError, UnsupportedTableError
from hoodoo.hookspecs.engine import Engine, KnowsStorage
from hoodoo.hookspecs.file_format import BaseFileFormat
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.registry import kernel
from hoodoo.kernel.resolve import resolve
from hoodoo.model.config import TableConfig
from hoodoo.model.meta import without_meta
from hoodoo.model.schema.avro import arrow_schema
from hoodoo.participants.joined import Joined
from hoodoo.participants.of_table import Participants
from hoodoo.read.plan import plan_scan
from hoodoo.read.source import ReadSource
from hoodoo.storage.api import Storage
from hoodoo.table import settings as tables
from hoodoo.timeline import properties
from hoodoo.timeline.ledger import settle
from hoodoo.timeline.timeline import Timeline, load, reload


class OpenTable:
    """Every call looks at the table as it is then: two objects of one table see each other's commits."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        checked_methods(cls)

    def __init__(
        self,
        storage: Storage,
        config: TableConfig,
        options: Mapping[str, str],
        engine: str | Engine | None = None,
        overrides: Mapping[str, Any] | None = None,
    ) -> None:
        self._storage = storage
        self._config = config
        self._options = dict(options)
        self._engine = engine
        self._overrides = dict(overrides or {})
        self._timeline: Timeline | None = None
        self._loaded: tables.Plugins | None = None
        self._told_stored_keys = False
        self._turns = tables.turns(Settings(config, options))

    def __repr__(self) -> str:
        return f"<hoodoo.Table {self._config.name} at {self._storage.root}>"

    # --- what it is -------------------------------------------------------------------------------
    @property
    def path(self) -> str:
        """Absolute URI of the table."""
        return self._storage.root

    @property
    def config(self) -> TableConfig:
        """The table's properties."""
        return self._config

    @property
    def schema(self) -> pa.Schema:
        """The table's own columns, now; the ``_hoodie_*`` columns are not among them."""
        return self._schema(self.timeline())

    def timeline(self) -> Timeline:
        """The active timeline, now. A commit that was decided, and whose writer died before it could
        be seen, is shown."""
        with suppress(HoodooError):  # who may not write looks at what there is
            settle(self._storage, self._config)
        return self._look()

    def _look(self) -> Timeline:
        known = self._timeline
        config = self._participants.reading(self._config)
        now = load(self._storage, config) if known is None else reload(self._storage, known)
        self._timeline = now  # another thread may put an older one there
        return now

    # --- inside -----------------------------------------------------------------------------------
    @property
    def _settings(self) -> Settings:
        return Settings(self._config, self._options)

    def _plugins(self) -> tables.Plugins:
        if self._loaded is None:
            self._loaded = tables.load_plugins(self._config, self._options, self._overrides)
        return self._loaded

    def _reading(self, family: str, named: str | None) -> Any:
        """The table's plugin of ``family``; None where no plugin offers it. A read may well do
        without: the key generator prunes, the merger merges log files."""
        wanted = self._overrides.get(family) or named
        if wanted is None:
            return None
        try:
            return resolve(family, wanted, self._settings).instance
        except HoodooError:
            return None

    def _source(self) -> ReadSource:
        """The table as a read sees it now."""
        try:
            file_format: BaseFileFormat | None = self._file_format()
        except PluginError:
            file_format = None  # the scan names what is missing
        return ReadSource(
            self._storage,
            self._config,
            self.timeline(),
            file_format,
            self._reading("key_generator", self._config.key_generator),
            self._reading("merger", tables.merger_name(self._config)),
        )

    def _file_format(self) -> BaseFileFormat:
        """The format of the base files. PluginError where no plugin offers it."""
        found: BaseFileFormat = resolve(
            "file_format", self._config.base_file_format, self._settings
        ).instance
        return found

    def _schema(self, timeline: Timeline) -> pa.Schema:
        text = timeline.latest_schema_text(self._storage) or self._config.create_schema
        if text is None:
            return without_meta(plan_scan(self._source()).stored)
        return without_meta(arrow_schema(text))

    def _check_writable(self) -> None:
        if not self._config.traits.is_writable:
            raise UnsupportedTableError(
                f"table {self._config.name} of version {self._config.version}",
                "is read only: its format is an interim one of Hudi 1.0, whose writers disagree",
                "upgrade it with Hudi 1.1 or newer to version 9.",
            )
        self._participants.refuse_unanswered(self._config)

    def _resolve_engine(self, data: Any, engine: str | Engine | None) -> Engine:
        if engine is None:
            # An engine registers `source:<package>` for the kinds of data that only it reads.
            package = type(data).__module__.split(".")[0]
            engine = (
                f"source:{package}" if kernel().find("engine", f"source:{package}") else "local"
            )
        found: Engine = resolve("engine", engine, self._settings).instance
        return found.on(self._storage) if isinstance(found, KnowsStorage) else found

    def _refresh(self) -> None:
        """Another writer may have changed the properties since the table was opened."""
        found = properties.load(self._storage)
        if found != self._config:
            self._config, self._timeline, self._loaded = found, None, None

    @property
    def _participants(self) -> Participants:
        return Participants.of(self._settings)

    def _join(self, timeline: Timeline) -> Joined | None:
        """Who takes part in what is made of ``timeline``; None if nobody does.

        The properties are read after the timeline: of what came before it they tell, and what comes later
        is found at the decision."""
        now = evolve(timeline, config=properties.load(self._storage))
        return self._participants.join(self._storage, now)

    def _drop_stale(self) -> None:
        """What would be wrong after a write, as nobody keeps it, goes before the first one."""
        self._note(self._participants.stale(self._storage, self._config))

    def _note(self, config: TableConfig) -> None:
        """The properties may have become others."""
        if config != self._config:
            self._config, self._timeline = config, None
