"""Numbered batches that take effect once: which ones the timeline says are in the table.

A commit of a batch says so in its ``extraMetadata``, under two keys:

- ``_hudi_streaming_sink_checkpoint``, as Hudi's streaming sink does (HoodieStreamingSink,
  ``CommitUtils.getCheckpointValueAsString``): ``{"<identifier>": "<batch>"}``, this batch only.
- ``_hoodoo_batches``: the newest batch of every stream that the writer saw, its own among them, and
  ``upto``, the instant up to which it looked: ``{"upto": instant, "batches": [[identifier, query,
  batch, instant of the batch], ...]}``. So nobody has to look further back than ``upto``, except
  for a stream that is not among the ``REMEMBERED`` ones: the commits of its batches still name it.

Writes of other kinds hand the second key on. What has been archived is looked at only where the
active timeline does not reach back to such an ``upto``: for the first batch that a table is given,
and of a stream that a full list lacks."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from attrs import frozen
from hoodoo.kernel.archived import load_archived
from hoodoo.model.commit import CommitMetadata
from hoodoo.model.instant import Instant
from hoodoo.timeline.batches import Batch
from hoodoo.timeline.codec.bounded import reading
from hoodoo.timeline.instants import order_key
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import Timeline

HUDI_KEY = "_hudi_streaming_sink_checkpoint"
OWN_KEY = "_hoodoo_batches"
# Streams that are remembered, those with the newest batches: every new checkpoint is a new stream.
REMEMBERED = 100


@frozen
class Applied:
    """The newest batches, one of each stream, that completed writes name."""

    newest: Mapping[tuple[str, str], tuple[int, str]]

    def has(self, batch: Batch) -> bool:
        """Whether ``batch`` or a later one of its stream is in the table.

        What Hudi's sink wrote under the identifier has no query. It speaks of this batch where
        nothing of this query is newer and the numbers are equal: a query that changes its sink
        repeats the last batch or goes on with the next. Other numbers are those of another
        checkpoint."""
        own = self.newest.get((batch.identifier, batch.query))
        if own is not None and batch.number <= own[0]:
            return True
        other = self.newest.get((batch.identifier, ""))
        if other is None or other[0] != batch.number:
            return False
        return own is None or order_key(own[1]) < order_key(other[1])

    def encode(self, upto: str) -> str:
        """The value of ``_hoodoo_batches``."""
        newest = sorted(self.newest.items(), key=lambda item: order_key(item[1][1]))
        entries = [[*stream, number, instant] for stream, (number, instant) in newest[-REMEMBERED:]]
        return json.dumps({"upto": upto, "batches": entries}, separators=(",", ":"))


def applied(snapshot: Snapshot, batch: Batch | None = None) -> Applied:
    """What the completed writes of ``timeline`` say, read from the newest back to where one of them
    says that it has looked; without such a one all of them are read, archived ones too. So they are
    for the stream of ``batch``, if none says it and more streams were said than are remembered.

    Raises CorruptTableError naming a file whose entry is not of the form above.
    """
    newest: dict[tuple[str, str], tuple[int, str]] = {}
    upto = ""
    full = False
    stream = (batch.identifier, batch.query) if batch is not None else None
    for instant, metadata, where in _newest_first(snapshot):
        forgotten = full and stream is not None and stream not in newest
        if upto and order_key(instant) <= order_key(upto) and not forgotten:
            break
        extra = metadata().extra
        if OWN_KEY in extra:
            seen, told = _own(extra[OWN_KEY], where)
            upto, full = max(upto, seen, key=order_key), full or len(told) >= REMEMBERED
        elif HUDI_KEY in extra:
            told = _hudi(extra[HUDI_KEY], instant, where)
        else:
            continue
        for named, number, origin in told:
            # A commit hands on what it saw at its start: the newest origin is right, not the first.
            if named not in newest or order_key(newest[named][1]) < order_key(origin):
                newest[named] = (number, origin)
    return Applied(newest)


def _newest_first(snapshot: Snapshot) -> Iterator[tuple[str, Callable[[], CommitMetadata], str]]:
    """Requested time, metadata and place of the completed writes; archived ones at the end."""
    for instant in reversed(snapshot.writes()):
        where = f"{snapshot.root}/{snapshot.path(instant)}"
        yield (
            instant.requested,
            partial(snapshot.timeline.metadata, snapshot.storage, instant),
            where,
        )
    for old in reversed(load_archived(snapshot.storage, snapshot.config)):
        if old.is_write and snapshot.find(old.requested) is None:
            yield old.requested, old.metadata, f"{snapshot.root}: archived instant {old.requested}"


def extra_metadata(snapshot: Snapshot, instant: Instant, batch: Batch | None) -> dict[str, str]:
    """What the commit of ``instant`` has to say of batches in its ``extraMetadata``.

    ``timeline`` is what the write saw at its start. A write that is no ``batch`` hands on what the
    newest write before it said, and otherwise costs and says nothing."""
    if batch is None and not _handed_on(snapshot):
        return {}
    found = applied(snapshot, batch)
    told: dict[str, str] = {}
    if batch is not None:
        told.update(batch.notes)
        told[HUDI_KEY] = json.dumps({batch.identifier: str(batch.number)}, separators=(",", ":"))
        stream = (batch.identifier, batch.query)
        found = Applied({**found.newest, stream: (batch.number, instant.requested)})
    told[OWN_KEY] = found.encode(_upto(snapshot.timeline))
    return told


def _handed_on(snapshot: Snapshot) -> bool:
    """Whether the newest write that is no service speaks of batches; it has been read already, for
    the schema (``Timeline.latest_schema_text``)."""
    for instant in reversed(snapshot.writes()):
        metadata = snapshot.metadata(instant)
        if metadata.operation.can_change_schema or OWN_KEY in metadata.extra:
            return OWN_KEY in metadata.extra
    return False


def _upto(timeline: Timeline) -> str:
    """The newest write before which nothing is pending: what is pending may yet be a batch."""
    pending = [i.requested for i in timeline.pending() if i.is_write]
    first = min(pending, key=order_key, default=None)
    done = [i.requested for i in timeline.writes()]
    if first is not None:
        done = [text for text in done if order_key(text) < order_key(first)]
    return done[-1] if done else ""


_Entry = tuple[tuple[str, str], int, str]


def _own(text: str, where: str) -> tuple[str, list[_Entry]]:
    with reading(where, f"{OWN_KEY} is {text[:200]!r}, no record of batches"):
        record = json.loads(text)
        found = [
            ((str(identifier), str(query)), int(number), str(origin))
            for identifier, query, number, origin in record["batches"]
        ]
        return str(record["upto"]), found


def _hudi(text: str, instant: str, where: str) -> list[_Entry]:
    with reading(where, f"{HUDI_KEY} is {text[:200]!r}, not identifier and batch"):
        return [
            ((str(identifier), ""), int(number), instant)
            for identifier, number in json.loads(text).items()
        ]
