"""Avro object container files of the timeline: null codec, one record.

Written with the schemas of Hudi 1.2 (package data ``schemas/``); read with whatever schema the file
embeds, so that older and newer writers are understood as far as they say the same.
"""

from __future__ import annotations

import functools
import hashlib
import io
import json
import zlib
from collections.abc import Mapping
from importlib import resources
from typing import Any

import fastavro

from hoodoo.timeline.codec.bounded import check_bounded, inflate, reading

MAGIC = b"Obj\x01"
SYNC = 16  # bytes of the marker before and after the data
_LONG = fastavro.parse_schema("long")
_META = fastavro.parse_schema({"type": "map", "values": "bytes"})


@functools.cache
def schema_text(name: str) -> str:
    """The Avro schema ``name``, e.g. ``HoodieCleanerPlan``, as JSON on one line."""
    text = resources.files("hoodoo.timeline").joinpath(f"schemas/{name}.avsc").read_text("utf-8")
    return json.dumps(json.loads(text), separators=(",", ":"))


@functools.cache
def schema(name: str) -> Any:
    """The same, parsed for writing."""
    return fastavro.parse_schema(json.loads(schema_text(name)))


def encode(name: str, record: Mapping[str, Any]) -> bytes:
    """``record`` as a container file of the schema ``name``; absent fields take their defaults.

    The same record gives the same bytes: the sync marker is taken from the schema's name.
    """
    out = io.BytesIO()
    marker = hashlib.md5(name.encode(), usedforsecurity=False).digest()
    fastavro.writer(out, schema(name), [dict(record)], codec="null", sync_marker=marker)
    return out.getvalue()


def decode(data: bytes, where: str) -> dict[str, Any]:
    """The one record of a container file, by its embedded schema, which is of a kind that Hudi puts
    on a timeline.

    Raises :class:`~hoodoo.errors.CorruptTableError` naming ``where``, the path of the file.
    """
    with reading(where, "not a readable Avro file"):
        source, schema, codec = opened(data)
        body = source.read()[:-SYNC]
        if codec not in (b"null", b"deflate"):
            raise ValueError(f"its codec is {codec.decode()}")
        body = inflate(body, -zlib.MAX_WBITS) if codec == b"deflate" else body
        source = io.BytesIO(body)
        record: Any = fastavro.schemaless_reader(source, schema, None)
        if source.tell() != len(body):
            raise ValueError("its record is not as long as the file says")
    return dict(record)


def opened(data: bytes) -> tuple[io.BytesIO, Any, bytes]:
    """A container file of one record: open where its one block of data begins, its parsed schema,
    its codec. Raises ValueError, or what the bytes provoke, for any other file."""
    source = io.BytesIO(data)
    if source.read(4) != MAGIC:
        raise ValueError("its magic is wrong")
    meta: Any = fastavro.schemaless_reader(source, _META, None)
    sync, count = source.read(SYNC), fastavro.schemaless_reader(source, _LONG, None)
    size: Any = fastavro.schemaless_reader(source, _LONG, None)
    if count != 1 or len(sync) < SYNC or data[source.tell() + max(size, 0) :] != sync:
        raise ValueError(f"an Avro file of the timeline holds one record, not {count!r}")
    return source, _parsed(meta["avro.schema"]), meta.get("avro.codec", b"null")


@functools.lru_cache(maxsize=32)
def _parsed(text: bytes) -> Any:
    """The schema of a file. Raises ValueError for what is none of Hudi's."""
    avro = json.loads(text)
    name = str(avro["name"]).rpartition(".")[2]
    if (
        avro["type"] != "record"
        or not resources.files("hoodoo.timeline").joinpath(f"schemas/{name}.avsc").is_file()
    ):
        raise ValueError(f"its record is a {name}, which is none of Hudi's timeline")
    check_bounded(avro)
    return fastavro.parse_schema(avro)
