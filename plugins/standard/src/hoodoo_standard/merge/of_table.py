"""The merger of a table, as its merge mode, its partial update mode and its merge properties say,
or its payload class."""

from __future__ import annotations

from functools import partial

from hoodoo.errors import OptionConflictError
from hoodoo.hookspecs.merger import Merger
from hoodoo.hookspecs.registration import Settings
from hoodoo.options.table import BY_EVENT_TIME

from hoodoo_standard.merge.commit_time import CommitTimeMerger
from hoodoo_standard.merge.event_time import EventTimeMerger
from hoodoo_standard.merge.filling import FillingMerger
from hoodoo_standard.merge.partial import PartialMerger
from hoodoo_standard.options import MERGING
from hoodoo_standard.payloads import (
    IGNORE_DEFAULTS,
    KEEP_VALUES,
    PAYLOADS,
    Payload,
    merging_of,
)


def commit_time(settings: Settings, payload: Payload | None = None) -> Merger:
    _refuse_new(settings)
    return _filling(CommitTimeMerger.from_settings(settings, payload), settings, payload)


def event_time(settings: Settings, payload: Payload | None = None) -> Merger:
    _refuse_new(settings)
    return _filling(EventTimeMerger.from_settings(settings, payload), settings, payload)


def partial_columns(settings: Settings) -> Merger:
    """OptionConflictError in a table with another partial update mode."""
    _refuse_new(settings)
    fills = merging_of(settings.table).fills
    if fills not in ("", KEEP_VALUES):
        raise OptionConflictError(
            "merger partial",
            f"contradicts the table, whose partial update mode is {fills}.",
            "leave it out: the table has a merger of its own.",
        )
    return PartialMerger.from_settings(settings)


def _of_payload(name: str, settings: Settings) -> Merger:
    payload = next(p for p in PAYLOADS if p.name == name)
    make = event_time if payload.mode == BY_EVENT_TIME else commit_time
    return make(settings, payload)


partial_update = partial(_of_payload, "partial_update")
overwrite_non_defaults = partial(_of_payload, "overwrite_non_defaults")
aws_dms = partial(_of_payload, "aws_dms")
postgres_debezium = partial(_of_payload, "postgres_debezium")
mysql_debezium = partial(_of_payload, "mysql_debezium")


def _filling(
    rule: CommitTimeMerger | EventTimeMerger, settings: Settings, payload: Payload | None
) -> Merger:
    table, merging = settings.table, merging_of(settings.table, payload)
    if merging.fills == KEEP_VALUES:
        return PartialMerger(rule)
    if not merging.fills or (merging.fills != IGNORE_DEFAULTS and not merging.unavailable):
        return rule
    fields = (*table.record_key_fields, *table.partition_fields)
    text = None if merging.fills == IGNORE_DEFAULTS else merging.unavailable
    return FillingMerger(rule, text, frozenset(fields), rule.delete_mark)


def _refuse_new(settings: Settings) -> None:
    """OptionConflictError for an option that would merge the rows of a table in another way."""
    for option in MERGING:
        value = option.given(settings.options)
        if value and value != "NONE" and option.key not in settings.table.properties:
            raise OptionConflictError(
                f"option {option.key}={value}",
                "contradicts the table, which does not have it.",
                "leave it out: a table has it from its beginning.",
            )
