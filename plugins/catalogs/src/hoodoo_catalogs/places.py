"""Where catalogs are, as text, and the plugins that answer for them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from attrs import frozen
from hoodoo.errors import ConfigError
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.registry import kernel
from hoodoo.kernel.resolve import resolve
from hoodoo.model.config import TableConfig
from hoodoo.storage.uri import absolute, split

from hoodoo_catalogs import options
from hoodoo_catalogs.hookspecs.catalog import Catalog

FILE = "file"
# Names of tables in a file catalog.
NAME = re.compile(r"[\w-][\w.-]*", re.ASCII)
# Kinds of catalogs that another distribution brings.
_ELSEWHERE = dict.fromkeys(("unity", "polaris", "bigquery"), "hoodoo-rest-catalogs")


@frozen
class Place:
    """A catalog, and perhaps the name of a table in it. ``plugin``: the name of the catalog's
    plugin."""

    plugin: str
    uri: str
    table: str | None = None

    @classmethod
    def of(cls, text: str) -> Place:
        """What ``glue://``, ``glue://db.t``, ``hms://host:port/db.t``, ``s3://lake`` or
        ``/lake#db.t`` names."""
        text = text.strip()
        scheme, rest = split(text)
        offer = kernel().find("catalog", scheme) if scheme else None
        if offer is None or offer.name == FILE:
            folder, mark, table = text.rpartition("#")
            if not mark or not NAME.fullmatch(table):
                folder, table = text, ""
            return cls(FILE, absolute(folder).rstrip("/"), table or None)
        first, slash, last = rest.strip("/").rpartition("/")
        host, name = (first, last) if slash else (rest, "") if ":" in rest else ("", rest)
        if rest.endswith("/"):
            host, name = rest.strip("/"), ""
        return cls(offer.name, f"{offer.name}://{host}", name or None)

    def check(self) -> None:
        """ConfigError for a kind that no installed distribution knows."""
        scheme, _ = split(self.uri)
        if self.plugin != FILE or not scheme or kernel().find("storage", scheme) is not None:
            return
        if scheme in _ELSEWHERE:
            fix = f"pip install {_ELSEWHERE[scheme]}."
        else:
            known = sorted(o.name for o in kernel().offers("catalog") if o.name != FILE)
            fix = (
                f"Give a folder, the URI of a bucket, or {' or '.join(f'{n}://' for n in known)}. "
                "In Iceberg's REST catalogs tables are those of Iceberg: table.publish."
            )
        raise ConfigError(
            f"catalog {self.uri}",
            f"is of the kind {scheme}, for which neither a catalog nor a storage is installed.",
            fix,
        )

    def open(self, settings: Mapping[str, str]) -> Catalog:
        """The catalog, with these options. ConfigError if none is installed for its kind."""
        self.check()
        given = Settings(options={**settings, options.URI.key: self.uri})
        found: Catalog = resolve("catalog", self.plugin, given).instance
        return found

    @property
    def in_python(self) -> str:
        """The call that opens the table."""
        if self.plugin == FILE:
            return f"hoodoo.catalog({self.uri!r}).open({self.table!r})"
        return f"hoodoo.open({str(self)!r})"

    def __str__(self) -> str:
        host = self.uri.partition("://")[2]
        if self.table is None:  # a host without a port is none of a table
            return f"{self.uri}/" if self.plugin != FILE and host and ":" not in host else self.uri
        joint = "#" if self.plugin == FILE else "" if self.uri.endswith("//") else "/"
        return f"{self.uri}{joint}{self.table}"


def catalogs_of(config: TableConfig, given: Mapping[str, str]) -> tuple[Place, ...]:
    """The catalogs that have the table, each with its name there: those that the table notes, those
    of the options, and those of Hudi's sync tools."""
    texts = [*(options.CATALOGS.stored(config.properties) or ())]
    texts += options.CATALOGS.given(given) or ()
    places = [Place.of(text) for text in texts] + _of_tools(given)
    return tuple(dict.fromkeys(_named(place, config, given) for place in places))


def _of_tools(given: Mapping[str, str]) -> list[Place]:
    tools = options.TOOLS.read(given) if options.ENABLED.read(given) else ()
    if not tools and options.HIVE_ENABLED.read(given):
        tools = (options.TOOLS.initial[0],)
    found = []
    for tool in tools:
        offer = kernel().find("catalog", tool)
        if offer is None:
            known = (
                alias for one in kernel().offers("catalog") for alias in one.registration.aliases
            )
            raise ConfigError(
                f"option {options.TOOLS.key}",
                f"names {tool}, which no installed catalog stands for.",
                f"Name some of {', '.join(a for a in known if '.' in a)}, or "
                f'{options.CATALOGS.key}. In place of BigQuerySyncTool: table.publish("manifest", '
                'catalog="bigquery://project.dataset.table", keep=True), with '
                "hoodoo-rest-catalogs.",
            )
        found += [Place(offer.name, uri) for uri in _uris(offer.name, given)]
    return found


def _uris(plugin: str, given: Mapping[str, str]) -> list[str]:
    if plugin != "hms":
        return [f"{plugin}://"]
    first = options.METASTORE.read(given).split(",")[0].strip()  # the others are its replicas
    return [f"hms://{split(first)[1].strip('/')}"]


def _named(place: Place, config: TableConfig, given: Mapping[str, str]) -> Place:
    if place.table is not None:
        return place
    name, database = options.TABLE.given(given) or config.name, options.DATABASE.given(given)
    if database is None and place.plugin != FILE:
        database = options.DATABASE.initial
    return Place(place.plugin, place.uri, f"{database}.{name}" if database else name)
