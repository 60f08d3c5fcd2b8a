"""The participant of a table, which is shown in other formats or not: one that is not imports
nothing of these."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import frozen
from hoodoo.hookspecs.registration import Settings

from hoodoo_publishing import options

if TYPE_CHECKING:
    from hoodoo_publishing.participant import Publisher


@frozen
class OpenFormats:
    """Implements :class:`~hoodoo.hookspecs.participant.Participant`. Tables without these formats
    have no further part."""

    parts: tuple[Publisher, ...] = ()

    def join(self, *look: object) -> None:
        return None

    @classmethod
    def from_settings(cls, settings: Settings) -> OpenFormats:
        stored = settings.table.properties
        names = options.FORMATS.stored(stored)
        if not names:
            return cls()
        from hoodoo_publishing.catalogs.faces import Faces, faces
        from hoodoo_publishing.formats import named
        from hoodoo_publishing.participant import Publisher

        formats = named(names)
        texts = options.CATALOGS.stored(stored) or ()
        each = faces(texts, [form.name for form in formats], lenient=True)
        return cls((Publisher(tuple(formats), Faces(each, settings.options)),))
