"""Placement: whether every row of a table lies in the partition path that its columns say.

Readers leave partition paths out by it, so it has to be known, not likely. A global index may leave
a row where its key first was, whatever the row's columns say later, and who wrote that way is a
writer's option: no listing and no property of Hudi tells. So (ADR 0019):

- a table that Hoodoo makes says so from the start (:data:`FOLLOWS`), and a writer that is about to
  leave a row
  elsewhere takes that back before its commit;
- each commit of Hoodoo says, in its ``extraMetadata`` under the same name, that it holds with this
  commit, and up
  to which instant the writer looked: ``{"upto": instant, "pending": [instant, ...]}``. A writer
  that does not know leaves it out. So the commit of any other program ends the certainty, also
  after it was archived.
"""

from __future__ import annotations

import json

from attrs import frozen
from hoodoo.model.commit import Operation
from hoodoo.model.instant import Instant
from hoodoo.options.kinds import FLAG
from hoodoo.timeline.codec.bounded import reading
from hoodoo.timeline.instants import order_key
from hoodoo.timeline.snapshot import Snapshot

# The property of a table, and the entry in the extra metadata of its commits.
FOLLOWS = "hoodoo.partition.rows.follow.columns"
# What brings no row into another partition path, whoever writes it.
_MOVES_NOTHING = frozenset(
    {
        Operation.CLUSTER, Operation.COMPACT, Operation.LOG_COMPACT, Operation.INDEX,
        Operation.ALTER_SCHEMA, Operation.DELETE, Operation.DELETE_PARTITION,
    }
)  # fmt: skip


@frozen
class _Look:
    """What the writer of a commit saw: all completed writes up to ``upto`` but those ``pending``
    then."""

    upto: str
    pending: frozenset[str]

    def lacks(self, write: Instant) -> bool:
        """Whether this look was made before ``write`` was completed."""
        return order_key(write.requested) > self.upto or write.requested in self.pending


def rows_follow_columns(snapshot: Snapshot) -> bool:
    """Whether every row that ``timeline`` shows lies where its columns say. ``False``: it is not
    known.

    Reads the newest commit, which a read has parsed for the schema already, and those that were
    pending at the same time. Raises CorruptTableError naming a commit whose entry can't be read.
    """
    if not FLAG.stored(snapshot.config.get(FOLLOWS) or ""):
        return False
    left = sorted(snapshot.writes(), key=lambda write: order_key(write.completion_order))
    known = not left
    while left:
        write = left.pop()
        metadata = snapshot.metadata(write)
        text = metadata.extra.get(FOLLOWS)
        if text is not None:
            # What is left had completed before: nothing of it appeared later with an older time, as
            # clocks of other programs may differ.
            look = _parsed(text, f"{snapshot.root}/{snapshot.path(write)}")
            left, known = [w for w in left if look.lacks(w)], True
        elif metadata.operation not in _MOVES_NOTHING:
            return False
    # Where only services are left, nobody says how the rows came that they rewrote.
    return known


def noted(snapshot: Snapshot, instant: Instant) -> dict[str, str]:
    """What the commit of ``instant``, whose rows follow their columns, says of it in its
    ``extraMetadata``: nothing where that is not known of the rows before. ``timeline``: as it is
    when the commit is decided."""
    if not rows_follow_columns(snapshot):
        return {}
    begun = [i.requested for i in snapshot.pending() if i.completes_as_write]
    done = (i.requested for i in snapshot.writes()[-1:])
    upto = max((*begun, *done), key=order_key, default=instant.requested)
    pending = sorted(requested for requested in begun if requested != instant.requested)
    return {FOLLOWS: json.dumps({"upto": upto, "pending": pending}, separators=(",", ":"))}


def _parsed(text: str, where: str) -> _Look:
    with reading(where, f"{FOLLOWS} is {text[:200]!r}, no record of a look"):
        record = json.loads(text)
        pending = frozenset(map(str, record["pending"]))
        return _Look(order_key(str(record["upto"])), pending)
