"""The action ``renew_formats``: of the metadata of other formats only the newest state stays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import frozen
from hoodoo.hookspecs.registration import Settings
from hoodoo.storage.together import discard

from hoodoo_publishing import options

if TYPE_CHECKING:
    from hoodoo.table.handle import TableHandle


@frozen
class Renewal:
    """Implements :class:`~hoodoo.hookspecs.action.Action`: done at once. Of each format that has
    metadata there, also of one that is published no longer."""

    @classmethod
    def from_settings(cls, settings: Settings) -> Renewal:
        return cls()

    def run(self, table: TableHandle) -> None:
        """Raises what ``table.publish`` raises: older states are there then."""
        # Here, as each write makes each action, and seldom runs this one.
        from hoodoo_publishing.catalogs.faces import Faces, faces
        from hoodoo_publishing.files import Head
        from hoodoo_publishing.formats import FORMATS, named
        from hoodoo_publishing.participant import publish

        storage, config = table.storage, table.config
        nothing = (Head(), Head(0))
        forms = [form for form in named(FORMATS) if form.head(storage) not in nothing]
        if not forms:
            return
        publish(table.participants.request(), forms)
        older = [path for form in forms for path in form.renew(storage)]
        texts = options.CATALOGS.stored(config.properties) or ()
        each = faces(texts, [form.name for form in forms], lenient=True)
        Faces(each, table.options).update(storage, config, forms, True)
        discard(storage, older)
