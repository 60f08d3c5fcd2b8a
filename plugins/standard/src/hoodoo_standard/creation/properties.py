"""New table: arguments and options become the properties of a table that is about to be."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import Any

import pyarrow as pa
from attrs import evolve
from hoodoo.errors import (
    ConfigError,
    HoodooError,
    HoodooWarning,
    MissingColumnError,
    OptionConflictError,
    UnsupportedTableError,
)
from hoodoo.hookspecs.creation import NewTable
from hoodoo.hookspecs.key_generator import (
    deletes_only,
    table_properties,
)
from hoodoo.hookspecs.registration import PluginRef, Settings
from hoodoo.kernel.registry import kernel, same_plugin
from hoodoo.kernel.resolve import declared_options, default_name, resolve
from hoodoo.model.brief import some
from hoodoo.model.config import PARTITION_FIELDS, TableConfig, partition_spec
from hoodoo.model.meta import without_meta
from hoodoo.model.schema import logical
from hoodoo.model.schema.avro import avro_text
from hoodoo.model.table_version import VERSIONS
from hoodoo.options.kinds import BadValueError
from hoodoo.options.table import (
    BASE_FORMAT,
    DATABASE,
    DROP_COLUMNS,
    HIVE_STYLE,
    MERGE_MODE,
    MERGE_STRATEGY,
    URL_ENCODE,
)
from hoodoo.table import index_choice
from hoodoo.table.settings import OWN_MERGER, merger_name, open_storage
from hoodoo.timeline.partitions import FILE_NAME as PARTITION_FILE
from hoodoo_rows.api import ArrivingRows, Reads, StoredFiles
from hoodoo_rows.model.normalize import normalise_schema, without_index

from hoodoo_standard.creation.agreed import Agreed, agree, conflict, said
from hoodoo_standard.creation.existing import existing_config
from hoodoo_standard.creation.foreign import rows_of_others, table_above, tables_below
from hoodoo_standard.creation.merging import (
    ordering_of,
    payload_properties,
    plain_class,
    refuse_older,
)
from hoodoo_standard.creation.options import (
    NEW_TABLE_OPTIONS,
    PAYLOAD,
    TABLE_TYPE,
    WRITER_FORMAT,
    WRITER_MODE,
    WRITER_STRATEGY,
)
from hoodoo_standard.creation.virtual import (
    CLASS,
    COLUMNS,
    CONCATENATED,
    CONCATENATOR,
    VirtualSettings,
)
from hoodoo_standard.options import JAVA_GENERATORS, JAVA_PAYLOADS
from hoodoo_standard.payloads import Payload, payload_named

TABLE_TYPES = ("COPY_ON_WRITE", "MERGE_ON_READ")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

# The types of partition columns, where the table version notes only names.
OWN_PARTITION_TYPES = "hoodoo.partition.types"
# Properties with a default that an option may replace when the table is created.
_CHOSEN_BY_OPTION = frozenset(
    {
        DATABASE.key,
        HIVE_STYLE.key,
        URL_ENCODE.key,
        BASE_FORMAT.key,
        MERGE_MODE.key,
        MERGE_STRATEGY.key,
    }
)
_UNTYPED = frozenset(JAVA_GENERATORS) - {"CUSTOM"}


def _refuse_overlap(path: str, options: Mapping[str, str]) -> None:
    """Raise ConfigError for a directory above other tables, for a partition path of another table,
    for its own files, and for a directory with rows of other formats; warn for any other place
    below a table. Tables of other programs do not leave each other's files alone."""
    above, is_partition, inner, below, others = None, False, "", list[str](), None
    # What is above may not be there, or not ours to see.
    with suppress(HoodooError, OSError, ValueError):
        storage = open_storage(path, options)
        root = storage.list("")
        below = tables_below(storage, root)
        above = table_above(storage.root, partial(open_storage, options=options))
        if above is not None:
            inner = storage.root[len(above) :].strip("/")
            is_partition = storage.head(PARTITION_FILE) is not None
        elif not below:
            others = rows_of_others(storage, root)
    if below:
        raise ConfigError(
            f"path {path}",
            f"has other tables below it ({some(below, 3)}), whose files are in its directory.",
            "Choose a directory of its own, beside them.",
        )
    if others is not None:
        raise ConfigError(
            f"path {path}",
            f"is taken: {others.what}, and nobody would see its rows in the new table.",
            f"{others.fix} Or choose another path.",
        )
    if above is None:
        return
    why = f"lies within the table {above}, which would take its files for its own."
    fix = "Choose a path beside that table."
    if is_partition or inner.partition("/")[0] == ".hoodie":
        raise ConfigError(f"path {path}", why, fix)
    warnings.warn(f"path {path}: {why} Fix: {fix}", HoodooWarning, stacklevel=6)


