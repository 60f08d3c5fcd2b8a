"""The public face: ``hoodoo.create``, ``hoodoo.open`` and :class:`Table`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from attrs import evolve

from hoodoo.calls import checked, lacks
from hoodoo.errors import (
    CallError,
    ConfigError,
    HoodooError,
    NotATableError,
    PluginError,
    StorageError,
    TableExistsError,
)
from hoodoo.hookspecs.creation import FirstRows, Found, NewTable
from hoodoo.hookspecs.engine import Engine
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.deprecations import old_names, warn_of_old
from hoodoo.kernel.registry import kernel
from hoodoo.model.brief import Shown, some
from hoodoo.model.config import TableConfig
from hoodoo.participants.of_table import Participants
from hoodoo.storage.api import Storage
from hoodoo.storage.together import together
from hoodoo.table import looks, running
from hoodoo.table import settings as tables
from hoodoo.table.brought import Brought
from hoodoo.table.handle import TableHandle
from hoodoo.table.verbs import offered, verb
from hoodoo.timeline import properties
from hoodoo.timeline.create import init_table
from hoodoo.timeline.timeline import FOLDER, Timeline


class Table(Brought, Shown):
    """A Hudi table, returned by ``create`` or ``open``.

    Every call reads the present state of the table: two objects for one table see each other's
    commits. The methods are functions over the table's ``TableHandle``, one module for each kind.
    """

    def __new__(cls, *given: Any, **named: Any) -> Table:
        if len(given) == 1 and not named:
            raise CallError(f"hoodoo.Table({given[0]!r})", "opens no table.", "hoodoo.open(path).")
        return super().__new__(cls)

    def __init__(
        self,
        storage: Storage,
        config: TableConfig,
        options: Mapping[str, str],
        engine: str | Engine | None = None,
        overrides: Mapping[str, Any] | None = None,
    ) -> None:
        self._handle = TableHandle(storage, config, options, engine, overrides)

    if not TYPE_CHECKING:  # type checkers know the names of today

        def __getattr__(self, name: str) -> Any:
            found = offered(name) if name[:1] != "_" or name.startswith("__arrow") else None
            if found is not None:
                return found.__get__(self)
            entry = old_names("method").get(name)
            if entry is None:
                lacks("'Table' object has no attribute", "Table", name, of=self)
            warn_of_old(entry, "this program")
            return getattr(self, entry.new)

    def __repr__(self) -> str:
        return f"<hoodoo.Table {self.config.name} at {self.path}>"

    def _facts(self) -> Mapping[str, object]:
        config = self.config
        return {
            "name": config.name,
            "path": self.path,
            "type": f"{config.table_type}, version {config.version}",
            "record key": ", ".join(config.record_key_fields) or "generated",
            "partitioned by": ", ".join(config.partition_fields) or "nothing",
            "columns": some((f"{f.name}: {f.type}" for f in self.schema), 20),
            "newest": next(reversed(self.timeline().writes()), "no commit"),
        }

    @property
    def path(self) -> str:
        """Absolute URI of the table."""
        return self._handle.storage.root

    @property
    def config(self) -> TableConfig:
        """The table's properties."""
        return self._handle.config

    @property
    def schema(self) -> pa.Schema:
        """The table's own columns at this time, without the ``_hoodie_*`` columns."""
        return self._handle.schema

    @property
    def handle(self) -> TableHandle:
        """The object that actions, reports and engines work with: see docs/plugins/guide.md."""
        return self._handle

    def timeline(self) -> Timeline:
        """The active timeline at this time. It includes commits that are decided but not visible
        yet because their writer died."""
        return self._handle.timeline()

    file_slices = verb(looks.file_slices)

    # Actions and reports: hoodoo.table.running
    run = verb(running.run)
    schedule = verb(running.schedule)
    run_planned = verb(running.run_planned)
    report = verb(running.report)
    rollback = verb(running.rollback)
    check_rollback = verb(running.check_rollback)


