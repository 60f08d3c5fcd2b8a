"""Gates: at which operations a writer stops, and which of them can't change places.

Everything that a writer tells others, and asks of them, goes through the store. These are the steps:

- the look of a write: what is decided is carried out, then the timeline is listed (twice: once to heal);
- the put of a request, which takes an instant, and the look whether it is later than all others;
- a decision: the listing of the ledger, the put of the next number, the put of what it decides;
- the listing of heartbeats, and the deletion of one;
- opening a data file, and deleting one.

The other operations go along with the step before them, because their order changes nothing:

- Data files, markers, staged rows and partition files are put under names that hold the writer's instant
  or are equal for all, and no reader looks at an instant that is not completed.
- Requested and inflight files of writes are passed over by whoever lists them, as long as their writer
  has a heartbeat, which it has from before the first until after the last. Requests matter to compactions
  of version 6 (``heed_requests``), and to who takes the same instant: that is a put of the same file,
  which is a conflict. An inflight file comes after a request and goes before it.
- A decision lists the timeline after the ledger. What is claimed in between makes its own claim fail;
  what was claimed before has been carried out by itself.
- Marks of what has been carried out, and the removal of old numbers, only save work.
- The look behind a write, for services, of which there are none here, is followed by no decision. What it
  carries out for others is a step of its own.

That the last three are right is tried with a gate at every operation, in ``test_ledger_schedules.py``, and
in ``test_every_operation.py`` for whole writes, where one writer comes between any two of the other's.
"""

from __future__ import annotations

import re

from attrs import define, frozen
from hoodoo.testing.stores import MUTATING
from hoodoo.timeline.decision import FOLDER as LEDGER
from hoodoo.timeline.heartbeat import FOLDER as HEARTBEATS
from schedules import Step

_REQUESTED = re.compile(r"/\d{17}\.(commit|deltacommit|replacecommit)\.requested$")
_INFLIGHT = re.compile(r"/\d{17}(\.[a-z]+)?\.inflight$")
# What a decision puts: an action completes, or a service is announced.
_DECIDED = re.compile(
    r"/\d{17}(_\d{17})?\.((?!inflight)[a-z]+|(rollback|clean|compaction|restore)\.requested)$"
)


@define
class Stops:
    """Which operations of one writer are steps. Asked of each in turn: it remembers the last."""

    timeline: str
    heed_requests: bool = False
    fine: bool = False
    _last: tuple[str, str] = ("", "")

    def stops(self, op: str, path: str) -> bool:
        if op in ("get", "head"):
            return False
        last, self._last = self._last, (op, path)
        if path.startswith(HEARTBEATS):
            return self.fine and op in ("list", "delete")
        if path.startswith(LEDGER):
            # Right after a number or a mark, a listing looks for old ones; after the end, for services.
            aside = last[1].startswith(LEDGER + "/") or last[0] == "delete_prefix"
            return op == "put_if_absent" or (op == "list" and not aside)
        if _is_timeline(path, self.timeline):
            if op == "list":
                if _REQUESTED.search(last[1]):
                    return True
                # Right after the ledger it belongs to that step; after an announcement, nobody is asked.
                belongs = last == ("list", LEDGER) or last[1].endswith(".requested")
                return self.fine and not belongs
            if op == "put_if_absent" and path.endswith(".requested"):
                return True
            return not _is_quiet(path, self.heed_requests)
        return not path.startswith(".hoodie") and op in ("open", "delete")


@frozen
class Conflicts:
    """Whether the order of two steps of different writers matters."""

    timeline: str
    heed_requests: bool = False

    def __call__(self, one: Step, other: Step) -> bool:
        if one.op == other.op == "put_if_absent" and one.path == other.path:
            # Who helps puts the same bytes; who requests the same instant does not know the other.
            return not _DECIDED.search(one.path)
        return self._changes(one, other) or self._changes(other, one)

    def _changes(self, one: Step, other: Step) -> bool:
        """Whether ``one`` changes what ``other`` looks at, or changes, too."""
        if not one.mutates:
            return False
        if other.op != "list":
            return one.path == other.path
        if _is_quiet(one.path, self.heed_requests):
            return False
        folder = one.path.rpartition("/")[0]
        return folder == other.path or (folder == self.timeline and other.path == LEDGER)


def _is_timeline(path: str, timeline: str) -> bool:
    folder, _, name = path.rpartition("/")
    return path == timeline or (folder == timeline and name[:1].isdigit())


def _is_quiet(path: str, heed_requests: bool) -> bool:
    if _INFLIGHT.search(path):
        return True
    return not heed_requests and bool(_REQUESTED.search(path))


class Everything:
    """A gate at every operation below ``.hoodie``, and at every change of data."""

    def stops(self, op: str, path: str) -> bool:
        return op in MUTATING or path.startswith(".hoodie") or not path