def new_config(wanted: NewTable) -> TableConfig:
    """The properties of a new table. Raises before anything is written."""
    options = wanted.options
    if wanted.table_type is not None:
        try:
            wanted = evolve(wanted, table_type=TABLE_TYPE.kind.parse(wanted.table_type))
        except BadValueError as error:
            nearest = (error.nearest,) if error.nearest else TABLE_TYPES
            raise ConfigError(
                f"table type {wanted.table_type!r}",
                f"is not one of {', '.join(TABLE_TYPES)}",
                f"give {' or '.join(f'table_type={name!r}' for name in nearest)}, or leave it out "
                "for COPY_ON_WRITE.",
            ) from error
    if wanted.exists is not None:
        return existing_config(wanted)
    agreed = Agreed.of(wanted)
    keys, partitions = agreed.keys, agreed.partitions
    key_generator, index, version = agreed.key_generator, agreed.index, agreed.version
    virtual = VirtualSettings.of(options)
    if virtual is not None:
        keys, key_generator = _virtual_keys(virtual, keys, key_generator)
    if version not in VERSIONS:
        raise UnsupportedTableError(
            f"table version {version}",
            f"can't be written ({', '.join(map(str, VERSIONS))} can)",
            "use table_version=9, or 6 for readers of Hudi 0.x.",
        )
    payload = payload_named(wanted.merger) or payload_named(PAYLOAD.given(options))
    order = ordering_of(payload, agreed.ordering, version)
    agreed = evolve(agreed, ordering=order)
    for what, names in (("record_key", keys), ("partition_by", partitions), ("ordering", order)):
        if len(set(names)) < len(names):
            raise ConfigError(
                f"{what}={list(names)}", "names a column twice.", "Name each column once."
            )
    _refuse_overlap(wanted.path, options)
    known = without_meta(normalise_schema(without_index(wanted.schema, keys), options))
    columns = [column for column, _type in partition_spec(",".join(partitions))]
    for column in (*keys, *columns, *order):
        if not ArrivingRows.has_column(known, column):
            raise MissingColumnError(
                f"column {column}",
                "is named as key, partition or ordering and the schema lacks it "
                f"({', '.join(known.names)})",
                "name columns of the schema.",
            )
    for column in {*keys, *columns, *order}.intersection(known.names):
        if said_type := logical.text_of(known.field(column).type):
            raise ConfigError(
                f"column {column}",
                f"is a {said_type}, no part of keys or partition paths, and orders no rows.",
                "Name another column.",
            )
    name = agreed.name or _default_name(wanted.path)
    if not _NAME.fullmatch(name):
        raise ConfigError(
            f"table name {name!r}",
            "must be a letter or _ and then letters, digits or _",
            'give name="...".',
        )
    properties = _base_properties(name, known, evolve(agreed, keys=keys))
    properties.update(_property_options(options, properties))
    properties.update({} if virtual is None else virtual.properties())
    settings = Settings(TableConfig(properties), options)
    resolve("file_format", settings.table.base_file_format, settings)  # nobody could write it
    properties.update(_key_generator_properties(key_generator, keys, partitions, settings, version))
    merging = _merger_properties(wanted.merger, order, settings, version, payload)
    properties.update({k: v for k, v in merging.items() if v is not None})
    for key in (key for key, value in merging.items() if value is None):
        properties.pop(key, None)
    properties.update(_index_properties(index, settings))
    return TableConfig({k: v for k, v in properties.items() if v is not None})


