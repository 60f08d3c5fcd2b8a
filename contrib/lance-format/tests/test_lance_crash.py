"""A process that ends at any step leaves the old or the new table, and the next write goes on."""

from __future__ import annotations

from typing import Any

from hoodoo.testing.contracts.crash import CrashTrials


class TestCrashes(CrashTrials):
    table = {"options": {"hoodie.table.base.file.format": "LANCE"}, "index": "bloom"}
    operations = {
        name: CrashTrials.operations[name] for name in ("upsert", "delete", "compact", "cluster")
    }
    every = 4

    def check(self, table: Any) -> None:
        _, slices = table.handle.newest_slices()
        paths = [one.base_file.path for one in slices if one.base_file is not None]
        assert all(path.endswith(".lance") for path in paths)
