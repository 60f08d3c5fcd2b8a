"""Bucket rows: whether what other programs wrote lies in the buckets of its keys, before a writer
relies on them.

A program that does not know bucket indexes, as hudi-rs 0.6, puts new keys into any file that is
small: the name of a bucket file says nothing of them then, and an upsert that relies on names would
store them a second time. Hudi's writers in Java and Hoodoo's know them, and their files say by whom
they were written. Each commit of Hoodoo notes up to where its writer has looked, so that a commit
is looked at once."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from functools import partial

from attrs import define, field, frozen
from hoodoo.errors import (
    CommitConflictError,
    ConfigError,
    CorruptTableError,
    HoodooError,
    UnsupportedTableError,
)
from hoodoo.hookspecs.file_format import BaseFileFormat
from hoodoo.hookspecs.index import COMPUTED, ComputedIndex
from hoodoo.hookspecs.participant import ActionChange
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.answers import plain
from hoodoo.kernel.resolve import resolve
from hoodoo.model.commit import Operation, WriteStat
from hoodoo.model.config import TableConfig
from hoodoo.model.instant import Instant
from hoodoo.options.table import INDEX_CLASS, INDEX_TYPE
from hoodoo.participants.listing import build
from hoodoo.storage.api import Storage
from hoodoo.timeline.codec.large import LazyStats
from hoodoo.timeline.instants import order_key
from hoodoo.timeline.properties import load
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import Timeline
from hoodoo.timeline.view import FileSystemView, Key

from hoodoo_standard.index import path_counts
from hoodoo_standard.index.hashed_buckets import HashedBuckets, number_of
from hoodoo_standard.index.path_bucket import PathBucketIndex
from hoodoo_standard.index.plan import KeyReader
from hoodoo_standard.index.strange_keys import Buckets, StrangeKeys
from hoodoo_standard.options import BUCKETS, PATH_BUCKETS

# In the extra metadata of a commit: up to which request all commits but those that were pending
# have been looked at.
SEEN = "hoodoo.bucket.rows.seen"
# Beside it: up to which completion all writes of the timeline had put their rows by the hash of
# their keys, so that a reader looks at later ones alone; or a write that does not say so.
BY_HASH = "hoodoo.bucket.rows.by.hash"
# Writers that know bucket indexes, as Parquet footers call them.
_KNOW = ("parquet-mr", "parquet-cpp")
_KEEPS_GROUPS = (Operation.COMPACT, Operation.LOG_COMPACT, Operation.INDEX, Operation.UNKNOWN)
_FEW, _LOOKED_AT = "0000", 3  # names of 10,000 buckets begin so; files of a commit
_MOVES_NO_KEY = (Operation.CLUSTER, Operation.COMPACT, Operation.LOG_COMPACT, Operation.INDEX)


def out_of_buckets(root: str) -> str:
    """The way out of a bucket index by whose names nobody can go any more."""
    return (
        'Give the table an index that looks keys up: table.switch_index("simple"), or `hoodoo '
        f"switch-index {root} simple`; "
        "all rows stay."
    )


def buckets_of(index: object, snapshot: Snapshot) -> Buckets | None:
    """What says in which bucket of its partition path a key is; None where the number of buckets is
    not fixed."""
    if isinstance(index, ComputedIndex):
        return index
    index = plain(index)
    return index.counts_of(snapshot) if isinstance(index, PathBucketIndex) else None


def refuse_other_counts(snapshot: Snapshot) -> None:
    """UnsupportedTableError for a writer with one number of buckets where the table says that its
    partition paths have numbers of their own; CommitConflictError where its properties say so
    since the write began."""
    counts = path_counts.stored(snapshot)
    if counts is not None:
        then, now = snapshot.config.properties, load(snapshot.storage).properties
        if PATH_BUCKETS.stored(now) != PATH_BUCKETS.stored(then):
            raise CommitConflictError(
                f"table {snapshot.config.name}",
                "its partition paths have got numbers of buckets of their own since this write "
                "began.",
                "Repeat the write: then it uses them.",
            )
        noted = BUCKETS.stored(then) is not None and PATH_BUCKETS.stored(then) is None
        raise UnsupportedTableError(
            f"table {snapshot.config.name}",
            f"has a number of buckets for each partition path ({path_counts.FOLDER}), and this "
            "writer has one for all: keys would be stored twice.",
            out_of_buckets(snapshot.root)
            if noted  # the option would contradict the table
            else f"Open it with the option {PATH_BUCKETS.key}={counts.expressions}",
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
            return BucketRows(None, self.settings)
        try:
            index = resolve("index", config.index_name, self.settings).instance
            buckets = buckets_of(index, Snapshot(storage, timeline))
        except HoodooError:
            buckets = None  # whoever needs the index says so
        return BucketRows(buckets, self.settings)

    def undone(self, storage: Storage, config: TableConfig, requested: str) -> None:
        path_counts.forget(storage, requested)


@define
class BucketRows:
    """Implements :class:`~hoodoo.hookspecs.participant.Participation`."""

    index: Buckets | None  # None: of a table that does not note its buckets, or has others
    settings: Settings
    noted: dict[str, str] = field(factory=dict)
    keys: bool = False

    def begin(self, change: ActionChange) -> None:
        """UnsupportedTableError where another program has put keys into buckets that are not
        theirs."""
        self._refuse_others(change)
        if change.operation in _MOVES_NO_KEY or change.operation is Operation.UNKNOWN:
            return
        timeline = change.timeline
        snapshot = Snapshot(change.storage, timeline)
        if isinstance(plain(change.index), HashedBuckets):
            refuse_other_counts(snapshot)
        if self.index is None:
            return
        self._look(change, snapshot)
        pending = sorted(
            i.requested for i in timeline.pending() if i.requested != change.instant.requested
        )
        upto = max((w.requested for w in timeline.writes()), key=order_key, default="")
        self.noted = {SEEN: json.dumps([upto, pending], separators=(",", ":"))}
        if (other := _elsewhere(snapshot)) is not None:
            last = max((w.completion_order for w in timeline.writes()), key=order_key, default="")
            self.noted[BY_HASH] = json.dumps([last, other], separators=(",", ":"))

    def _refuse_others(self, change: ActionChange) -> None:
        """ConfigError for new keys that an index without buckets places, beside buckets that a
        program did not note."""
        told = INDEX_TYPE.is_in(self.settings.options) or INDEX_CLASS.is_in(self.settings.options)
        timeline = change.timeline
        if told or timeline.config.index_name is not None or change.operation in _KEEPS_GROUPS:
            return
        if isinstance(plain(change.index), COMPUTED):
            return
        other = next((s for s in change.stats if s.num_inserts or not _names_bucket(s)), None)
        if other is None:
            return
        writes = sorted(timeline.writes(), key=lambda w: order_key(w.completion_order))
        each = (timeline.metadata(change.storage, write) for write in reversed(writes))
        newest = next((one for one in each if one.operation not in _MOVES_NO_KEY), None)
        if newest is None or SEEN in newest.extra:  # the table noted its buckets then
            return
        stats = newest.stats
        stats = stats.first(_LOOKED_AT) if isinstance(stats, LazyStats) else stats
        if stats and all(map(_names_bucket, stats)):
            raise ConfigError(
                f"table {timeline.config.name}",
                f"its file groups are buckets, and it does not note how many: {other.path} would "
                "have keys of other buckets, which jobs that go by buckets do not find.",
                f"open it with {INDEX_TYPE.key}=BUCKET and their {BUCKETS.key}; or, if there is no "
                f"such job any more, with {INDEX_TYPE.key}=SIMPLE.",
            )

    def _look(self, change: ActionChange, snapshot: Snapshot) -> None:
        storage, config = snapshot.storage, snapshot.config
        file_format = resolve("file_format", config.base_file_format, self.settings).instance
        # A restore may bring rows back that were put into the table under another index.
        rewound, doubted = _is_rewound(snapshot), partial(_doubted, storage, file_format)
        doubtful: list[list[WriteStat]] = []
        for write in _not_seen(snapshot):
            stats = [
                stat
                for stat in snapshot.metadata(write).stats
                if stat.path.endswith(file_format.extension)
                and stat.file_id not in change.replaced.get(stat.partition_path, ())
            ]
            if stats and (rewound or doubted(stats[0].path)):
                doubtful.append(stats)
        if not doubtful:
            return
        # By the timeline of now: a clean may have taken files since that of the action was listed.
        partitions = {stat.partition_path for stats in doubtful for stat in stats}
        view = build(snapshot.reload(), partitions=partitions)
        there, groups = view.paths, set[Key]()
        for stats in doubtful:
            path = next((stat.path for stat in stats if stat.path in there), None)
            if path is None or rewound or doubted(path):
                groups.update((stat.partition_path, stat.file_id) for stat in stats)
        paths = _newest_files(view, groups, change.replaced)
        assert self.index is not None
        step = StrangeKeys(KeyReader(storage, file_format), self.index)
        if (one := step.first(change.engine, paths)) is not None:
            raise UnsupportedTableError(
                f"table {config.name}: file {one['path']}",
                f"has {one['rows']} record keys of other buckets, for example {one['key']!r}: the "
                "program that put them there does not know the bucket index of the table, as "
                "hudi-rs, or the table had another index then. An upsert would store these keys "
                "twice.",
                out_of_buckets(storage.root),
            )


def _names_bucket(stat: WriteStat) -> bool:
    """Whether the name is a bucket's; of a million random ones two look so."""
    name = stat.file_id
    return name.startswith(_FEW) and name[8:9] == "-" and number_of(name) >= 0


