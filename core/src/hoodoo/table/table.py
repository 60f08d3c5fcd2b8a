"""The public face: ``hoodoo.create``, ``hoodoo.open`` and :class:`Table`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

import pyarrow as pa

from hoodoo.actions import rewrite_keys
from hoodoo.actions.rewrite_keys import RewrittenKeys
from hoodoo.calls import checked
from hoodoo.errors import (
    CommitConflictError,
    ConfigError,
    DataError,
    NotATableError,
    StorageError,
    warn,
)
from hoodoo.hookspecs.engine import Engine
from hoodoo.hookspecs.key_generator import table_properties
from hoodoo.hookspecs.registration import Settings
from hoodoo.merge.virtual import key_columns
from hoodoo.model.config import STORED_UNTIL, TableConfig
from hoodoo.model.filegroup import FileSlice
from hoodoo.model.meta import COMMIT_TIME, PARTITION_PATH, RECORD_KEY
from hoodoo.model.virtual_keys import kept_columns
from hoodoo.options.write import DUPLICATES
from hoodoo.participants.of_table import Participants
from hoodoo.read.changes.scan import Changes
from hoodoo.read.incremental import plan_incremental
from hoodoo.read.scan import Scan
from hoodoo.read.source import ReadSource, check_readable
from hoodoo.read.stored_row import stored_row
from hoodoo.storage.api import Storage
from hoodoo.table import foreign
from hoodoo.table import settings as tables
from hoodoo.table.clustering import Clusterings
from hoodoo.table.new_table import new_config
from hoodoo.table.writing import SNAPSHOT_ATTEMPTS
from hoodoo.timeline import properties
from hoodoo.timeline.batches import Batch
from hoodoo.timeline.create import init_table
from hoodoo.write import operation
from hoodoo.write.commit import Commit
from hoodoo.write.run import drop_partitions
from hoodoo.write.target import WriteTarget

Read = TypeVar("Read")


class Table(Clusterings):
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
        scan = self._planned(
            lambda source: Scan.of(source, columns=columns, where=where, as_of=as_of, mode=mode)
        )
        self._tell_stored_keys(scan.plan.slices)
        return scan

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
        policy = DUPLICATES.read(self._options)
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

    # --- virtual keys -----------------------------------------------------------------------------
    def enable_virtual_keys(self, kept: Sequence[str] = (COMMIT_TIME,)) -> None:
        """From now on rows don't store their record keys, which are made of their columns (RFC-21).

        Changes the table's properties alone: files that store keys stay, and these are not looked at any
        more. ``kept``: the meta columns that rows store all the same; with all five of them, the keys can
        be made stored ones again. Does nothing where they are virtual already. A record index, which is of
        stored keys, is given up: see docs/virtual-keys.md.

        Raises ConfigError where readers could not make the keys again, or where a stored one differs
        from what its columns say.
        """
        self._check_writable()
        self._refresh()
        if not self._config.populate_meta_fields:
            return
        kept = kept_columns(",".join(kept))
        plugins = self._plugins()
        generator = tables.settled(
            plugins.generator, lambda columns: stored_row(self._source(), columns)
        )
        tables.check_virtual(generator, self._config.key_generator or generator.__class__.__name__)
        columns = key_columns(generator, self.schema)
        rewrite_keys.check_made(generator, stored_row(self._source(), columns), columns)
        pinned = table_properties(generator)
        self._drop_stale()
        stored = self._without_stored_index()
        self._change({**rewrite_keys.enabling(self.timeline(), kept, pinned), **stored})
        if stored:
            self._delete_stored_index()

    def rewrite_keys(
        self, virtual: bool = True, *, engine: str | Engine | None = None
    ) -> RewrittenKeys:
        """Rewrite the files that store record keys although these are virtual; where they are not yet,
        they become so first, as by :meth:`enable_virtual_keys`.

        File group by file group, in commits of a few each: the table can be read and written meanwhile,
        a run that was cut short is begun again, and the old files are there for time travel until they
        are cleaned. Slices with log files are compacted. ``virtual=False`` makes the keys stored ones
        again, if all rows store them: that is the way back for a table that kept all meta columns.

        Raises ConfigError, CommitConflictError where other writers come in between again and again.
        """
        if not virtual:
            self._store_keys()
            return RewrittenKeys()
        self.enable_virtual_keys()
        chosen = engine or self._engine
        done: list[Commit] = []
        if self._config.table_type == "MERGE_ON_READ":
            done.append(self.compact(rewrite_keys.Storing(self._config), engine=chosen))
        look = partial(self._target, None, chosen)
        done += rewrite_keys.rewrite(self._order(operation.UPSERT, look))
        done = [commit for commit in done if commit.instant]
        slices = self._seen()[1]
        left = [s for s in slices if rewrite_keys.stores_keys(s, self._config)]
        if not left and self._config.get(STORED_UNTIL) is not None:
            self._change({STORED_UNTIL: None})
        return RewrittenKeys(
            tuple(commit.instant for commit in done),
            sum(len(commit.files) for commit in done),
            tuple((s.partition_path, s.file_id) for s in left),
        )

    def _tell_stored_keys(self, slices: Sequence[FileSlice]) -> None:
        if self._told_stored_keys or RECORD_KEY in self._config.filled_meta:
            return
        storing = sum(rewrite_keys.stores_keys(s, self._config) for s in slices)
        if storing:
            self._told_stored_keys = True
            warn(
                f"table {self._config.name}: its record keys are virtual; {storing} of {len(slices)} file "
                "groups have files from before, whose stored keys are not looked at. "
                "table.rewrite_keys() makes them smaller."
            )

    def _store_keys(self) -> None:
        self._check_writable()
        self._refresh()
        if not self._config.populate_meta_fields:
            file_format = check_readable(self._source())
            generator = self._plugins().generator
            rewrite_keys.check_all_stored(self._storage, file_format, self._seen()[1], generator)
            self._drop_stale()
            self._change(rewrite_keys.disabling())

    def _change(self, changes: Mapping[str, str | None]) -> None:
        self._config = properties.update(self._storage, self._config, changes)
        self._timeline, self._loaded = None, None

    # --- inside -----------------------------------------------------------------------------------
    def _changed(self, since: str | datetime, until: str | datetime | None) -> pa.Table:
        return self.incremental(since, until, [RECORD_KEY, PARTITION_PATH]).to_arrow()

    def _planned(self, plan: Callable[[ReadSource], Read]) -> Read:
        """A read, planned again where others took files away while it was. CommitConflictError where they
        do so faster than the table can be listed."""
        self._refresh()  # the keys may have become virtual: rows that were written since lack them
        for _ in range(SNAPSHOT_ATTEMPTS - 1):
            with suppress(CommitConflictError):
                return plan(self._source())
        return plan(self._source())


@checked
def create(
    path: str,
    schema: Any,
    *,
    name: str | None = None,
    record_key: str | Sequence[str] | None = None,
    partition_by: str | Sequence[str] = (),
    ordering: str | Sequence[str] = (),
    table_type: str | None = None,
    table_version: int | None = None,
    key_generator: Any = None,
    index: Any = None,
    merger: Any = None,
    engine: str | Engine | None = None,
    options: Mapping[str, Any] | None = None,
) -> Table:
    """Create a table and return it.

    ``schema`` is a pyarrow.Schema or a Spark StructType. ``key_generator``, ``index`` and ``merger``
    are names, Java class aliases or objects. ``table_type`` is COPY_ON_WRITE where nothing is said, or
    MERGE_ON_READ; ``table_version`` 9, or 6. ``options`` takes any ``hoodie.*`` key; those that decide bytes
    on disk are stored as properties of the table. What arguments say, Hudi's own options may say as well or
    instead, as ``df.write.format("hudi").options(...)`` has them.

    Raises OptionConflictError where two of them differ, TableExistsError, ConfigError, MissingColumnError,
    SchemaError, UnsupportedTableError or PluginError; nothing has been written then.
    """
    given = tables.check_options(options, None)
    config = new_config(
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
    tables.check_engine(engine)
    storage = tables.open_storage(path, given)
    config = Participants.of(Settings(config, given)).new_table(config)
    guarded = tables.guarded(storage, Settings(config, given))
    tables.turns(
        Settings(config, given)
    )  # what options say of locks is judged before the table is there
    try:
        config = init_table(storage, config)
    except StorageError as error:
        if not foreign.is_file(storage, partial(tables.open_storage, options=given)):
            raise
        raise ConfigError(
            f"path {path}", "is a file, and a table is a directory.", "Choose another path."
        ) from error
    overrides = {"key_generator": key_generator, "index": index, "merger": merger}
    objects = {k: v for k, v in overrides.items() if v is not None and not isinstance(v, str)}
    table = Table(guarded, config, given, engine, objects)
    table._created()
    return table


@checked
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
    unpackaged one. ``options`` takes any ``hoodie.*`` key; the storage gets them, too. Raises
    NotATableError, UnsupportedTableError, CorruptTableError, ConfigError, UnknownOptionError or
    OptionConflictError.
    """
    tables.check_engine(engine)
    typed = tables.typed_options(options)
    storage = tables.open_storage(path, typed)
    config = _properties(storage, partial(tables.open_storage, options=typed))
    given = tables.check_options(options, config)
    overrides = {"key_generator": key_generator, "index": index, "merger": merger}
    objects = {k: v for k, v in overrides.items() if v is not None}
    tables.check_overrides(config, objects, given)
    storage = tables.guarded(storage, Settings(config, given))
    return Table(storage, config, given, engine, objects)


def _properties(storage: Storage, at: Callable[[str], Storage]) -> TableConfig:
    """What makes the directory a table; an error that says what it is instead."""
    try:
        return properties.load(storage)
    except (NotATableError, StorageError) as error:
        found = foreign.found_at(storage, at)
        if found is None or not (isinstance(error, NotATableError) or foreign.is_file(storage, at)):
            raise
        rule = "there is no .hoodie directory" if isinstance(error, StorageError) else error.rule
        raise NotATableError(
            storage.root, f"{rule.rstrip('.')}; {found.what}.", found.fix
        ) from error


def _some(names: set[str]) -> str:
    shown = sorted(names)[:5]
    return "it has " + ", ".join(repr(n) for n in shown) + (", ..." if len(names) > 5 else "")
