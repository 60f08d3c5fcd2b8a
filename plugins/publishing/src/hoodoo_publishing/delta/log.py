"""The log of a Delta table: ``_delta_log/<version>.json``, and checkpoints (Delta transaction log
protocol)."""

from __future__ import annotations

import io
import json
import re
import threading
import uuid
from collections.abc import Collection, Iterable, Mapping
from functools import partial
from typing import Any
from urllib.parse import quote, unquote

import pyarrow as pa
import pyarrow.parquet as pq
from attrs import define, evolve, field
from hoodoo.errors import CorruptTableError, UnsupportedTableError
from hoodoo.hookspecs.participant import TableState
from hoodoo.model.filegroup import BaseFile
from hoodoo.storage.api import Entry, Storage
from hoodoo.storage.together import discard, together
from hoodoo.timeline.names import parse_path
from hoodoo_rows.api import StoredFiles

from hoodoo_publishing.delta.types import (
    bounded,
    has_naive_timestamps,
    lacks,
    schema_text,
    statistics,
)
from hoodoo_publishing.files import Head, Step
from hoodoo_publishing.footers import Footer
from hoodoo_publishing.past import Past

FOLDER = "_delta_log"
_LAST = f"{FOLDER}/_last_checkpoint"
_VERSION = re.compile(rf"{FOLDER}/(\d{{20}})\.(json|checkpoint\.parquet)")
_CHECKPOINT_EVERY = 20
_VERSIONS = 100  # that are there after a checkpoint, at least
_APP = "hoodoo"
# A feature that no other writer knows: others read the table, and refuse to write it.
GUARD = "hoodoo-managed"
_NAIVE = "timestampNtz"
# Readers of older versions may still read files that a newer version has removed: only Hudi's clean
# deletes.
_RETENTION = "interval 5200 weeks"
# The columns with bounds in each file. The package deltalake takes a bound that is missing for
# null: its dataset had no rows for a filter of another column.
_SKIPPING = "delta.dataSkippingStatsColumns"
_Action = dict[str, Any]
_DAMAGE = (ValueError, KeyError, TypeError, AttributeError, pa.ArrowException)


@define
class _Log:
    """What the actions of a log say, one after another. ``adds``, ``files``: by path. ``foreign``:
    adds of other programs, of files that are none of the table's or whose rows they deleted."""

    adds: dict[str, _Action] = field(factory=dict)
    files: dict[str, BaseFile] = field(factory=dict)
    foreign: dict[str, _Action] = field(factory=dict)
    metadata: _Action | None = None
    protocol: _Action | None = None
    txn: _Action | None = None
    instant: str = ""

    def copied(self) -> _Log:
        each = (dict(self.adds), dict(self.files), dict(self.foreign))
        return evolve(self, adds=each[0], files=each[1], foreign=each[2])

    def apply(self, version: Iterable[_Action]) -> None:
        self.instant = ""
        for action in version:
            if add := action.get("add"):
                path = unquote(add["path"])
                self.forget(path)
                self.adds[path], file = add, _file(path, add)
                if file is not None and not add.get("deletionVector"):
                    self.files[path] = file
                else:
                    self.foreign[path] = add
            elif remove := action.get("remove"):
                self.forget(unquote(remove["path"]))
            self.metadata = action.get("metaData") or self.metadata
            self.protocol = action.get("protocol") or self.protocol
            txn = action.get("txn")
            if txn and txn.get("appId") == _APP:
                self.txn = txn
            self.instant = (action.get("commitInfo") or {}).get("hoodoo.instant") or self.instant

    def forget(self, path: str) -> None:
        for known in (self.adds, self.files, self.foreign):
            known.pop(path, None)


# What this process has read last of tables, by their roots: the version, its file as it is listed,
# and the log up to it, which nobody changes. A table that was created again there has another file.
_known: dict[str, tuple[int, Entry, _Log]] = {}
_TABLES, _FILES = 64, 100_000
_lock = threading.Lock()


