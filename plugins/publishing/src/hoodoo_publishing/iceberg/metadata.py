"""The metadata of an Iceberg table in the folder ``metadata``: a snapshot for each commit.

``v<N>.metadata.json`` is put if it is absent, which decides; ``version-hint.text`` names the newest
one."""

from __future__ import annotations

import hashlib
import json
import re
import threading
import uuid
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

import pyarrow as pa
from attrs import frozen
from hoodoo.errors import CorruptTableError, UnsupportedTableError
from hoodoo.hookspecs.participant import TableState
from hoodoo.model.commit import Operation
from hoodoo.model.filegroup import BaseFile
from hoodoo.model.meta import META_COLUMNS
from hoodoo.storage.api import Storage, get_if_there
from hoodoo.storage.together import discard, together
from hoodoo.timeline.names import parse_path
from hoodoo_rows.api import StoredFiles

from hoodoo_publishing.files import Head, Step, applied
from hoodoo_publishing.footers import Footer
from hoodoo_publishing.iceberg import manifests
from hoodoo_publishing.iceberg.manifests import ADDED, DELETED, EXISTING, Manifest
from hoodoo_publishing.iceberg.partitions import Row, spec_of, with_spec
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
from hoodoo_publishing.iceberg.values import metrics
from hoodoo_publishing.past import Past

FOLDER = "metadata"
_HINT = f"{FOLDER}/version-hint.text"
_VERSION = re.compile(rf"{FOLDER}/v(\d+)\.metadata\.json")
_MAPPING = "schema.name-mapping.default"
_FILES = 500  # of a manifest
_SMALL = 30  # manifests of less than half as many are merged when there are so many of them
_SNAPSHOTS = 100  # that are listed
_VERSIONS = 20  # metadata files before the newest one
_SCHEMES = re.compile(r"^(s3|abfs|wasb)[an]?s?://", re.IGNORECASE)
_PROPERTIES = {
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": str(_VERSIONS),
}
_LATE = 3600.0  # seconds after which nobody publishes what was put before
_KNOWN = 10_000  # entries of manifests that a process remembers
_known: dict[tuple[str, str], tuple[Row, ...]] = {}
_lock = threading.Lock()
INSTANT = "hoodoo.instant"
_DAMAGE = (ValueError, KeyError, TypeError, IndexError, EOFError, FileNotFoundError)


@frozen
class _State:
    """``metadata``: the newest metadata file; ``manifests``: those of its current snapshot;
    ``versions``: numbers of the metadata files that there are."""

    metadata: dict[str, Any]
    manifests: tuple[Manifest, ...]
    versions: tuple[int, ...] = ()

    @property
    def current(self) -> dict[str, Any] | None:
        found = [
            s
            for s in self.metadata["snapshots"]
            if s["snapshot-id"] == self.metadata["current-snapshot-id"]
        ]
        return found[0] if found else None

    @property
    def fields(self) -> list[Row]:
        number = self.metadata["current-schema-id"]
        return next(s["fields"] for s in self.metadata["schemas"] if s["schema-id"] == number)


