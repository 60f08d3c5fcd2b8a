"""Avro object container files of the timeline: null codec, one record (format page 2.3).

Written with the schemas of Hudi 1.2 (package data ``schemas/``); read with whatever schema the file
embeds, so that older and newer writers are understood as far as they say the same.
"""

from __future__ import annotations

import functools
import hashlib
import io
import json
from collections.abc import Mapping
from importlib import resources
from typing import Any

import fastavro

from hoodoo.timeline.codec.errors import corrupt

MAGIC = b"Obj\x01"


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
    """The one record of a container file, by its embedded schema.

    Raises :class:`~hoodoo.errors.CorruptTableError` naming ``where``, the path of the file.
    """
    try:
        records = list(fastavro.reader(io.BytesIO(data)))
    # fastavro lets whatever the bytes provoke escape: EOFError, KeyError, struct.error, zlib.error.
    except Exception as error:
        raise corrupt(
            where, f"not a readable Avro file ({type(error).__name__}: {error})"
        ) from error
    if len(records) != 1 or not isinstance(records[0], dict):
        raise corrupt(where, f"an Avro file of the timeline holds one record, not {len(records)}")
    return records[0]


def encode_requested_replace(record: Mapping[str, Any] | None = None) -> bytes:
    """HoodieRequestedReplaceMetadata: all null for insert overwrite, a plan for clustering."""
    return encode("HoodieRequestedReplaceMetadata", record or {})


def encode_rollback_plan(record: Mapping[str, Any]) -> bytes:
    return encode("HoodieRollbackPlan", record)


def encode_rollback(record: Mapping[str, Any]) -> bytes:
    return encode("HoodieRollbackMetadata", record)
