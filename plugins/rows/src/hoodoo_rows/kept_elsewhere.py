"""Tables that another program keeps as the image of a table in another format: they are read, and
nothing is written to them."""

from __future__ import annotations

from typing import Any

from attrs import frozen
from hoodoo.errors import UnsupportedTableError
from hoodoo.hookspecs.registration import Settings
from hoodoo.model.commit import CommitMetadata
from hoodoo.model.config import TableConfig
from hoodoo.timeline.snapshot import Snapshot

FORMAT, NATIVE = "hoodie.table.format", "native"
_SYNCED = "XTABLE_METADATA"
_EXTERNAL = "_hudiext"
_COPY = "copy its rows into a table of its own: hoodoo.convert(table.read().to_arrow(), to, ...)."


def refuse_format(config: TableConfig) -> None:
    """UnsupportedTableError for a table whose commits count only once they are in the metadata of
    another format (Hudi's pluggable table formats)."""
    form = config.get(FORMAT) or NATIVE
    if form.lower() != NATIVE:
        raise UnsupportedTableError(
            f"table {config.name}",
            f"has {FORMAT}={form}: its commits belong into the metadata of that format as well, "
            "and no installed plugin writes them there.",
            f"Write it with the program that does, or {_COPY}",
        )


def refuse_image(table: Snapshot) -> None:
    """UnsupportedTableError for what :func:`refuse_format` says, and for a table whose newest
    commit Apache XTable has made. Looks at that commit, where the table has no meta columns."""
    refuse_format(table.config)
    if table.config.populate_meta_fields:  # XTable makes tables without
        return
    writes = table.writes()
    if writes and _is_image(table.metadata(writes[-1])):
        raise UnsupportedTableError(
            f"table {table.config.name}",
            "is what Apache XTable has made of a table in another format: its next sync would "
            "take away what is written here, and a clean would delete files of that table.",
            f"Write to that table, or {_COPY}",
        )


def _is_image(commit: CommitMetadata) -> bool:
    return _SYNCED in commit.extra or any(s.path.endswith(_EXTERNAL) for s in commit.stats)


@frozen
class KeptElsewhere:
    """Implements :class:`~hoodoo.hookspecs.participant.Participant`: refuses every action."""

    @classmethod
    def from_settings(cls, settings: Settings) -> KeptElsewhere:
        """One for all tables."""
        return cls()

    def join(self, *table: Any) -> None:
        """UnsupportedTableError for a table that another program keeps."""
        refuse_image(Snapshot(*table))

    def refuse_undo(self, *table: Any) -> None:
        """The same, of the rollback of a completed commit."""
        refuse_image(Snapshot(*table[:2]))
