"""Rows of one open table: its plugins, and what a write works on. Core reaches it by the hook
``hoodoo_table_rows``."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from attrs import evolve, frozen
from hoodoo.errors import ConfigError, PluginError, warn
from hoodoo.hookspecs.clustering_updates import DOUBLES, PendingPlan
from hoodoo.hookspecs.conflict import ConflictStrategy
from hoodoo.hookspecs.engine import Engine
from hoodoo.hookspecs.index import ANYWHERE, PathIndex
from hoodoo.hookspecs.key_generator import (
    KeyGenerator,
    Settles,
    deletes_only,
    record_key_columns,
)
from hoodoo.hookspecs.layout import NEW_FILES
from hoodoo.hookspecs.log_block import LogBlockFormat
from hoodoo.hookspecs.read_source import ReadSource
from hoodoo.hookspecs.registration import PluginRef, Settings
from hoodoo.kernel.registry import kernel
from hoodoo.kernel.resolve import Resolved, default_name, in_role, resolve
from hoodoo.model.config import HUDI_INDEX, OWN_INDEX, TableConfig
from hoodoo.model.filegroup import FileSlice
from hoodoo.model.log_block import BlockKind
from hoodoo.model.meta import RECORD_KEY
from hoodoo.options import write as write_options
from hoodoo.options.core import LOG_BLOCKS
from hoodoo.options.table import CDC, CDC_MODE
from hoodoo.participants.of_table import Joined
from hoodoo.table import index_choice
from hoodoo.table.handle import Follow, TableHandle
from hoodoo.table.settings import generator_name, merger_name
from hoodoo.timeline.batches import Batch
from hoodoo.timeline.layouts import layout_of
from hoodoo.timeline.plans import PLANNER, pending_clusterings, pending_groups
from hoodoo.timeline.snapshot import Snapshot, TableSnapshot
from hoodoo.timeline.timeline import Timeline

from hoodoo_rows.kept_elsewhere import refuse_image
from hoodoo_rows.merge.rule import as_of_schema
from hoodoo_rows.merge.virtual import VirtualKeys, stores_keys
from hoodoo_rows.read.plan import plan_scan
from hoodoo_rows.read.source import refuse_dropped

if TYPE_CHECKING:  # a read imports nothing of writes
    from hoodoo_rows.write.operation import WriteKind
    from hoodoo_rows.write.request import WriteRequest
    from hoodoo_rows.write.target import LogSettings, WritePlugins, WriteTarget

# What the handle stores of this module, by these names.
_PLUGINS, _OF_WRITES, _WARNED = "rows.plugins", "rows.write_plugins", "rows.warned_of_keys"


@frozen
class Plugins:
    """The objects that decide for one table, and their references for workers."""

    generator: Any
    merger: Any
    index: Any
    file_format: Any
    refs: tuple[PluginRef, ...]


class TakesNoPart:
    """Base of participants that take part in no action, and only undo what goes with one."""

    def join(self, *_table: object) -> None:
        """Nothing is begun with any action."""


# --- plugins --------------------------------------------------------------------------------------
def plugins(table: TableHandle) -> Plugins:
    """Key generator, merger, index and file format, as the properties name them. Made once for
    these."""
    made = table.made  # another thread that reads other properties puts a new one in its place
    found: Plugins | None = made.get(_PLUGINS)
    if found is None:
        config, overrides = table.config, table.overrides
        if table.other_index is not None:
            named = (HUDI_INDEX, OWN_INDEX)
            config = TableConfig({k: v for k, v in config.properties.items() if k not in named})
            by = table.other_index.ref
            overrides = {**overrides, "index": by.name if by.instance is None else by.instance}
        try:
            found = made[_PLUGINS] = load_plugins(config, table.options, overrides)
        except PluginError:
            refuse_image(
                Snapshot(table.storage, table.timeline())
            )  # there it is no matter of plugins
            raise
    return found


def write_plugins(table: TableHandle) -> WritePlugins:
    """Those, and what else decides in a write, by the options. Made once for the properties and
    options."""
    made, each = table.made, plugins(table)
    found: tuple[Plugins, dict[str, str], WritePlugins] | None = made.get(_OF_WRITES)
    if found is None or found[0] is not each or found[1] != table.options:
        found = (each, dict(table.options), _write_plugins(each, table.settings))
        made[_OF_WRITES] = found
    return found[2]


def key_generator(table: TableHandle) -> KeyGenerator:
    """The key generator as the next write needs it: one that the table's properties don't tell
    enough reads a row of the table. ConfigError where that does not say it either."""
    found: KeyGenerator = plugins(table).generator
    if not isinstance(found, Settles):
        return found
    return found.settled(lambda: stored_row(table, record_key_columns(found)))


def load_plugins(
    config: TableConfig, options: Mapping[str, str], overrides: Mapping[str, Any]
) -> Plugins:
    """The plugins that the table's properties name; ``overrides`` are objects given by the user."""
    settings = Settings(config, options)
    generator, generator_ref = resolve(
        "key_generator", overrides.get("key_generator") or generator_name(config), settings
    )
    merger, merger_ref = resolve("merger", overrides.get("merger") or merger_name(config), settings)
    # Again, as the properties may have changed since the table was opened.
    index, index_ref = index_choice.loaded(settings, overrides.get("index"))
    file_format, format_ref = resolve("file_format", config.base_file_format, settings)
    if not config.populate_meta_fields:
        file_format = VirtualKeys(file_format, generator, config.filled_meta)
    if deletes_only(generator) and not index.is_global:
        raise ConfigError(
            f"key generator {generator_ref.name}",
            f"makes no partition paths, and the index {index_ref.name} looks for keys only in "
            "their partition path.",
            "use a global index, or leave the key generator out: table.delete with the key columns "
            "deletes rows in all partitions.",
        )
    refs: tuple[PluginRef, ...] = (generator_ref, merger_ref, index_ref, format_ref)
    if config.table_type == "MERGE_ON_READ":  # whose workers read log files
        refs += (resolve("log_format", config.log_file_format, settings).ref,)
        names = (offer.name for offer in kernel().offers("log_block"))
        refs += tuple(resolve("log_block", name, settings).ref for name in names)
    return Plugins(generator, merger, index, file_format, refs)