class IcebergMetadata:
    """Implements :class:`~hoodoo_publishing.sync.Format`."""

    name = "iceberg"

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
        shown: _State | None = head.detail
        if shown is None:
            return False
        return shown.fields == columns(schema, _ids(shown.metadata, _past(state)))

    def head(self, storage: Storage) -> Head:
        versions = _versions(storage)
        if not versions:
            return Head(0)
        try:
            state = _read(storage, versions)
        except CorruptTableError:
            if _versions(storage)[-1:] == versions[-1:]:
                raise
            return self.head(storage)  # others have published, and deleted what they replaced
        newest = versions[-1]
        if state is None:
            return Head(newest)
        files = {}
        for manifest in state.manifests:
            for entry in manifest.live:
                file = entry["data_file"]
                path = _below(state.metadata["location"], file["file_path"])
                parsed = parse_path(path, file["file_size_in_bytes"])
                if isinstance(parsed, BaseFile):
                    files[path] = parsed
        current = state.current
        return Head(newest, files, current["summary"].get(INSTANT, "") if current else "", state)

    def publish(
        self, state: TableState, head: Head, step: Step, read: dict[str, Footer]
    ) -> Head | None:
        before: _State | None = head.detail
        storage = state.storage
        metadata = (
            _new_table(storage) if before is None else json.loads(json.dumps(before.metadata))
        )
        stored = stored_ids(state.config.properties)
        fields = _with_schema(metadata, step.schema, stored, _past(state))
        spec = with_spec(metadata, state.config.partition_fields, fields)
        sequence = metadata["last-sequence-number"] + 1
        snapshot = _snapshot_id(step.instant, sequence)
        # Two processes may publish the same step, and divide it otherwise: each has files of its
        # own.
        token = uuid.uuid4().hex[:12]
        put = _Puts(storage, token, metadata, snapshot, sequence)
        root = metadata["location"]
        older = () if before is None else before.manifests
        kept, deleted = _without(older, step, snapshot, root, put)
        kept = _merged(kept, snapshot, put)
        by_path = leaves(fields)
        added: dict[int, list[Row]] = {}
        for file in step.added:
            values = spec.values(read[file.path])
            entry = _entry(root, file, read[file.path], by_path, snapshot, values or {})
            added.setdefault(0 if values is None else spec.number, []).append(entry)
        for number, entries in added.items():
            kept += _in_parts(f"new{number}", entries, number, put)
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
            "summary": _summary(step, [e for each in added.values() for e in each], deleted, kept),
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
        if not _put(storage, metadata, head.version, time, versions):
            own = [_below(root, r["manifest_path"]) for r in rows]
            discard(storage, [name, *(path for path in own if f"/{token}-" in path)])
            return None
        _discard_unlisted(storage, metadata, listed)
        newer = _State(metadata, tuple(kept), (*versions, head.version + 1))
        return Head(head.version + 1, applied(head.files, step), step.instant, newer)

    def expire(self, storage: Storage, paths: Collection[str]) -> int:
        """List no snapshot any more that names one of the base files ``paths``, nor an older one.
        The current snapshot stays. Returns the number of snapshots that were removed."""
        head = self.head(storage)
        state: _State | None = head.detail
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
            _sweep(storage, state.metadata, state.manifests)
            return 0
        metadata = json.loads(json.dumps(state.metadata))
        metadata["snapshots"] = listed[last + 1 :]
        time = metadata["last-updated-ms"] + 1
        if not _put(storage, metadata, head.version, time, state.versions):
            return self.expire(storage, paths)
        _discard_unlisted(storage, metadata, listed)
        _sweep(storage, metadata, state.manifests)
        return last + 1

    def renew(self, storage: Storage) -> list[str]:
        """A snapshot of the same files is the only one, and has manifests of its own: older
        ones have bounds of files that were removed."""
        # Whoever has put manifests by now can't publish them after the version that is put here.
        there = [e.path for e in storage.list(FOLDER) if e.path.endswith(".avro")]
        head = self.head(storage)
        state: _State | None = head.detail
        older = [_path(number) for number in _versions(storage) if number <= head.version]
        if state is None or state.current is None:
            return []
        metadata = json.loads(json.dumps(state.metadata))
        before, root = state.current, metadata["location"]
        sequence = metadata["last-sequence-number"] + 1
        snapshot = _snapshot_id(before["summary"].get(INSTANT, ""), sequence)
        token = uuid.uuid4().hex[:12]
        put = _Puts(storage, token, metadata, snapshot, sequence)
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
            "summary": {**before["summary"], "operation": "replace", **_counts([], [], kept)},
        }
        new.pop("parent-snapshot-id", None)
        metadata["snapshots"], metadata["current-snapshot-id"] = [new], snapshot
        metadata["refs"] = {"main": {"snapshot-id": snapshot, "type": "branch"}}
        metadata["snapshot-log"] = [{"snapshot-id": snapshot, "timestamp-ms": time}]
        metadata["last-sequence-number"], metadata["metadata-log"] = sequence, []
        if not _put(storage, metadata, head.version, time, ()):
            discard(storage, [name, *(_below(root, row["manifest_path"]) for row in rows)])
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
        now = known_ids(_schema(metadata)["fields"])
        ids = Ids(now, 0)
        columns(schema, ids)
        if ids.last:
            return {}
        meta = {one["names"][0]: one["field-id"] for one in _mapping(metadata)}
        return now | {name: meta[name] for name in META_COLUMNS if name in meta}

    def repair(self, storage: Storage, head: Head) -> None:
        """The hint names the newest version, also if a process ended before it could say so."""
        newest = str(head.version).encode()
        if head.version and get_if_there(storage, _HINT) != newest:
            storage.put(_HINT, newest)


