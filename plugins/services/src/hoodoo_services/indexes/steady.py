"""What is said of a table and of its stored indexes has to be of one moment, though others
write."""

from __future__ import annotations

from collections.abc import Callable

from hoodoo.errors import CorruptTableError
from hoodoo_rows.api import WriteTarget

from hoodoo_services.outcome import Comparison

# With writes that never end one look in five or ten is disturbed.
LOOKS = 8


def steady(
    target: WriteTarget,
    look: Callable[[], WriteTarget],
    judge: Callable[[WriteTarget], Comparison],
) -> Comparison:
    """What ``judge`` says of ``target``, or of what ``look`` finds later.

    An index that is stored is read as it is then, which may be later than ``target``: it may have
    keys of writes that completed meanwhile. So where something is wrong, and there were such
    writes, look again.

    Raises CorruptTableError as ``judge``.
    """
    for left in reversed(range(LOOKS)):
        error: CorruptTableError | None = None
        found: Comparison | None = None
        try:
            found = judge(target)
        except CorruptTableError as wrong:
            error = wrong
        good = found is not None and found.same and not found.stale.num_rows
        if good or not left or _writes(target) == _writes(target := look()):
            break
    if error is not None:
        raise error
    assert found is not None
    return found


def _writes(target: WriteTarget) -> frozenset[str]:
    return frozenset(write.requested for write in target.timeline.writes())
