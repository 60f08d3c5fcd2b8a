"""The archived instants of a table, as the plugin of its timeline's layout reads them.

Where nothing was archived, no plugin is needed."""

from __future__ import annotations

from hoodoo.hookspecs.archived_timeline import ArchivedTimeline
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.registry import kernel
from hoodoo.kernel.resolve import resolve
from hoodoo.model.config import TableConfig
from hoodoo.storage.api import Storage
from hoodoo.timeline.archived import ArchivedInstant, read_with
from hoodoo.timeline.instants import order_key
from hoodoo.timeline.layouts import layout_of

FAMILY = "archived_timeline"


def archived_timeline(settings: Settings) -> ArchivedTimeline:
    """That of the table with these properties. PluginError where no plugin offers it."""
    found: ArchivedTimeline = resolve(FAMILY, _name(settings.table), settings).instance
    return found


def load_archived(
    storage: Storage, config: TableConfig, since: str | None = None
) -> tuple[ArchivedInstant, ...]:
    """The completed instants that were archived, by requested time, each once.

    An instant may be on the active timeline as well, for a moment or after a crash. With ``since``,
    such as were requested before may be left out. Raises :class:`~hoodoo.errors.CorruptTableError`
    naming a file that can't be read, and PluginError where instants are archived and no plugin
    reads them.
    """
    if _is_empty(storage, config):
        return ()
    once: dict[tuple[str, str], ArchivedInstant] = {}
    for instant in archived_timeline(Settings(config)).instants(storage, config, since):
        once.setdefault((instant.requested, instant.action), instant)
    return tuple(sorted(once.values(), key=lambda i: (order_key(i.requested), i.action)))


def oldest(storage: Storage, config: TableConfig) -> str | None:
    """When the first of the archived instants was requested; None if nothing is archived. Costs a
    listing and a small file."""
    if _is_empty(storage, config):
        return None
    return archived_timeline(Settings(config)).oldest(storage, config)


def _is_empty(storage: Storage, config: TableConfig) -> bool:
    """Whether nobody needs a plugin that is not installed. (The usual one looks by itself.)"""
    if kernel().find(FAMILY, _name(config)) is not None:
        return False
    return not any(entry.size for entry in storage.list(layout_of(config).archive_folder(config)))


def _name(config: TableConfig) -> str:
    return f"layout_{layout_of(config).number}"


read_with(load_archived)
