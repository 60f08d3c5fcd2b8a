"""Creating and opening tables: settings become properties, properties become plugins."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa
from attrs import frozen

from hoodoo.errors import (
    ConfigError,
    MissingColumnError,
    OptionConflictError,
    PluginError,
    UnsupportedTableError,
)
from hoodoo.files.parquet import ParquetFormat
from hoodoo.hookspecs.conflict import ConflictStrategy
from hoodoo.hookspecs.key_generator import KeyGenerator, Settles, deletes_only, table_properties
from hoodoo.hookspecs.registration import PluginRef, Settings
from hoodoo.kernel import options as option_rules
from hoodoo.kernel.registry import kernel
from hoodoo.kernel.resolve import declared_options, resolve
from hoodoo.model.config import PARTITION_FIELDS, TableConfig, partition_spec
from hoodoo.model.meta import without_meta
from hoodoo.model.schema_avro import avro_text
from hoodoo.model.schema_door import normalise_schema
from hoodoo.storage.api import Storage
from hoodoo.storage.lock import GuardedStorage
from hoodoo.storage.uri import split
from hoodoo.write.prepare import has_column
from hoodoo.write.target import LogSettings
from hoodoo.write.turns import Turns

WRITABLE_VERSIONS = (6, 9)
LOG_BLOCKS = "hoodie.logfile.data.block.format"
TABLE_TYPES = ("COPY_ON_WRITE", "MERGE_ON_READ")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@frozen
class Plugins:
    """The objects that decide for one table, and their references for workers."""

    generator: Any
    merger: Any
    index: Any
    file_format: Any
    refs: tuple[PluginRef, ...]


def open_storage(path: str, options: Mapping[str, str]) -> Storage:
    """The store that answers for ``path`` (a URI, or a local path)."""
    path = str(path)
    scheme, _ = split(path)
    settings = Settings(options={**options, "hoodoo.storage.uri": path})
    storage, _ref = resolve("storage", scheme, settings)
    return storage


def arrow_schema(schema: Any) -> pa.Schema:
    """A pyarrow Schema from what the user gave: pyarrow, or a Spark StructType."""
    if isinstance(schema, pa.Schema):
        return schema
    if hasattr(schema, "__arrow_c_schema__"):
        return pa.schema(schema)
    for _plugin, implementation in kernel().implementations("hoodoo_arrow_schema"):
        found = implementation.function(schema)
        if found is not None:
            return found
    raise ConfigError(
        f"schema of type {type(schema).__qualname__}",
        "is neither a pyarrow.Schema nor a schema that an installed engine knows (StructType)",
        "give one of these.",
    )


def new_config(
    path: str,
    schema: Any,
    *,
    name: str | None,
    record_key: str | Sequence[str] | None,
    partition_by: str | Sequence[str],
    ordering: str | Sequence[str],
    table_type: str,
    table_version: int,
    key_generator: Any,
    index: Any,
    merger: Any,
    options: Mapping[str, str],
) -> TableConfig:
    """The properties of a new table. Raises before anything is written."""
    keys, partitions, order = _names(record_key), _names(partition_by), _names(ordering)
    if table_version not in WRITABLE_VERSIONS:
        raise UnsupportedTableError(
            f"table version {table_version}",
            "can't be written (6 and 9 can; 8 is an interim of Hudi 1.0 that is only read)",
            "use table_version=9, or 6 for readers of Hudi 0.x.",
        )
    if table_type not in TABLE_TYPES:
        raise ConfigError(
            f"table type {table_type!r}", f"is none of {', '.join(TABLE_TYPES)}",
            'leave it out, or give table_type="COPY_ON_WRITE".',
        )  # fmt: skip
    known = without_meta(normalise_schema(arrow_schema(schema), options))
    columns = [column for column, _type in partition_spec(",".join(partitions))]
    for column in (*keys, *columns, *order):
        if not has_column(known, column):
            raise MissingColumnError(
                f"column {column}",
                f"is named as key, partition or ordering and the schema lacks it ({', '.join(known.names)})",
                "name columns of the schema.",
            )
    name = name or _default_name(path)
    if not _NAME.fullmatch(name):
        raise ConfigError(
            f"table name {name!r}", "must be a letter or _ and then letters, digits or _",
            'give name="...".',
        )  # fmt: skip
    properties = _base_properties(name, known, keys, partitions, order, table_type, table_version)
    stored = _property_options(options, properties)
    properties.update(stored)
    settings = Settings(TableConfig(properties), options)
    properties.update(
        _key_generator_properties(key_generator, keys, partitions, settings, table_version)
    )
    properties.update(_merger_properties(merger, order, settings, table_version))
    properties.update(_index_properties(index, settings))
    return TableConfig({k: v for k, v in properties.items() if v is not None})


def load_plugins(
    config: TableConfig,
    options: Mapping[str, str],
    overrides: Mapping[str, Any],
) -> Plugins:
    """The plugins that the table's properties name; ``overrides`` are objects given by the user."""
    settings = Settings(config, options)
    generator, generator_ref = resolve(
        "key_generator",
        overrides.get("key_generator") or config.key_generator or _default_generator(config),
        settings,
    )
    merger, merger_ref = resolve("merger", overrides.get("merger") or merger_name(config), settings)
    index, index_ref = resolve("index", overrides.get("index") or index_name(settings), settings)
    file_format, format_ref = resolve("file_format", config.base_file_format, settings)
    if deletes_only(generator) and not getattr(index, "is_global", False):
        raise ConfigError(
            f"key generator {generator_ref.name}",
            f"knows no partition paths, and the index {index_ref.name} looks only there.",
            "use the index global_simple, or leave the generator out: table.delete with the key columns "
            "deletes them wherever they are.",
        )
    refs = (generator_ref, merger_ref, index_ref, format_ref)
    return Plugins(generator, merger, index, file_format, refs)


