"""The metadata of an Iceberg table in the folder ``metadata``: a snapshot for each commit.

``v<N>.metadata.json`` is put if it is absent, which decides; ``version-hint.text`` names the newest
one."""

from __future__ import annotations

import json
import uuid
from collections.abc import Collection, Mapping
from typing import Any

import pyarrow as pa
from hoodoo.errors import CorruptTableError, UnsupportedTableError
from hoodoo.hookspecs.participant import TableState
from hoodoo.model.filegroup import BaseFile
from hoodoo.model.meta import META_COLUMNS
from hoodoo.storage.api import Storage, get_if_there
from hoodoo.storage.together import discard
from hoodoo_rows.api import StoredFiles

from hoodoo_publishing.files import Head, Step, applied
from hoodoo_publishing.footers import Footer
from hoodoo_publishing.iceberg import manifests
from hoodoo_publishing.iceberg.manifests import EXISTING
from hoodoo_publishing.iceberg.partitions import Row, with_spec
from hoodoo_publishing.iceberg.remembered import files_of
from hoodoo_publishing.iceberg.schema import (
    LAST,
    Ids,
    columns,
    known_ids,
    leaves,
    name_mapping,
    refuse_other_types,
    stored_ids,
)
from hoodoo_publishing.iceberg.snapshots import (
    PutsManifests,
    file_entry,
    in_parts,
    merged_manifests,
    snapshot_id,
    snapshot_summary,
    summary_counts,
    without_files,
)
from hoodoo_publishing.iceberg.store import (
    DAMAGE,
    FOLDER,
    HINT,
    INSTANT,
    State,
    below_root,
    current_schema,
    damaged,
    discard_unlisted,
    manifest_paths,
    metadata_path,
    metadata_versions,
    put_metadata,
    read_metadata,
    sweep,
)
from hoodoo_publishing.past import Past

_MAPPING = "schema.name-mapping.default"
_SNAPSHOTS = 100  # that are listed


