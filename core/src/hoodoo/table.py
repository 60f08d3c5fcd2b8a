"""The public face: ``hoodoo.create``, ``hoodoo.open`` and :class:`Table`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, TypeVar

from hoodoo import tables
from hoodoo.actions import compaction
from hoodoo.actions.heal import heal
from hoodoo.errors import CommitConflictError, ConfigError, DataError, HoodooError, warn
from hoodoo.hookspecs.engine import Engine
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.resolve import resolve
from hoodoo.model.filegroup import FileSlice
from hoodoo.read.changes import Changes
from hoodoo.read.incremental import plan_incremental
from hoodoo.read.scan import Scan
from hoodoo.read.source import ReadSource
from hoodoo.read.stored_row import stored_row
from hoodoo.services import Services
from hoodoo.timeline import properties, view
from hoodoo.timeline.batches import Batch
from hoodoo.timeline.compaction_plan import pending_groups
from hoodoo.timeline.create import init_table
from hoodoo.timeline.taken import taken_since
from hoodoo.timeline.timeline import Timeline
from hoodoo.write import operation
from hoodoo.write.commit import Commit
from hoodoo.write.delete_keys import as_keys
from hoodoo.write.run import Order, drop_partitions, run
from hoodoo.write.target import WriteTarget

_LOOKS = 10
Read = TypeVar("Read")


class Table(Services):
    """A Hudi table. Made by :func:`create` or :func:`open`; cheap to make, safe to throw away.

    Every call looks at the table as it is then: two objects of one table see each other's commits.
    """

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
        return self._planned(
            lambda source: Scan.of(source, columns=columns, where=where, as_of=as_of, mode=mode)
        )

    def incremental(
        self,
        since: str | datetime,
        until: str | datetime | None = None,
        columns: Sequence[str] | None = None,
        where: Any = None,
    ) -> Scan:
        """A lazy scan of the rows that commits after ``since``, up to ``until`` or now, wrote, as they
        stand at the end. Deletes are no rows: see :meth:`changes`.

        Points are those of ``as_of``, or ``"earliest"``; commits are ordered by completion, in version
        6 by request. ``scan.plan.until`` is the ``since`` of the next read. Raises ConfigError for bad
        points and where a clean took files away that ``until`` needs.
        """
        return self._planned(
            lambda source: Scan(source, plan_incremental(source, since, until, columns, where))
        )

    def changes(
        self,
        since: str | datetime,
        until: str | datetime | None = None,
        columns: Sequence[str] | None = None,
        where: Any = None,
    ) -> Changes:
        """What each commit after ``since``, up to ``until`` or now, did: one row for each inserted, updated
        or deleted row, with its images before and after.

        ``columns`` are those of the images; ``where`` is asked of both, and one has to match. A row
        that moves to another partition path is deleted there and inserted here. Raises as
        :meth:`incremental` does.
        """
        return self._planned(
            lambda source: Changes.of(
                source, since=since, until=until, columns=columns, where=where
            )
        )

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

        first = True

        def look() -> WriteTarget:
            nonlocal first
            target = self._target(None, self._engine or "local")
            known = {s.partition_path for s in target.slices}
            unknown = sorted(set(wanted) - known)
            # A repeated attempt may find that the other writer dropped the same.
            began, first = first, False
            if unknown and began:
                raise DataError(
                    f"partition {', '.join(unknown)}", f"is not in the table ({_some(known)})",
                    "give partition paths as table.file_slices() shows them.",
                )  # fmt: skip
            return target

        services = self._inline_services()
        commit = drop_partitions(self._order(operation.DELETE_PARTITION, look), wanted)
        services(lambda: self._resolve_engine(None, self._engine or "local"))
        return commit

    # --- inside -----------------------------------------------------------------------------------
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
        services = self._inline_services()
        chosen = engine or self._engine
        commit = run(self._order(kind, lambda: self._target(data, chosen), batch), data)
        if commit.instant:
            services(lambda: self._resolve_engine(data, chosen))
        return commit

    def _order(
        self,
        kind: operation.WriteKind,
        look: Callable[[], WriteTarget],
        batch: Batch | None = None,
    ) -> Order:
        return Order(
            storage=self._storage,
            kind=kind,
            look=look,
            undo=self._undo,
            before_publish=self._drop_metadata_table,
            conflicts=tables.conflict_strategy(self._settings),
            turns=self._turns,
            repeats=tables.repeats(self._options),
            batch=batch,
        )

    def _inline_services(self) -> Callable[[Callable[[], Engine]], None]:
        """What has to be done after a write: its options are checked now, before anything is written."""
        every = compaction.inline_interval(self._config, self._options)
        cleaning = self._inline_cleaning()
        archiving = self._inline_archiving()

        def after(engine: Callable[[], Engine]) -> None:
            def compacting(timeline: Timeline) -> bool:
                wanted = compaction.commits_since(timeline) >= every
                return wanted and bool(self.compact(engine=engine()).instant)

            timeline: Timeline | None = None  # one look serves all that have nothing to do
            for what, method, service in (
                ("compaction", "compact", compacting if every else None),
                ("cleaning", "clean", cleaning),
                ("archiving", "archive", archiving),
            ):
                if service is None:
                    continue
                try:
                    timeline = timeline or self.timeline()
                    if service(timeline):
                        timeline = None
                except (HoodooError, FileNotFoundError) as error:  # others take files away
                    timeline = None  # the rows have landed: this is no failure of the write
                    warn(
                        f"table {self._config.name}: the write is done, the inline {what} after it is "
                        f"not ({error}); table.{method}() finishes it."
                    )

        return after

    def _target(self, data: Any, engine: str | Engine | None) -> WriteTarget:
        self._check_writable()
        for _ in range(_LOOKS - 1):
            with suppress(FileNotFoundError):  # others archived between a listing and its reading
                return self._looked_at(data, engine)
        return self._looked_at(data, engine)

    def _looked_at(self, data: Any, engine: str | Engine | None) -> WriteTarget:
        plugins = self._plugins()
        runner = self._resolve_engine(data, engine)
        properties.recover(self._storage)
        self._refresh()
        if heal(self._storage, self._config):
            # What was rolled back may be in the metadata table.
            self._drop_metadata_table()
        timeline, slices = self._seen()
        settings = self._settings
        schema = self._schema(timeline)
        generator = tables.settled(
            plugins.generator, lambda columns: stored_row(self._source(), columns)
        )
        serializer = resolve(
            "serializer", self._options.get("hoodoo.serializer", "arrow"), settings
        )
        return WriteTarget(
            storage=self._storage,
            config=self._config,
            timeline=timeline,
            schema=schema,
            slices=slices,
            engine=runner,
            generator=generator,
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

    def _planned(self, plan: Callable[[ReadSource], Read]) -> Read:
        """A read, planned again where others took files away while it was. CommitConflictError where they
        do so faster than the table can be listed."""
        for _ in range(_LOOKS - 1):
            with suppress(CommitConflictError):
                return plan(self._source())
        return plan(self._source())

    def _seen(self) -> tuple[Timeline, tuple[FileSlice, ...]]:
        """The timeline, and the newest slices that it tells of. CommitConflictError where others take
        files away faster than these can be listed."""
        for _ in range(_LOOKS):
            timeline = self._look()
            slices = view.build(self._storage, timeline).slices
            if not taken_since(self._storage, timeline):
                return timeline, slices
        raise CommitConflictError(
            f"table {self._config.name}", f"files were taken away {_LOOKS} times while they were listed.",
            "Repeat the write.",
        )  # fmt: skip


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
    storage = tables.guarded(storage, Settings(config, given))
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
    storage = tables.guarded(storage, Settings(config, given))
    return Table(storage, config, given, engine, objects)


def _some(names: set[str]) -> str:
    shown = sorted(names)[:5]
    return "it has " + ", ".join(repr(n) for n in shown) + (", ..." if len(names) > 5 else "")