def settled(
    generator: KeyGenerator, stored: Callable[[Sequence[str]], pa.RecordBatch | None]
) -> KeyGenerator:
    """``generator`` as the next write needs it. ``stored`` reads one row's meta columns and those given,
    and is asked only by a generator that the table's properties don't tell enough. ConfigError where
    nothing does."""
    if not isinstance(generator, Settles):
        return generator
    columns = tuple(dict.fromkeys(n.split(".")[0] for n in generator.record_key_fields))
    return generator.settled(lambda: stored(columns))


def log_settings(settings: Settings, schema: pa.Schema) -> LogSettings | None:
    """How log files are written; None for a table that is copied on write."""
    table = settings.table
    if table.table_type != "MERGE_ON_READ":
        return None
    # Spark Hudi 1.2 compares texts wrongly where they come from Parquet blocks: a late row wins.
    texts = any(pa.types.is_string(schema.field(n).type) for n in table.ordering_fields)
    wanted = settings.options.get(LOG_BLOCKS) or ("avro" if texts else "parquet")
    block = wanted.strip().upper()
    if block not in ("PARQUET", "AVRO"):
        raise ConfigError(
            f"option {LOG_BLOCKS}", f"must be parquet or avro, not {wanted!r}.",
            "Leave it out: parquet is smaller, and read and written faster.",
        )  # fmt: skip
    parquet = ParquetFormat.from_settings(settings).options
    marker = "APPEND" if table.layout_version < 2 else "CREATE"
    return LogSettings(table.name, marker, block, parquet.codec, parquet.level)


def guarded(storage: Storage, settings: Settings) -> Storage:
    """``storage``, whose decisions are made under the lock that the options name, if they name one."""
    wanted = settings.options.get("hoodie.write.lock.provider")
    if wanted is None:
        return storage
    lock, _ref = resolve("lock", wanted, settings)
    return GuardedStorage(storage, lock, _number(settings, "hoodie.write.lock.wait_time_ms") / 1000)


def turns(settings: Settings) -> Turns:
    """How writers that met each other go one after the other. Without a plugin for it they only wait."""
    wanted = settings.options.get("hoodie.write.lock.provider", "conditional_put")
    try:
        return Turns(resolve("lock", wanted, settings).instance)
    except PluginError:
        return Turns()


