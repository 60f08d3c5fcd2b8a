"""The action ``change_version``: the table gets another table version."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import frozen
from hoodoo.hookspecs.registration import Settings

from hoodoo_versions import change
from hoodoo_versions.outcome import VersionChange
from hoodoo_versions.settings import check_known

if TYPE_CHECKING:
    from hoodoo.table.handle import TableHandle


@frozen
class ChangeVersion:
    """Implements :class:`~hoodoo.hookspecs.action.Action`: done at once; what was cut short is
    begun again."""

    @classmethod
    def from_settings(cls, settings: Settings) -> ChangeVersion:
        return cls()

    def run(self, table: TableHandle, version: int, dry_run: bool = False) -> VersionChange:
        check_known(version)
        table.refresh()
        before = table.config.version
        if dry_run:
            return change.dry_run(table, version)
        if version != before:
            return change.run(table, version)
        change.finish(table)
        return VersionChange(before, before)
