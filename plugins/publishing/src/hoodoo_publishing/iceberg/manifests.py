"""Manifests and manifest lists (Iceberg table specification, "Manifests" and "Manifest Lists")."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Mapping
from functools import cache, cached_property
from typing import Any

import fastavro
from attrs import frozen
from hoodoo.model.filegroup import BaseFile

from hoodoo_publishing.iceberg.partitions import Row, Spec

EXISTING, ADDED, DELETED = 0, 1, 2


def _field(number: int, name: str, kind: Any, optional: bool = False) -> Row:
    if optional:
        return {"name": name, "type": ["null", kind], "field-id": number, "default": None}
    return {"name": name, "type": kind, "field-id": number}


def _by_id(number: int, name: str, key: int, value: int, kind: str) -> Row:
    pair = {
        "type": "record",
        "name": f"k{key}_v{value}",
        "fields": [_field(key, "key", "int"), _field(value, "value", kind)],
    }
    return _field(number, name, {"type": "array", "logicalType": "map", "items": pair}, True)


@cache
def _entry(partition: str) -> Any:
    """The schema of the entries of a manifest; ``partition``: the type of partitions, as JSON."""
    data_file = {
        "type": "record",
        "name": "r2",
        "fields": [
            _field(134, "content", "int"),
            _field(100, "file_path", "string"),
            _field(101, "file_format", "string"),
            _field(102, "partition", json.loads(partition)),
            _field(103, "record_count", "long"),
            _field(104, "file_size_in_bytes", "long"),
            _by_id(108, "column_sizes", 117, 118, "long"),
            _by_id(109, "value_counts", 119, 120, "long"),
            _by_id(110, "null_value_counts", 121, 122, "long"),
            _by_id(137, "nan_value_counts", 138, 139, "long"),
            _by_id(125, "lower_bounds", 126, 127, "bytes"),
            _by_id(128, "upper_bounds", 129, 130, "bytes"),
            _field(131, "key_metadata", "bytes", True),
            _field(
                132, "split_offsets", {"type": "array", "items": "long", "element-id": 133}, True
            ),
            _field(135, "equality_ids", {"type": "array", "items": "int", "element-id": 136}, True),
            _field(140, "sort_order_id", "int", True),
        ],
    }
    return fastavro.parse_schema(
        {
            "type": "record",
            "name": "manifest_entry",
            "fields": [
                _field(0, "status", "int"),
                _field(1, "snapshot_id", "long", True),
                _field(3, "sequence_number", "long", True),
                _field(4, "file_sequence_number", "long", True),
                _field(2, "data_file", data_file),
            ],
        }
    )


_SUMMARY = {
    "type": "record",
    "name": "r508",
    "fields": [
        _field(509, "contains_null", "boolean"),
        _field(518, "contains_nan", "boolean", True),
        _field(510, "lower_bound", "bytes", True),
        _field(511, "upper_bound", "bytes", True),
    ],
}
_LIST = fastavro.parse_schema(
    {
        "type": "record",
        "name": "manifest_file",
        "fields": [
            _field(500, "manifest_path", "string"),
            _field(501, "manifest_length", "long"),
            _field(502, "partition_spec_id", "int"),
            _field(517, "content", "int"),
            _field(515, "sequence_number", "long"),
            _field(516, "min_sequence_number", "long"),
            _field(503, "added_snapshot_id", "long"),
            _field(504, "added_files_count", "int"),
            _field(505, "existing_files_count", "int"),
            _field(506, "deleted_files_count", "int"),
            _field(512, "added_rows_count", "long"),
            _field(513, "existing_rows_count", "long"),
            _field(514, "deleted_rows_count", "long"),
            _field(
                507, "partitions", {"type": "array", "items": _SUMMARY, "element-id": 508}, True
            ),
            _field(519, "key_metadata", "bytes", True),
        ],
    }
)


@frozen
class Manifest:
    """``row``: its row in manifest lists; ``files``: the base files that are in the snapshot, by
    path; ``load`` reads its entries, deleted files among them, which few commits need."""

    row: Row
    files: Mapping[str, BaseFile]
    load: Callable[[], tuple[Row, ...]]

    @property
    def count(self) -> int:
        """How many files of it are in the snapshot."""
        return int(self.row["added_files_count"] + self.row["existing_files_count"])

    @cached_property
    def live(self) -> list[Row]:
        """Entries of files that are in the snapshot, with the sequence numbers that they have
        inherited."""
        inherited = self.row["sequence_number"]
        return [
            {
                **entry,
                "sequence_number": _first(entry["sequence_number"], inherited),
                "file_sequence_number": _first(entry["file_sequence_number"], inherited),
            }
            for entry in self.load()
            if entry["status"] != DELETED
        ]


def _first(one: int | None, other: int) -> int:
    return other if one is None else one


def manifest_bytes(entries: Iterable[Row], schema: Mapping[str, Any], spec: Spec) -> bytes:
    """A manifest of data files of the partition spec ``spec``."""
    header = {
        "schema": json.dumps(schema),
        "schema-id": str(schema["schema-id"]),
        **spec.header,
        "format-version": "2",
        "content": "data",
    }
    return _avro(_entry(json.dumps(spec.record)), entries, header)


def manifest_row(
    path: str, size: int, entries: list[Row], spec: Spec, snapshot: int, sequence: int
) -> Row:
    """The row of a manifest in manifest lists."""
    files, rows = [0, 0, 0], [0, 0, 0]
    for entry in entries:
        files[entry["status"]] += 1
        rows[entry["status"]] += entry["data_file"]["record_count"]
    numbers = [_first(entry["sequence_number"], sequence) for entry in entries]
    return {
        "manifest_path": path,
        "manifest_length": size,
        "partition_spec_id": spec.number,
        "content": 0,
        "sequence_number": sequence,
        "min_sequence_number": min(numbers, default=sequence),
        "added_snapshot_id": snapshot,
        "added_files_count": files[ADDED],
        "existing_files_count": files[EXISTING],
        "deleted_files_count": files[DELETED],
        "added_rows_count": rows[ADDED],
        "existing_rows_count": rows[EXISTING],
        "deleted_rows_count": rows[DELETED],
        "partitions": spec.summaries(entries),
        "key_metadata": None,
    }


def list_bytes(rows: Iterable[Row], snapshot: int, parent: int | None, sequence: int) -> bytes:
    """The manifest list of a snapshot."""
    header = {
        "snapshot-id": str(snapshot),
        "parent-snapshot-id": "null" if parent is None else str(parent),
        "sequence-number": str(sequence),
        "format-version": "2",
    }
    return _avro(_LIST, rows, header)


def read(data: bytes) -> list[Row]:
    """The rows of a manifest or of a manifest list."""
    return [dict(row) for row in fastavro.reader(io.BytesIO(data)) if isinstance(row, dict)]


def _avro(schema: Any, rows: Iterable[Row], header: dict[str, str]) -> bytes:
    target = io.BytesIO()
    fastavro.writer(target, schema, rows, metadata=header, codec="deflate")
    return target.getvalue()