def conflict_strategy(settings: Settings) -> ConflictStrategy:
    """What counts as a conflict between two writers."""
    wanted = settings.options.get("hoodie.write.lock.conflict.resolution.strategy")
    if wanted is None:
        modes = {
            "SINGLE_WRITER": "file_groups",
            "OPTIMISTIC_CONCURRENCY_CONTROL": "file_groups",
            "NON_BLOCKING_CONCURRENCY_CONTROL": "log_appends",
        }
        key = "hoodie.write.concurrency.mode"
        mode = settings.options.get(key, "SINGLE_WRITER")
        wanted = modes.get(mode.upper())
        if wanted is None:
            raise ConfigError(
                f"option {key}={mode}", f"is none of {', '.join(modes)}",
                "leave it out: several writers are always safe.",
            )  # fmt: skip
    found: ConflictStrategy = resolve("conflict", wanted, settings).instance
    return found


def repeats(options: Mapping[str, str]) -> int:
    """How often a write starts again that lost to another writer."""
    return _number(Settings(options=options), "hoodie.write.num.retries.on.conflict.failures")


_NUMBERS = {
    "hoodie.write.lock.wait_time_ms": 60_000,
    "hoodie.write.num.retries.on.conflict.failures": 20,
}


def _number(settings: Settings, key: str) -> int:
    text = settings.options.get(key, str(_NUMBERS[key]))
    if not text.isdigit():
        raise ConfigError(f"option {key}", f"must be a number, not {text!r}.", "Correct it.")
    return int(text)


def merger_name(config: TableConfig) -> str:
    """Which merger the properties ask for (inference rules: format page 1.4)."""
    if own := config.get(OWN_MERGER):
        return own
    mode = config.merge_mode
    strategy = config.get("hoodie.record.merge.strategy.id")
    payload = config.get("hoodie.compaction.payload.class")
    if mode and mode.upper() != "CUSTOM":
        return mode
    if mode:
        return strategy or mode
    if payload and config.version != 8:
        return payload
    if strategy or payload:
        return strategy or str(payload)
    return "EVENT_TIME_ORDERING" if config.ordering_fields else "COMMIT_TIME_ORDERING"


def index_name(settings: Settings) -> str:
    """Which index the table or the options ask for."""
    return settings.get("hoodie.index.type") or settings.get(OWN_INDEX) or "simple"


def check_options(options: Mapping[str, Any] | None, config: TableConfig | None) -> dict[str, str]:
    """Options as text, known and not against the table (None: it is being created)."""
    if options is not None and not isinstance(options, Mapping):
        raise ConfigError(
            f"options of type {type(options).__qualname__}", "is no mapping of keys to values.",
            'give a dictionary, e.g. {"hoodie.parquet.compression.codec": "zstd"}.',
        )  # fmt: skip
    return option_rules.check(options, config, stacklevel=3)


def check_overrides(config: TableConfig, overrides: Mapping[str, Any]) -> None:
    """OptionConflictError for a plugin *name* other than the one the table was written with.

    Objects are the user's word for what the table can't name. An index that only finds keys may be
    another one for each writer.
    """
    told = {
        "key_generator": config.key_generator or _default_generator(config),
        "merger": merger_name(config),
        "index": config.get("hoodie.index.type"),
    }
    for family, stored in told.items():
        wanted = overrides.get(family)
        if not isinstance(wanted, str) or stored is None:
            continue
        mine, theirs = kernel().find(family, wanted), kernel().find(family, stored)
        if family == "key_generator" and mine is not None and mine.name == "GLOBAL_DELETE":
            continue  # it only deletes
        if mine is not None and theirs is not None and mine is not theirs:
            raise OptionConflictError(
                f"{family}={wanted!r}", f"contradicts the table, which has {stored!r}.",
                "Leave it out: rows that are in the table already were written with the table's.",
            )  # fmt: skip


def _names(value: str | Sequence[str] | None) -> tuple[str, ...]:
    if value is None:
        return ()
    return (value,) if isinstance(value, str) else tuple(value)


