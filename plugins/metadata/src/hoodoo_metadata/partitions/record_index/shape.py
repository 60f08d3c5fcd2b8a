"""Shape: with how many buckets, and by which hash, a record index is rebuilt, as
``table.rebuild_index`` is told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import evolve
from hoodoo.errors import ConfigError
from hoodoo.model.config import TableConfig
from hoodoo.options.option import Option

from hoodoo_metadata import options as keys
from hoodoo_metadata.partitions.record_index.growing import Growing
from hoodoo_metadata.partitions.record_index.size import IndexSize
from hoodoo_metadata.table.layout import GROWING_INDEX, INDEXES, RECORD_INDEX
from hoodoo_metadata.table.metadata_table import building, listed

Changes = dict[str, "str | None"]
_WORDS: dict[str, Option[Any]] = {
    "buckets": keys.BUCKETS,
    "hash": keys.INDEX_HASH,
    "scaling": keys.SCALING,
    "cap": keys.BUCKET_CAP,
}
_JAVA = "java"


def sized(size: IndexSize, shape: Mapping[str, Any], partition: str | None) -> IndexSize:
    """``size`` with as many file groups as ``shape`` says of Hudi's record index. Raises
    ConfigError for what ``partition`` can't be made by; None: everything is rebuilt."""
    if not shape:
        return size
    said = ", ".join(sorted(shape))
    if partition not in INDEXES:
        raise ConfigError(
            f"rebuild_index({partition or ''})",
            f"is not made by {said}: a record index is.",
            "Name one: record_index, partitioned_record_index, growing_record_index.",
        )
    if partition == GROWING_INDEX:
        return size
    for word, value in shape.items():
        if word == "buckets" or (word == "hash" and str(value).lower() == _JAVA):
            continue
        raise ConfigError(
            f"{word}={value!r} of {RECORD_INDEX}",
            "is not possible: Hudi looks keys up in it by Java's hash, in file groups of a number "
            "that stays.",
            "Leave it out, or make growing_record_index so, which only Hoodoo looks into.",
        )
    count = shape.get("buckets")
    if count is None:
        return size
    fixed = keys.KEYS_LEAST.parse(str(count), "buckets")
    return evolve(size, least=fixed, most=fixed)


def shaped(config: TableConfig, shape: Mapping[str, Any]) -> Changes:
    """What changes of the properties of a table whose growing record index is made by ``shape``:
    all that decides where entries lie is said there from then on. Raises ConfigError,
    PluginError."""
    there = GROWING_INDEX in (*listed(config), *building(config))
    changes: Changes = {}
    for option in keys.GROWING_OPTIONS:
        if config.get(option.key) is None:
            # Of an index from before there was another way.
            older = there and option is keys.SCALING
            changes[option.key] = keys.FILE_GROUPS if older else option.default
    before = Growing.of(TableConfig({**config.properties, **_said(changes)}))
    for word, value in shape.items():
        option = _WORDS[word]
        changes[option.key] = option.spell(option.parse(str(value), word))
    after = Growing.of(TableConfig({**config.properties, **_said(changes)}))
    if there and evolve(before, cap=after.cap) != after:
        changes[keys.LAYOUT] = str(before.layout + 1)
    return changes


def _said(changes: Changes) -> dict[str, str]:
    return {key: value for key, value in changes.items() if value is not None}
