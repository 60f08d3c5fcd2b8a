"""Opening tables: properties and options become plugins."""

from __future__ import annotations

import os
import pkgutil
from collections.abc import Mapping, Sequence
from typing import Any, cast

import pyarrow as pa

from hoodoo.actions.writer_queue import WriterQueue
from hoodoo.errors import ConfigError, OptionConflictError, PluginError
from hoodoo.hookspecs.creation import FirstRows
from hoodoo.hookspecs.key_generator import deletes_only
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel import options as option_rules
from hoodoo.kernel.registry import kernel
from hoodoo.kernel.resolve import declared_options, default_name, resolve
from hoodoo.model.config import HUDI_INDEX, KEPT_META, VIRTUAL, TableConfig
from hoodoo.options import virtual as virtual_options
from hoodoo.options import write as write_options
from hoodoo.options.judge import as_text
from hoodoo.options.table import MERGE_STRATEGY, STORAGE_URI
from hoodoo.participants.of_table import Participants
from hoodoo.storage.api import Storage
from hoodoo.storage.lock import GuardedStorage
from hoodoo.storage.uri import split
from hoodoo.table import index_choice

# A merger that is more than its mode says, as far as other readers are concerned.
OWN_MERGER = "hoodoo.merger"
BY_PAYLOAD = "00000000-0000-0000-0000-000000000000"  # the merge strategy that is a payload class


def open_storage(path: str | os.PathLike[str], options: Mapping[str, str]) -> Storage:
    """The store that answers for ``path`` (a URI, or a local path)."""
    path = str(path)
    scheme, _ = split(path)
    settings = Settings(options={**options, STORAGE_URI.key: path})
    storage, _ref = resolve("storage", scheme, settings)
    return storage


def check_engine(engine: Any) -> None:
    """PluginError for an engine that nobody offers, before anything is done. It is not started."""
    if engine is None:
        return
    if not isinstance(engine, str):
        resolve("engine", engine)
    elif kernel().find("engine", engine) is None:
        offers = (offer.name for offer in kernel().offers("engine"))
        names = sorted(name for name in offers if not name.startswith("source:"))
        raise PluginError(
            f"engine {engine!r}",
            "no installed plugin offers it.",
            f"Use one of {', '.join(names)}; libraries such as duckdb and polars read a table "
            "through table.read().",
        )


def arrow_schema(given: Any) -> pa.Schema:
    """A pyarrow Schema from what the user gave: that, a StructType, a text or dict of types."""
    return schema_and_rows(given, ("hoodoo_arrow_schema",))[0]


def schema_and_rows(
    given: Any, hooks: Sequence[str] = ("hoodoo_arrow_schema", "hoodoo_first_rows")
) -> tuple[pa.Schema, FirstRows | None]:
    """The schema that the user gave, or data and its schema."""
    if isinstance(given, pa.Schema):
        return given, None
    for hook in hooks:
        for _plugin, implementation in kernel().implementations(hook):
            found: Any = implementation.function(given)
            if found is not None:
                return (found, None) if isinstance(found, pa.Schema) else (found.schema, found)
    if hasattr(given, "__arrow_c_schema__"):
        return pa.schema(given), None
    raise ConfigError(
        f"schema of type {type(given).__qualname__}",
        "is neither a schema (pyarrow.Schema, StructType, text or dict) nor data that can be read",
        "give one of these, such as 'id bigint, city string', or a frame.",
    )


def guarded(storage: Storage, settings: Settings) -> Storage:
    """``storage``, whose decisions are made under the lock that the options name, if they name
    one."""
    wanted = write_options.LOCK.given(settings.options)
    if wanted is None:
        return storage
    lock, _ref = resolve("lock", wanted, settings)
    wait = write_options.LOCK_WAIT.read(settings.options) / 1000
    return cast(Storage, GuardedStorage(storage, lock, wait))


