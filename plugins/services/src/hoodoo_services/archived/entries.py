"""The archived timeline of version 6: entries of log files in ``.hoodie/archived``.

Each file of an instant is an entry of its own, a HoodieArchivedMetaEntry, in Avro blocks like those
of log files, except that their header says no instant (Hudi's ``TimelineArchiverV1``)."""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import fastavro
from attrs import frozen
from hoodoo.model.log_block import MAGIC, BlockKind, Header
from hoodoo.timeline.codec import avro as codec_avro
from hoodoo.timeline.codec.bounded import check_bounded, corrupt

NAME = "HoodieArchivedMetaEntry"
COMPLETED = "COMPLETED"
# (action, state) -> where the entry keeps what the file of that instant says, and what that is.
_COMMIT = ("hoodieCommitMetadata", "HoodieCommitMetadata")
_CLEAN_PLAN = ("hoodieCleanerPlan", "HoodieCleanerPlan")
_PLACES: dict[tuple[str, str], tuple[str, str]] = {
    ("commit", "INFLIGHT"): _COMMIT,
    ("commit", COMPLETED): _COMMIT,
    ("deltacommit", "INFLIGHT"): _COMMIT,
    ("deltacommit", COMPLETED): _COMMIT,
    ("replacecommit", "REQUESTED"): (
        "hoodieRequestedReplaceMetadata",
        "HoodieRequestedReplaceMetadata",
    ),
    ("replacecommit", "INFLIGHT"): ("HoodieInflightReplaceMetadata", "HoodieCommitMetadata"),
    ("replacecommit", COMPLETED): ("hoodieReplaceCommitMetadata", "HoodieReplaceCommitMetadata"),
    ("clean", "REQUESTED"): _CLEAN_PLAN,
    ("clean", "INFLIGHT"): _CLEAN_PLAN,
    ("clean", COMPLETED): ("hoodieCleanMetadata", "HoodieCleanMetadata"),
    ("rollback", COMPLETED): ("hoodieRollbackMetadata", "HoodieRollbackMetadata"),
    ("savepoint", COMPLETED): ("hoodieSavePointMetadata", "HoodieSavepointMetadata"),
    ("compaction", "REQUESTED"): ("hoodieCompactionPlan", "HoodieCompactionPlan"),
    ("logcompaction", "REQUESTED"): ("hoodieCompactionPlan", "HoodieCompactionPlan"),
}
_FRAME = struct.Struct(">qii")
_HEAD = struct.Struct(">ii")
_LONG = struct.Struct(">q")
_CONTENT_VERSION = 3
# A reader that wants nothing else: fastavro passes over the rest.
_NAMES = {
    "type": "record",
    "name": NAME,
    "namespace": "org.apache.hudi.avro.model",
    "fields": [
        {"name": name, "type": ["null", "string"], "default": None}
        for name in ("commitTime", "actionType", "actionState", "stateTransitionTime")
    ],
}


@frozen
class Entry:
    """One entry as read: whose it is; ``data`` is its datum, ``schema`` (JSON) what it was written
    with. Old writers archived completed instants only, and left the ``state`` out."""

    requested: str
    action: str
    state: str
    data: bytes
    schema: str

    def contents(self, where: str) -> bytes:
        """What the file of the instant said, as an Avro file; empty if it was empty.

        Raises :class:`~hoodoo.errors.CorruptTableError` naming ``where``.
        """
        place = _PLACES.get((self.action, self.state))
        record = _decode(self.data, self.schema, None, where)
        found = record.get(place[0]) if place else None
        if place is None or found is None:
            return b""
        return codec_avro.encode(place[1], found)


def entry(
    requested: str, action: str, state: str, moved: str, contents: Mapping[str, Any]
) -> dict[str, Any]:
    """The record of one file of an instant. ``moved`` is the instant string of when the file was
    put, ``contents`` what it says, empty for an empty file. The contents of an inflight clean are
    its plan's."""
    record: dict[str, Any] = {
        "commitTime": requested,
        "actionType": action,
        "actionState": state,
        "stateTransitionTime": moved,
        "version": None,
    }
    place = _PLACES.get((action, state))
    if place is not None and contents:
        record[place[0]] = dict(contents)
    return record