def _default_name(path: str) -> str:
    last = str(path).rstrip("/").rsplit("/", 1)[-1]
    name = re.sub(r"[^A-Za-z0-9_]", "_", last)
    return name if _NAME.fullmatch(name) else f"t_{name}"


def _base_properties(name: str, schema: pa.Schema, agreed: Agreed) -> dict[str, str]:
    keys, partitions, order = agreed.keys, agreed.partitions, agreed.ordering
    version, traits = agreed.version, VERSIONS[agreed.version]
    properties = {
        "hoodie.table.name": name,
        DATABASE.key: "default",
        "hoodie.table.type": agreed.table_type,
        "hoodie.table.version": str(version),
        "hoodie.archivelog.folder": "archived",
        "hoodie.table.timeline.timezone": "UTC",
        HIVE_STYLE.key: "false",
        URL_ENCODE.key: "false",
        DROP_COLUMNS.key: "false",
        "hoodie.table.create.schema": avro_text(schema, name),
    }
    if keys:
        properties["hoodie.table.recordkey.fields"] = ",".join(keys)
    if partitions:
        properties[PARTITION_FIELDS] = ",".join(partitions)
        properties[Reads.FOLLOWS] = "true"
    if order:
        if len(order) > 1 and not traits.orders_by_many:
            raise ConfigError(
                f"ordering {', '.join(order)}",
                f"table version {version} has one ordering column",
                "name one column, or use table_version=9.",
            )
        properties[traits.ordering] = ",".join(order)
    return {**properties, **traits.properties}


def _property_options(options: Mapping[str, str], properties: Mapping[str, str]) -> dict[str, str]:
    """The options that are table properties, stored at creation; what arguments may say, too, is
    there."""
    chosen = {}
    taken = {name for option in NEW_TABLE_OPTIONS for name in option.names}
    declared = {option.key for option in declared_options() if option.table_property}
    file_format = agree("", None, options, (BASE_FORMAT, WRITER_FORMAT), _same_format)
    if file_format is not None:
        chosen[BASE_FORMAT.key] = file_format
    if DROP_COLUMNS.given(options):
        raise UnsupportedTableError(
            f"option {DROP_COLUMNS.key}=true",
            "makes files without their partition columns, which are not written.",
            "leave it out: the columns stay in the files.",
        )
    for key, value in options.items():
        if (
            key in properties
            and key not in {*_CHOSEN_BY_OPTION, *taken}
            and properties[key] != value
        ):
            raise ConfigError(
                f"option {key}={value}", f"is {properties[key]} in each new table.", "leave it out."
            )
        if key in _CHOSEN_BY_OPTION or key in declared:
            chosen[key] = value
    return chosen


def _key_generator_properties(
    chosen: Any,
    keys: tuple[str, ...],
    partitions: tuple[str, ...],
    settings: Settings,
    version: int,
) -> dict[str, str]:
    named = chosen or default_name("key_generator", settings)
    generator, ref = resolve("key_generator", named, settings)
    if deletes_only(generator):
        raise ConfigError(
            f"key generator {ref.name}",
            "is for deletes, no table can be filled with it.",
            "leave it out, and give it to hoodoo.open for a delete.",
        )
    joins = settings.table.get(CONCATENATOR)
    if joins and len(keys) > 1 and ref.name in JAVA_GENERATORS:
        raise OptionConflictError(
            f"option {CONCATENATOR}={joins}",
            f"contradicts the key generator {ref.name}, which puts key columns together in its own "
            "way.",
            "leave one of them out.",
        )
    if settings.table.has_partition_types and ref.name in _UNTYPED:
        raise ConfigError(
            f"partition columns {', '.join(partitions)}",
            f"have types, which {ref.name} has no use for.",
            "leave the types out, or the key generator: it then is CUSTOM.",
        )
    if not settings.table.populate_meta_fields:
        StoredFiles.check_virtual(generator, ref.name)
    properties = dict(table_properties(generator))
    if VERSIONS[version].generators_by_type and ref.name in JAVA_GENERATORS:
        return {"hoodie.table.keygenerator.type": ref.name, **properties}
    # Of a type that Spark Hudi does not know it could not even read the table; a class it only
    # needs to write.
    if settings.table.has_partition_types and not VERSIONS[version].types_partitions:
        properties[PARTITION_FIELDS] = ",".join(settings.table.partition_fields)
        properties[OWN_PARTITION_TYPES] = ",".join(partitions)
    return {
        "hoodie.table.keygenerator.class": JAVA_GENERATORS.get(ref.name, ref.name),
        **properties,
    }