def _default_name(path: str) -> str:
    last = str(path).rstrip("/").rsplit("/", 1)[-1]
    name = re.sub(r"[^A-Za-z0-9_]", "_", last)
    return name if _NAME.fullmatch(name) else f"t_{name}"


def _base_properties(
    name: str,
    schema: pa.Schema,
    keys: tuple[str, ...],
    partitions: tuple[str, ...],
    order: tuple[str, ...],
    table_type: str,
    version: int,
) -> dict[str, str]:
    properties = {
        "hoodie.table.name": name,
        "hoodie.database.name": "default",
        "hoodie.table.type": table_type,
        "hoodie.table.version": str(version),
        "hoodie.timeline.layout.version": "1" if version < 8 else "2",
        "hoodie.archivelog.folder": "archived",
        "hoodie.table.timeline.timezone": "UTC",
        "hoodie.datasource.write.hive_style_partitioning": "false",
        "hoodie.datasource.write.partitionpath.urlencode": "false",
        "hoodie.datasource.write.drop.partition.columns": "false",
        "hoodie.table.create.schema": avro_text(schema, name),
    }
    if keys:
        properties["hoodie.table.recordkey.fields"] = ",".join(keys)
    if partitions:
        properties[PARTITION_FIELDS] = ",".join(partitions)
    if order:
        key = "hoodie.table.ordering.fields" if version >= 9 else "hoodie.table.precombine.field"
        if version < 9 and len(order) > 1:
            raise ConfigError(
                f"ordering {', '.join(order)}", f"table version {version} has one ordering column",
                "name one column, or use table_version=9.",
            )  # fmt: skip
        properties[key] = ",".join(order)
    if version >= 8:
        properties["hoodie.table.initial.version"] = str(version)
        properties["hoodie.timeline.path"] = "timeline"
        properties["hoodie.timeline.history.path"] = "history"
    if version >= 9:
        properties["hoodie.table.format"] = "native"
    return properties


def _property_options(options: Mapping[str, str], properties: Mapping[str, str]) -> dict[str, str]:
    """The options that are table properties, stored at creation. They may not contradict arguments."""
    chosen = {}
    declared = {option.key for option in declared_options() if option.table_property}
    for key, value in options.items():
        if key in properties and key not in _CHOSEN_BY_OPTION and properties[key] != value:
            raise OptionConflictError(
                f"option {key}={value}", f"contradicts the argument that says {properties[key]}",
                "say it once.",
            )  # fmt: skip
        if key in _CHOSEN_BY_OPTION or key in declared:
            chosen[key] = value
    return chosen


# Index types that say which rows the table may hold, or where. Spark Hudi takes its index from this
# property and refuses a writer that names another: for these that is right. Other indexes only find
# keys; every writer may have its own, and Hudi would fail over a name that it does not know.
_BINDING_INDEXES = frozenset({"BUCKET", "GLOBAL_SIMPLE", "GLOBAL_BLOOM"})
OWN_INDEX = "hoodoo.index.type"
# The types of partition columns, where the table version notes only names.
OWN_PARTITION_TYPES = "hoodoo.partition.types"
# A merger that is more than its mode says, as far as other readers are concerned.
OWN_MERGER = "hoodoo.merger"
# Properties with a default that an option may replace when the table is created.
_CHOSEN_BY_OPTION = frozenset(
    {
        "hoodie.database.name",
        "hoodie.datasource.write.hive_style_partitioning",
        "hoodie.datasource.write.partitionpath.urlencode",
        "hoodie.table.base.file.format",
        "hoodie.record.merge.mode",
        "hoodie.record.merge.strategy.id",
    }
)
_JAVA_GENERATORS = {
    "SIMPLE": "org.apache.hudi.keygen.SimpleKeyGenerator",
    "COMPLEX": "org.apache.hudi.keygen.ComplexKeyGenerator",
    "NON_PARTITION": "org.apache.hudi.keygen.NonpartitionedKeyGenerator",
    "TIMESTAMP": "org.apache.hudi.keygen.TimestampBasedKeyGenerator",
    "CUSTOM": "org.apache.hudi.keygen.CustomKeyGenerator",
}
_UNTYPED = frozenset(_JAVA_GENERATORS) - {"CUSTOM"}
_PAYLOADS = {
    "COMMIT_TIME_ORDERING": "org.apache.hudi.common.model.OverwriteWithLatestAvroPayload",
    "EVENT_TIME_ORDERING": "org.apache.hudi.common.model.DefaultHoodieRecordPayload",
}


