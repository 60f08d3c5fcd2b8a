"""A new table is made of a backup."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hoodoo import Table
from hoodoo import open as open_table
from hoodoo.errors import ConfigError
from hoodoo.table.settings import open_storage, typed_options

from hoodoo_copies.backup import MANIFESTS, Copy, read_manifest
from hoodoo_copies.source import refuse_overlap


def restore_backup(backup: str, path: str, *, options: Mapping[str, Any] | None = None) -> Table:
    """Copy the ``backup`` to ``path``, and make it a table that can be written to. The backup
    stays.

    ``options`` are those of ``hoodoo.open``, for both places. If the call was interrupted, repeat
    it. Indexes in the metadata table are built again. Raises ConfigError if ``backup`` is none, or
    if ``path`` is not empty."""
    source = open_table(backup, options)
    if read_manifest(source.handle.storage) is None:
        raise ConfigError(
            f"place {backup}", "is no backup.", "Give the place that hoodoo backup wrote to."
        )
    refuse_overlap(source.handle, path)
    target = open_storage(path, typed_options(options))
    Copy(source.handle, target, holds=False).run(False)
    table = open_table(path, options)
    table.handle.participants.repair()
    target.delete_prefix(MANIFESTS)  # until then a repeated call goes on
    return table
