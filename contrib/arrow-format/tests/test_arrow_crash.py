"""A process that ends at any step leaves the old or the new table, and the next write goes on."""

from __future__ import annotations

from typing import Any

from hoodoo.testing.contracts.crash import CrashTrials

OPTIONS = {
    "hoodie.table.base.file.format": "ARROW",
    "hoodie.metadata.enable": "true",
    "hoodie.metadata.index.column.stats.enable": "true",
}


class TestCrashes(CrashTrials):
    table = {"options": OPTIONS, "index": "bloom"}
    every = 5

    def check(self, table: Any) -> None:
        assert all(path.endswith(".arrow") for path in _base_files(table))


class TestWithoutMetadataTable(TestCrashes):
    """Fewer steps, of which each is tried."""

    table = {"options": {"hoodie.table.base.file.format": "ARROW"}}
    operations = {
        name: TestCrashes.operations[name] for name in ("upsert", "delete", "compact", "cluster")
    }
    every = 1


def _base_files(table: Any) -> list[str]:
    _, slices = table.handle.newest_slices()
    return [one.base_file.path for one in slices if one.base_file is not None]