class IcebergMetadata:
    """Implements :class:`~hoodoo_publishing.sync.Format`."""

    name = "iceberg"
    keeps_states = True

    def refuse(self, schema: pa.Schema) -> None:
        columns(schema, Ids({}, 0))

    def refuse_state(self, state: TableState) -> None:
        reused = _past(state).reused
        if reused:
            raise UnsupportedTableError(
                f"column {reused[0]} of {state.storage.root}",
                "is called as another column was, and readers of iceberg would find its values in "
                "older files.",
                "Write the rows into a new table, or create it without hoodoo.open.formats.",
            )

    def shows(self, head: Head, schema: pa.Schema, state: TableState) -> bool:
        shown: State | None = head.detail
        if shown is None or shown.is_foreign:
            return False
        return shown.fields == columns(schema, _ids(shown.metadata, _past(state)))

    def head(self, storage: Storage) -> Head:
        versions = metadata_versions(storage)
        if not versions:
            return Head(0)
        try:
            state = read_metadata(storage, versions)
        except CorruptTableError:
            if metadata_versions(storage)[-1:] == versions[-1:]:
                raise
            return self.head(storage)  # others have published, and deleted what they replaced
        newest = versions[-1]
        if state is None:
            return Head(newest)
        files: dict[str, BaseFile] = {}
        for manifest in state.manifests:
            files |= manifest.files
        current = state.current
        return Head(newest, files, current["summary"].get(INSTANT, "") if current else "", state)

    def publish(
        self, state: TableState, head: Head, step: Step, read: dict[str, Footer]
    ) -> Head | None:
        before: State | None = head.detail
        storage = state.storage
        metadata = (
            _new_table(storage) if before is None else json.loads(json.dumps(before.metadata))
        )
        stored = stored_ids(state.config.properties)
        fields = _with_schema(metadata, step.schema, stored, _past(state))
        spec = with_spec(metadata, state.config.partition_fields, fields)
        sequence = metadata["last-sequence-number"] + 1
        snapshot = snapshot_id(step.instant, sequence)
        # Two processes may publish the same step, and divide it otherwise: each has files of its
        # own.
        token = uuid.uuid4().hex[:12]
        put = PutsManifests(storage, token, metadata, snapshot, sequence)
        root = metadata["location"]
        older = () if before is None else before.manifests
        try:
            kept, deleted = without_files(older, step, snapshot, root, put)
            kept = merged_manifests(kept, snapshot, put)
        except DAMAGE as error:  # of a manifest that was read before
            if metadata_versions(storage)[-1:] == (head.version,):
                raise damaged(storage, metadata_path(head.version), error) from error
            return None  # others have published, and deleted what they replaced
        by_path = leaves(fields)
        added: dict[int, list[Row]] = {}
        for file in step.added:
            values = spec.values(read[file.path])
            entry = file_entry(root, file, read[file.path], by_path, snapshot, values or {})
            added.setdefault(0 if values is None else spec.number, []).append(entry)
        for number, entries in added.items():
            kept += in_parts(f"new{number}", entries, number, put)
        parent = metadata["current-snapshot-id"]
        parent = None if parent == -1 else parent
        name = f"{FOLDER}/snap-{snapshot}-1-{token}.avro"
        rows = [manifest.row for manifest in kept]
        storage.put(name, manifests.list_bytes(rows, snapshot, parent, sequence))
        time = max(step.milliseconds, metadata["last-updated-ms"] + 1)
        new = {
            "snapshot-id": snapshot,
            "sequence-number": sequence,
            "timestamp-ms": time,
            "manifest-list": f"{root}/{name}",
            "summary": snapshot_summary(
                step, [e for each in added.values() for e in each], deleted, kept
            ),
            "schema-id": metadata["current-schema-id"],
        }
        if parent is not None:
            new["parent-snapshot-id"] = parent
        listed = [*metadata["snapshots"], new]
        metadata["snapshots"] = [*_that_stand(metadata["snapshots"], state), new][-_SNAPSHOTS:]
        metadata["current-snapshot-id"] = snapshot
        metadata["refs"] = {"main": {"snapshot-id": snapshot, "type": "branch"}}
        metadata["snapshot-log"].append({"snapshot-id": snapshot, "timestamp-ms": time})
        metadata["last-sequence-number"] = sequence
        versions = () if before is None else before.versions
        if not put_metadata(storage, metadata, head.version, time, versions):
            own = [below_root(root, r["manifest_path"]) for r in rows]
            discard(storage, [name, *(path for path in own if f"/{token}-" in path)])
            return None
        discard_unlisted(storage, metadata, listed)
        newer = State(metadata, tuple(kept), (*versions, head.version + 1))
        return Head(head.version + 1, applied(head.files, step), step.instant, newer)

    def expire(self, storage: Storage, paths: Collection[str]) -> int:
        """List no snapshot any more that names one of the base files ``paths``, nor an older one.
        The current snapshot stays. Returns the number of snapshots that were removed."""
        head = self.head(storage)
        state: State | None = head.detail
        if state is None:
            return 0
        root = state.metadata["location"]
        wanted = {f"{root}/{path}" for path in paths}
        read: dict[str, set[str]] = {}
        listed = state.metadata["snapshots"]
        # From the newest on: none before the first one that names a file is looked at.
        numbers = range(len(listed) - 2, -1, -1)
        naming = (n for n in numbers if wanted & _named_files(storage, root, listed[n], read))
        last = next(naming, None)
        if last is None:
            sweep(storage, state.metadata, state.manifests)
            return 0
        metadata = json.loads(json.dumps(state.metadata))
        metadata["snapshots"] = listed[last + 1 :]
        time = metadata["last-updated-ms"] + 1
        if not put_metadata(storage, metadata, head.version, time, state.versions):
            return self.expire(storage, paths)
        discard_unlisted(storage, metadata, listed)
        sweep(storage, metadata, state.manifests)
        return last + 1

    def renew(self, storage: Storage) -> list[str]:
        """A snapshot of the same files is the only one, and has manifests of its own: older
        ones have bounds of files that were removed."""
        # Whoever has put manifests by now can't publish them after the version that is put here.
        there = [e.path for e in storage.list(FOLDER) if e.path.endswith(".avro")]
        head = self.head(storage)
        state: State | None = head.detail
        older = [
            metadata_path(number) for number in metadata_versions(storage) if number <= head.version
        ]
        if state is None or state.current is None:
            return []
        metadata = json.loads(json.dumps(state.metadata))
        before, root = state.current, metadata["location"]
        sequence = metadata["last-sequence-number"] + 1
        snapshot = snapshot_id(before["summary"].get(INSTANT, ""), sequence)
        token = uuid.uuid4().hex[:12]
        put = PutsManifests(storage, token, metadata, snapshot, sequence)
        kept = []
        for number, manifest in enumerate(state.manifests):
            entries = [{**entry, "status": EXISTING} for entry in manifest.live]
            if entries:
                kept.append(put(f"m{number}", entries, manifest.row["partition_spec_id"]))
        name = f"{FOLDER}/snap-{snapshot}-1-{token}.avro"
        rows = [manifest.row for manifest in kept]
        storage.put(name, manifests.list_bytes(rows, snapshot, None, sequence))
        time = metadata["last-updated-ms"] + 1
        new = {
            **before,
            "snapshot-id": snapshot,
            "sequence-number": sequence,
            "timestamp-ms": time,
            "manifest-list": f"{root}/{name}",
            "summary": {
                **before["summary"],
                "operation": "replace",
                **summary_counts([], [], kept),
            },
        }
        new.pop("parent-snapshot-id", None)
        metadata["snapshots"], metadata["current-snapshot-id"] = [new], snapshot
        metadata["refs"] = {"main": {"snapshot-id": snapshot, "type": "branch"}}
        metadata["snapshot-log"] = [{"snapshot-id": snapshot, "timestamp-ms": time}]
        metadata["last-sequence-number"], metadata["metadata-log"] = sequence, []
        if not put_metadata(storage, metadata, head.version, time, ()):
            discard(storage, [name, *(below_root(root, row["manifest_path"]) for row in rows)])
            return self.renew(storage)
        return [*there, *older]

    def field_ids(self, head: Head, schema: pa.Schema) -> dict[str, int]:
        """The ids of the columns of ``schema``, at any depth, and of the meta columns; without
        metadata those that it will get. Empty if the metadata does not show ``schema`` yet."""
        if head.detail is None:
            ids = Ids({}, 0)
            name_mapping(columns(schema, ids), ids)
            return ids.known
        metadata = head.detail.metadata
        now = known_ids(current_schema(metadata)["fields"])
        ids = Ids(now, 0)
        columns(schema, ids)
        if ids.last:
            return {}
        meta = {one["names"][0]: one["field-id"] for one in _mapping(metadata)}
        return now | {name: meta[name] for name in META_COLUMNS if name in meta}

    def repair(self, storage: Storage, head: Head) -> None:
        """The hint names the newest version, also if a process ended before it could say so."""
        newest = str(head.version).encode()
        if head.version and get_if_there(storage, HINT) != newest:
            storage.put(HINT, newest)


