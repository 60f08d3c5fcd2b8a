"""Calls that become methods of :class:`hoodoo.Table`."""

from __future__ import annotations

from collections.abc import Sequence

from hoodoo.errors import ConfigError
from hoodoo.table.call_action import PARTICIPANT_SERVICE, action_run
from hoodoo.table.handle import TableHandle

from hoodoo_publishing import options
from hoodoo_publishing.formats import named
from hoodoo_publishing.participant import publish as publish_all


def publish(table: TableHandle, formats: str | Sequence[str] | None = None) -> tuple[str, ...]:
    """Write the metadata of other formats for the newest state of the table: ``"delta"``,
    ``"iceberg"``, or both. By default those of the table's property ``hoodoo.open.formats``, which
    are also written after each action.

    Returns ``<format> <instant>`` of each new version; nothing if all are up to date. Raises
    ConfigError for an unknown format, for a merge-on-read table without
    ``hoodoo.open.read.optimized``, SchemaError for a column that the format has no type for, and
    CommitConflictError if other processes are always first.

    >>> table.publish("delta")
    ('delta 20261128104500123',)
    """
    table.refresh()
    names = [formats] if isinstance(formats, str) else formats
    names = names if names is not None else options.FORMATS.stored(table.config.properties)
    if not names:
        raise ConfigError(
            f"table {table.config.name}",
            f"has no {options.FORMATS.key}, and the call names no format.",
            'Call table.publish("delta"), or "iceberg".',
        )
    every = [part for name in names for part in name.split(",") if part.strip()]
    with action_run(table, PARTICIPANT_SERVICE) as events:
        done = publish_all(table.participants.request(), named(every))
        if not done:
            events.skip()
        return done
