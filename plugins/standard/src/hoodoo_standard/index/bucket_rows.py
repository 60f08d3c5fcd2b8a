"""Bucket rows: whether what other programs wrote lies in the buckets of its keys, before a writer
goes by them.

A program that does not know bucket indexes, as hudi-rs 0.6, puts new keys into whichever file is
small: the name of a bucket file says nothing of them then, and an upsert that goes by names would
store them a second time. Hudi's writers in Java and Hoodoo's know them, and their files say by whom
they were written. Each commit of Hoodoo notes up to where its writer has looked, so that a commit
is looked at once."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import define, field, frozen
from hoodoo.errors import CorruptTableError, HoodooError, UnsupportedTableError
from hoodoo.hookspecs.engine import Engine, Task
from hoodoo.hookspecs.file_format import BaseFileFormat
from hoodoo.hookspecs.index import ComputedIndex
from hoodoo.hookspecs.participant import ActionChange
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.resolve import resolve
from hoodoo.model.commit import Operation
from hoodoo.model.instant import Instant
from hoodoo.model.meta import RECORD_KEY
from hoodoo.storage.api import Storage
from hoodoo.timeline.instants import order_key
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import Timeline

# In the extra metadata of a commit: up to which request all commits but those that were pending
# have been looked at.
SEEN = "hoodoo.bucket.rows.seen"
# Writers that know bucket indexes, as Parquet footers call them.
_KNOW = ("parquet-mr", "parquet-cpp")
_MOVES_NO_KEY = (Operation.CLUSTER, Operation.COMPACT, Operation.LOG_COMPACT, Operation.INDEX)
_FOUND = pa.schema([("path", pa.string()), ("rows", pa.int64()), ("key", pa.string())])


def out_of_buckets(root: str) -> str:
    """The way out of a bucket index by whose names nobody can go any more."""
    return (
        'Give the table an index that looks keys up: table.switch_index("simple"), or `hoodoo '
        f"switch-index {root} simple`; "
        "all rows stay."
    )


@frozen
class BucketRowsParticipant:
    """Implements :class:`~hoodoo.hookspecs.participant.Participant` for tables with a fixed number
    of buckets."""

    settings: Settings

    @classmethod
    def from_settings(cls, settings: Settings) -> BucketRowsParticipant:
        return cls(settings)

    def join(self, storage: Storage, timeline: Timeline) -> BucketRows | None:
        config = timeline.config
        if config.index_name is None or not config.populate_meta_fields:
            return None
        try:
            index = resolve("index", config.index_name, self.settings).instance
        except HoodooError:
            return None  # whoever needs the index says so
        return BucketRows(index, self.settings) if isinstance(index, ComputedIndex) else None


@define
class BucketRows:
    """Implements :class:`~hoodoo.hookspecs.participant.Participation`."""

    index: ComputedIndex
    settings: Settings
    noted: Mapping[str, str] = field(factory=dict)
    keys: bool = False

    def begin(self, change: ActionChange) -> None:
        """UnsupportedTableError where another program has put keys into buckets that are not
        theirs."""
        if change.operation in _MOVES_NO_KEY or change.operation is Operation.UNKNOWN:
            return
        timeline, storage = change.timeline, change.storage
        for write in _not_seen(Snapshot(storage, timeline)):
            self._look(change, write)
        pending = sorted(
            i.requested for i in timeline.pending() if i.requested != change.instant.requested
        )
        upto = max((w.requested for w in timeline.writes()), key=order_key, default="")
        self.noted = {SEEN: json.dumps([upto, pending], separators=(",", ":"))}

    def _look(self, change: ActionChange, write: Instant) -> None:
        storage = change.storage
        file_format = resolve(
            "file_format", change.timeline.config.base_file_format, self.settings
        ).instance
        paths = [
            stat.path
            for stat in change.timeline.metadata(storage, write).stats
            if stat.path.endswith(file_format.extension)
            and stat.file_id not in change.replaced.get(stat.partition_path, ())
        ]
        if not paths or _knows_buckets(storage, file_format, paths[0]):
            return
        step = StrangeKeys(storage, file_format, self.index)
        found = _collected(change.engine, step, paths)
        if found.num_rows:
            one = found.slice(0, 1).to_pylist()[0]
            raise UnsupportedTableError(
                f"table {change.timeline.config.name}: file {one['path']} of {write.action} "
                f"{write.requested}",
                f"has {one['rows']} record keys of other buckets, for example {one['key']!r}: the "
                "program that wrote it "
                "does not know the bucket index of the table, as hudi-rs, and an upsert would "
                "store these keys twice.",
                out_of_buckets(storage.root),
            )


@frozen
class StrangeKeys:
    """Step: paths of base files in; _FOUND out, of those whose keys are not all of the bucket that
    the name says."""

    storage: Storage
    file_format: BaseFileFormat
    index: ComputedIndex

    @property
    def out_schema(self) -> pa.Schema:
        return _FOUND

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for payload in batch.column("payload").to_pylist():
                yield from self.of(payload.decode())

    def of(self, path: str) -> Iterator[pa.RecordBatch]:
        file_id = path.rpartition("/")[2].partition("_")[0]
        try:
            bucket = self.index.bucket_of(file_id)
        except CorruptTableError:
            bucket = -1  # of no bucket: all its keys are strange
        rows, example = 0, None
        with suppress(FileNotFoundError), self.file_format.reader(self.storage, path) as reader:
            for batch in reader.batches([RECORD_KEY]):
                keys = batch.column(0).cast(pa.string())
                strange = keys.filter(pc.not_equal(self.index.bucket(keys), np.int32(bucket)))
                rows += len(strange)
                example = example or (strange[0].as_py() if len(strange) else None)
        if rows:
            yield pa.record_batch([[path], [rows], [example]], schema=_FOUND)


def _collected(engine: Engine | None, step: StrangeKeys, paths: Sequence[str]) -> pa.Table:
    if engine is None:  # the action wrote no file
        return pa.Table.from_batches([b for path in paths for b in step.of(path)], _FOUND)
    return engine.collect(engine.map(engine.tasks([path.encode() for path in paths]), step))


def _knows_buckets(storage: Storage, file_format: BaseFileFormat, path: str) -> bool:
    try:
        with file_format.reader(storage, path) as reader:
            return str(getattr(reader, "writer", _KNOW[0])).startswith(_KNOW)
    except FileNotFoundError:
        return True  # cleaned since: its rows have been written again by a later commit


def all_by_hash(snapshot: Snapshot) -> bool:
    """Whether each write on the timeline says that it put its rows by the hash of their keys, after
    a look at what was there. Not after a restore, which may bring rows back that were put into the
    table under another index."""
    if any(i.traits.rewinds for i in snapshot.timeline.others()):
        return False
    said = False
    for write in snapshot.writes():
        metadata = snapshot.metadata(write)
        if SEEN in metadata.extra:
            said = True
        elif metadata.operation not in _MOVES_NO_KEY:
            return False
    return said


def _not_seen(snapshot: Snapshot) -> list[Instant]:
    """The completed writes that no writer of Hoodoo has looked at."""
    left = sorted(snapshot.writes(), key=lambda w: order_key(w.completion_order))
    found: list[Instant] = []
    while left:
        write = left.pop()
        metadata = snapshot.metadata(write)
        text = metadata.extra.get(SEEN)
        if text is not None:
            upto, pending = json.loads(text)
            left = [
                w
                for w in left
                if order_key(w.requested) > order_key(upto) or w.requested in pending
            ]
        elif metadata.operation not in _MOVES_NO_KEY:
            found.append(write)
    return found
