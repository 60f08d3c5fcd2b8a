"""What archiving reads of the options."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen

from hoodoo.errors import ConfigError
from hoodoo.timeline.history_levels import Levels

LEAST, MOST = "hoodie.keep.min.commits", "hoodie.keep.max.commits"


@frozen
class ArchiveSettings:
    """With more than ``most`` completed writes on the active timeline, all but ``least`` are archived.
    ``batch``: entries of one block (version 6). ``deltas``: deltacommits that a compaction waits for."""

    automatic: bool = True
    least: int = 20
    most: int = 30
    batch: int = 10
    deltas: int = 5
    levels: Levels = Levels()

    @classmethod
    def of(cls, options: Mapping[str, str]) -> ArchiveSettings:
        """Raises ConfigError for what is no number, and unless max is greater than min."""
        least, most = _number(options, LEAST, 20), _number(options, MOST, 30)
        if most <= least:
            raise ConfigError(
                f"options {LEAST}={least} and {MOST}={most}",
                "the second one must be greater: with so many writes archiving begins, and it ends "
                "with so many as the first one says.",
                f"Raise {MOST}, or lower {LEAST}.",
            )
        return cls(
            options.get("hoodie.archive.automatic", "true").lower() == "true",
            least,
            most,
            _number(options, "hoodie.commits.archival.batch", 10),
            _number(options, "hoodie.compact.inline.max.delta.commits", 5),
            Levels(
                _number(options, "hoodie.timeline.compaction.batch.size", 10, 2),
                _number(options, "hoodie.timeline.compaction.target.file.max.bytes", 1000 << 20),
                _number(options, "hoodie.timeline.manifest.retained.versions", 3),
            ),
        )

    def keeping(self, needed: int) -> tuple[int, int]:
        """``least`` and ``most`` where cleaning needs the last ``needed`` writes: both move up (Hudi's
        ``ArchivalUtils``)."""
        more = max(0, needed - self.least)
        return self.least + more, self.most + more


def _number(options: Mapping[str, str], key: str, default: int, at_least: int = 1) -> int:
    text = options.get(key, str(default)).strip()
    if not (text.isascii() and text.isdigit()) or int(text) < at_least:
        raise ConfigError(
            f"option {key}",
            f"must be a number of at least {at_least}, not {text!r}.",
            f"Leave it out: the default is {default}.",
        )
    return int(text)
