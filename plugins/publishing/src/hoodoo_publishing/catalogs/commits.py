"""Iceberg's own catalogs (REST, SQL and the others that pyiceberg knows): each snapshot is
committed there, as it is in the folder of the table.

The catalog has metadata files of its own, and refuses a commit to another state than the one that
was read."""

from __future__ import annotations

from typing import Any

from hoodoo.errors import CommitConflictError, ConfigError, PluginError
from hoodoo.storage.api import Storage

from hoodoo_publishing.files import Head
from hoodoo_publishing.iceberg.store import INSTANT, pointer

_TRIES = 5


def update(place: str, storage: Storage, head: Head) -> bool:
    """The table ``NAME/namespace.table`` has the snapshots of ``head``; whether it has changed.
    ``NAME`` is a catalog of pyiceberg's configuration."""
    if head.detail is None:  # nothing is published yet
        return False
    catalog, name = _opened(place)
    from pyiceberg.exceptions import (
        CommitFailedException,
        NoSuchTableError,
        TableAlreadyExistsError,
    )
    from pyiceberg.table.metadata import TableMetadataUtil

    target = TableMetadataUtil.parse_obj(head.detail.metadata)
    for _ in range(_TRIES):
        try:
            table = catalog.load_table(name)
        except NoSuchTableError:
            catalog.create_namespace_if_not_exists(name.rpartition(".")[0])
            try:
                catalog.register_table(name, pointer(head))
            except TableAlreadyExistsError:
                continue
            return True
        _refuse_other(place, table.metadata, target)
        updates = _updates(table.metadata, target)
        if not updates:
            return False
        try:
            answer = catalog.commit_table(table, _as_read(table.metadata), updates)
        except CommitFailedException:
            continue
        _discard_old(table, answer.metadata)
        return True
    raise CommitConflictError(
        f"iceberg://{place}",
        f"was changed by others {_TRIES} times during an update.",
        "The next commit, or table.publish(), repeats it.",
    )


def _opened(place: str) -> tuple[Any, str]:
    """The catalog, and the name of the table there."""
    catalog, _, name = place.partition("/")
    if not catalog or "." not in name:
        raise ConfigError(
            f"catalog iceberg://{place}",
            "names no catalog of pyiceberg, or no table with its namespace.",
            "Write iceberg://catalog/namespace.table.",
        )
    try:
        from pyiceberg.catalog import load_catalog
        from pyiceberg.utils.config import Config
    except ImportError as error:
        raise ConfigError(
            f"catalog iceberg://{place}",
            "needs pyiceberg, which is not installed.",
            "pip install hoodoo-publishing[catalogs].",
        ) from error
    known = Config().get_catalog_config(catalog)
    if not known:
        raise ConfigError(
            f"catalog iceberg://{place}",
            f"pyiceberg's configuration has no catalog {catalog}.",
            f"Describe it in .pyiceberg.yaml, or set PYICEBERG_CATALOG__{catalog.upper()}__URI.",
        )
    properties: dict[str, Any] = dict(known)
    return load_catalog(catalog, **properties), name


def _refuse_other(place: str, there: Any, target: Any) -> None:
    if there.table_uuid != target.table_uuid:
        raise PluginError(
            f"table iceberg://{place}",
            f"is the table at {there.location}, not the one at {target.location}.",
            "Give this table another name there, or drop the other one.",
        )
    current = there.current_snapshot()
    if current is None or (current.summary or {}).get(INSTANT):
        newest = target.current_snapshot()
        older = current and newest and current.timestamp_ms < newest.timestamp_ms
        if not older or there.last_sequence_number < target.last_sequence_number:
            return
        why = "has snapshots of metadata that was deleted since."
    else:
        why = "was changed by another program, whose rows are not in the Hudi table."
    raise PluginError(
        f"table iceberg://{place}",
        why,
        "Drop it there, keeping its files; the next commit creates it.",
    )


def _as_read(there: Any) -> tuple[Any, ...]:
    from pyiceberg.table.update import AssertRefSnapshotId, AssertTableUUID

    return (
        AssertTableUUID(uuid=there.table_uuid),
        AssertRefSnapshotId(ref="main", snapshot_id=there.current_snapshot_id),
    )


def _updates(there: Any, target: Any) -> tuple[Any, ...]:
    """What makes the state ``there`` the ``target``; nothing if it is newer."""
    from pyiceberg.table import update as updates

    if there.last_sequence_number > target.last_sequence_number:
        return ()
    made: list[Any] = []
    schemas = {schema.schema_id for schema in there.schemas}
    made += [
        updates.AddSchemaUpdate(schema=schema)
        for schema in target.schemas
        if schema.schema_id not in schemas
    ]
    if there.current_schema_id != target.current_schema_id:
        made.append(updates.SetCurrentSchemaUpdate(schema_id=target.current_schema_id))
    specs = {spec.spec_id for spec in there.partition_specs}
    made += [
        updates.AddPartitionSpecUpdate(spec=spec)
        for spec in target.partition_specs
        if spec.spec_id not in specs
    ]
    if there.default_spec_id != target.default_spec_id:
        made.append(updates.SetDefaultSpecUpdate(spec_id=target.default_spec_id))
    changed = {k: v for k, v in target.properties.items() if there.properties.get(k) != v}
    if changed:
        made.append(updates.SetPropertiesUpdate(updates=changed))
    wanted = {snapshot.snapshot_id for snapshot in target.snapshots}
    made += [
        updates.AddSnapshotUpdate(snapshot=snapshot)
        for snapshot in target.snapshots
        if (snapshot.sequence_number or 0) > there.last_sequence_number
    ]
    if there.current_snapshot_id != target.current_snapshot_id:
        made.append(
            updates.SetSnapshotRefUpdate(
                ref_name="main", type="branch", snapshot_id=target.current_snapshot_id
            )
        )
    gone = [s.snapshot_id for s in there.snapshots if s.snapshot_id not in wanted]
    if gone:
        made.append(updates.RemoveSnapshotsUpdate(snapshot_ids=gone))
    return tuple(made)


def _discard_old(table: Any, now: Any) -> None:
    """Delete the metadata files that the catalog made for the table and does not name any more."""
    named = {entry.metadata_file for entry in now.metadata_log}
    for entry in table.metadata.metadata_log:
        name = entry.metadata_file.rpartition("/")[2]
        if entry.metadata_file not in named and name[0] != "v":
            try:
                table.io.delete(entry.metadata_file)
            except (OSError, ValueError):  # it was deleted already, or may stay
                continue