def _new_table(storage: Storage) -> dict[str, Any]:
    return {
        "format-version": 2,
        "table-uuid": str(uuid.uuid5(uuid.NAMESPACE_URL, storage.root)),
        "location": storage.root,
        "last-sequence-number": 0,
        "last-updated-ms": 0,
        "last-column-id": 0,
        "current-schema-id": -1,
        "schemas": [],
        "default-spec-id": 0,
        "partition-specs": [{"spec-id": 0, "fields": []}],
        "last-partition-id": 999,
        "default-sort-order-id": 0,
        "sort-orders": [{"order-id": 0, "fields": []}],
        # Files belong to Hudi: an expiry of snapshots by another program must not delete them.
        "properties": {"write.data.path": storage.root, "gc.enabled": "false"},
        "current-snapshot-id": -1,
        "refs": {},
        "snapshots": [],
        "statistics": [],
        "snapshot-log": [],
        "metadata-log": [],
    }


def _past(state: TableState) -> Past:
    return Past.of(StoredFiles.history(state.file_format))


def _mapping(metadata: dict[str, Any]) -> list[Row]:
    found: list[Row] = json.loads(metadata["properties"].get(_MAPPING, "[]"))
    return found


def _ids(metadata: dict[str, Any], past: Past) -> Ids:
    """Ids of all columns that the table has had, and of the meta columns."""
    mapped = {one["names"][0]: one["field-id"] for one in _mapping(metadata)}
    each = [known_ids(schema["fields"]) for schema in metadata["schemas"]]
    known = {path for ids in each for path in ids}
    others = {name: number for name, number in mapped.items() if name not in known}
    return Ids.of_schemas([others, *each], metadata["last-column-id"], past)


def _with_schema(
    metadata: dict[str, Any], schema: pa.Schema, stored: Mapping[str, int], past: Past
) -> list[Row]:
    """``schema`` is the current one of ``metadata``; its columns. ``stored``: ids that base files
    may have."""
    ids = _ids(metadata, past)
    if stored and not metadata["schemas"]:
        there = {path: number for path, number in stored.items() if path != LAST}
        ids = Ids(there, max(stored.values()), past)
    fields = columns(schema, ids)
    if metadata["schemas"]:
        now = current_schema(metadata)["fields"]
        if now == fields:
            return fields
        known = {s["schema-id"]: s["fields"] for s in metadata["schemas"]}
        same = [number for number, each in known.items() if each == fields]
        if same:  # changes of columns were undone
            metadata["current-schema-id"] = same[0]
            metadata["properties"][_MAPPING] = json.dumps(name_mapping(fields, ids))
            metadata["last-column-id"] = ids.last
            return fields
        refuse_other_types(now, fields)
    number = len(metadata["schemas"])
    metadata["schemas"].append({"type": "struct", "schema-id": number, "fields": fields})
    metadata["current-schema-id"] = number
    metadata["properties"][_MAPPING] = json.dumps(name_mapping(fields, ids))
    metadata["last-column-id"] = ids.last
    return fields


def _that_stand(snapshots: list[dict[str, Any]], state: TableState) -> list[dict[str, Any]]:
    """Those of ``snapshots`` whose commits were not undone. A commit before the active timeline is
    archived."""
    if not state.timeline.writes():
        return []  # archiving leaves the newest one
    first = state.timeline.start or ""
    return [
        snapshot
        for snapshot in snapshots
        if (instant := snapshot["summary"].get(INSTANT))  # no commit of others
        and (instant < first or state.timeline.find(instant) is not None)
    ]


def _named_files(
    storage: Storage, root: str, snapshot: dict[str, Any], read: dict[str, set[str]]
) -> set[str]:
    """The base files of ``snapshot``. ``read``: those of manifests by path, as far as they have
    been read."""
    found: set[str] = set()
    try:
        for path in manifest_paths(storage, root, snapshot):
            if path not in read:
                (files,) = files_of(storage, root, [path])
                read[path] = {f"{root}/{below}" for below in files}
            found |= read[path]
    except DAMAGE:  # expired by another process, or damaged
        return found
    return found
