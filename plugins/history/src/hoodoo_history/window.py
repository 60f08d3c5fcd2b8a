"""Window: the writes of a stretch of the timeline, and the timeline as it stood at its end.

From version 8 on, what counts is when an instant completed: that is when its rows appeared, and no
later instant can appear before it. Version 6 notes no completion; there, requested times count, and
a write that takes long can appear in a stretch that was read already (Hudi's readers have that,
too)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date

import pyarrow.compute as pc
from attrs import evolve, frozen
from hoodoo.errors import ConfigError, UnsupportedTableError
from hoodoo.hookspecs.read_source import ReadSource
from hoodoo.model.commit import CommitMetadata, Operation
from hoodoo.model.config import VIRTUAL, TableConfig
from hoodoo.model.instant import Instant
from hoodoo.model.meta import COMMIT_TIME
from hoodoo.participants.travel import instant_of
from hoodoo.timeline.instants import order_key, parse_point
from hoodoo.timeline.plans import is_compaction
from hoodoo.timeline.timeline import Timeline

from hoodoo_history.whole import whole

EARLIEST = "earliest"
_ZEROS = "0" * 17
# What rewrites rows without changing them: they keep the commit time that they have.
_SERVICES = frozenset(
    {Operation.COMPACT, Operation.LOG_COMPACT, Operation.CLUSTER, Operation.BUCKET_RESCALE}
)


@frozen
class TimelineRange:
    """``since`` (exclusive) and ``until`` (inclusive; None: now) are points that order as
    completion times do. ``writes``: the completed writes between them, services too, in the order
    in which they appeared. ``timeline``: with what is archived, as far as it matters; ``then``: as
    it was at ``until``. ``bounded``: some write came after that."""

    since: str
    until: str | None
    writes: tuple[Instant, ...]
    timeline: Timeline
    then: Timeline
    bounded: bool

    @classmethod
    def of(
        cls, source: ReadSource, since: str | date | int, until: str | date | int | None
    ) -> TimelineRange:
        """Raises ConfigError for a bad point in time, and where ``until`` is before ``since``."""
        begin, end = _instant(source, since), _instant(source, until)
        timeline = whole(source.snapshot, point(begin, source.timeline))
        first = point(begin, timeline)
        last = None if until is None else point(end, timeline)
        if last is not None and last < first:
            raise ConfigError(
                f"until={until!r}", f"is before since={since!r}", "give the earlier one as since."
            )
        ordered = appeared(timeline.writes())
        writes = tuple(
            i for i in ordered if first < place(i) and (last is None or place(i) <= last)
        )
        then = timeline if last is None else upto(timeline, last)
        return cls(first, last, writes, timeline, then, len(then.writes()) < len(ordered))

    @property
    def from_the_beginning(self) -> bool:
        return self.since == _ZEROS

    @property
    def end(self) -> str:
        """The ``since`` that goes on where this window ends: nothing is left out or seen twice."""
        newest = max((place(i) for i in self.then.writes()), default=_ZEROS)
        return (
            max(newest, self.since)
            if self.until is None
            else max(self.since, min(newest, self.until))
        )


def place(instant: Instant) -> str:
    """What orders a write among the others: completion, in version 6 request."""
    return order_key(instant.completion_order)


def appeared(writes: Iterable[Instant]) -> list[Instant]:
    """``writes`` in the order in which readers saw them."""
    return sorted(writes, key=lambda i: (place(i), order_key(i.requested)))


def upto(timeline: Timeline, bound: str) -> Timeline:
    """What had completed at ``bound``, inclusive; ``start`` stays that of the table. Clusterings
    that are pending stay: by them the groups to come are known, where names of log files say the
    slice."""
    kept = tuple(
        i for i in timeline.instants if place(i) <= bound and (i.is_completed or i.traits.replaces)
    )
    return evolve(timeline, instants=kept)


def _instant(source: ReadSource, value: str | date | int | None) -> str:
    """What ``as_of`` takes, as an instant; ``"earliest"`` and nothing as they are."""
    if value is None or (isinstance(value, str) and value.strip().lower() == EARLIEST):
        return EARLIEST
    return instant_of(source, value)


def point(value: str | date, timeline: Timeline) -> str:
    """A point as :func:`~hoodoo.timeline.instants.parse_point` takes it, or ``"earliest"``.

    The requested time of a completed write stands for its completion, so that ``commit.instant``
    means the same here as in ``as_of``: the state with that commit."""
    if isinstance(value, str) and value.strip().lower() == EARLIEST:
        return _ZEROS
    found = parse_point(value, timeline.config.timezone)
    # A requested time of 14 digits, as a bootstrap has it, was made one of 17.
    write = timeline.find(found) or timeline.find(found.removesuffix("999"))
    return order_key(found) if write is None else place(write)


def is_change(instant: Instant, metadata: CommitMetadata, config: TableConfig) -> bool:
    """Whether the write changed rows. A plain commit of a table that is merged on read is a
    compaction, whatever it says of itself."""
    if metadata.operation in _SERVICES:
        return False
    return not is_compaction(instant, config)


def check_commit_times(source: ReadSource) -> None:
    """UnsupportedTableError for a table whose rows do not say which commit wrote them."""
    if COMMIT_TIME not in source.config.filled_meta:
        raise UnsupportedTableError(
            f"table {source.config.name}",
            "has virtual keys (hoodie.populate.meta.fields=false): its rows don't say which commit "
            "wrote them",
            f"compare two reads with as_of, or make tables with {VIRTUAL}=true, which keeps the "
            "commit "
            "time.",
        )


def or_untimed(where: pc.Expression) -> pc.Expression:
    """``where``, and rows without a commit time besides. Spark Hudi stores null in tables with
    virtual keys, and its row writer an empty text."""
    time = pc.field(COMMIT_TIME)
    return where | time.is_null() | (time == "")
