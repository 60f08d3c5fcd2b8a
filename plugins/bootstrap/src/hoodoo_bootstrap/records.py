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


_MOST_SCHEMAS = 16
_checked: set[str] = set()


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
    """The record in ``data``. CorruptTableError naming ``where``."""
    with reading(where, "not a readable record of a bootstrap's index"):
        found = fastavro.reader(io.BytesIO(data))
        text = str(found.metadata.get("avro.schema"))
        if text not in _checked:  # each record has it, and it is the same in all of an index
            check_bounded(found.writer_schema)
            if len(_checked) < _MOST_SCHEMAS:
                _checked.add(text)
        (record,) = found
        if not isinstance(record, dict):
            raise ValueError("it is no record")
        return dict(record)