class DeltaLog:
    """Implements :class:`~hoodoo_publishing.sync.Format`."""

    name = "delta"
    keeps_states = True

    def refuse(self, schema: pa.Schema) -> None:
        schema_text(schema)

    def refuse_state(self, state: TableState) -> None:
        moved = Past.of(StoredFiles.history(state.file_format)).moved()
        if moved is not None:
            raise UnsupportedTableError(
                f"column {moved} of {state.storage.root}",
                "has another name in older files, or fields that were dropped, and readers of "
                "delta find columns by name.",
                "Publish Iceberg alone, whose readers find columns by ids, or write the rows into "
                "a new table.",
            )

    def shows(self, head: Head, schema: pa.Schema, state: TableState | None = None) -> bool:
        log: _Log | None = head.detail
        if not (log and log.metadata and _SKIPPING in (log.metadata.get("configuration") or {})):
            return False
        same = log.metadata.get("schemaString") == schema_text(schema)
        return bool(same and not (state and log.foreign))

    def expire(self, storage: Storage, paths: Collection[str]) -> int:
        """Versions of a Delta table can't be removed: older ones can't be read after a clean, as
        after VACUUM."""
        return 0

    def renew(self, storage: Storage) -> list[str]:
        """A checkpoint has the files of now, and nothing of those that were removed."""
        head = self.head(storage)
        found = [
            (int(m[1]), m[0]) for e in storage.list(FOLDER) if (m := _VERSION.fullmatch(e.path))
        ]
        older = [path for version, path in found if version < head.version]
        if older:
            _checkpoint(storage, head.version, head.detail)
        return older

    def repair(self, storage: Storage, head: Head) -> None:
        """Readers list the log: they find the newest version in any case."""

    def head(self, storage: Storage) -> Head:
        versions: dict[int, Entry] = {}
        checkpoints: dict[int, str] = {}
        for entry in storage.list(FOLDER):
            if match := _VERSION.fullmatch(entry.path):
                if match[2] == "json":
                    versions[int(match[1])] = entry
                else:
                    checkpoints[int(match[1])] = entry.path
        if not versions:
            return Head()
        newest = max(versions)
        begin = max((v for v in checkpoints if v <= newest), default=-1)
        missing = [v for v in range(begin + 1, newest) if v not in versions]
        if missing:
            raise _damaged(storage, f"version {missing[0]} is missing")
        with _lock:
            known = _known.get(storage.root)
        if known is not None and begin <= known[0] and versions.get(known[0]) == known[1]:
            if known[0] == newest:
                return _head(newest, known[2])
            begin, log = known[0], known[2].copied()
        else:
            log = _Log()
            if begin >= 0:
                try:
                    log.apply(_checkpointed(storage, checkpoints[begin]))
                except _DAMAGE as error:
                    raise _damaged(storage, f"{checkpoints[begin]} can't be read", error) from error
        needed = range(begin + 1 if begin < newest else newest, newest + 1)
        for text in together(storage, *(partial(storage.get, versions[v].path) for v in needed)):
            try:
                log.apply(json.loads(line) for line in text.splitlines() if line.strip())
            except _DAMAGE as error:
                raise _damaged(storage, "a version can't be read", error) from error
        with _lock:
            _known[storage.root] = (newest, versions[newest], log)
            while len(_known) > _TABLES or sum(len(k[2].adds) for k in _known.values()) > _FILES:
                del _known[next(iter(_known))]
        return _head(newest, log)

    def publish(
        self, state: TableState, head: Head, step: Step, read: dict[str, Footer]
    ) -> Head | None:
        log: _Log = head.detail or _Log()
        actions = list(_actions(self, state, head, step, read))
        text = "\n".join(json.dumps(action, separators=(",", ":")) for action in actions)
        version = head.version + 1
        path = f"{FOLDER}/{version:020d}.json"
        if not state.storage.put_if_absent(path, text.encode()):
            return None
        newer = log.copied()
        newer.apply(actions)
        if version and version % _CHECKPOINT_EVERY == 0:
            _checkpoint(state.storage, version, newer)
        return evolve(
            head,
            version=version,
            files=newer.files,
            instant=step.instant,
            detail=newer,
        )


def _damaged(storage: Storage, why: str, error: Exception | None = None) -> CorruptTableError:
    why += f" ({type(error).__name__}: {error})." if error else "."
    fix = f"Delete the folder {FOLDER}; the next write makes it again."
    return CorruptTableError(f"{storage.root}/{FOLDER}", why, fix)


def _head(version: int, log: _Log) -> Head:
    return Head(version, log.files, log.instant, log)


def _actions(
    form: DeltaLog, state: TableState, head: Head, step: Step, read: Mapping[str, Footer]
) -> Iterable[_Action]:
    time = step.milliseconds
    yield {
        "commitInfo": {
            "timestamp": time,
            "operation": step.operation.value,
            "operationParameters": {},
            "isBlindAppend": False,
            "engineInfo": _APP,
            "hoodoo.instant": step.instant,
        }
    }
    naive = has_naive_timestamps(step.schema)
    protocol = _protocol(naive)
    log: _Log = head.detail or _Log()
    if log.protocol is None or (naive and _NAIVE not in (log.protocol.get("readerFeatures") or ())):
        yield {"protocol": protocol}
    names = bounded(step.schema)
    every, within = step.schema.names, frozenset(names)
    stats = {file.path: statistics(read[file.path], every, within) for file in step.added}
    if not form.shows(head, step.schema):
        gone = {file.path for file in step.removed}
        stay = [add.get("stats") for path, add in log.adds.items() if path not in gone]
        lacking = set[str]().union(*(lacks(text, names) for text in (*stay, *stats.values())))
        before = log.metadata or {}
        yield {
            "metaData": {
                "id": before.get("id") or _table_id(state),
                "name": state.config.name,
                "format": {"provider": "parquet", "options": {}},
                "schemaString": schema_text(step.schema),
                "partitionColumns": [],
                "configuration": {
                    "delta.deletedFileRetentionDuration": _RETENTION,
                    _SKIPPING: ",".join(name for name in names if name not in lacking),
                },
                "createdTime": before.get("createdTime") or time,
            }
        }
    yield {"txn": {"appId": _APP, "version": int(step.completed[:17]), "lastUpdated": time}}
    change = step.changes_rows
    for add in log.foreign.values():  # what others wrote is not in the table
        vector = add.get("deletionVector")
        yield {
            "remove": {
                "path": add["path"],
                "deletionTimestamp": time,
                "dataChange": True,
                "extendedFileMetadata": True,
                "partitionValues": add.get("partitionValues") or {},
                "size": add.get("size") or 0,
                **({"deletionVector": vector} if vector else {}),
            }
        }
    for file in step.removed:
        yield {
            "remove": {
                "path": quote(file.path),
                "deletionTimestamp": time,
                "dataChange": change,
                "extendedFileMetadata": True,
                "partitionValues": {},
                "size": file.size,
            }
        }
    for file in step.added:
        yield {
            "add": {
                "path": quote(file.path),
                "partitionValues": {},
                "size": file.size,
                "modificationTime": time,
                "dataChange": change,
                "stats": stats[file.path],
            }
        }