def _versions(storage: Storage) -> tuple[int, ...]:
    found = (_VERSION.fullmatch(entry.path) for entry in storage.list(FOLDER))
    return tuple(sorted(int(match[1]) for match in found if match))


def _path(version: int) -> str:
    return f"{FOLDER}/v{version}.metadata.json"


def _read(storage: Storage, versions: tuple[int, ...]) -> _State | None:
    """The newest metadata file; None if it is of a table elsewhere, of which this one is a copy:
    all paths in it are absolute."""
    path = _path(versions[-1])
    try:
        metadata = json.loads(storage.get(path))
        root = metadata["location"]
        if _place(root) != _place(storage.root):
            return None
        found = _State(metadata, (), versions)
        current = found.current
        if current is None:
            return found
        rows = manifests.read(storage.get(_below(root, current["manifest-list"])))
        each = _entries(storage, [_below(root, row["manifest_path"]) for row in rows])
    except _DAMAGE as error:
        raise CorruptTableError(
            f"{storage.root}/{path}",
            f"the Iceberg metadata can't be read ({type(error).__name__}: {error}).",
            f"Delete the folder {FOLDER}; the next write makes it again.",
        ) from error
    return _State(metadata, tuple(map(Manifest, rows, each)), versions)


def _entries(storage: Storage, paths: list[str]) -> list[tuple[Row, ...]]:
    """The entries of manifests. Their names are never used again: this process reads each once."""
    with _lock:
        known = {path: _known.get((storage.root, path)) for path in paths}
    lacking = [path for path, entries in known.items() if entries is None]
    each = together(storage, *(partial(storage.get, path) for path in lacking))
    for path, data in zip(lacking, each, strict=True):
        known[path] = entries = tuple(manifests.read(data))
        _note(storage, path, entries)
    return [known[path] or () for path in paths]


def _note(storage: Storage, path: str, entries: tuple[Row, ...]) -> None:
    with _lock:
        _known[storage.root, path] = entries
        while len(_known) > 1 and sum(map(len, _known.values())) > _KNOWN:
            del _known[next(iter(_known))]


def _place(root: str) -> str:
    """``root`` without what is spelled in several ways: s3 and s3a are one bucket."""
    return _SCHEMES.sub(r"\1://", root).rstrip("/")


def pointer(head: Head) -> str:
    """The URI of the metadata file of ``head``, as catalogs name it."""
    return f"{head.detail.metadata['location']}/{_path(head.version)}"


def version_at(storage: Storage, uri: str) -> int | None:
    """The version whose metadata file is at ``uri``; None for a file of another program."""
    folder, _, name = uri.rpartition(f"/{FOLDER}/")
    match = _VERSION.fullmatch(f"{FOLDER}/{name}")
    return int(match[1]) if match and _place(folder) == _place(storage.root) else None


def _below(root: str, uri: str) -> str:
    return uri.removeprefix(f"{root}/")


def _put(
    storage: Storage, metadata: dict[str, Any], version: int, time: int, there: Iterable[int]
) -> bool:
    """Decide the version after ``version``; False if another process was first. Of the versions
    that are ``there``, the newest stay."""
    if version:
        before = f"{metadata['location']}/{_path(version)}"
        log = {"timestamp-ms": metadata["last-updated-ms"], "metadata-file": before}
        metadata["metadata-log"] = [*metadata["metadata-log"], log][-_VERSIONS:]
    listed = {snapshot["snapshot-id"] for snapshot in metadata["snapshots"]}
    shown = [entry for entry in metadata["snapshot-log"] if entry["snapshot-id"] in listed]
    metadata["snapshot-log"], metadata["last-updated-ms"] = shown, time
    metadata["properties"].update(_PROPERTIES)
    if not storage.put_if_absent(_path(version + 1), json.dumps(metadata).encode()):
        return False
    storage.put(_HINT, str(version + 1).encode())
    discard(storage, [_path(number) for number in there if number <= version - _VERSIONS])
    return True