def _doubted(storage: Storage, file_format: BaseFileFormat, path: str) -> bool:
    """Whether a file is not there, or of a writer that does not know bucket indexes."""
    try:
        with file_format.reader(storage, path) as reader:
            return not str(getattr(reader, "writer", _KNOW[0])).startswith(_KNOW)
    except (FileNotFoundError, CorruptTableError):
        if storage.head(path) is not None:
            raise
        return True


def _newest_files(
    view: FileSystemView, groups: Collection[Key], replaced: Mapping[str, Collection[str]]
) -> list[str]:
    """The newest base file of each of ``groups``: it has the keys of those before it, whoever wrote
    it. Of a group that has left the table since, as by a clustering, the rows may be in any file of
    its partition path. Groups that are being ``replaced`` do not matter."""
    current = {(g.partition_path, g.file_id): g for g in view.groups()}
    whole = {partition for partition, file_id in groups if (partition, file_id) not in current}
    newest = (
        next((s.base_file for s in group.slices if s.base_file is not None), None)
        for (partition, file_id), group in current.items()
        if (partition in whole or (partition, file_id) in groups)
        and file_id not in replaced.get(partition, ())
    )
    return [base.path for base in newest if base is not None]


def all_by_hash(snapshot: Snapshot) -> bool:
    """Whether each write on the timeline says that it put its rows by the hash of their keys, after
    a look at what was there. Not after a restore, which may bring rows back that were put into the
    table under another index. Reads the newest write that notes it of all before, and later
    ones."""
    return bool(snapshot.writes()) and _elsewhere(snapshot) == ""


