"""Ready writes: what threads of this process want to write into one table while another writer has
the turn.

Of the threads that wait, one waits for the turn of the table, and then writes the rows of all that
wait with it, in the order in which they came, in one commit. The rows of the table are then as if
they had written one after the other: only upserts that this is true of wait together. Where the
rows of all fail, each writes its own."""

from __future__ import annotations

import functools
import os
import threading
import weakref
from collections.abc import Callable

import pyarrow as pa
from attrs import define, field
from hoodoo.errors import CommitUnknownError

from hoodoo_rows.write.commit import Commit

# Bytes of rows in one commit. A larger write gains nothing; if the rows of all fail, this much is
# done again.
MOST = 64 << 20
# Seconds after which a write goes on by itself whose turn does not come.
PATIENCE = 60.0


@define(eq=False)
class ReadyWrite:
    """One of them. ``shares``: whether it may go with others as the table is now. ``alone``: it
    does not, as its rows have failed together with those of others, or its turn does not come."""

    rows: pa.Table
    line: _Line
    shares: Callable[[], bool]
    alone: bool = False
    _others: list[ReadyWrite] = field(factory=list, init=False)
    _commit: Commit | None = field(default=None, init=False)
    _error: CommitUnknownError | None = field(default=None, init=False)
    _woken: threading.Event = field(factory=threading.Event, init=False)

    @property
    def is_written(self) -> bool:
        """Whether another write had these rows, too."""
        return self._commit is not None

    def wait(self) -> Commit | None:
        """The commit that has these rows. None: nobody has written them, and this write is the one
        that waits for the turn; or it has waited too long, perhaps for a write that waits
        for it in turn. CommitUnknownError: a commit that has them may be published."""
        if not self.line.leads(self):
            while not self._woken.wait(PATIENCE):
                if self.line.gives_up(self):
                    self.alone = True
                    return None
            self.line.lead_here(self)
        if self._error is not None:
            raise CommitUnknownError(*self._error.args)
        return self._commit

    def with_others(self) -> pa.Table | None:
        """Its rows, and those of all that wait now and go with them, for the one that leads; None
        if these are its own."""
        if not self.alone:
            self.line.take(self, self._others, MOST - sum(o.rows.nbytes for o in self._all()))
        return pa.concat_tables([each.rows for each in self._all()]) if self._others else None

    def stands(self) -> bool:
        """Whether the rows of others may still be with these, now that the table has been looked at
        again. If not, the others go on by themselves."""
        return not self._others or self.shares() or not self._part()

    def _all(self) -> list[ReadyWrite]:
        return [self, *self._others]

    def written(self, commit: Commit) -> bool:
        """The rows of all are in ``commit``. Whether there were others."""
        had = bool(self._others)
        for other in self._others:
            other._commit = commit
            other._woken.set()
        self._others = []
        return had

    def failed(self, error: BaseException) -> bool:
        """The rows of all could not be written. Others that were with this one go on by themselves,
        unless the commit may be published. Whether there were others."""
        if not isinstance(error, CommitUnknownError):
            return self._part()
        for other in self._others:
            other._error = error
            other._woken.set()
        self._others = []
        return False

    def _part(self) -> bool:
        """Each goes on alone. Whether there were others. They are kept until the line has them: an
        interrupt may come at any point."""
        if not self._others:
            return False
        self.alone = True
        self.line.give_back(self._others)
        self._others = []
        return True

    def end(self, error: BaseException | None) -> None:
        """Whatever became of it, it waits no more, and leads no more."""
        if error is not None:
            self.failed(error)
        self.line.leave(self)


@define(eq=False)
class _Line:
    """The ready writes of one table that go together, in the order in which they came; the first
    one of all leads."""

    _guard: threading.Lock = field(factory=threading.Lock)
    _leader: ReadyWrite | None = None
    _thread: int = 0
    _waiting: list[ReadyWrite] = field(factory=list)

    def is_led_here(self) -> bool:
        """Whether this thread is inside a write that leads: one inside it would never end."""
        return self._leader is not None and self._thread == threading.get_ident()

    def leads(self, one: ReadyWrite) -> bool:
        """Whether ``one`` leads; else it waits from now on."""
        with self._guard:
            if self._leader is None or self._leader is one:
                self._leader, self._thread = one, threading.get_ident()
                return True
            self._waiting.append(one)
            return False

    def lead_here(self, one: ReadyWrite) -> None:
        """``one`` goes on in this thread, if it leads now."""
        with self._guard:
            if self._leader is one:
                self._thread = threading.get_ident()

    def take(self, leader: ReadyWrite, found: list[ReadyWrite], most: int) -> None:
        """Those that go with ``leader``, ``most`` bytes of rows, are ``found``; they wait for it
        from now on."""
        with self._guard:
            for other in self._waiting:
                if other.alone or not _are_alike(other.rows.schema, leader.rows.schema):
                    continue
                most -= other.rows.nbytes
                if most < 0:
                    break
                found.append(other)
            self._waiting = [other for other in self._waiting if other not in found]

    def give_back(self, others: list[ReadyWrite]) -> None:
        """``others`` come next, each alone, but for those that wait no more."""
        with self._guard:
            back = [o for o in others if not o._woken.is_set() and o not in self._waiting]
            for other in back:
                other.alone = True
            self._waiting = back + self._waiting

    def gives_up(self, one: ReadyWrite) -> bool:
        """``one`` waits no more. False if it leads meanwhile, or another writes its rows."""
        with self._guard:
            if one not in self._waiting:
                return False
            self._waiting.remove(one)
            return True

    def leave(self, one: ReadyWrite) -> None:
        """``one`` has ended; if it led, the next one leads."""
        with self._guard:
            one._woken.set()  # nobody gives it back
            if one in self._waiting:
                self._waiting.remove(one)
            if self._leader is not one:
                return
            self._leader, self._thread = None, 0
            if self._waiting:
                self._leader = self._waiting.pop(0)
                self._leader._woken.set()


def _are_alike(one: pa.Schema, other: pa.Schema) -> bool:
    """Whether the columns are the same, with what their metadata says of their types."""
    found: bool = one.remove_metadata().equals(other.remove_metadata(), check_metadata=True)
    return found


@functools.lru_cache(maxsize=2)
def _lines(pid: int) -> tuple[threading.Lock, weakref.WeakValueDictionary[object, _Line]]:
    """A process that was forked has lines of its own: those who lead the others are not there."""
    return threading.Lock(), weakref.WeakValueDictionary()


def ready(
    rows: pa.Table | pa.RecordBatch, shares: Callable[[], bool], *key: object
) -> ReadyWrite | None:
    """The upsert of ``rows``, which goes with those of the same ``key``: the storage, options and
    engine. None inside a write that leads such, and for what can't be compared."""
    guard, lines = _lines(os.getpid())
    try:
        with guard:
            line = lines.get(key)
            if line is None:
                line = lines[key] = _Line()
    except TypeError:
        return None
    if line.is_led_here():
        return None
    if isinstance(rows, pa.RecordBatch):
        rows = pa.Table.from_batches([rows])
    return ReadyWrite(rows, line, shares)