def _discard_unlisted(
    storage: Storage, metadata: dict[str, Any], listed: list[dict[str, Any]]
) -> None:
    """Delete the manifest lists of those ``listed`` snapshots that ``metadata`` does not list any
    more, and the manifests that only these name. A manifest is named by snapshots that follow each
    other: of those that stay, the ones beside a removed one are read."""
    stay = {snapshot["snapshot-id"] for snapshot in metadata["snapshots"]}
    stays = [snapshot["snapshot-id"] in stay for snapshot in listed]
    beside = [
        n for n, it_stays in enumerate(stays) if it_stays and not all(stays[max(n - 1, 0) : n + 2])
    ]
    gone = [snapshot for snapshot, it_stays in zip(listed, stays, strict=True) if not it_stays]
    root, named = metadata["location"], set[str]()
    for snapshot in gone:
        with suppress(*_DAMAGE):  # deleted already, or damaged
            named |= _manifests(storage, root, snapshot)
    try:
        for number in beside if named else ():
            named -= _manifests(storage, root, listed[number])
    except _DAMAGE:  # what they name is not known
        named = set()
    discard(storage, [_below(root, s["manifest-list"]) for s in gone] + sorted(named))


def _sweep(storage: Storage, metadata: dict[str, Any], current: Iterable[Manifest]) -> None:
    """Delete lists and manifests of processes that ended before they could publish them: those that
    no snapshot of ``metadata`` names, and that are not new. ``current``: the manifests of its
    current snapshot."""
    root, entries = metadata["location"], storage.list(FOLDER)
    now = max((entry.modified for entry in entries), default=0.0)  # by the clock of the store
    lists = [_below(root, snapshot["manifest-list"]) for snapshot in metadata["snapshots"]]
    named = {*lists, *(_below(root, manifest.row["manifest_path"]) for manifest in current)}
    stray = {e.path for e in entries if e.path.endswith(".avro") and e.modified < now - _LATE}
    stray -= named
    try:
        for snapshot in metadata["snapshots"] if stray else ():
            stray -= _manifests(storage, root, snapshot)
    except _DAMAGE:  # what it names is not known
        return
    discard(storage, sorted(stray))


def _manifests(storage: Storage, root: str, snapshot: dict[str, Any]) -> set[str]:
    rows = manifests.read(storage.get(_below(root, snapshot["manifest-list"])))
    return {_below(root, row["manifest_path"]) for row in rows}


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


def _schema(metadata: dict[str, Any]) -> dict[str, Any]:
    number = metadata["current-schema-id"]
    found: dict[str, Any] = next(s for s in metadata["schemas"] if s["schema-id"] == number)
    return found


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
        now = _schema(metadata)["fields"]
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


