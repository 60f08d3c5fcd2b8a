"""What core reads of the options of cleaning; each policy reads its own."""

from __future__ import annotations

import math
from collections.abc import Mapping

from attrs import frozen

from hoodoo.errors import ConfigError

POLICY = "hoodie.clean.policy"
WINDOW = "hoodoo.clean.reader.window"
_THREADS = 32
# Option -> the older name that Hudi still takes.
_OLDER = {
    POLICY: "hoodie.cleaner.policy",
    "hoodie.clean.incremental.enabled": "hoodie.cleaner.incremental.mode",
    "hoodie.clean.trigger.max.commits": "hoodie.clean.max.commits",
    "hoodie.clean.parallelism": "hoodie.cleaner.parallelism",
}


@frozen
class CleanSettings:
    """``window``: hours. ``every``: writes after which an inline clean is due; 0 for never. ``threads``
    delete files at the same time."""

    policy: str = "by_commits"
    window: float = 0.0
    incremental: bool = True
    every: int = 1
    threads: int = _THREADS

    @classmethod
    def of(cls, options: Mapping[str, str]) -> CleanSettings:
        """Raises ConfigError for a value that is no number."""
        automatic = _flag(options, "hoodie.clean.automatic", True)
        every = _number(options, "hoodie.clean.trigger.max.commits", 1, 1)
        return cls(
            _given(options, POLICY) or "by_commits",
            _number(options, WINDOW, 0, 0),
            _flag(options, "hoodie.clean.incremental.enabled", True),
            int(every) if automatic else 0,
            int(_number(options, "hoodie.clean.parallelism", _THREADS, 1)),
        )


def named(settings: Mapping[str, object]) -> dict[str, object]:
    """Arguments as options: ``commits_retained`` is ``hoodie.clean.commits.retained``."""
    keys = {"reader_window": WINDOW}
    return {
        keys.get(name, f"hoodie.clean.{name.replace('_', '.')}"): value
        for name, value in settings.items()
    }


def _given(options: Mapping[str, str], key: str) -> str | None:
    older = _OLDER.get(key)
    return options.get(key, options.get(older) if older else None)


def _flag(options: Mapping[str, str], key: str, default: bool) -> bool:
    text = _given(options, key)
    return default if text is None else text.lower() == "true"


def _number(options: Mapping[str, str], key: str, default: float, least: float) -> float:
    text = _given(options, key)
    if text is None:
        return default
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not least <= value < math.inf or (least and value != int(value)):
        raise ConfigError(
            f"option {key}", f"must be a number of at least {least:g}, not {text!r}.",
            f"leave it out: the default is {default:g}.",
        )  # fmt: skip
    return value
