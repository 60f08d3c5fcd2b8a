"""Calls that become methods of :class:`hoodoo.Table`."""

from __future__ import annotations

from hoodoo.errors import ConfigError
from hoodoo.table.handle import TableHandle
from hoodoo.table.running import run

from hoodoo_versions.outcome import VersionChange
from hoodoo_versions.settings import check_known


def upgrade(table: TableHandle, version: int = 9, *, dry_run: bool = False) -> VersionChange:
    """Give the table a newer table version of Hudi: 6 to 8 or 9, 8 to 9. No row changes.

    Readers can continue. Stop writers of other engines first; writes of Hoodoo that are in
    progress cannot complete. After a crash the table has the old or the new version, whole: repeat
    the call. A repeated call also deletes the timeline of the old version.

    ``dry_run``: change nothing. The result lists the steps, and what is lost. Raises
    UnsupportedTableError for a table that cannot be converted, ConfigError for an older version,
    and CommitConflictError while something is pending that this call does not finish.

    >>> table.upgrade(9).done
    False
    """
    check_known(version)
    table.refresh()
    if version < table.config.version:
        raise _other_way(table, version, "downgrade")
    found: VersionChange = run(table, "change_version", version=version, dry_run=dry_run)
    return found


def downgrade(table: TableHandle, version: int = 6, *, dry_run: bool = False) -> VersionChange:
    """Give the table an older table version of Hudi: 9 to 8 or 6, 8 to 6. No row changes. The steps
    and errors are those of ``upgrade``.

    Indexes that the older version does not have are dropped; the result says which. Raises
    ConfigError if the table's own index is one of them.

    >>> table.downgrade(6, dry_run=True).steps[-1]
    'change the properties from version 9 to 8 to 6'
    """
    check_known(version)
    table.refresh()
    if version > table.config.version:
        raise _other_way(table, version, "upgrade")
    found: VersionChange = run(table, "change_version", version=version, dry_run=dry_run)
    return found


def _other_way(table: TableHandle, version: int, name: str) -> ConfigError:
    return ConfigError(
        f"table {table.config.name}",
        f"has version {table.config.version}, from which {version} is the other way.",
        f"call table.{name}({version}).",
    )
