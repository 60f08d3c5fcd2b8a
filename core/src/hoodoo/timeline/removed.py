"""Removed: which files a clean took away, or is about to, by what it says of itself."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

Removed = tuple[str, str]  # partition path, name of a file; or "" for all files of the partition


def removed_by(said: Mapping[str, Any]) -> set[Removed]:
    """From HoodieCleanMetadata or HoodieCleanerPlan, whose paths are names, relative or absolute."""
    found: set[Removed] = set()
    for partition, part in (said.get("partitionMetadata") or {}).items():
        if part.get("isPartitionDeleted"):
            found.add((partition, ""))
        for key in ("deletePathPatterns", "successDeleteFiles", "failedDeleteFiles"):
            found |= {(partition, _name(path)) for path in part.get(key) or ()}
    for partition, paths in (said.get("filesToBeDeletedPerPartition") or {}).items():
        found |= {(partition, _name(path)) for path in paths or ()}
    for partition, files in (said.get("filePathsToBeDeletedPerPartition") or {}).items():
        found |= {(partition, _name(file.get("filePath"))) for file in files or ()}
    found |= {(partition, "") for partition in said.get("partitionsToBeDeleted") or ()}
    return found


def was_removed(removed: Collection[Removed], path: str) -> bool:
    """Whether a clean removed the file ``path``, below the table root."""
    partition, _, name = path.rpartition("/")
    return (partition, name) in removed or (partition, "") in removed


def _name(path: object) -> str:
    return str(path).rpartition("/")[2]
