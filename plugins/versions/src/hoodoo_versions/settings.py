"""What the properties of a table say in each version, one step of Hudi's after another.

Source: the upgrade and downgrade handlers of Hudi 1.2 (SevenToEight, EightToNine and back). The
merge mode is the one by which Hoodoo merges the table before: where Hudi guesses another one from
the type of the table, rows would change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise

from attrs import frozen
from hoodoo.errors import ConfigError, UnsupportedTableError
from hoodoo.hookspecs.key_generator import table_properties
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.registry import kernel, same_plugin
from hoodoo.kernel.resolve import resolve
from hoodoo.model.config import PARTITION_FIELDS, TableConfig
from hoodoo.model.table_version import VERSIONS, version_of
from hoodoo.options.table import BY_ARRIVAL, BY_EVENT_TIME, MERGE_MODE, MERGE_STRATEGY
from hoodoo.table.handle import TableHandle
from hoodoo.table.settings import BY_PAYLOAD, generator_name, merger_name
from hoodoo_standard.options import (
    COMPLEX_ENCODING,
    JAVA_GENERATORS,
    JAVA_PAYLOADS,
    MERGING,
    PARTIAL_UPDATES,
    PARTITION_TYPES,
    STORED_ENCODING,
)
from hoodoo_standard.payloads import payload_of

VERSION, LAYOUT = "hoodie.table.version", "hoodie.timeline.layout.version"
_INITIAL = "hoodie.table.initial.version"
_PRECOMBINE, _ORDERING = "hoodie.table.precombine.field", "hoodie.table.ordering.fields"
_CLASS, _TYPE = "hoodie.table.keygenerator.class", "hoodie.table.keygenerator.type"
_PAYLOAD = "hoodie.compaction.payload.class"
_LEGACY = "hoodie.table.legacy.payload.class"
_WRITER_FIELDS = "hoodie.datasource.write.partitionpath.field"
_STRATEGIES = {
    BY_ARRIVAL: "ce9acb64-bde0-424c-9b91-f6ebba25356d",
    BY_EVENT_TIME: "eeb8d96f-b1e4-49fd-bbf8-28ac514178e5",
}
_COMPLEX, _CUSTOM = "COMPLEX", "CUSTOM"
Values = dict[str, str]


@frozen
class Meaning:
    """What stays the same, however a version says it: the merge mode and the id of the merger, the
    key generator, whether a COMPLEX key of one column is the bare value (None: there is none such),
    and the types of the partition columns of CUSTOM."""

    mode: str
    strategy: str
    generator: str
    bare: bool | None
    types: str | None

    @classmethod
    def of(cls, table: TableHandle) -> Meaning:
        """Raises what resolving the plugins of the table raises, ConfigError where the types of
        partition columns, or the form of keys, are not known."""
        config = table.config
        settings = Settings(config, table.options)
        merger = resolve("merger", merger_name(config), settings).instance
        offer = kernel().find("key_generator", generator_name(config))
        name = offer.name if offer is not None else ""
        types = _types(table) if name == _CUSTOM else None
        bare = _is_bare(table) if name == _COMPLEX else None
        return cls(merger.merge_mode, merger.strategy_id, name, bare, types)


def _types(table: TableHandle) -> str | None:
    config = table.config
    if config.has_partition_types or not config.partition_fields:
        return config.get(PARTITION_FIELDS)
    found = config.get(PARTITION_TYPES.key) or table.options.get(_WRITER_FIELDS)
    if not found:
        raise ConfigError(
            f"table {config.name}",
            "does not say which types its partition columns have.",
            f"open it with the option {_WRITER_FIELDS}, such as city:SIMPLE,day:TIMESTAMP.",
        )
    return found


def _is_bare(table: TableHandle) -> bool | None:
    config = table.config
    if len(config.record_key_fields) != 1 or not table.timeline().writes():
        return None
    try:
        noted = table_properties(table.key_generator())
    except ConfigError:
        if config.populate_meta_fields:
            raise
        return None  # no key is stored, and columns are compared
    if COMPLEX_ENCODING.key in noted:
        return noted[COMPLEX_ENCODING.key] == "true"
    return noted.get(STORED_ENCODING) == "VALUE_ONLY"


def check_known(version: object) -> None:
    """UnsupportedTableError for what is no table version that is read."""
    if not isinstance(version, int) or version not in VERSIONS:
        *others, last = map(str, VERSIONS)
        raise UnsupportedTableError(
            f"table version {version!r}",
            f"is not one of {', '.join(others)} and {last}.",
            "name one of them.",
        )


def path_between(before: int, after: int) -> list[tuple[int, int]]:
    """The steps: from version to version."""
    first, last = sorted((before, after))
    between = [number for number in sorted(VERSIONS) if first <= number <= last]
    return list(pairwise(between if before < after else between[::-1]))


def in_version(config: TableConfig, after: int, meaning: Meaning) -> TableConfig:
    """The properties in version ``after``. UnsupportedTableError where it can't say what the table
    is, or would mean something else."""
    values = dict(config.properties)
    for step in path_between(config.version, after):
        _STEPS[step](values, config, meaning)
        values[VERSION] = str(step[1])
        values[LAYOUT] = str(version_of(step[1]).layout)
    found = TableConfig(values)
    _refuse_other_merger(config, found)
    return found


def _refuse_other_merger(before: TableConfig, after: TableConfig) -> None:
    (old, was), (new, now) = (
        resolve("merger", merger_name(c), Settings(c)) for c in (before, after)
    )
    payload = payload_of(before)
    same = was.name == now.name or old == new
    if not same and (payload is None or payload is not payload_of(after)):
        raise UnsupportedTableError(
            f"table {before.name}",
            f"merges rows by {was.name}, which version {after.version} can't say.",
            f"stay with version {before.version}.",
        )


def changes(before: TableConfig, after: TableConfig) -> Mapping[str, str | None]:
    """What differs; None: it goes."""
    old, new = before.properties, after.properties
    gone = dict.fromkeys(key for key in old if key not in new)
    return {**gone, **{key: value for key, value in new.items() if old.get(key) != value}}


def _six_to_eight(values: Values, config: TableConfig, meaning: Meaning) -> None:
    traits = version_of(8)
    values.update({k: v for k, v in traits.properties.items() if k not in (LAYOUT, _INITIAL)})
    values[_INITIAL] = str(config.version)  # files of before stay
    if meaning.generator in JAVA_GENERATORS:
        values[_TYPE] = meaning.generator
    if meaning.types:
        values[PARTITION_FIELDS] = meaning.types
        values.pop(PARTITION_TYPES.key, None)
    values[MERGE_MODE.key] = meaning.mode
    payload = values.get(_PAYLOAD)
    if payload_of(config) is not None:
        values |= {MERGE_MODE.key: _CUSTOM, MERGE_STRATEGY.key: BY_PAYLOAD}
    elif meaning.mode in _STRATEGIES:
        values[MERGE_STRATEGY.key] = _STRATEGIES[meaning.mode]
        values[_PAYLOAD] = payload or JAVA_PAYLOADS[meaning.mode]
    else:
        values[MERGE_STRATEGY.key] = BY_PAYLOAD if payload else meaning.strategy


def _eight_to_nine(values: Values, config: TableConfig, meaning: Meaning) -> None:
    values["hoodie.table.format"] = "native"
    if found := values.pop(_PRECOMBINE, None):
        values[_ORDERING] = found
    values[MERGE_MODE.key] = meaning.mode
    if (of_class := payload_of(config)) is not None:
        values |= {_LEGACY: values.pop(_PAYLOAD), **of_class.properties}
        values[MERGE_STRATEGY.key] = _STRATEGIES[meaning.mode]
        if of_class.ordering:
            values[_ORDERING] = ",".join(of_class.ordering)
    elif meaning.mode in _STRATEGIES:
        values.pop(MERGE_STRATEGY.key, None)
        if payload := values.pop(_PAYLOAD, None):
            values[_LEGACY] = payload
    if values.pop(COMPLEX_ENCODING.key, None) is not None or meaning.bare is not None:
        values[STORED_ENCODING] = "VALUE_ONLY" if meaning.bare else "FIELD_PREFIXED"


def _nine_to_eight(values: Values, config: TableConfig, meaning: Meaning) -> None:
    values.pop("hoodie.table.format", None)
    of_class = payload_of(config)
    if of_class is not None and of_class.before:
        values[_ORDERING] = ",".join(of_class.before)
    elif len(config.ordering_fields) > 1:
        raise UnsupportedTableError(
            f"table {config.name}",
            f"has the ordering columns {', '.join(config.ordering_fields)}, and before version 9 a "
            "table has one.",
            "stay with version 9, or copy the rows into a table with one ordering column.",
        )
    if found := values.pop(_ORDERING, None):
        values[_PRECOMBINE] = found
    values[MERGE_MODE.key] = meaning.mode
    values.setdefault(MERGE_STRATEGY.key, _STRATEGIES.get(meaning.mode, meaning.strategy))
    legacy = values.pop(_LEGACY, None)
    if of_class is not None:
        for key in of_class.properties:
            values.pop(key, None)
        values |= {_PAYLOAD: of_class.java, MERGE_MODE.key: _CUSTOM, MERGE_STRATEGY.key: BY_PAYLOAD}
    elif own := [o.key for o in MERGING if values.get(o.key) not in (None, "NONE")]:
        raise UnsupportedTableError(
            f"table {config.name}",
            f"has {' and '.join(f'{key}={values[key]}' for key in own)}, which tables before "
            "version 9 have with a payload class alone.",
            "stay with version 9.",
        )
    elif meaning.mode in JAVA_PAYLOADS:
        values[_PAYLOAD] = legacy or JAVA_PAYLOADS[meaning.mode]
    values.pop(PARTIAL_UPDATES.key, None)
    values.pop(STORED_ENCODING, None)
    if meaning.bare is not None:
        values[COMPLEX_ENCODING.key] = "true" if meaning.bare else "false"


def _eight_to_six(values: Values, config: TableConfig, meaning: Meaning) -> None:
    for key in (*version_of(8).properties, _TYPE):
        values.pop(key, None)
    if meaning.generator in JAVA_GENERATORS:
        values.setdefault(_CLASS, JAVA_GENERATORS[meaning.generator])
    if meaning.types:
        values[PARTITION_FIELDS] = ",".join(config.partition_fields)
        values[PARTITION_TYPES.key] = meaning.types
    if payload_of(config) is not None or meaning.mode in JAVA_PAYLOADS:
        values.pop(MERGE_MODE.key, None)
        values.pop(MERGE_STRATEGY.key, None)
    if payload_of(config) is None and meaning.mode in JAVA_PAYLOADS:
        usual = JAVA_PAYLOADS[meaning.mode]
        if not same_plugin("merger", values.get(_PAYLOAD), usual):
            values[_PAYLOAD] = usual  # of before an upgrade that has changed the mode


_STEPS: Mapping[tuple[int, int], Callable[[Values, TableConfig, Meaning], None]] = {
    (6, 8): _six_to_eight,
    (8, 9): _eight_to_nine,
    (9, 8): _nine_to_eight,
    (8, 6): _eight_to_six,
}
