"""What archiving reads of the options."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen
from hoodoo.errors import ConfigError

from hoodoo_services import options as keys
from hoodoo_services.archived.levels import Levels


@frozen
class ArchiveSettings:
    """With more than ``most`` completed writes on the active timeline, all but ``least`` are
    archived. ``batch``: entries of one block (version 6). ``deltas``: deltacommits that a
    compaction waits for."""

    automatic: bool = keys.ARCHIVE_INLINE.initial
    least: int = keys.ARCHIVE_LEAST.initial
    most: int = keys.ARCHIVE_MOST.initial
    batch: int = keys.ARCHIVE_BATCH.initial
    deltas: int = keys.COMPACT_EVERY.initial
    levels: Levels = Levels()

    @classmethod
    def of(cls, options: Mapping[str, str]) -> ArchiveSettings:
        """Raises ConfigError for what is no number, and unless max is greater than min."""
        least, most = keys.ARCHIVE_LEAST.read(options), keys.ARCHIVE_MOST.read(options)
        if most <= least:
            raise ConfigError(
                f"options {keys.ARCHIVE_LEAST.key}={least} and {keys.ARCHIVE_MOST.key}={most}",
                "the second one must be greater: with so many writes archiving begins, and it ends "
                "with so many as the first one says.",
                f"Raise {keys.ARCHIVE_MOST.key}, or lower {keys.ARCHIVE_LEAST.key}.",
            )
        return cls(
            keys.ARCHIVE_INLINE.read(options),
            least,
            most,
            keys.ARCHIVE_BATCH.read(options),
            keys.COMPACT_EVERY.read(options),
            Levels(
                keys.HISTORY_FILES.read(options),
                keys.HISTORY_BYTES.read(options),
                keys.HISTORY_VERSIONS.read(options),
            ),
        )

    def keeping(self, needed: int) -> tuple[int, int]:
        """``least`` and ``most`` where cleaning needs the last ``needed`` writes: both move up
        (Hudi's ``ArchivalUtils``)."""
        more = max(0, needed - self.least)
        return self.least + more, self.most + more
