"""The catalog of AWS Glue, with the entries that Hudi's ``AwsGlueCatalogSyncTool`` makes.

Glue replaces a table only if it is still of the version that the caller has read. Without this
check by the server (some emulators have none) two writers at the same time may lose one of two
updates, which the next commit repeats."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from attrs import frozen
from hoodoo.errors import ConfigError
from hoodoo.hookspecs.registration import Settings
from hoodoo.model.config import TableConfig

from hoodoo_catalogs import options
from hoodoo_catalogs.hive_entry import (
    Name,
    batches,
    lower,
    provider_of,
    serde_parameters,
    stored_as,
    view_of,
)
from hoodoo_catalogs.hookspecs.catalog import CatalogError, CatalogTable, Column, Values
from hoodoo_catalogs.readers import limits_of_athena, limits_of_trino

# What Glue takes in one call.
_CREATED, _READ, _DELETED = 100, 1000, 25
_LISTING = "hudi.metadata-listing-enabled"


@frozen
class GlueCatalog:
    """Implements :class:`~hoodoo_catalogs.hookspecs.catalog.Catalog`. ``client``: boto3's client of
    Glue."""

    client: Any
    options: Mapping[str, str]

    @classmethod
    def from_settings(cls, settings: Settings) -> GlueCatalog:
        try:
            import boto3
            from botocore.config import Config
        except ImportError as error:
            raise ConfigError(
                "catalog glue://",
                "needs boto3, which is not installed.",
                "pip install hoodoo-catalogs[glue].",
            ) from error
        config = Config(connect_timeout=5, read_timeout=30, retries={"mode": "standard"})
        try:
            return cls(boto3.client("glue", config=config), settings.options)
        except Exception as error:  # of botocore, without a common class: no region, no profile
            raise _failed(error, "glue://") from error

    @property
    def has_views(self) -> bool:
        return True

    def limits(self, config: TableConfig) -> tuple[str, ...]:
        return limits_of_athena(config) + limits_of_trino(config)

    # --- entries ----------------------------------------------------------------------------------
    def tables(self) -> tuple[str, ...]:
        found = []
        for database in self._pages("get_databases", "DatabaseList"):
            for table in self._pages("get_tables", "TableList", DatabaseName=database["Name"]):
                found.append(f"{database['Name']}.{table['Name']}")
        return tuple(sorted(found))

    def find(self, name: str) -> CatalogTable | None:
        known = self._table(Name.of(name))
        if known is None:
            return None
        stored = known.get("StorageDescriptor", {})
        serde = stored.get("SerdeInfo", {}).get("Parameters", {})
        return CatalogTable(
            str(Name.of(name)),
            serde.get("path") or stored.get("Location") or "",
            _columns(stored.get("Columns", ())),
            _columns(known.get("PartitionKeys", ())),
            dict(known.get("Parameters", {})),
            view_of(stored.get("InputFormat", ""), serde),
            str(known.get("VersionId") or "0"),
            provider_of(known.get("Parameters", {})),
        )

    def put(self, table: CatalogTable) -> bool:
        name, wanted = Name.of(table.name), self._input(table)
        if table.version is None:
            for _ in range(2):
                try:
                    self.client.create_table(DatabaseName=name.database, TableInput=wanted)
                    return True
                except Exception as error:
                    if _is(error, "AlreadyExistsException"):
                        return False
                    if not _is(error, "EntityNotFoundException"):
                        raise _failed(error, str(name)) from error
                    self._create_database(name)
            raise CatalogError(str(name), "its database was deleted meanwhile.", "Repeat the call.")
        known = self._table(name)
        if known is None or str(known.get("VersionId") or "0") != table.version:
            return False
        try:
            self.client.update_table(
                DatabaseName=name.database,
                TableInput=wanted,
                SkipArchive=options.GLUE_ARCHIVE.read(self.options),
                VersionId=table.version,
            )
        except Exception as error:
            if _is(error, "ConcurrentModificationException", "EntityNotFoundException"):
                return False
            raise _failed(error, str(name)) from error
        return True

    def drop(self, name: str) -> bool:
        known = Name.of(name)
        try:
            self.client.delete_table(DatabaseName=known.database, Name=known.table)
        except Exception as error:
            if _is(error, "EntityNotFoundException"):
                return False
            raise _failed(error, name) from error
        return True

    def location_of(self, name: str) -> str | None:
        known = Name.of(name)
        try:
            database = self.client.get_database(Name=known.database)["Database"]
        except Exception as error:
            if _is(error, "EntityNotFoundException"):
                return None
            raise _failed(error, name) from error
        root = database.get("LocationUri")
        return f"{root.rstrip('/')}/{known.table}" if root else None

    # --- partitions -------------------------------------------------------------------------------
    def partitions(
        self, name: str, among: Collection[Values] | None = None
    ) -> Mapping[Values, str]:
        known = Name.of(name)
        of = {"DatabaseName": known.database, "TableName": known.table}
        if among is None:
            found = list(self._pages("get_partitions", "Partitions", **of))
        else:
            found = []
            for some in batches(sorted(among), _READ):
                asked = [{"Values": list(values)} for values in some]
                answer = self._call("batch_get_partition", **of, PartitionsToGet=asked)
                found += answer.get("Partitions", ())
        return {tuple(p["Values"]): p["StorageDescriptor"]["Location"] for p in found}

    def add_partitions(self, table: CatalogTable, locations: Mapping[Values, str]) -> None:
        name = Name.of(table.name)
        of = {"DatabaseName": name.database, "TableName": name.table}
        stored = self._input(table)["StorageDescriptor"]
        for some in batches(sorted(locations), _CREATED):
            wanted = {
                v: {"Values": list(v), "StorageDescriptor": {**stored, "Location": locations[v]}}
                for v in some
            }
            answer = self._call(
                "batch_create_partition", **of, PartitionInputList=[*wanted.values()]
            )
            there = _refused(answer, name, "AlreadyExistsException")
            known = self.partitions(table.name, there) if there else {}
            moved = [v for v in there if known.get(v) != locations[v]]
            if moved:
                entries = [
                    {"PartitionValueList": list(v), "PartitionInput": wanted[v]} for v in moved
                ]
                _refused(self._call("batch_update_partition", **of, Entries=entries), name)

    def drop_partitions(self, name: str, values: Collection[Values]) -> None:
        known = Name.of(name)
        of = {"DatabaseName": known.database, "TableName": known.table}
        for some in batches(sorted(values), _DELETED):
            asked = [{"Values": list(one)} for one in some]
            answer = self._call("batch_delete_partition", **of, PartitionsToDelete=asked)
            _refused(answer, known, "EntityNotFoundException")

    # --- inside -----------------------------------------------------------------------------------
    def _table(self, name: Name) -> dict[str, Any] | None:
        try:
            found = self.client.get_table(DatabaseName=name.database, Name=name.table)
        except Exception as error:
            if _is(error, "EntityNotFoundException"):
                return None
            raise _failed(error, str(name)) from error
        known: dict[str, Any] = found["Table"]
        return known

    def _create_database(self, name: Name) -> None:
        if not options.CREATE_DATABASE.read(self.options):
            raise CatalogError(
                str(name),
                f"Glue has no database {name.database}.",
                f"Create it, or set {options.CREATE_DATABASE.key}=true.",
            )
        try:
            self.client.create_database(DatabaseInput={"Name": name.database})
        except Exception as error:
            if not _is(error, "AlreadyExistsException"):
                raise _failed(error, str(name)) from error

    def _input(self, table: CatalogTable) -> dict[str, Any]:
        more = options.SERDE_PROPERTIES.given(self.options) or ""
        made, output, serde = stored_as(table)
        listing = "TRUE" if options.GLUE_LISTING.read(self.options) else "FALSE"
        return {
            "Name": Name.of(table.name).table,
            "TableType": "EXTERNAL_TABLE",
            "Parameters": {
                "EXTERNAL": "TRUE",
                **table.parameters,
                **({_LISTING: listing} if table.provider == "hudi" else {}),
            },
            "PartitionKeys": _glue_columns(table.partition_keys),
            "StorageDescriptor": {
                "Columns": _glue_columns(table.columns),
                "Location": table.location,
                "InputFormat": made,
                "OutputFormat": output,
                "SerdeInfo": {
                    "SerializationLibrary": serde,
                    "Parameters": serde_parameters(table, more),
                },
            },
        }

    def _pages(self, call: str, key: str, **arguments: Any) -> Iterator[dict[str, Any]]:
        token: dict[str, str] = {}
        while True:
            answer = self._call(call, **arguments, **token)
            yield from answer.get(key, ())
            if not answer.get("NextToken"):
                return
            token = {"NextToken": answer["NextToken"]}

    def _call(self, call: str, **arguments: Any) -> Any:
        try:
            return getattr(self.client, call)(**arguments)
        except Exception as error:
            raise _failed(error, call) from error


def _columns(stored: Any) -> tuple[Column, ...]:
    return tuple(Column(c["Name"], c.get("Type", ""), c.get("Comment") or "") for c in stored)


def _glue_columns(columns: tuple[Column, ...]) -> list[dict[str, str]]:
    return [
        {"Name": c.name, "Type": c.type, **({"Comment": c.comment[:255]} if c.comment else {})}
        for c in lower(columns)
    ]


def _refused(answer: Mapping[str, Any], name: Name, *harmless: str) -> list[Values]:
    """The partitions that were refused for ``harmless`` reasons. CatalogError for another one."""
    found = []
    for error in answer.get("Errors", ()):
        detail = error.get("ErrorDetail", {})
        if detail.get("ErrorCode") not in harmless:
            raise CatalogError(
                f"partition {error.get('PartitionValues')} of {name}",
                f"Glue refuses it: {detail.get('ErrorCode')}: {detail.get('ErrorMessage')}",
            )
        found.append(tuple(error["PartitionValues"]))
    return found


def _is(error: Exception, *codes: str) -> bool:
    response: Any = getattr(error, "response", None) or {}
    return response.get("Error", {}).get("Code") in codes


_DENIED = (
    "AccessDeniedException",
    "AccessDenied",
    "UnrecognizedClientException",
    "ExpiredTokenException",
    "InvalidClientTokenId",
)


def _failed(error: Exception, what: str) -> CatalogError:
    fix = "Check the network, the region and the credentials of AWS."
    if _is(error, *_DENIED):
        fix = (
            "The entry may exist: give the user of these credentials the right to it "
            "(glue:GetTable and others)."
        )
    return CatalogError(f"AWS Glue, {what}", f"{type(error).__name__}: {error}", fix)
