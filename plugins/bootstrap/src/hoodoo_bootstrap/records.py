"""What the index of a bootstrap stores: Avro container files of one record, as Hudi writes them."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping
from functools import cache
from typing import Any

import fastavro
from hoodoo.timeline.codec.bounded import check_bounded, reading

INFO = "HoodieBootstrapIndexInfo"
PARTITION = "HoodieBootstrapPartitionMetadata"
FILE = "HoodieBootstrapFilePartitionInfo"
_TEXT = {"type": "string", "avro.java.string": "String"}


def _record(name: str, **fields: Any) -> dict[str, Any]:
    """A record whose fields may all be null."""
    version = {"name": "version", "type": ["int", "null"], "default": 1}
    more = [{"name": n, "type": ["null", kind], "default": None} for n, kind in fields.items()]
    space = "org.apache.hudi.avro.model"
    return {"type": "record", "name": name, "namespace": space, "fields": [version, *more]}


_PERMISSION = _record(
    "HoodieFSPermission",
    userAction=_TEXT,
    groupAction=_TEXT,
    otherAction=_TEXT,
    stickyBit="boolean",
)
_STATUS = _record(
    "HoodieFileStatus",
    path=_record("HoodiePath", uri=_TEXT),
    length="long",
    isDir="boolean",
    blockReplication="int",
    blockSize="long",
    modificationTime="long",
    accessTime="long",
    permission=_PERMISSION,
    owner=_TEXT,
    group=_TEXT,
    symlink="HoodiePath",
)
_SCHEMAS = {
    INFO: _record(INFO, bootstrapBasePath=_TEXT, createdTimestamp="long", numKeys="int"),
    PARTITION: _record(
        PARTITION,
        bootstrapPartitionPath=_TEXT,
        partitionPath=_TEXT,
        fileIdToBootstrapFile={"type": "map", "values": _STATUS, "avro.java.string": "String"},
    ),
    FILE: _record(
        FILE, bootstrapPartitionPath=_TEXT, bootstrapFileStatus=_STATUS, partitionPath=_TEXT
    ),
}


_SYNC = 16  # bytes of a marker
_MOST_HEADS = 8
# What comes before the marker of a record, and its schema.
_heads: list[tuple[bytes, Any]] = []


@cache
def _parsed(name: str) -> Any:
    return fastavro.parse_schema(_SCHEMAS[name])


def encode(name: str, record: Mapping[str, Any]) -> bytes:
    """``record`` of the kind ``name``. The same record gives the same bytes."""
    out = io.BytesIO()
    marker = hashlib.md5(name.encode(), usedforsecurity=False).digest()
    fastavro.writer(out, _parsed(name), [dict(record)], codec="null", sync_marker=marker)
    return out.getvalue()


def decode(data: bytes, where: str) -> dict[str, Any]:
    """The record in ``data``. CorruptTableError naming ``where``.

    What comes before the record, its schema above all, is the same in all of an index: it is read
    once."""
    with reading(where, "not a readable record of a bootstrap's index"):
        for head, schema in _heads:
            if data.startswith(head):
                record = _after(data, len(head) + _SYNC, schema)
                break
        else:
            record = _whole(data)
        if not isinstance(record, dict):
            raise ValueError("it is no record")
        return dict(record)


def _whole(data: bytes) -> Any:
    found = fastavro.reader(io.BytesIO(data))
    check_bounded(found.writer_schema)
    (record,) = found
    if found.codec == "null" and len(_heads) < _MOST_HEADS:
        marker = data[-_SYNC:]
        schema = fastavro.parse_schema(found.writer_schema)
        _heads.append((data[: data.index(marker)], schema))
    return record


def _after(data: bytes, start: int, schema: Any) -> Any:
    """The record in the one block that begins at ``start``, between two equal markers."""
    rest = io.BytesIO(data)
    rest.seek(start)
    count: Any = fastavro.schemaless_reader(rest, "long", None)
    size: Any = fastavro.schemaless_reader(rest, "long", None)
    begin = rest.tell()
    record: Any = fastavro.schemaless_reader(rest, schema, None)
    marker = data[start - _SYNC : start]
    if count != 1 or rest.tell() != begin + size or data[begin + size :] != marker:
        raise ValueError("it has not one record alone")
    return record
