"""The catalog of a Hive Metastore, over thrift, with the entries that Hudi's ``HiveSyncTool``
makes.

A metastore of version 4 replaces an entry only if a parameter of it is still the one that was read
(HIVE-26882). Older ones ignore this: two writers at the same time may lose one of two updates,
which the next commit repeats. ``get_table`` is not used, because version 4 does not have it."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
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
from hoodoo_catalogs.readers import limits_of_trino

_SECONDS = 30.0  # that one call may take
# A number that each update of an entry raises.
_UPDATES = "hoodoo.entry.updates"
# Characters that Hive writes as % and two digits in the names of partitions.
_ESCAPED = frozenset("\"#%'*/:=?\\{[]^\x7f" + "".join(map(chr, range(32))))


@frozen
class HiveCatalog:
    """Implements :class:`~hoodoo_catalogs.hookspecs.catalog.Catalog`. Each call has a connection
    of its own, so that threads do not share one."""

    host: str
    port: int
    options: Mapping[str, str]

    @classmethod
    def from_settings(cls, settings: Settings) -> HiveCatalog:
        uri = options.URI.given(settings.options) or ""
        host, _, port = uri.partition("://")[2].rpartition(":")
        try:
            import hive_metastore  # noqa: F401
        except ImportError as error:
            raise ConfigError(
                f"catalog {uri}",
                "needs pyiceberg's client of the Hive Metastore, which is not installed.",
                "pip install hoodoo-catalogs[hive].",
            ) from error
        if not host or not port.isdigit():
            raise ConfigError(f"catalog {uri}", "names no host and port.", "Write hms://host:9083.")
        return cls(host, int(port), settings.options)

    @property
    def has_views(self) -> bool:
        return True

    def limits(self, config: TableConfig) -> tuple[str, ...]:
        return limits_of_trino(config)

    # --- entries ----------------------------------------------------------------------------------
    def tables(self) -> tuple[str, ...]:
        with self._client("tables") as client:
            databases = client.get_all_databases()
            found = [f"{d}.{t}" for d in databases for t in client.get_all_tables(d)]
        return tuple(sorted(found))

    def find(self, name: str) -> CatalogTable | None:
        known = Name.of(name)
        with self._client(name) as client:
            table = _table(client, known)
        return None if table is None else _entry(known, table)

    def put(self, table: CatalogTable) -> bool:
        name = Name.of(table.name)
        with self._client(table.name) as client:
            if table.version is None:
                return self._create(client, name, table)
            known = _table(client, name)
            if known is None or _version(known) != table.version:
                return False
            return self._replace(client, name, table, known)

    def drop(self, name: str) -> bool:
        known = Name.of(name)
        with self._client(name) as client:
            if _table(client, known) is None:
                return False
            client.drop_table(known.database, known.table, False)
        return True

    def location_of(self, name: str) -> str | None:
        from hive_metastore.ttypes import NoSuchObjectException

        known = Name.of(name)
        with self._client(name) as client:
            try:
                root = client.get_database(known.database).locationUri
            except NoSuchObjectException:
                return None
        return f"{root.rstrip('/')}/{known.table}" if root else None

    # --- partitions -------------------------------------------------------------------------------
    def partitions(
        self, name: str, among: Collection[Values] | None = None
    ) -> Mapping[Values, str]:
        known, found = Name.of(name), []
        with self._client(name) as client:
            if among is None:
                found = client.get_partitions(known.database, known.table, -1)
            else:
                table = _table(client, known)
                keys = [] if table is None else [key.name for key in table.partitionKeys]
                names = [_partition_name(keys, values) for values in sorted(among)]
                for some in batches(names, self._batch):
                    found += client.get_partitions_by_names(known.database, known.table, some)
        return {tuple(p.values): p.sd.location for p in found}

    def add_partitions(self, table: CatalogTable, locations: Mapping[Values, str]) -> None:
        from hive_metastore.ttypes import AddPartitionsRequest

        name, known = Name.of(table.name), self.partitions(table.name, locations)
        new = [v for v in sorted(locations) if v not in known]
        moved = [v for v in sorted(known) if known[v] != locations[v]]

        def made(values: list[Values]) -> list[Any]:
            return [self._partition(table, name, v, locations[v]) for v in values]

        with self._client(table.name) as client:
            for some in batches(new, self._batch):
                client.add_partitions_req(
                    AddPartitionsRequest(
                        dbName=name.database,
                        tblName=name.table,
                        parts=made(some),
                        ifNotExists=True,
                        needResult=False,
                    )
                )
            for some in batches(moved, self._batch):
                client.alter_partitions(name.database, name.table, made(some))

    def drop_partitions(self, name: str, values: Collection[Values]) -> None:
        from hive_metastore.ttypes import NoSuchObjectException

        known = Name.of(name)
        with self._client(name) as client:
            for one in sorted(values):
                try:
                    client.drop_partition(known.database, known.table, list(one), False)
                except NoSuchObjectException:
                    continue

    # --- inside -----------------------------------------------------------------------------------
    @property
    def _batch(self) -> int:
        return options.BATCH.read(self.options)

    def _create(self, client: Any, name: Name, table: CatalogTable) -> bool:
        from hive_metastore import ttypes

        if _table(client, name) is not None:
            return False
        self._create_database(client, name)
        try:
            client.create_table(self._made(name, table, {_UPDATES: "1"}))
        except ttypes.AlreadyExistsException:
            return False
        except ttypes.MetaException:
            if _table(client, name) is None:
                raise
            return False  # the database of the metastore has said that another one was faster
        return True

    def _replace(self, client: Any, name: Name, table: CatalogTable, known: Any) -> bool:
        from hive_metastore import ttypes

        updates = known.parameters.get(_UPDATES)
        now = self._made(name, table, {_UPDATES: str(int(updates or 0) + 1)})
        now.createTime, now.owner = known.createTime, known.owner
        context = {"CASCADE": "true"} if known.partitionKeys else {}
        if updates is not None:
            context["expected_parameter_key"] = _UPDATES
            context["expected_parameter_value"] = updates
        try:
            client.alter_table_with_environment_context(
                name.database, name.table, now, ttypes.EnvironmentContext(properties=context)
            )
        except ttypes.MetaException as error:
            if "has been modified" in str(error.message):
                return False
            raise
        except ttypes.InvalidOperationException as error:
            raise CatalogError(
                str(name),
                f"the metastore refuses the change: {error.message}",
                "If the types of columns changed, drop the entry; the next commit creates it.",
            ) from error
        return True

    def _create_database(self, client: Any, name: Name) -> None:
        from hive_metastore import ttypes

        try:
            client.get_database(name.database)
        except ttypes.NoSuchObjectException:
            if not options.CREATE_DATABASE.read(self.options):
                raise CatalogError(
                    str(name),
                    f"the metastore has no database {name.database}.",
                    f"Create it, or set {options.CREATE_DATABASE.key}=true.",
                ) from None
            made = ttypes.Database(name=name.database, description="", parameters={})
            try:
                client.create_database(made)
            except (ttypes.AlreadyExistsException, ttypes.MetaException):
                client.get_database(name.database)  # another one has created it

    def _made(self, name: Name, table: CatalogTable, more: Mapping[str, str]) -> Any:
        from hive_metastore import ttypes

        managed = options.MANAGED.read(self.options)
        external = {} if managed else {"EXTERNAL": "TRUE"}
        return ttypes.Table(
            tableName=name.table,
            dbName=name.database,
            owner="hoodoo",
            createTime=int(time.time()),
            lastAccessTime=0,
            retention=0,
            sd=self._storage(table, table.location),
            partitionKeys=_fields(table.partition_keys),
            parameters={**table.parameters, **external, **more},
            tableType="MANAGED_TABLE" if managed else "EXTERNAL_TABLE",
        )

    def _partition(self, table: CatalogTable, name: Name, values: Values, at: str) -> Any:
        from hive_metastore import ttypes

        return ttypes.Partition(
            values=list(values),
            dbName=name.database,
            tableName=name.table,
            createTime=int(time.time()),
            lastAccessTime=0,
            sd=self._storage(table, at),
            parameters={},
        )

    def _storage(self, table: CatalogTable, location: str) -> Any:
        from hive_metastore import ttypes

        more = options.SERDE_PROPERTIES.given(self.options) or ""
        made, output, serde = stored_as(table)
        return ttypes.StorageDescriptor(
            cols=_fields(table.columns),
            location=location,
            inputFormat=made,
            outputFormat=output,
            compressed=False,
            numBuckets=0,
            serdeInfo=ttypes.SerDeInfo(
                name=None, serializationLib=serde, parameters=serde_parameters(table, more)
            ),
            bucketCols=[],
            sortCols=[],
            parameters={},
        )

    @contextmanager
    def _client(self, what: str) -> Iterator[Any]:
        from hive_metastore.ThriftHiveMetastore import Client
        from thrift.protocol.TBinaryProtocol import TBinaryProtocol
        from thrift.Thrift import TException
        from thrift.transport.TSocket import TSocket
        from thrift.transport.TTransport import TBufferedTransport

        socket = TSocket(self.host, self.port)
        socket.setTimeout(_SECONDS * 1000)
        transport = TBufferedTransport(socket)
        try:
            transport.open()
            yield Client(TBinaryProtocol(transport))
        except (TException, OSError) as error:
            raise self._failed(what, error) from error
        finally:
            transport.close()

    def _failed(self, what: str, error: BaseException) -> CatalogError:
        said = str(getattr(error, "message", "") or error)
        fix = "Check that the metastore is running and reachable."
        if any(word in said for word in ("AccessControl", "rivilege", "ermission denied")):
            fix = "The entry may exist: give this user the right to it."
        where = f"Hive Metastore {self.host}:{self.port}, {what}"
        return CatalogError(where, f"{type(error).__name__}: {said}", fix)


def _table(client: Any, name: Name) -> Any:
    from hive_metastore.ttypes import GetTableRequest, NoSuchObjectException

    try:
        return client.get_table_req(GetTableRequest(dbName=name.database, tblName=name.table)).table
    except NoSuchObjectException:
        return None


def _entry(name: Name, table: Any) -> CatalogTable:
    stored = table.sd
    serde = dict(stored.serdeInfo.parameters or {}) if stored.serdeInfo else {}
    return CatalogTable(
        str(name),
        serde.get("path") or stored.location or "",
        _columns(stored.cols),
        _columns(table.partitionKeys),
        dict(table.parameters or {}),
        view_of(stored.inputFormat or "", serde),
        _version(table),
        provider_of(table.parameters or {}),
    )


def _version(table: Any) -> str:
    """What changes with each update, by whomever."""
    stored = table.sd
    said = [(c.name, c.type, c.comment) for c in (*stored.cols, *(table.partitionKeys or ()))]
    parts = (said, sorted((table.parameters or {}).items()), stored.location, stored.inputFormat)
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]


def _columns(fields: Any) -> tuple[Column, ...]:
    return tuple(Column(f.name, f.type or "", f.comment or "") for f in fields or ())


def _fields(columns: tuple[Column, ...]) -> list[Any]:
    from hive_metastore.ttypes import FieldSchema

    return [FieldSchema(name=c.name, type=c.type, comment=c.comment) for c in lower(columns)]


def _partition_name(keys: list[str], values: Values) -> str:
    each = (f"{_escaped(k)}={_escaped(v)}" for k, v in zip(keys, values, strict=True))
    return "/".join(each)


def _escaped(text: str) -> str:
    return "".join(f"%{ord(c):02X}" if c in _ESCAPED else c for c in text)