def _default_generator(config: TableConfig) -> str:
    """Hudi's inference (features page 3.2)."""
    if not config.partition_fields:
        return "NON_PARTITION"
    if config.has_partition_types:
        return "CUSTOM"
    one = len(config.partition_fields) == 1 and len(config.record_key_fields) <= 1
    return "SIMPLE" if one else "COMPLEX"


def _key_generator_properties(
    chosen: Any,
    keys: tuple[str, ...],
    partitions: tuple[str, ...],
    settings: Settings,
    version: int,
) -> dict[str, str]:
    wanted = chosen or settings.get("hoodie.datasource.write.keygenerator.type") or settings.get(
        "hoodie.datasource.write.keygenerator.class"
    ) or _default_generator(settings.table)  # fmt: skip
    generator, ref = resolve("key_generator", wanted, settings)
    if deletes_only(generator):
        raise ConfigError(
            f"key generator {ref.name}", "is for deletes, no table can be filled with it.",
            "leave it out, and give it to hoodoo.open for a delete.",
        )  # fmt: skip
    if settings.table.has_partition_types and ref.name in _UNTYPED:
        raise ConfigError(
            f"partition columns {', '.join(partitions)}", f"have types, which {ref.name} has no use for.",
            "leave the types out, or the key generator: it then is CUSTOM.",
        )  # fmt: skip
    properties = dict(table_properties(generator))
    if version >= 8:
        return {"hoodie.table.keygenerator.type": ref.name, **properties}
    if settings.table.has_partition_types:  # this version has names alone
        properties[PARTITION_FIELDS] = ",".join(settings.table.partition_fields)
        properties[OWN_PARTITION_TYPES] = ",".join(partitions)
    return {
        "hoodie.table.keygenerator.class": _JAVA_GENERATORS.get(ref.name, ref.name),
        **properties,
    }


def _merger_properties(
    chosen: Any, order: tuple[str, ...], settings: Settings, version: int
) -> dict[str, str]:
    merger, ref = resolve("merger", chosen or merger_name(settings.table), settings)
    mode = merger.merge_mode
    usual = kernel().find("merger", mode)
    own: dict[str, str] = {}
    if ref.instance is None and mode != "CUSTOM" and usual and usual.name != ref.name:
        own[OWN_MERGER] = ref.name
    if mode == "EVENT_TIME_ORDERING" and not order:
        raise ConfigError(
            "merger event_time", "needs at least one ordering column",
            'create the table with ordering="column".',
        )  # fmt: skip
    if version < 8:
        payload = _PAYLOADS.get(mode)
        return {"hoodie.compaction.payload.class": payload, **own} if payload else {
            "hoodie.record.merge.mode": mode,
            "hoodie.record.merge.strategy.id": merger.strategy_id,
        }  # fmt: skip
    properties = {"hoodie.record.merge.mode": mode, **own}
    if mode == "CUSTOM":
        properties["hoodie.record.merge.strategy.id"] = merger.strategy_id
    return properties


def _index_properties(chosen: Any, settings: Settings) -> dict[str, str]:
    _object, ref = resolve("index", chosen or index_name(settings), settings)
    kept = {}
    if ref.instance is None and ref.name != "simple":
        key = "hoodie.index.type" if ref.name.upper() in _BINDING_INDEXES else OWN_INDEX
        kept[key] = ref.name.upper()
    for option in declared_options("index", ref.name):
        if option.table_property:
            value = settings.get(option.key, option.default)
            if value is not None:
                kept[option.key] = value
    return kept
