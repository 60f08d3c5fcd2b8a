"""What ``hoodoo doctor`` looks at: are the catalogs of a table reachable, and do they know its
newest commit?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from attrs import frozen
from hoodoo.errors import HoodooError
from hoodoo.hookspecs.registration import Settings
from hoodoo.model.findings import Finding, Found
from hoodoo.storage.api import Storage
from hoodoo.timeline import properties
from hoodoo.timeline.timeline import load

from hoodoo_catalogs.described import REQUESTED, Described
from hoodoo_catalogs.places import Place, catalogs_of
from hoodoo_catalogs.sync import notes_state, refuse_other


@frozen
class CatalogsCheck:
    """Implements :class:`~hoodoo_cli.hookspecs.check.Check`. ``options``: those of the command."""

    options: Mapping[str, str]

    @classmethod
    def from_settings(cls, settings: Settings) -> CatalogsCheck:
        return cls(settings.options)

    def environment(self, engine: str | None) -> Found:
        return Found()

    def table(self, storage: Storage, probe: bool) -> Found:
        try:
            config = properties.load(storage)
            seen = Described(storage, load(storage, config), self.options)
        except HoodooError:  # the check of the table says it
            return Found()
        places = catalogs_of(config, self.options)
        findings = [one for place in places for one in self._entries(seen, place)]
        notes = (f"catalogs: {', '.join(map(str, places))}",) if places else ()
        return Found(tuple(findings), notes=notes)

    def _entries(self, seen: Described, place: Place) -> Iterator[Finding]:
        try:
            catalog = place.open(self.options)
            has_views = bool(getattr(catalog, "has_views", False))
            for wanted in seen.entries(place.table or "", has_views):
                found = catalog.find(wanted.name)
                if found is not None:
                    refuse_other(found, wanted)
                knows = None if found is None else found.parameters.get(REQUESTED)
                newest = wanted.parameters.get(REQUESTED)
                if found is None or (knows != newest and notes_state(catalog)):
                    rule = (
                        "has no such entry"
                        if found is None
                        else f"knows the commit {knows}, not {newest}"
                    )
                    yield Finding(
                        "catalogs.behind", f"{place.uri} {wanted.name}", rule, "Run `hoodoo sync`."
                    )
        except HoodooError as error:
            yield Finding("catalogs.failed", error.obj, error.rule.rstrip("."), error.fix)
