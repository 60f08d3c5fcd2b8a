"""The actions of this distribution."""

from __future__ import annotations

import os
from datetime import date
from typing import TYPE_CHECKING, Any

from attrs import frozen
from hoodoo import Table
from hoodoo.hookspecs.registration import Settings
from hoodoo.options.table import BACKUP_OF
from hoodoo.table.settings import open_storage

from hoodoo_copies.backup import Copy
from hoodoo_copies.clone import clone
from hoodoo_copies.outcome import BackedUp
from hoodoo_copies.source import refuse_overlap, refuse_rows_elsewhere
from hoodoo_copies.tags import tag

if TYPE_CHECKING:
    from hoodoo.table.handle import TableHandle


@frozen
class Backup:
    """Implements :class:`~hoodoo.hookspecs.action.Action`: done at once; a repeated run goes on."""

    @classmethod
    def from_settings(cls, settings: Settings) -> Backup:
        return cls()

    def run(
        self, table: TableHandle, target: str | os.PathLike[str], verify: bool = False
    ) -> BackedUp:
        if BACKUP_OF not in table.config.properties:  # nothing is written to one
            table.check_writable()
        refuse_overlap(table, os.fspath(target))
        refuse_rows_elsewhere(table)
        return Copy(table, open_storage(target, table.options)).run(verify)


@frozen
class Clone:
    """Implements :class:`~hoodoo.hookspecs.action.Action`: done at once."""

    @classmethod
    def from_settings(cls, settings: Settings) -> Clone:
        return cls()

    def run(
        self,
        table: TableHandle,
        path: str | os.PathLike[str],
        as_of: str | date | int | None = None,
        shallow: bool = False,
    ) -> Any:
        made: Table = clone(table, os.fspath(path), as_of, shallow)
        return made


@frozen
class Tags:
    """Implements :class:`~hoodoo.hookspecs.action.Action`: done at once."""

    @classmethod
    def from_settings(cls, settings: Settings) -> Tags:
        return cls()

    def run(self, table: TableHandle, name: str, instant: str | None = None) -> str:
        return tag(table, name, instant)