def _protocol(naive: bool) -> _Action:
    if not naive:
        return {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": [GUARD]}
    return {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": [_NAIVE],
        "writerFeatures": [_NAIVE, GUARD],
    }


def _table_id(state: TableState) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, state.storage.root))


def _file(path: str, add: Mapping[str, Any]) -> BaseFile | None:
    found = parse_path(path, int(add.get("size") or 0))
    return found if isinstance(found, BaseFile) else None


# --- checkpoints ----------------------------------------------------------------------------------
_STRINGS = pa.map_(pa.string(), pa.string())
_ADD = pa.struct(
    [
        ("path", pa.string()),
        ("partitionValues", _STRINGS),
        ("size", pa.int64()),
        ("modificationTime", pa.int64()),
        ("dataChange", pa.bool_()),
        ("stats", pa.string()),
    ]
)
_CHECKPOINT = pa.schema(
    [
        (
            "txn",
            pa.struct(
                [("appId", pa.string()), ("version", pa.int64()), ("lastUpdated", pa.int64())]
            ),
        ),
        ("add", _ADD),
        (
            "remove",
            pa.struct(
                [
                    ("path", pa.string()),
                    ("deletionTimestamp", pa.int64()),
                    ("dataChange", pa.bool_()),
                ]
            ),
        ),
        (
            "metaData",
            pa.struct(
                [
                    ("id", pa.string()),
                    ("name", pa.string()),
                    ("format", pa.struct([("provider", pa.string()), ("options", _STRINGS)])),
                    ("schemaString", pa.string()),
                    ("partitionColumns", pa.list_(pa.string())),
                    ("configuration", _STRINGS),
                    ("createdTime", pa.int64()),
                ]
            ),
        ),
        (
            "protocol",
            pa.struct(
                [
                    ("minReaderVersion", pa.int32()),
                    ("minWriterVersion", pa.int32()),
                    ("readerFeatures", pa.list_(pa.string())),
                    ("writerFeatures", pa.list_(pa.string())),
                ]
            ),
        ),
    ]
)


def _checkpoint(storage: Storage, version: int, log: _Log) -> None:
    """All actions up to ``version`` in one file, which readers begin with."""
    rows: list[dict[str, Any]] = [{"protocol": log.protocol}, {"metaData": _as_maps(log.metadata)}]
    if log.txn is not None:
        rows.append({"txn": log.txn})
    rows += [
        {"add": {**add, "dataChange": False, "partitionValues": []}} for add in log.adds.values()
    ]
    table = pa.Table.from_pylist(rows, schema=_CHECKPOINT)
    target = io.BytesIO()
    pq.write_table(table, target)
    name = f"{FOLDER}/{version:020d}.checkpoint.parquet"
    storage.put_if_absent(name, target.getvalue())
    storage.put(_LAST, json.dumps({"version": version, "size": len(rows)}).encode())
    _discard_old(storage, version - _VERSIONS)


def _discard_old(storage: Storage, before: int) -> None:
    """Delete what a reader of the version ``before`` and later ones does not need: the log before a
    checkpoint."""
    found = [
        (int(m[1]), m[2], m[0]) for e in storage.list(FOLDER) if (m := _VERSION.fullmatch(e.path))
    ]
    begin = max((v for v, kind, _ in found if kind != "json" and v <= before), default=0)
    discard(storage, [path for version, _, path in found if version < begin])


def _checkpointed(storage: Storage, path: str) -> Iterable[_Action]:
    with storage.open(path) as source:
        table = pq.read_table(source)
    for row in table.to_pylist(maps_as_pydicts="lossy"):
        action = {name: value for name, value in row.items() if value is not None}
        yield action


def _as_maps(metadata: _Action | None) -> _Action:
    found = dict(metadata or {})
    shape = dict(found.get("format") or {})
    shape["options"] = list((shape.get("options") or {}).items())
    return {
        **found,
        "format": shape,
        "configuration": list((found.get("configuration") or {}).items()),
    }
