"""Agreed: what arguments of ``create`` and Hudi's own options say of a new table, where they say
the same.

A Spark job has it all in a dictionary of options. Whoever hands that over gets the table of that
job; what is said twice has to be equal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import frozen
from hoodoo.errors import OptionConflictError
from hoodoo.hookspecs.creation import NewTable
from hoodoo.kernel.registry import same_plugin
from hoodoo.model.config import partition_spec
from hoodoo.options.option import Option
from hoodoo.options.table import INDEX_TYPE

from hoodoo_standard.creation.options import (
    KEY_GENERATOR,
    NAME,
    ORDERING,
    PARTITIONS,
    RECORD_KEY,
    TABLE_TYPE,
    VERSION,
)

Same = Callable[[Any, Any], bool]


@frozen
class Agreed:
    """What is said, by whomever; None, or empty, where nobody says it."""

    name: str | None
    keys: tuple[str, ...]
    partitions: tuple[str, ...]
    ordering: tuple[str, ...]
    table_type: str
    version: int
    key_generator: Any
    index: Any

    @classmethod
    def of(cls, wanted: NewTable) -> Agreed:
        """OptionConflictError, naming both, for two that differ; ConfigError for a value of a wrong
        type."""
        options = wanted.options

        def one(argument: str, value: Any, option: Option[Any], same: Same = _equal) -> Any:
            return agree(argument, value, options, (option,), same)

        paths = said("partition_by", names_of(wanted.partition_by), options, (PARTITIONS,))
        agree("partition_by", names_of(wanted.partition_by), options, (PARTITIONS,), _same_columns)
        # Who says types says more of the same columns.
        typed = [spec for _who, spec in paths if any(":" in part for part in spec)]
        return cls(
            name=one("name", wanted.name, NAME),
            keys=one("record_key", names_of(wanted.record_key), RECORD_KEY) or (),
            partitions=typed[0] if typed else paths[0][1] if paths else (),
            ordering=one("ordering", names_of(wanted.ordering), ORDERING) or (),
            table_type=one("table_type", wanted.table_type, TABLE_TYPE) or TABLE_TYPE.initial,
            version=one("table_version", wanted.table_version, VERSION) or VERSION.initial,
            key_generator=one(
                "key_generator", wanted.key_generator, KEY_GENERATOR, _plugin("key_generator")
            ),
            index=one("index", wanted.index, INDEX_TYPE, _plugin("index")),
        )


def said(
    argument: str, value: Any, options: Mapping[str, str], names: Sequence[Option[Any]]
) -> list[tuple[str, Any]]:
    """Who says what: the argument first, then the options. Nothing, and an empty text, says
    nothing."""
    found = [(f"argument {argument}", value)]
    for option in names:
        found += [(f"option {name}", what) for name, what in option.each(options)]
    return [(who, what) for who, what in found if what is not None and what != ()]


def agree(
    argument: str,
    value: Any,
    options: Mapping[str, str],
    names: Sequence[Option[Any]],
    same: Same,
) -> Any:
    """What all say; None where nobody does. OptionConflictError where two differ."""
    found = said(argument, value, options, names)
    for who, what in found[1:]:
        if not same(found[0][1], what):
            raise conflict(who, what, *found[0])
    return found[0][1] if found else None


def conflict(who: str, what: Any, other: str, otherwise: Any) -> OptionConflictError:
    return OptionConflictError(
        f"{who}={_shown(what)}", f"contradicts the {other}={_shown(otherwise)}.", "Say it once."
    )


def _plugin(family: str) -> Same:
    return lambda one, other: same_plugin(family, one, other)


def _equal(one: Any, other: Any) -> bool:
    return bool(one == other)


def _same_columns(one: Sequence[str], other: Sequence[str]) -> bool:
    left, right = (partition_spec(",".join(columns)) for columns in (one, other))
    return len(left) == len(right) and all(
        a == b and (None in (x, y) or str(x).upper() == str(y).upper())
        for (a, x), (b, y) in zip(left, right, strict=True)
    )


def names_of(value: str | Sequence[str] | None) -> tuple[str, ...]:
    """Of a text, the names between commas, as Hudi's options have them: no column of a table can
    have one."""
    if value is None:
        return ()
    return tuple(map(str.strip, value.split(","))) if isinstance(value, str) else tuple(value)


def _shown(value: Any) -> str:
    return ",".join(value) if isinstance(value, tuple) else str(value)
