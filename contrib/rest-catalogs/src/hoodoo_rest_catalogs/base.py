"""What the catalogs here share: an entry is one resource of a server, found, created and dropped by
its path."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen
from hoodoo_catalogs.api import CREATE_DATABASE
from hoodoo_catalogs.hookspecs.catalog import CatalogTable

from hoodoo_rest_catalogs.http import EXISTS, MISSING, Answer, Server


@frozen
class RestCatalog:
    """Subclasses say how names become paths, and entries become bodies and the reverse."""

    server: Server
    options: Mapping[str, str]

    def find(self, name: str) -> CatalogTable | None:
        answer = self.server.call("GET", *self._path(name), refused=(MISSING,))
        return None if answer.status == MISSING else self._entry(name, answer.body)

    def drop(self, name: str) -> bool:
        return self.server.call("DELETE", *self._path(name), refused=(MISSING,)).status < 300

    def _path(self, name: str) -> tuple[str, ...]:
        """Where the entry is. ConfigError for a name that can't be."""
        raise NotImplementedError

    def _body(self, table: CatalogTable) -> dict[str, Any]:
        """A request to create it. CatalogError for an entry that can't be there."""
        raise NotImplementedError

    def _entry(self, name: str, body: Mapping[str, Any]) -> CatalogTable:
        """Of an answer."""
        raise NotImplementedError


class ReplacingCatalog(RestCatalog):
    """Of a server without a call that changes a table: an entry whose columns change is dropped and
    created again. For a moment readers do not find it, and none of its files is touched."""

    # What the server answers where the name is taken.
    _taken: tuple[int, ...] = (EXISTS,)

    @property
    def replaces_entries(self) -> bool:
        return True

    def put(self, table: CatalogTable) -> bool:
        path, body = self._path(table.name), self._body(table)
        known = self.find(table.name)
        if table.version != (None if known is None else known.version):
            return False
        if known is not None:
            self.drop(table.name)
        answer = self._created(path, body)
        if answer.status == MISSING and CREATE_DATABASE.read(self.options):
            self._create_places(table.name)
            answer = self._created(path, body)
        if answer.status < 300:
            return True
        if answer.status == EXISTS or "ALREADY_EXISTS" in answer.said:
            self._refuse_hidden(table.name)
            return False
        raise self.server.error(f"{self.server.title}, {table.name}", answer)

    def _created(self, path: tuple[str, ...], body: Mapping[str, Any]) -> Answer:
        return self.server.call("POST", *path[:-1], body=body, refused=(MISSING, *self._taken))

    def _create_places(self, name: str) -> None:
        """The schema, or the namespaces, of a table."""
        raise NotImplementedError

    def _refuse_hidden(self, name: str) -> None:
        """CatalogError if what has the name can't be an entry."""
