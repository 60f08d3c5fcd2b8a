"""Hudi's payload classes, and what tables of version 9 say in their place (RFC-97).

Source: ``HoodieTableConfig.inferMergingConfigsForV9TableCreation``, ``EightToNineUpgradeHandler``
and ``NineToEightDowngradeHandler`` of Hudi 1.2. A table of version 9 has a merge mode, a partial
update mode and merge properties; before, the payload class itself says how rows merge."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import Factory, frozen
from hoodoo.errors import ConfigError
from hoodoo.model.config import TableConfig
from hoodoo.model.table_version import version_of
from hoodoo.options.table import BY_ARRIVAL, BY_EVENT_TIME

from hoodoo_standard.options import (
    DELETE_FIELD,
    DELETE_MARKER,
    PARTIAL_UPDATES,
    UNAVAILABLE,
)

PAYLOAD_CLASS = "hoodie.compaction.payload.class"
LEGACY_CLASS = "hoodie.table.legacy.payload.class"
KEEP_VALUES, IGNORE_DEFAULTS = "KEEP_VALUES", "IGNORE_DEFAULTS"
FILL_UNAVAILABLE = "FILL_UNAVAILABLE"
_MODEL = "org.apache.hudi.common.model."
_OP, _SEQUENCE = "_change_operation_type", "_event_seq"
_DEBEZIUM = {DELETE_FIELD.key: _OP, DELETE_MARKER.key: "d"}


@frozen
class Payload:
    """``name``: of the merger; ``java``: the class. ``ordering``: the only ordering columns that
    the class has in version 9, ``before``: in older versions (none: those of the table).
    ``properties``: what a table of version 9 says beside its mode."""

    name: str
    java: str
    mode: str
    summary: str
    properties: Mapping[str, str] = Factory(dict)
    ordering: tuple[str, ...] = ()
    before: tuple[str, ...] = ()

    def ordering_in(self, version: int) -> tuple[str, ...]:
        return self.ordering if version_of(version).orders_by_many else self.before


PAYLOADS = (
    Payload(
        "partial_update",
        f"{_MODEL}PartialUpdateAvroPayload",
        BY_EVENT_TIME,
        "the higher ordering value wins, and its nulls are filled from the other row",
        {PARTIAL_UPDATES.key: IGNORE_DEFAULTS},
    ),
    Payload(
        "overwrite_non_defaults",
        f"{_MODEL}OverwriteNonDefaultsWithLatestAvroPayload",
        BY_ARRIVAL,
        "the later row wins, and its nulls are filled from the stored row",
        {PARTIAL_UPDATES.key: IGNORE_DEFAULTS},
    ),
    Payload(
        "aws_dms",
        f"{_MODEL}AWSDmsAvroPayload",
        BY_ARRIVAL,
        "the later row wins; a row with Op = D is a delete",
        {DELETE_FIELD.key: "Op", DELETE_MARKER.key: "D"},
    ),
    Payload(
        "postgres_debezium",
        f"{_MODEL}debezium.PostgresDebeziumAvroPayload",
        BY_EVENT_TIME,
        "the higher _event_lsn wins, d is a delete, values that are not available stay",
        {
            PARTIAL_UPDATES.key: FILL_UNAVAILABLE,
            UNAVAILABLE.key: "__debezium_unavailable_value",
            **_DEBEZIUM,
        },
        ("_event_lsn",),
        ("_event_lsn",),
    ),
    Payload(
        "mysql_debezium",
        f"{_MODEL}debezium.MySqlDebeziumAvroPayload",
        BY_EVENT_TIME,
        "the higher position in the binlog wins, d is a delete",
        _DEBEZIUM,
        ("_event_bin_file", "_event_pos"),
        (_SEQUENCE,),
    ),
)
_BY_CLASS = {payload.java: payload for payload in PAYLOADS}
# Classes that are no more than a merge mode: version 9 notes their names.
PLAIN_CLASSES = (
    f"{_MODEL}OverwriteWithLatestAvroPayload",
    f"{_MODEL}DefaultHoodieRecordPayload",
    f"{_MODEL}EventTimeAvroPayload",
)


def payload_named(name: Any) -> Payload | None:
    """The payload class that ``name`` is, or the merger of this name."""
    from hoodoo.kernel.registry import kernel  # which imports plugins

    offer = kernel().find("merger", name) if isinstance(name, str) else None
    found = (p for p in PAYLOADS if offer is not None and p.name == offer.name)
    return next(found, None)


def payload_of(config: TableConfig) -> Payload | None:
    """The payload class that a table names, in any version."""
    return _BY_CLASS.get(config.get(LEGACY_CLASS) or config.get(PAYLOAD_CLASS) or "")


@frozen
class Merging:
    """How rows of a table merge beside its merge mode. ``fills``: a partial update mode, or "".
    ``unavailable``: the text that stands for a value that is not there. ``mark``: a column, and the
    texts there that mark a row as deleted."""

    fills: str = ""
    unavailable: str | None = None
    mark: tuple[str, tuple[str, ...]] | None = None
    by_sequence: bool = False


def merging_of(config: TableConfig, payload: Payload | None = None) -> Merging:
    """What the properties say; where they say nothing, what ``payload`` means. ConfigError for a
    property that Hudi does not know, or for one of a pair."""
    said = config.properties
    told = any(o.key in said for o in (PARTIAL_UPDATES, DELETE_FIELD, DELETE_MARKER))
    if payload is not None and not told:
        said = payload.properties
    mode = PARTIAL_UPDATES.stored(said) or ""
    field, marker = said.get(DELETE_FIELD.key), said.get(DELETE_MARKER.key)
    if bool(field) != bool(marker):
        raise ConfigError(
            f"table {config.name}",
            f"says one of {DELETE_FIELD} and {DELETE_MARKER}, and each means nothing alone.",
            "set both of them, or none.",
        )
    mark = None
    if field and marker:
        # The classes themselves compare without regard to case, version 9 does not.
        both = marker.lower(), marker.upper()
        by_class = payload is not None and not version_of(config.version).orders_by_many
        mark = (field, tuple(dict.fromkeys(both)) if by_class else (marker,))
    by_sequence = config.ordering_fields == (_SEQUENCE,) and payload is not None
    return Merging("" if mode == "NONE" else mode, said.get(UNAVAILABLE.key), mark, by_sequence)
