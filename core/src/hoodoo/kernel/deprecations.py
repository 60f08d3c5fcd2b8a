"""Old names still work: which they are, and one warning for each user of one."""

from __future__ import annotations

from hoodoo.errors import warn
from hoodoo.hookspecs import deprecated
from hoodoo.hookspecs.deprecated import Deprecated

_warned: set[tuple[Deprecated, str]] = set()


def old_names(kind: str, family: str = "") -> dict[str, Deprecated]:
    """The old names of ``kind``, and of ``family`` if they are members."""
    return {
        entry.old: entry
        for entry in deprecated.DEPRECATED
        if entry.kind == kind and entry.family in ("", family)
    }


def warn_of_old(entry: Deprecated, user: str) -> None:
    """Give a HoodooWarning that ``user`` uses an old name, once per process."""
    if (entry, user) in _warned:
        return
    _warned.add((entry, user))
    warn(
        f"{user} uses {entry}, which is deprecated since Hoodoo {entry.since} and will be removed "
        f"in {entry.until}. Fix: use {entry.new!r}."
    )