def _snapshot_id(instant: str, sequence: int) -> int:
    """The same for a repetition of the same step."""
    digest = hashlib.sha256(f"{instant} {sequence}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


@frozen
class _Puts:
    """Puts manifests of one snapshot, whose id is ``snapshot``; their names begin with
    ``token``."""

    storage: Storage
    token: str
    metadata: dict[str, Any]
    snapshot: int
    sequence: int

    def __call__(self, name: str, entries: list[Row], number: int) -> Manifest:
        """``number``: that of their partition spec."""
        spec = spec_of(self.metadata, number)
        data = manifests.manifest_bytes(entries, _schema(self.metadata), spec)
        path = f"{FOLDER}/{self.token}-{name}.avro"
        self.storage.put(path, data)
        uri = f"{self.metadata['location']}/{path}"
        numbers = (self.snapshot, self.sequence)
        row = manifests.manifest_row(uri, len(data), entries, spec, *numbers)
        _note(self.storage, path, tuple(entries))
        return Manifest(row, tuple(entries))


def _without(
    before: Iterable[Manifest], step: Step, snapshot: int, root: str, put: Any
) -> tuple[list[Manifest], list[Row]]:
    """The manifests of the next snapshot without the files that ``step`` removes; and these files'
    entries. A manifest that loses none of them is listed again as it is."""
    removed = {f"{root}/{file.path}" for file in step.removed}
    kept: list[Manifest] = []
    deleted: list[Row] = []
    for number, manifest in enumerate(before):
        live = manifest.live
        loses = [entry for entry in live if entry["data_file"]["file_path"] in removed]
        if not loses:
            if live:
                kept.append(manifest)
            continue
        deleted += loses
        entries = [
            {**entry, "status": DELETED, "snapshot_id": snapshot}
            if entry["data_file"]["file_path"] in removed
            else {**entry, "status": EXISTING}
            for entry in live
        ]
        kept.append(put(f"m{number}", entries, manifest.row["partition_spec_id"]))
    return kept, deleted


def _merged(each: list[Manifest], snapshot: int, put: Any) -> list[Manifest]:
    """``each``, the small ones of older snapshots than ``snapshot`` as few full ones, if there are
    many of them: each commit reads all manifests."""
    small = [
        manifest.row["added_snapshot_id"] != snapshot and len(manifest.live) < _FILES // 2
        for manifest in each
    ]
    if sum(small) < _SMALL:
        return each
    entries: dict[int, list[Row]] = {}
    for manifest, is_small in zip(each, small, strict=True):
        if is_small:
            same = entries.setdefault(manifest.row["partition_spec_id"], [])
            same += ({**entry, "status": EXISTING} for entry in manifest.live)
    full = [
        manifest
        for number, same in entries.items()
        for manifest in _in_parts(f"all{number}", same, number, put)
    ]
    return [*full, *(m for m, is_small in zip(each, small, strict=True) if not is_small)]


def _in_parts(name: str, entries: list[Row], number: int, put: Any) -> list[Manifest]:
    """Manifests of ``entries``, which have the partition spec ``number``."""
    return [
        put(f"{name}-{begin // _FILES}", entries[begin : begin + _FILES], number)
        for begin in range(0, len(entries), _FILES)
    ]


def _entry(
    root: str,
    file: BaseFile,
    footer: Footer,
    by_path: dict[str, tuple[int, str]],
    snapshot: int,
    partition: Row,
) -> Row:
    data_file: Row = {
        "content": 0,
        "file_path": f"{root}/{file.path}",
        "file_format": "PARQUET",
        "partition": partition,
        "record_count": footer.rows,
        "file_size_in_bytes": file.size,
        "nan_value_counts": None,
        "key_metadata": None,
        "split_offsets": list(footer.offsets),
        "equality_ids": None,
        "sort_order_id": 0,
        **metrics(footer, by_path),
    }
    return {
        "status": ADDED,
        "snapshot_id": snapshot,
        "sequence_number": None,
        "file_sequence_number": None,
        "data_file": data_file,
    }


def _summary(
    step: Step, added: list[Row], deleted: list[Row], kept: list[Manifest]
) -> dict[str, str]:
    return {
        "operation": _operation(step, bool(added), bool(deleted)),
        INSTANT: step.instant,
        "hoodoo.completed": step.completed,
        "hoodoo.operation": step.operation.value,
        **_counts(added, deleted, kept),
    }


def _counts(added: list[Row], deleted: list[Row], kept: list[Manifest]) -> dict[str, str]:
    rows = [manifest.row for manifest in kept]
    counts = {
        "added-data-files": len(added),
        "deleted-data-files": len(deleted),
        "added-records": sum(entry["data_file"]["record_count"] for entry in added),
        "deleted-records": sum(entry["data_file"]["record_count"] for entry in deleted),
        "total-data-files": sum(r["added_files_count"] + r["existing_files_count"] for r in rows),
        "total-records": sum(r["added_rows_count"] + r["existing_rows_count"] for r in rows),
        "total-delete-files": 0,
        "total-position-deletes": 0,
        "total-equality-deletes": 0,
    }
    return {name: str(count) for name, count in counts.items()}


def _operation(step: Step, adds: bool, deletes: bool) -> str:
    if not step.changes_rows:
        return "replace"
    if not deletes:
        return "append"
    return "overwrite" if adds or step.operation is not Operation.DELETE_PARTITION else "delete"


def _that_stand(snapshots: list[dict[str, Any]], state: TableState) -> list[dict[str, Any]]:
    """Those of ``snapshots`` whose commits were not undone. A commit before the active timeline is
    archived."""
    if not state.timeline.writes():
        return []  # archiving leaves the newest one
    first = state.timeline.start or ""
    return [
        snapshot
        for snapshot in snapshots
        if (instant := snapshot["summary"].get(INSTANT, "")) < first
        or state.timeline.find(instant) is not None
    ]


def _named_files(
    storage: Storage, root: str, snapshot: dict[str, Any], read: dict[str, set[str]]
) -> set[str]:
    """The base files of ``snapshot``. ``read``: those of manifests by path, as far as they have
    been read."""
    found: set[str] = set()
    try:
        for path in _manifests(storage, root, snapshot):
            if path not in read:
                (entries,) = _entries(storage, [path])
                live = (e["data_file"] for e in entries if e["status"] != DELETED)
                read[path] = {file["file_path"] for file in live}
            found |= read[path]
    except _DAMAGE:  # expired by another process, or damaged
        return found
    return found
