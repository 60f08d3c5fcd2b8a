"""What hoodoo-catalogs offers: catalogs, the participant that updates them, names of tables in the
place of paths."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from hoodoo import hookimpl
from hoodoo.hookspecs import Registration

from hoodoo_catalogs import options

if TYPE_CHECKING:
    from hoodoo.hookspecs.creation import Found, NewTable
    from hoodoo.model.config import TableConfig
    from hoodoo.storage.api import Storage

_HIVE_TOOLS = ("thrift", "org.apache.hudi.hive.HiveSyncTool")
_GLUE_TOOLS = (
    "org.apache.hudi.aws.sync.AwsGlueCatalogSyncTool",
    "org.apache.hudi.aws.sync.AWSGlueCatalogSyncTool",
)


@hookimpl
def hoodoo_families() -> Mapping[str, str]:
    return {"catalog": "hoodoo_catalogs.hookspecs:CATALOG"}


@hookimpl(optionalhook=True)
def hoodoo_catalogs() -> Iterable[Registration]:
    return [
        Registration(
            "file",
            "hoodoo_catalogs.file:FileCatalog.from_settings",
            options=(options.URI,),
            summary="a folder or bucket with one JSON file for each table; needs no server",
        ),
        Registration(
            "glue",
            "hoodoo_catalogs.glue:GlueCatalog.from_settings",
            _GLUE_TOOLS,
            options.GLUE_OPTIONS,
            "AWS Glue, with the entries that Hudi's sync tool makes",
        ),
        Registration(
            "hms",
            "hoodoo_catalogs.hive:HiveCatalog.from_settings",
            _HIVE_TOOLS,
            options.HIVE_OPTIONS,
            "a Hive Metastore, with the entries that Hudi's sync tool makes",
        ),
    ]


@hookimpl
def hoodoo_storages() -> Iterable[Registration]:
    store = "hoodoo_catalogs.stores:store_of"
    return [
        Registration("glue", store, summary="a table by its name in AWS Glue"),
        Registration("hms", store, summary="a table by its name in a Hive Metastore"),
    ]


@hookimpl
def hoodoo_new_table(wanted: NewTable) -> TableConfig | None:
    if "://" not in wanted.path:
        return None
    from hoodoo_catalogs.stores import new_table

    return new_table(wanted, hoodoo_new_table)


@hookimpl
def hoodoo_instead(storage: Storage, at: Callable[[str], Storage]) -> Found | None:
    if "#" not in storage.root:
        return None
    from hoodoo_catalogs.stores import named_in_file

    return named_in_file(storage.root, at)


@hookimpl
def hoodoo_participants() -> Iterable[Registration]:
    return [
        Registration(
            "catalogs",
            "hoodoo_catalogs.participant:OfCatalogs",
            options=options.OPTIONS,
            summary="updates the catalogs that have the table after each action",
            verbs={"sync": "hoodoo_catalogs.verbs:sync"},
            given=tuple(o.key for o in (options.CATALOGS, options.ENABLED, options.HIVE_ENABLED)),
        )
    ]


@hookimpl
def hoodoo_functions() -> Iterable[Registration]:
    return [
        Registration(
            "catalog",
            "hoodoo_catalogs.lake:catalog",
            summary="A catalog, in which tables are created, opened and listed by name.",
        )
    ]


@hookimpl
def hoodoo_commands() -> Iterable[Registration]:
    return [
        Registration(
            "sync",
            "hoodoo_catalogs.commands.sync:sync",
            summary="Update the catalogs that have the table: columns, partitions, the newest "
            "commit.",
        )
    ]


@hookimpl(optionalhook=True)
def hoodoo_checks() -> Iterable[Registration]:
    return [
        Registration(
            "catalogs",
            "hoodoo_catalogs.check:CatalogsCheck.from_settings",
            summary="whether the catalogs of a table are reachable and know its newest commit",
        )
    ]