@checked
def create(
    path: str | os.PathLike[str],
    schema: Any,
    *,
    name: str | None = None,
    record_key: str | Sequence[str] | None = None,
    partition_by: str | Sequence[str] | None = (),
    ordering: str | Sequence[str] | None = (),
    table_type: str | None = None,
    table_version: int | None = None,
    key_generator: Any = None,
    index: Any = None,
    merger: Any = None,
    engine: str | Engine | None = None,
    exist_ok: bool = False,
    options: Mapping[str, Any] | None = None,
) -> Table:
    """Create a table and return it.

    ``schema`` is a pyarrow.Schema, a Spark StructType, a text (``"id bigint, city string"``) or a
    dict of columns and types. Or it is data, as writes take it: a frame, Arrow data, a list of
    rows, a dict of lists. Then the table gets its columns, **and its rows are written** in one
    commit. Two rows with one key are a DuplicateKeyError, unless ``ordering`` says which one is
    newer.

    ``exist_ok=True`` opens a table that is there, and upserts the rows. OptionConflictError or
    SchemaError if it contradicts an argument that you give, or lacks a column of the schema.

    ``record_key``, ``partition_by`` and ``ordering`` are names of columns: a list, or a text with
    commas between them. ``key_generator``, ``index`` and ``merger`` are names, Java class names or
    objects. ``table_type`` is COPY_ON_WRITE (the default) or MERGE_ON_READ, cow or mor;
    ``table_version`` is 9 (the default), 8 or 6. ``options`` accepts any ``hoodie.*`` key; those
    that decide bytes on disk become properties of the table. Hudi's own options, as in
    ``df.write.format("hudi").options(...)``, may stand for the arguments.

    Raises OptionConflictError if an argument and an option differ, TableExistsError, ConfigError,
    MissingColumnError, SchemaError, UnsupportedTableError or PluginError. Nothing has been written
    then.
    """
    path, given = str(path), tables.check_options(options, None)
    columns, rows = tables.schema_and_rows(schema)
    wanted = NewTable(
        path,
        columns,
        given,
        name=name,
        record_key=record_key,
        partition_by=partition_by or (),
        ordering=ordering or (),
        table_type=table_type,
        table_version=table_version,
        key_generator=key_generator,
        index=index,
        merger=merger,
    )
    if exist_ok:
        with suppress(NotATableError):
            return _existing(wanted, rows, engine)
    config = _new_config(wanted)
    tables.check_engine(engine)
    storage = tables.open_storage(path, given)
    config = Participants.of(Settings(config, given)).new_table(config)
    guarded = tables.guarded(storage, Settings(config, given))
    # What options say of locks is judged before the table is there.
    tables.turns(Settings(config, given))
    try:
        config = init_table(storage, config)
    except TableExistsError:
        if not exist_ok:
            raise
        return _existing(wanted, rows, engine)  # another process was faster
    except StorageError as error:
        found = _instead(storage, partial(tables.open_storage, options=given))
        if found is None or not found.is_file:
            raise
        raise ConfigError(
            f"path {path}", "is a file, but a table is a directory.", "Choose another path."
        ) from error
    overrides = {"key_generator": key_generator, "index": index, "merger": merger}
    objects = {k: v for k, v in overrides.items() if v is not None and not isinstance(v, str)}
    table = Table(guarded, config, given, engine, objects)
    table.handle.participants.created()
    if rows is not None:
        rows.write(table.handle, is_new=True)
    return table


def _existing(wanted: NewTable, rows: FirstRows | None, engine: Any) -> Table:
    """The table that is there and agrees with ``wanted``; ``rows`` are upserted."""
    chosen = {k: getattr(wanted, k) for k in ("key_generator", "index", "merger")}
    table = open(wanted.path, wanted.options, engine=engine, **chosen)
    columns = wanted.schema if rows is None else table.schema  # of rows, the write judges
    _new_config(evolve(wanted, schema=columns, exists=table))
    if rows is not None:
        rows.write(table.handle, is_new=False)
    return table


@checked
def open(
    path: str | os.PathLike[str],
    options: Mapping[str, Any] | None = None,
    *,
    key_generator: Any = None,
    index: Any = None,
    merger: Any = None,
    engine: str | Engine | None = None,
) -> Table:
    """Open a table.

    ``options`` accepts any ``hoodie.*`` key and the options of the storage. If the table was
    created with an object as its ``key_generator``, ``index`` or ``merger``, pass the object again.
    Raises NotATableError, UnsupportedTableError, CorruptTableError, ConfigError, UnknownOptionError
    or OptionConflictError.
    """
    tables.check_engine(engine)
    typed = tables.typed_options(options)
    storage = tables.open_storage(path, typed)
    found = partial(_properties, storage, partial(tables.open_storage, options=typed))
    config, *names = together(storage, found, ahead=[partial(_timeline_names, storage)])
    given = tables.check_options(options, config)
    overrides = {"key_generator": key_generator, "index": index, "merger": merger}
    objects = {k: v for k, v in overrides.items() if v is not None}
    tables.check_overrides(config, objects, given)
    storage = tables.guarded(storage, Settings(config, given))
    table = Table(storage, config, given, engine, objects)
    if any(names) and config.timeline_path == FOLDER:
        table.handle.begin_with(*names)
    return table


def _timeline_names(storage: Storage) -> list[str]:
    """File names of the timeline, for the first read."""
    with suppress(StorageError):
        return [entry.name for entry in storage.list(FOLDER) if not entry.is_dir]
    return []


def _properties(storage: Storage, at: Callable[[str], Storage]) -> TableConfig:
    """What makes the directory a table; an error that says what it is instead."""
    try:
        return properties.load(storage)
    except (NotATableError, StorageError) as error:
        found = _instead(storage, at)
        if found is None or not (isinstance(error, NotATableError) or found.is_file):
            raise
        rule = "there is no .hoodie directory" if isinstance(error, StorageError) else error.rule
        raise NotATableError(
            storage.root, f"{rule.rstrip('.')}; {found.what}.", found.fix
        ) from error


def _new_config(wanted: NewTable) -> TableConfig:
    for plugin, hook in kernel().implementations("hoodoo_new_table"):
        found = hook.function(wanted)
        if isinstance(found, TableConfig):
            return found
        if found is not None:
            raise PluginError(
                str(plugin), f"hoodoo_new_table answers {type(found).__name__}, not a TableConfig.",
                f"Repair the distribution {plugin.distribution}.",
            )  # fmt: skip
    raise PluginError(
        f"table {wanted.path}",
        "no installed plugin can create tables.",
        "pip install hoodoo-standard.",
    )


def _instead(storage: Storage, at: Callable[[str], Storage]) -> Found | None:
    """What is there, and no table; the caller has an error of its own, whatever comes of this."""
    for _plugin, hook in kernel().implementations("hoodoo_instead"):
        with suppress(HoodooError, OSError, ValueError):
            found: Any = hook.function(storage, at)
            if isinstance(found, Found):
                return found
    return None