def turns(settings: Settings) -> WriterQueue:
    """How writers that met each other go one after the other. Without a plugin for it they only
    wait."""
    wanted = write_options.LOCK.given(settings.options)
    try:
        return WriterQueue(
            resolve("lock", wanted or default_name("lock", settings), settings).instance
        )
    except PluginError:
        return WriterQueue()


def generator_name(config: TableConfig) -> str:
    """Which key generator the properties ask for."""
    return config.key_generator or default_name("key_generator", Settings(config))


def merger_name(config: TableConfig) -> str:
    """Which merger the properties ask for, by the rules with which Hudi infers it."""
    mode, strategy = config.merge_mode, config.get(MERGE_STRATEGY.key)
    by_class = not mode or strategy == BY_PAYLOAD
    payload = config.get("hoodie.compaction.payload.class") if by_class else None
    strategy = None if payload and strategy == BY_PAYLOAD else strategy
    known = mode and (kernel().find("merger", mode) or not (strategy or payload))
    of_class = payload if config.traits.payload_is_merger else None
    named = config.get(OWN_MERGER) or (mode if known else None) or of_class or strategy or payload
    return named or default_name("merger", Settings(config))


def typed_options(options: Mapping[str, Any] | None) -> dict[str, str]:
    """Options as text, each of its type, where the table is not known yet: what a storage gets."""
    return option_rules.typed(as_text(options), declared_options())


def check_options(options: Mapping[str, Any] | None, config: TableConfig | None) -> dict[str, str]:
    """Options as text, known and not against the table (None: it is being created)."""
    wanted = virtual_options.VIRTUAL.given(as_text(options))
    if wanted and config is not None and config.properties and config.populate_meta_fields:
        raise OptionConflictError(
            f"option {VIRTUAL}=true", "contradicts the table, which stores its record keys.",
            "leave the option out; table.enable_virtual_keys() makes the keys virtual.",
        )  # fmt: skip
    # Of the stack: check_options, the method, what checks its call.
    given = option_rules.check(options, _judged(config), stacklevel=4)
    for key in (virtual_options.CONCATENATOR.key, KEPT_META):
        if given.get(key) and config is not None and config.properties and config.get(key) is None:
            raise OptionConflictError(
                f"option {key}={given[key]}", "contradicts the table, which does not have it.",
                "leave it out.",
            )  # fmt: skip
    _check_together(given)
    return given


def _check_together(options: Mapping[str, str]) -> None:
    """Raises ConfigError for options that are right alone, and contradict each other."""
    Participants.of(Settings(options=options)).check()
    write_options.duplicates(options)
    for offer in kernel().offers("action"):
        registration = offer.registration
        if registration.check and any(o.is_in(options) for o in registration.options):
            judge = registration.check
            (pkgutil.resolve_name(judge) if isinstance(judge, str) else judge)(options)


def _judged(config: TableConfig | None) -> TableConfig | None:
    """The properties that options must not contradict as texts: :mod:`hoodoo.table.index_choice`
    judges indexes."""
    return config and TableConfig({k: v for k, v in config.properties.items() if k != HUDI_INDEX})


def check_overrides(
    config: TableConfig, overrides: Mapping[str, Any], options: Mapping[str, str] | None = None
) -> None:
    """OptionConflictError for a plugin *name* other than the one the table was written with, and
    for an index that it may not be written with.

    Key generators and mergers that are objects are the user's word for what the table can't name.
    """
    index_choice.check_index(Settings(config, options or {}), overrides.get("index"))
    for family, names in {"key_generator": generator_name, "merger": merger_name}.items():
        wanted = overrides.get(family)
        if not isinstance(wanted, str):
            continue
        stored = names(config)
        mine, theirs = kernel().find(family, wanted), kernel().find(family, stored)
        if mine is not None and theirs is not None and mine is not theirs:
            settings = Settings(config, options or {})
            own = resolve(family, wanted, settings).instance if family == "key_generator" else None
            if own is not None and deletes_only(own):
                continue
            raise OptionConflictError(
                f"{family}={wanted!r}", f"contradicts the table, which has {stored!r}.",
                "Leave it out: the rows in the table were written with the table's own.",
            )  # fmt: skip
