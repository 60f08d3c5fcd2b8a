"""The public face: ``hoodoo.create``, ``hoodoo.open`` and :class:`Table`."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import pyarrow as pa

from hoodoo import tables
from hoodoo.actions import compaction
from hoodoo.actions.rollback import heal, rollback
from hoodoo.errors import (
    ConfigError,
    DataError,
    HoodooError,
    HoodooWarning,
    PluginError,
    UnsupportedTableError,
)
from hoodoo.hookspecs.engine import Engine
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.registry import kernel
from hoodoo.kernel.resolve import resolve
from hoodoo.model.config import TableConfig
from hoodoo.model.filegroup import FileSlice
from hoodoo.model.instant import Instant
from hoodoo.model.meta import without_meta
from hoodoo.model.schema_avro import arrow_schema
from hoodoo.read.plan import ReadSource
from hoodoo.read.scan import Scan
from hoodoo.storage.api import Storage
from hoodoo.timeline import batches, properties, view
from hoodoo.timeline.batches import Batch
from hoodoo.timeline.compaction_plan import pending_compactions, pending_groups
from hoodoo.timeline.create import init_table
from hoodoo.timeline.timeline import Timeline, load, reload
from hoodoo.write import operation
from hoodoo.write.commit import Commit
from hoodoo.write.delete_keys import as_keys
from hoodoo.write.run import drop_partitions, run
from hoodoo.write.target import WriteTarget

METADATA_TABLE = ".hoodie/metadata"


class Table:
    """A Hudi table. Made by :func:`create` or :func:`open`; cheap to make, safe to throw away.

    Every call looks at the table as it is then: two objects of one table see each other's commits.
    """

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
        """The active timeline, now."""
        if self._timeline is None:
            self._timeline = load(self._storage, self._config)
        else:
            self._timeline = reload(self._storage, self._timeline)
        return self._timeline

    def file_slices(self, as_of: str | datetime | None = None) -> tuple[FileSlice, ...]:
        """The file slices that a snapshot read looks at."""
        return self.read(as_of=as_of).plan.slices

    # --- reading ----------------------------------------------------------------------------------
    def read(
        self,
        columns: Sequence[str] | None = None,
        where: Any = None,
        as_of: str | datetime | None = None,
        mode: str = "snapshot",
    ) -> Scan:
        """A lazy scan of the newest rows, or of those visible at ``as_of`` (inclusive).

        ``where`` is a pyarrow compute expression. Raises SchemaError for unknown columns and
        ConfigError for a bad point in time.
        """
        try:
            file_format, _ref = resolve(
                "file_format", self._config.base_file_format, self._settings
            )
        except PluginError:
            file_format = None  # the scan names what is missing
        source = ReadSource(
            self._storage,
            self._config,
            self.timeline(),
            file_format,
            self._reading("key_generator", self._config.key_generator),
            self._reading("merger", tables.merger_name(self._config)),
        )
        return Scan.of(source, columns=columns, where=where, as_of=as_of, mode=mode)

    # --- writing ----------------------------------------------------------------------------------
    def upsert(
        self, data: Any, *, engine: str | Engine | None = None, batch: Batch | None = None
    ) -> Commit:
        """Update rows whose key the table has, insert the others. See docs/writing.md for all.

        A ``batch`` (here and in the other writes) that is in the table already, or older than the newest of
        its stream there, is not written: the commit then has an empty instant. See docs/streaming.md.
        """
        return self._write(operation.UPSERT, data, engine, batch)

    def insert(
        self, data: Any, *, engine: str | Engine | None = None, batch: Batch | None = None
    ) -> Commit:
        """Add rows; small files are filled first. Stored keys are looked at only under
        ``hoodie.datasource.insert.dup.policy`` = ``drop`` or ``fail``."""
        policy = self._options.get("hoodie.datasource.insert.dup.policy", "none").lower()
        if policy not in ("none", "drop", "fail"):
            raise ConfigError(
                f"option hoodie.datasource.insert.dup.policy={policy}",
                "is none of none, drop, fail",
                "give one of them, or leave the option out: then stored keys are not looked at.",
            )
        kind = operation.INSERT if policy == "none" else operation.INSERT_CHECKED
        return self._write(kind, data, engine, batch)

    def append(
        self, data: Any, *, engine: str | Engine | None = None, batch: Batch | None = None
    ) -> Commit:
        """Add rows in new files, without an exchange and without looking at stored keys."""
        return self._write(self._combined(operation.APPEND), data, engine, batch)

    def bulk_insert(
        self, data: Any, *, engine: str | Engine | None = None, batch: Batch | None = None
    ) -> Commit:
        """Load rows in new files as they come: the fastest way in, for first loads."""
        return self._write(self._combined(operation.BULK_INSERT), data, engine, batch)

    def delete(
        self, data: Any, *, engine: str | Engine | None = None, batch: Batch | None = None
    ) -> Commit:
        """Delete by key. ``data`` has the key columns, or whole rows; without the partition columns
        a key is deleted wherever it lies. A list of keys will do where the key is one column."""
        return self._write(operation.DELETE, self._as_keys(data), engine, batch)

    def insert_overwrite(
        self, data: Any, *, engine: str | Engine | None = None, batch: Batch | None = None
    ) -> Commit:
        """Replace the partition paths that occur in ``data`` by its rows."""
        return self._write(operation.INSERT_OVERWRITE, data, engine, batch)

    def insert_overwrite_table(
        self, data: Any, *, engine: str | Engine | None = None, batch: Batch | None = None
    ) -> Commit:
        """Replace all rows of the table by those of ``data``."""
        return self._write(operation.INSERT_OVERWRITE_TABLE, data, engine, batch)

    def delete_partitions(self, paths: str | Sequence[str]) -> Commit:
        """Drop whole partition paths (``"region=apac"``, or ``"2013/01"`` without hive style)."""
        wanted = [paths] if isinstance(paths, str) else list(paths)
        target = self._target(None, self._engine or "local")
        known = {s.partition_path for s in target.slices}
        unknown = sorted(set(wanted) - known)
        if unknown:
            raise DataError(
                f"partition {', '.join(unknown)}", f"is not in the table ({_some(known)})",
                "give partition paths as table.file_slices() shows them.",
            )  # fmt: skip
        return drop_partitions(
            target, operation.DELETE_PARTITION, wanted, self._undo, self._drop_metadata_table
        )

    # --- services ---------------------------------------------------------------------------------
    def compact(self, strategy: Any = None, *, engine: str | Engine | None = None) -> Commit:
        """Make base files of the log files of a table that is merged on read; no row changes.

        Pending compactions are finished, then a new one is planned and run. ``strategy`` is a name,
        a Java class or an object; by default ``hoodie.compaction.strategy`` says it. The commit has an
        empty instant where nothing was there to do. Writers may go on meanwhile.
        """
        commit = Commit("", "commit", "compact")
        for pending in pending_compactions(self.timeline()):
            commit = self.run_compaction(pending.requested, engine=engine)
        instant = self.schedule_compaction(strategy)
        return commit if instant is None else self.run_compaction(instant, engine=engine)

    def schedule_compaction(self, strategy: Any = None) -> str | None:
        """Plan a compaction; its instant, or None where there is nothing to compact.

        Raises CommitConflictError in version 6 while a write is under way.
        """
        self._check_writable()
        self._check_merged("compaction")
        wanted = strategy or self._options.get("hoodie.compaction.strategy", "log_size")
        found, ref = resolve("compaction", wanted, self._settings)
        instant = compaction.schedule(self._storage, self._config, found, ref.name)
        return None if instant is None else instant.requested

    def run_compaction(self, instant: str, *, engine: str | Engine | None = None) -> Commit:
        """Run a planned compaction, from the start or where an earlier run stopped."""
        self._check_writable()
        self._check_merged("compaction")
        plugins = self._plugins()
        runner = self._resolve_engine(None, engine or self._engine)
        runner.check(plugins.refs)
        target = compaction.CompactionTarget(
            storage=self._storage,
            config=self._config,
            schema=self._schema(self.timeline()),
            engine=runner,
            merger=plugins.merger,
            file_format=plugins.file_format,
            before_publish=self._drop_metadata_table,
        )
        return compaction.run(target, instant)

    schedule_compact = schedule_compaction
    run_compact = run_compaction

    def rollback(self) -> tuple[str, ...]:
        """Undo failed writes now instead of at the next write; the instants that were undone."""
        return tuple(done.instant for done in heal(self._storage, self._config))

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

    def _schema(self, timeline: Timeline) -> pa.Schema:
        text = timeline.latest_schema_text(self._storage) or self._config.create_schema
        if text is None:
            return without_meta(self.read().plan.stored)
        return without_meta(arrow_schema(text))

    def _combined(self, kind: operation.WriteKind) -> operation.WriteKind:
        wanted = self._options.get("hoodie.combine.before.insert", "false").lower() == "true"
        return kind.exchanged() if wanted else kind

    def _as_keys(self, data: Any) -> Any:
        return as_keys(data, self._config.record_key_fields, self.schema)

    def _write(
        self,
        kind: operation.WriteKind,
        data: Any,
        engine: str | Engine | None,
        batch: Batch | None,
    ) -> Commit:
        every = compaction.inline_interval(self._config, self._options)
        target = self._target(data, engine or self._engine)
        if batch is not None and batches.applied(target.storage, target.timeline).has(batch):
            return Commit("", kind.action(target.logs is not None), kind.operation.value.lower())
        commit = run(target, kind, data, self._undo, self._drop_metadata_table, batch)
        if every:
            self._compact_inline(every, target.engine)
        return commit

    def _compact_inline(self, every: int, engine: Engine) -> None:
        """The rows have landed: what goes wrong here is no failure of the write."""
        try:
            if compaction.commits_since(self.timeline()) >= every:
                self.compact(engine=engine)
        except HoodooError as error:
            warnings.warn(
                f"table {self._config.name}: the write is done, the inline compaction after it is not "
                f"({error}); table.compact() finishes it.",
                HoodooWarning,
                stacklevel=4,
            )

    def _check_merged(self, service: str) -> None:
        if self._config.table_type != "MERGE_ON_READ":
            raise UnsupportedTableError(
                f"table {self._config.name} of type {self._config.table_type}",
                f"has no log files, and needs no {service}",
                "nothing: only tables of type MERGE_ON_READ have them.",
            )

    def _undo(self, instant: Instant) -> None:
        rollback(self._storage, load(self._storage, self._config), instant)

    def _target(self, data: Any, engine: str | Engine | None) -> WriteTarget:
        self._check_writable()
        plugins = self._plugins()
        runner = self._resolve_engine(data, engine)
        properties.recover(self._storage)
        self._refresh()
        if heal(self._storage, self._config):
            # What was rolled back may be in the metadata table.
            self._drop_metadata_table()
        timeline = self.timeline()
        settings = self._settings
        schema = self._schema(timeline)
        serializer = resolve(
            "serializer", self._options.get("hoodoo.serializer", "arrow"), settings
        )
        return WriteTarget(
            storage=self._storage,
            config=self._config,
            timeline=timeline,
            schema=schema,
            slices=view.build(self._storage, timeline).slices,
            engine=runner,
            generator=plugins.generator,
            merger=plugins.merger,
            index=plugins.index,
            filling_layout=resolve(
                "layout", self._options.get("hoodoo.layout", "small_file"), settings
            ).instance,
            new_layout=resolve("layout", "new_files", settings).instance,
            file_format=plugins.file_format,
            anywhere=lambda: resolve("index", "global_simple", settings).instance,
            by_path=lambda: resolve("index", "simple", settings).instance,
            logs=tables.log_settings(settings, schema),
            compacting=pending_groups(self._storage, timeline),
            serializer=serializer.instance,
            plugins=(*plugins.refs, serializer.ref),
            options=self._options,
        )

    def _check_writable(self) -> None:
        if self._config.version not in tables.WRITABLE_VERSIONS:
            raise UnsupportedTableError(
                f"table {self._config.name} of version {self._config.version}",
                "is read only: its format is an interim one of Hudi 1.0, whose writers disagree",
                "upgrade it with Hudi 1.1 or newer to version 9.",
            )
        if not self._config.populate_meta_fields:
            raise UnsupportedTableError(
                f"table {self._config.name}",
                "has virtual keys (hoodie.populate.meta.fields=false), which are only read",
                "write it with Hudi, or copy its rows into a table that hoodoo.create makes.",
            )

    def _resolve_engine(self, data: Any, engine: str | Engine | None) -> Engine:
        if engine is None:
            # An engine registers `source:<package>` for the kinds of data that only it reads.
            package = type(data).__module__.split(".")[0]
            engine = (
                f"source:{package}" if kernel().find("engine", f"source:{package}") else "local"
            )
        found: Engine = resolve("engine", engine, self._settings).instance
        return found

    def _refresh(self) -> None:
        """Another writer may have changed the properties since the table was opened."""
        found = properties.load(self._storage)
        if found != self._config:
            self._config, self._timeline, self._loaded = found, None, None

    def _drop_metadata_table(self) -> None:
        """A stale metadata table is a wrong answer: first the property goes, then the folder."""
        listed = self._config.metadata_partitions
        if listed or self._config.get("hoodie.table.metadata.partitions.inflight"):
            warnings.warn(
                f"table {self._config.name}: its metadata table ({', '.join(listed)}) is not kept by "
                "this version of Hoodoo and is removed before the first write; Hudi makes it anew.",
                HoodooWarning,
                stacklevel=5,  # the caller of upsert, and so on
            )
            keys = ("hoodie.table.metadata.partitions", "hoodie.table.metadata.partitions.inflight")
            changes: dict[str, str | None] = {key: None for key in keys}
            self._config = properties.update(self._storage, self._config, changes)
            self._timeline = None
        if listed or self._storage.list(METADATA_TABLE):
            self._storage.delete_prefix(METADATA_TABLE)


def create(
    path: str,
    schema: Any,
    *,
    name: str | None = None,
    record_key: str | Sequence[str] | None = None,
    partition_by: str | Sequence[str] = (),
    ordering: str | Sequence[str] = (),
    table_type: str = "COPY_ON_WRITE",
    table_version: int = 9,
    key_generator: Any = None,
    index: Any = None,
    merger: Any = None,
    engine: str | Engine | None = None,
    options: Mapping[str, Any] | None = None,
) -> Table:
    """Create a table and return it.

    ``schema`` is a pyarrow.Schema or a Spark StructType. ``key_generator``, ``index`` and ``merger``
    are names, Java class aliases or objects. ``options`` takes any ``hoodie.*`` key; those that
    decide bytes on disk are stored as properties of the table.

    Raises TableExistsError, ConfigError, MissingColumnError, SchemaError, UnsupportedTableError or
    PluginError; nothing has been written then.
    """
    given = tables.check_options(options, None)
    config = tables.new_config(
        path,
        schema,
        name=name,
        record_key=record_key,
        partition_by=partition_by,
        ordering=ordering,
        table_type=table_type,
        table_version=table_version,
        key_generator=key_generator,
        index=index,
        merger=merger,
        options=given,
    )
    storage = tables.open_storage(path, given)
    config = init_table(storage, config)
    overrides = {"key_generator": key_generator, "index": index, "merger": merger}
    objects = {k: v for k, v in overrides.items() if v is not None and not isinstance(v, str)}
    return Table(storage, config, given, engine, objects)


def open(
    path: str,
    options: Mapping[str, Any] | None = None,
    *,
    key_generator: Any = None,
    index: Any = None,
    merger: Any = None,
    engine: str | Engine | None = None,
) -> Table:
    """Open a table.

    ``key_generator``, ``index`` and ``merger`` take objects for tables that were created with an
    unpackaged one. Raises NotATableError, UnsupportedTableError, CorruptTableError,
    UnknownOptionError or OptionConflictError.
    """
    storage = tables.open_storage(path, {})
    config = properties.load(storage)
    given = tables.check_options(options, config)
    overrides = {"key_generator": key_generator, "index": index, "merger": merger}
    objects = {k: v for k, v in overrides.items() if v is not None}
    tables.check_overrides(config, objects)
    return Table(storage, config, given, engine, objects)


def _some(names: set[str]) -> str:
    shown = sorted(names)[:5]
    return "it has " + ", ".join(repr(n) for n in shown) + (", ..." if len(names) > 5 else "")