def _is_rewound(snapshot: Snapshot) -> bool:
    return any(i.traits.rewinds for i in snapshot.timeline.others())


def _elsewhere(snapshot: Snapshot) -> str | None:
    """The request of a write that does not say that it went by the hash of its keys; empty where
    there is none, None where nothing is known: after a restore, and of services alone."""
    if _is_rewound(snapshot):
        return None
    left = sorted(snapshot.writes(), key=lambda w: order_key(w.completion_order))
    there, said = frozenset(w.requested for w in left), not left
    while left:
        write = left.pop()
        extra = snapshot.metadata(write).extra
        if SEEN not in extra:
            if snapshot.metadata(write).operation not in _MOVES_NO_KEY:
                return write.requested
            continue
        said = True
        if BY_HASH in extra:
            last, other = json.loads(extra[BY_HASH])
            # What is archived is still in the table; what was rolled back is not.
            if other in there or (other and snapshot.timeline.contains_or_before_start(other)):
                return str(other)
            if not other:
                late = frozenset(_after(left, extra[SEEN]))
                left = [w for w in left if w in late or not _completed_by(w, last)]
    return "" if said else None


def _not_seen(snapshot: Snapshot) -> list[Instant]:
    """The completed writes that no writer of Hoodoo has looked at."""
    left = sorted(snapshot.writes(), key=lambda w: order_key(w.completion_order))
    found: list[Instant] = []
    while left:
        write = left.pop()
        metadata = snapshot.metadata(write)
        text = metadata.extra.get(SEEN)
        if text is not None:
            left = _after(left, text)
        elif metadata.operation not in _MOVES_NO_KEY:
            found.append(write)
    return found


def _completed_by(write: Instant, last: str) -> bool:
    """Not known of writes without a time of completion: one may appear with an older request."""
    return write.completed is not None and order_key(write.completed) <= order_key(last)


def _after(writes: Collection[Instant], seen: str) -> list[Instant]:
    """Those of ``writes`` that a writer had not seen who noted ``seen``."""
    upto, pending = json.loads(seen)
    return [w for w in writes if order_key(w.requested) > order_key(upto) or w.requested in pending]
