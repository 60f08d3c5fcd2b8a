"""What core reads of the options of cleaning; each policy reads its own."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen

from hoodoo_services import options as keys

_FAMILY = keys.CLEAN_POLICY.key.removesuffix("policy")  # what the keys of cleaning begin with


@frozen
class CleanSettings:
    """``window``: hours. ``every``: writes after which an inline clean is due; 0 for never.
    ``threads`` delete files at the same time."""

    policy: str = keys.CLEAN_POLICY.initial
    window: float = keys.CLEAN_WINDOW.initial
    incremental: bool = keys.CLEAN_INCREMENTAL.initial
    every: int = keys.CLEAN_EVERY.initial
    threads: int = keys.CLEAN_THREADS.initial

    @classmethod
    def of(cls, options: Mapping[str, str]) -> CleanSettings:
        """Raises ConfigError for a value that can't be."""
        return cls(
            keys.CLEAN_POLICY.read(options),
            keys.CLEAN_WINDOW.read(options),
            keys.CLEAN_INCREMENTAL.read(options),
            keys.CLEAN_EVERY.read(options) if keys.CLEAN_INLINE.read(options) else 0,
            keys.CLEAN_THREADS.read(options),
        )


def named(settings: Mapping[str, object]) -> dict[str, object]:
    """Arguments as options: ``commits_retained`` is ``hoodie.clean.commits.retained``."""
    special = {"reader_window": keys.CLEAN_WINDOW.key}
    return {
        special.get(name, f"{_FAMILY}{name.replace('_', '.')}"): value
        for name, value in settings.items()
    }