def _write_plugins(plugins: Plugins, settings: Settings) -> WritePlugins:
    """``plugins``, and what else decides in a write."""
    from hoodoo_rows.write.target import WritePlugins

    options = settings.options
    layout = write_options.LAYOUT.given(options) or default_name("layout", settings)
    packing = write_options.SERIALIZER.given(options) or default_name("serializer", settings)
    updates = write_options.UPDATES.given(options)
    serializer, changes = resolve("serializer", packing, settings), _change_logs(settings)

    def made(family: str, name: str) -> Any:
        return resolve(family, name, settings).instance

    def of_updates() -> str:
        if isinstance(plugins.index, PathIndex):
            return in_role("clustering_updates", DOUBLES)
        return default_name("clustering_updates", settings)

    return WritePlugins(
        generator=plugins.generator,
        merger=plugins.merger,
        index=plugins.index,
        file_format=plugins.file_format,
        filling_layout=made("layout", layout),
        new_layout=made("layout", in_role("layout", NEW_FILES)),
        serializer=serializer.instance,
        anywhere=lambda: made("index", in_role("index", ANYWHERE)),
        by_path=lambda: made("index", default_name("index", settings)),
        updates=lambda: made("clustering_updates", updates or of_updates()),
        changes=changes and changes.instance,
        refs=(*plugins.refs, serializer.ref, *([changes.ref] if changes else ())),
    )


def log_settings(settings: Settings, schema: pa.Schema) -> LogSettings | None:
    """How log files are written; None for a table that is copied on write."""
    from hoodoo_rows.write.target import LogSettings

    table = settings.table
    if table.table_type != "MERGE_ON_READ":
        return None
    # Spark Hudi 1.2 compares texts wrongly where they come from Parquet blocks: a late row wins.
    texts = any(f.name in table.ordering_fields and pa.types.is_string(f.type) for f in schema)
    # Hudi has Avro blocks beside such files; nobody has seen it read others there.
    avro = texts or table.base_file_format in ("LANCE", "ORC")
    wanted = LOG_BLOCKS.given(settings.options) or ("avro" if avro else "parquet")
    blocks: LogBlockFormat = resolve("log_block", wanted, settings).instance
    if blocks.kind == BlockKind.CDC:
        raise ConfigError(
            f"option {LOG_BLOCKS.key}",
            f"names {wanted!r}, whose blocks contain changes, not rows.",
            "Give another format, or leave the option out.",
        )
    log_format = resolve("log_format", table.log_file_format, settings).instance
    layout = layout_of(table)
    filled = None if table.populate_meta_fields else table.filled_meta
    # In version 6 blocks do not say of which base file they speak.
    notes = layout.names_completion and log_format.notes_rows
    return LogSettings(
        table.name, layout.log_marker, log_format, blocks, filled=filled, notes_rows=notes
    )


def _change_logs(settings: Settings) -> Resolved | None:
    """What notes the changes of rewrites; None for a table without logs of change data. PluginError
    where no plugin offers what the table's properties ask."""
    if not CDC.stored(settings.table.properties):
        return None
    wanted = (settings.table.get(CDC_MODE.key) or "").strip()
    return resolve("change_log", wanted or default_name("change_log", settings), settings)


