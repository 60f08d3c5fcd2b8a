"""A snapshot of an Iceberg table: its manifests, their entries, and its summary."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

from attrs import frozen
from hoodoo.model.commit import Operation
from hoodoo.model.filegroup import BaseFile
from hoodoo.storage.api import Storage

from hoodoo_publishing.files import Step
from hoodoo_publishing.footers import Footer
from hoodoo_publishing.iceberg import manifests
from hoodoo_publishing.iceberg.manifests import ADDED, DELETED, EXISTING, Manifest
from hoodoo_publishing.iceberg.partitions import Row, spec_of
from hoodoo_publishing.iceberg.remembered import remembered
from hoodoo_publishing.iceberg.store import (
    FOLDER,
    INSTANT,
    current_schema,
)
from hoodoo_publishing.iceberg.values import metrics

_FILES = 500  # of a manifest


_SMALL = 30  # manifests of less than half as many are merged when there are so many of them


def snapshot_id(instant: str, sequence: int) -> int:
    """The same for a repetition of the same step."""
    digest = hashlib.sha256(f"{instant} {sequence}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


@frozen
class PutsManifests:
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
        data = manifests.manifest_bytes(entries, current_schema(self.metadata), spec)
        path = f"{FOLDER}/{self.token}-{name}.avro"
        self.storage.put(path, data)
        uri = f"{self.metadata['location']}/{path}"
        numbers = (self.snapshot, self.sequence)
        row = manifests.manifest_row(uri, len(data), entries, spec, *numbers)
        return remembered(self.storage, self.metadata["location"], path, row, entries)


def without_files(
    before: Iterable[Manifest], step: Step, snapshot: int, root: str, put: Any
) -> tuple[list[Manifest], list[Row]]:
    """The manifests of the next snapshot without the files that ``step`` removes; and these files'
    entries. A manifest that loses none of them is listed again as it is."""
    removed = {f"{root}/{file.path}" for file in step.removed}
    paths = {file.path for file in step.removed}
    kept: list[Manifest] = []
    deleted: list[Row] = []
    for number, manifest in enumerate(before):
        if paths.isdisjoint(manifest.files):
            if manifest.count:
                kept.append(manifest)
            continue
        live = manifest.live
        deleted += (entry for entry in live if entry["data_file"]["file_path"] in removed)
        entries = [
            {**entry, "status": DELETED, "snapshot_id": snapshot}
            if entry["data_file"]["file_path"] in removed
            else {**entry, "status": EXISTING}
            for entry in live
        ]
        kept.append(put(f"m{number}", entries, manifest.row["partition_spec_id"]))
    return kept, deleted


def merged_manifests(each: list[Manifest], snapshot: int, put: Any) -> list[Manifest]:
    """``each``, the small ones of older snapshots than ``snapshot`` as few full ones, if there are
    many of them: each commit reads all manifests."""
    small = [
        manifest.row["added_snapshot_id"] != snapshot and manifest.count < _FILES // 2
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
        for manifest in in_parts(f"all{number}", same, number, put)
    ]
    return [*full, *(m for m, is_small in zip(each, small, strict=True) if not is_small)]


def in_parts(name: str, entries: list[Row], number: int, put: Any) -> list[Manifest]:
    """Manifests of ``entries``, which have the partition spec ``number``."""
    return [
        put(f"{name}-{begin // _FILES}", entries[begin : begin + _FILES], number)
        for begin in range(0, len(entries), _FILES)
    ]


def file_entry(
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


def snapshot_summary(
    step: Step, added: list[Row], deleted: list[Row], kept: list[Manifest]
) -> dict[str, str]:
    return {
        "operation": _operation(step, bool(added), bool(deleted)),
        INSTANT: step.instant,
        "hoodoo.completed": step.completed,
        "hoodoo.operation": step.operation.value,
        **summary_counts(added, deleted, kept),
    }


def summary_counts(added: list[Row], deleted: list[Row], kept: list[Manifest]) -> dict[str, str]:
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
