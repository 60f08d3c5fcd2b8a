"""The participant: after each action the files that came with it are indexed.

A segment belongs to one base file, whose name comes once. So what is undone, restored or never
decided needs nothing here: a search asks about the files that the table has at that moment."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen
from hoodoo.hookspecs import Settings
from hoodoo.hookspecs.participant import ActionChange, RebuildRequest
from hoodoo.table.handle import TableHandle
from hoodoo.timeline.timeline import Timeline

from hoodoo_vector_index.build import bring_up
from hoodoo_vector_index.columns import Indexed, indexed
from hoodoo_vector_index.plugin import LEAST


@frozen
class Learns:
    """Implements :class:`~hoodoo.hookspecs.participant.Participant`, and its Participation."""

    settings: Settings
    each: tuple[Indexed, ...]
    keys: bool = False

    @classmethod
    def from_settings(cls, settings: Settings) -> Learns:
        return cls(settings, indexed({**settings.table.properties, **settings.options}))

    @property
    def noted(self) -> Mapping[str, str]:
        return {}

    def join(self, *_look: object) -> Learns | None:
        return self if self.each else None

    def begin(self, change: ActionChange) -> None:
        """Nothing: a segment is made of a file that is decided."""

    def after_action(self, request: RebuildRequest, timeline: Timeline) -> tuple[str, ...]:
        if not self.each:
            return ()
        handle = TableHandle(request.storage, request.config, self.settings.options)
        least = LEAST.read(self.settings.options)
        return bring_up(handle.source(), lambda: request.look().engine, self.each, least)
