"""What a new table says of a payload class."""

from __future__ import annotations

from hoodoo.errors import ConfigError, OptionConflictError
from hoodoo.model.config import TableConfig
from hoodoo.model.table_version import version_of
from hoodoo.options.table import MERGE_MODE, MERGE_STRATEGY
from hoodoo.table.settings import BY_PAYLOAD

from hoodoo_standard.creation.options import ORDERING
from hoodoo_standard.options import MERGING
from hoodoo_standard.payloads import LEGACY_CLASS, PAYLOAD_CLASS, PLAIN_CLASSES, Payload


def ordering_of(payload: Payload | None, given: tuple[str, ...], version: int) -> tuple[str, ...]:
    """The ordering columns: those of the payload class, if it has its own. OptionConflictError
    where others are ``given``."""
    own = () if payload is None else payload.ordering_in(version)
    if payload is None or not own:
        return given
    if given not in ((), payload.ordering, payload.before):
        raise OptionConflictError(
            f"ordering {', '.join(given)}",
            f"contradicts the merger {payload.name}, which orders rows by {', '.join(own)}.",
            f"leave the argument and the option {ORDERING.key} out.",
        )
    return own


def payload_properties(payload: Payload, table: TableConfig, version: int) -> dict[str, str | None]:
    """What a table of ``version`` says of ``payload``; None: what it does not say.
    OptionConflictError where an option says another thing."""
    traits = version_of(version)
    if not traits.orders_by_many:
        refuse_older(table, version)
        by_class: dict[str, str | None] = {PAYLOAD_CLASS: payload.java}
        if MERGE_MODE.key in traits.merge_keys:
            by_class |= {MERGE_MODE.key: "CUSTOM", MERGE_STRATEGY.key: BY_PAYLOAD}
        return by_class
    for option in MERGING:
        told, own = table.get(option.key), payload.properties.get(option.key)
        if told is not None and told != own:
            raise OptionConflictError(
                f"option {option.key}={told}",
                f"contradicts the merger {payload.name}, which has {own or 'no such property'}.",
                "leave one of them out.",
            )
    return {
        MERGE_MODE.key: payload.mode,
        LEGACY_CLASS: payload.java,
        PAYLOAD_CLASS: None,
        **payload.properties,
    }


def plain_class(payload: str | None, version: int) -> dict[str, str | None]:
    """Version 9 notes the name of a class that is no more than a merge mode."""
    if payload not in PLAIN_CLASSES or not version_of(version).orders_by_many:
        return {}
    return {LEGACY_CLASS: payload, PAYLOAD_CLASS: None}


def refuse_older(table: TableConfig, version: int) -> None:
    """ConfigError for a table that can't say how its rows are merged."""
    for option in () if version_of(version).orders_by_many else MERGING:
        if table.get(option.key) is not None:
            raise ConfigError(
                f"option {option.key}={table.get(option.key)}",
                f"is a property of tables of version 9, and this one has version {version}.",
                "use table_version=9, or name a payload class.",
            )
