"""The action ``change_version``: the table gets another table version."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import frozen
from hoodoo.errors import UnsupportedTableError
from hoodoo.hookspecs.registration import Settings
from hoodoo.model.table_version import VERSIONS

from hoodoo_versions import change
from hoodoo_versions.outcome import VersionChange

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
        if version not in VERSIONS:
            *others, last = map(str, VERSIONS)
            raise UnsupportedTableError(
                f"table version {version!r}",
                f"is not one of {', '.join(others)} and {last}.",
                "name one of them.",
            )
        table.refresh()
        before = table.config.version
        if dry_run:
            return change.dry_run(table, version)
        if version != before:
            return change.run(table, version)
        change.finish(table)
        return VersionChange(before, before)