def encode(records: Sequence[Mapping[str, Any]], batch: int) -> bytes:
    """A whole file: blocks of up to ``batch`` records."""
    return b"".join(
        _block(records[start : start + batch]) for start in range(0, len(records), batch)
    )


def _block(records: Sequence[Mapping[str, Any]]) -> bytes:
    schema = codec_avro.schema(NAME)
    content = io.BytesIO()
    content.write(_HEAD.pack(_CONTENT_VERSION, len(records)))
    for record in records:
        datum = io.BytesIO()
        fastavro.schemaless_writer(datum, schema, dict(record))
        content.write(datum.tell().to_bytes(4, "big") + datum.getvalue())
    text = codec_avro.schema_text(NAME).encode()
    size = content.tell()
    # Format page 4.2: what follows the first length, up to and with the trailing one.
    inner = 8 + 4 + 8 + len(text) + 8 + size + 4 + 8
    return b"".join(
        (
            MAGIC,
            _FRAME.pack(inner, 1, BlockKind.AVRO),
            (1).to_bytes(4, "big"),
            _HEAD.pack(Header.SCHEMA, len(text)) + text,
            _LONG.pack(size),
            content.getvalue(),
            bytes(4),
            _LONG.pack(inner + len(MAGIC)),
        )
    )


def decode(data: bytes, where: str) -> Iterator[Entry]:
    """The entries of a file, in file order.

    Raises :class:`~hoodoo.errors.CorruptTableError` naming ``where``.
    """
    try:
        for schema, content in _blocks(data):
            _, count = _HEAD.unpack_from(content)
            at = _HEAD.size
            for _ in range(count):
                length = int.from_bytes(content[at : at + 4], "big")
                datum = content[at + 4 : at + 4 + length]
                at += 4 + length
                names = _decode(datum, schema, _NAMES, where)
                yield Entry(
                    str(names["commitTime"]),
                    str(names["actionType"]),
                    str(names["actionState"] or COMPLETED),
                    datum,
                    schema,
                )
    except (struct.error, ValueError, KeyError) as error:
        raise corrupt(
            where, f"no archive of a timeline ({type(error).__name__}: {error})"
        ) from error


def _blocks(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Schema and content of each Avro block."""
    at = 0
    while at < len(data):
        if data[at : at + len(MAGIC)] != MAGIC:
            raise ValueError(f"no block at offset {at}")
        size, _, kind = _FRAME.unpack_from(data, at + len(MAGIC))
        place = at + len(MAGIC) + _FRAME.size
        headers: dict[int, str] = {}
        (count,) = struct.unpack_from(">i", data, place)
        place += 4
        for _ in range(count):
            key, length = _HEAD.unpack_from(data, place)
            headers[key] = data[place + 8 : place + 8 + length].decode()
            place += 8 + length
        (length,) = _LONG.unpack_from(data, place)
        content = data[place + 8 : place + 8 + length]
        at += len(MAGIC) + 8 + size
        if size <= 0 or len(content) != length or at > len(data):
            raise ValueError("a block that is cut short")
        if kind == BlockKind.AVRO:
            yield headers[Header.SCHEMA], content


@cache
def _parsed(schema: str) -> Any:
    avro = json.loads(schema)
    check_bounded(avro)
    return fastavro.parse_schema(avro)


def _decode(data: bytes, schema: str, reader: Any, where: str) -> dict[str, Any]:
    try:
        found = fastavro.schemaless_reader(io.BytesIO(data), _parsed(schema), reader)
    # fastavro lets whatever the bytes provoke escape.
    except Exception as error:
        raise corrupt(
            where, f"an entry can't be decoded ({type(error).__name__}: {error})"
        ) from error
    if not isinstance(found, dict):
        raise corrupt(where, "an entry is no record")
    return found