def _conflict_strategy(settings: Settings) -> ConflictStrategy:
    """What counts as a conflict between two writers."""
    wanted = write_options.CONFLICTS.given(settings.options) or default_name("conflict", settings)
    found: ConflictStrategy = resolve("conflict", wanted, settings).instance
    return found


# --- rows -----------------------------------------------------------------------------------------
def stored_row(table: TableHandle, columns: Sequence[str]) -> pa.RecordBatch | None:
    """One row's meta columns and ``columns``; None of an empty table."""
    from hoodoo_rows.read import stored_row as rows_of_files

    return rows_of_files.stored_row(table.source(), columns)


def stored_schema(source: ReadSource) -> pa.Schema:
    """The columns of a table whose commits and properties say none: those of its base files."""
    return plan_scan(source).stored


def warn_of_stored_keys(table: TableHandle, slices: Sequence[FileSlice]) -> None:
    """Warn once of files whose stored keys are not read, as these are virtual."""
    if _WARNED in table.warned or RECORD_KEY in table.config.filled_meta:
        return
    storing = sum(stores_keys(s, table.config) for s in slices)
    if storing:
        table.warned.add(_WARNED)
        warn(
            f"table {table.config.name}: its record keys are virtual; {storing} of {len(slices)} "
            "file "
            "groups have older files with stored keys, which are not used. table.rewrite_keys() "
            "makes these files "
            "smaller."
        )


# --- writes ---------------------------------------------------------------------------------------
def write_target(
    table: TableHandle,
    data: Any = None,
    engine: str | Engine | None = None,
    repair: bool = True,
    spare: Collection[str] = (),
    looks: bool = False,
    later: bool = False,
) -> WriteTarget:
    """What a write or an action works on: one look at the table, the plugins that decide, and the
    engine.

    ``data`` is what is written, and chooses the engine; an action has none. ``engine``: by default
    that of the table. ``repair``, ``spare``, ``looks`` and ``later``:
    :meth:`hoodoo.table.handle.TableHandle.on_snapshot`."""
    if not looks:
        table.check_writable()
        if table.config.drop_partition_columns:
            refuse_dropped(table.config)
    runner = table.engine(data, engine or table.default_engine)
    return table.on_snapshot(
        partial(_target, table, runner),
        check=lambda: plugins(table),  # what is missing is said before anything is changed
        repair=repair,
        spare=spare,
        looks=looks,
        later=later,
    )


def _target(
    table: TableHandle, runner: Engine, snapshot: TableSnapshot, joined: Joined | None, calm: bool
) -> WriteTarget:
    from hoodoo_rows.read.exact import refuse_inexact
    from hoodoo_rows.write.target import WritePolicy, WriteTarget

    timeline = snapshot.timeline
    policy = WritePolicy(
        options=table.options,
        logs=log_settings(table.settings, snapshot.schema),
        compacting=pending_groups(Snapshot(table.storage, timeline)),
        clusterings=_pending_plans(table, timeline),
        refuse_inexact=lambda grown: refuse_inexact(
            evolve(table.source(), timeline=timeline), runner, grown
        ),
    )
    decide = write_plugins(table)
    file_format = as_of_schema(
        decide.file_format, table.storage, timeline.latest_schema(table.storage)
    )
    decide = evolve(decide, generator=key_generator(table), file_format=file_format)
    return WriteTarget(snapshot, decide, policy, runner, joined, calm)


def _pending_plans(table: TableHandle, timeline: Timeline) -> tuple[PendingPlan, ...]:
    undone = write_options.UNDONE.read(table.options)
    return tuple(
        PendingPlan(
            instant=plan.instant.requested,
            strategy=plan.strategy,
            groups=plan.file_groups,
            params=plan.params,
            action=plan.instant.action,
            is_foreign=undone or PLANNER not in plan.extra,
        )
        for plan in pending_clusterings(Snapshot(table.storage, timeline))
    )


def write_request(
    table: TableHandle,
    kind: WriteKind,
    take_snapshot: Callable[[], WriteTarget] | None = None,
    batch: Batch | None = None,
    follow: Follow = lambda timeline, files: None,
) -> WriteRequest:
    """A commit of ``kind``, for the functions of :mod:`hoodoo_rows.write.run`."""
    from hoodoo_rows.write.request import WriteRequest

    return WriteRequest(
        storage=table.storage,
        kind=kind,
        look=take_snapshot or partial(write_target, table),
        undo=table.undo,
        before_publish=table.participants.drop_stale,
        conflicts=_conflict_strategy(table.settings),
        turns=table.writer_queue,
        repeats=write_options.REPEATS.read(table.options),
        batch=batch,
        table=table.config.name,
        likely=table.likely_instant,
        saw=table.saw,
        follow=follow,
        late=table.expect_leftovers,
    )