def _virtual_keys(
    virtual: VirtualSettings, keys: tuple[str, ...], chosen: Any
) -> tuple[tuple[str, ...], Any]:
    """Key columns and key generator, said by arguments or by RFC-21's settings."""
    for given, own, key in ((keys, virtual.columns, COLUMNS), (chosen, virtual.generator, CLASS)):
        if given and own and given != own:
            raise OptionConflictError(
                f"option {key}", f"contradicts the argument that says {given}.", "say it once."
            )
    keys, chosen = keys or virtual.columns or (), chosen or virtual.generator
    if virtual.concatenator is not None and len(keys) > 1:
        chosen = chosen or CONCATENATED
    return keys, chosen


def _merger_properties(
    chosen: Any,
    order: tuple[str, ...],
    settings: Settings,
    version: int,
    of_class: Payload | None,
) -> dict[str, str | None]:
    options = settings.options
    mode = agree("", None, options, (MERGE_MODE, WRITER_MODE), str.__eq__)
    strategy = agree("", None, options, (MERGE_STRATEGY, WRITER_STRATEGY), str.__eq__)
    payload = agree("", None, options, (PAYLOAD,), lambda a, b: same_plugin("merger", a, b))
    named = payload or (strategy or mode if mode in (None, "CUSTOM") else mode)
    merger, ref = resolve("merger", chosen or named or merger_name(settings.table), settings)
    _check_merger(chosen, merger, ref, settings)
    mode = merger.merge_mode
    usual = kernel().find("merger", mode)
    if of_class is not None:
        return payload_properties(of_class, settings.table, version)
    refuse_older(settings.table, version)
    own = plain_class(payload, version)
    if ref.instance is None and mode != "CUSTOM" and usual and usual.name != ref.name:
        own[OWN_MERGER] = ref.name
    if mode == "EVENT_TIME_ORDERING" and not order:
        raise ConfigError(
            "merger event_time",
            "needs at least one ordering column",
            'create the table with ordering="column".',
        )
    told = {
        MERGE_MODE.key: mode,
        MERGE_STRATEGY.key: merger.strategy_id,
        PAYLOAD.key: JAVA_PAYLOADS.get(mode, ""),
    }
    keys = VERSIONS[version].merge_keys
    if mode not in JAVA_PAYLOADS:
        keys = (MERGE_MODE.key, MERGE_STRATEGY.key)
    return {**own, **{key: told[key] for key in keys}}


def _check_merger(chosen: Any, merger: Any, ref: PluginRef, settings: Settings) -> None:
    """OptionConflictError where an option says another merger than ``merger``, which the argument
    or another option has chosen. A payload class and a mode agree where the class merges in that
    mode."""
    mergers = (PAYLOAD, MERGE_MODE, WRITER_MODE, MERGE_STRATEGY, WRITER_STRATEGY)
    found = said("merger", chosen, settings.options, mergers)
    for who, what in found:
        if what is chosen or what in (merger.merge_mode, merger.strategy_id):
            continue
        offer = kernel().find("merger", what)
        if ref.instance is None and offer is not None and offer.name == ref.name:
            continue
        if (
            offer is not None
            and resolve("merger", what, settings).instance.merge_mode == merger.merge_mode
        ):
            continue
        first = next(((w, x) for w, x in found if w != who), ("merge mode", merger.merge_mode))
        raise conflict(who, what, *first)


def _same_format(one: str, other: str) -> bool:
    return same_plugin("file_format", one, other)


def _index_properties(chosen: Any, settings: Settings) -> dict[str, str]:
    found = index_choice.loaded(settings, chosen)
    told = index_choice.properties_of(found, settings)
    return {key: value for key, value in told.items() if value is not None}
